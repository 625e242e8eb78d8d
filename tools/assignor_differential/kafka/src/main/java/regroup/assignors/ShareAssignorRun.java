package regroup.assignors;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/** Runs the share groups' assignor. Maps and sets keep the order of the case, and so does the answer keep theirs. */
final class ShareAssignorRun implements SubscribedTopicDescriber {
    private final Map<Uuid, Integer> sizes = new HashMap<>();

    Map<String, Object> answer(JsonNode line) {
        Map<Uuid, Set<Integer>> assignable = new HashMap<>();
        line.get("topics").forEach(topic -> {
            Uuid id = Uuid.fromString(topic.get("id").asText());
            sizes.put(id, topic.get("partitions").asInt());
            if (topic.hasNonNull("assignable")) assignable.put(id, numbers(topic.get("assignable")));
        });
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        line.get("members").forEach(member -> members.put(member.get("id").asText(), member(member)));
        var type = line.get("homogeneous").asBoolean() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        var spec = new GroupSpecImpl(members, type, Map.of(),
                line.get("restricted").asBoolean() ? Optional.of(assignable) : Optional.empty());
        Map<String, MemberAssignment> assigned = new SimpleAssignor().assign(spec, this).members();
        Map<String, Object> rows = new LinkedHashMap<>();
        assigned.forEach((id, assignment) -> rows.put(id, rows(assignment.partitions())));
        return rows;
    }

    private static List<Object> rows(Map<Uuid, Set<Integer>> partitions) {
        List<Object> rows = new ArrayList<>();
        partitions.forEach((id, numbers) -> rows.add(List.of(id.toString(), new ArrayList<>(numbers))));
        return rows;
    }

    private static MemberSubscriptionAndAssignmentImpl member(JsonNode node) {
        Set<Uuid> topics = new LinkedHashSet<>();
        node.get("topics").forEach(topic -> topics.add(Uuid.fromString(topic.asText())));
        Map<Uuid, Set<Integer>> assigned = new LinkedHashMap<>();
        node.get("assigned").forEach(row -> assigned.put(Uuid.fromString(row.get(0).asText()), numbers(row.get(1))));
        return new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.empty(), topics, new Assignment(assigned));
    }

    private static Set<Integer> numbers(JsonNode list) {
        Set<Integer> numbers = new LinkedHashSet<>();
        list.forEach(number -> numbers.add(number.asInt()));
        return numbers;
    }

    @Override
    public int numPartitions(Uuid id) {
        return sizes.getOrDefault(id, -1);
    }

    @Override
    public Set<String> racksForPartition(Uuid id, int partition) {
        return Set.of();
    }
}
