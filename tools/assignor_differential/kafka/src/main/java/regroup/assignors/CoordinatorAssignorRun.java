package regroup.assignors;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/** Runs a coordinator's assignor. The case's k-th topic has the id (0, k), so ids sort in the order of the case. */
final class CoordinatorAssignorRun implements AssignorRun, SubscribedTopicDescriber {
    private final Case groupCase;
    private final List<String> names;
    private final Map<String, Uuid> ids = new HashMap<>();
    private final Map<Uuid, Integer> sizes = new HashMap<>();
    private final ConsumerGroupPartitionAssignor assignor;
    private final GroupSpecImpl spec;
    private final Map<Uuid, String> nameOf = new HashMap<>();
    private Map<String, MemberAssignment> assignments;
    private Map<String, List<TopicPartition>> lists;

    CoordinatorAssignorRun(Case groupCase) {
        this.groupCase = groupCase;
        assignor = groupCase.assignor().equals("uniform") ? new UniformAssignor() : new RangeAssignor();
        names = new ArrayList<>(groupCase.topics().keySet());
        for (String name : names) {
            ids.put(name, new Uuid(0, ids.size() + 1));
            nameOf.put(ids.get(name), name);
            sizes.put(ids.get(name), groupCase.topics().get(name).partitions());
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> members =
                groupCase.hashed() ? new HashMap<>() : new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<Uuid>> subscriptions = new HashSet<>();
        for (Case.Consumer member : groupCase.members()) {
            Set<Uuid> subscribed = new LinkedHashSet<>();
            member.topics().forEach(topic ->
                    subscribed.add(ids.computeIfAbsent(topic, t -> new Uuid(1, ids.size() + 1))));
            subscriptions.add(subscribed);
            members.put(member.id(), new MemberSubscriptionAndAssignmentImpl(
                    Optional.ofNullable(member.rack()),
                    Optional.ofNullable(member.instanceId()),
                    subscribed,
                    new Assignment(Collections.unmodifiableMap(existingPartitions(member, owners)))));
        }
        SubscriptionType type =
                subscriptions.size() <= 1 ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        spec = new GroupSpecImpl(members, type, owners);
    }

    /** The member's owned partitions that exist; the coordinator drops others before it calls its assignor. */
    private Map<Uuid, Set<Integer>> existingPartitions(Case.Consumer member, Map<Uuid, Map<Integer, String>> owners) {
        Map<Uuid, Set<Integer>> owned = new LinkedHashMap<>();
        for (TopicPartition tp : member.owned()) {
            Case.Topic topic = groupCase.topics().get(tp.topic());
            if (topic == null || tp.partition() >= topic.partitions()) continue;
            Uuid id = ids.get(tp.topic());
            owned.computeIfAbsent(id, t -> new LinkedHashSet<>()).add(tp.partition());
            owners.computeIfAbsent(id, t -> new HashMap<>()).put(tp.partition(), member.id());
        }
        return owned;
    }

    @Override
    public void run() {
        assignments = assignor.assign(spec, this).members();
    }

    /** Keeps the order of the sets, which costs less than the sorted order of result(). */
    @Override
    public void toLists() {
        lists = new HashMap<>();
        assignments.forEach((member, assignment) -> {
            List<TopicPartition> list = new ArrayList<>();
            assignment.partitions().forEach((id, partitions) -> {
                String name = nameOf.get(id);
                for (int partition : partitions) list.add(new TopicPartition(name, partition));
            });
            lists.put(member, list);
        });
    }

    @Override
    public Map<String, List<TopicPartition>> result() {
        Map<String, List<TopicPartition>> lists = new LinkedHashMap<>();
        for (Case.Consumer member : groupCase.members()) {
            List<TopicPartition> list = new ArrayList<>();
            MemberAssignment assignment = assignments.get(member.id());
            for (String name : assignment == null ? List.<String>of() : names) {
                Set<Integer> partitions = assignment.partitions().getOrDefault(ids.get(name), Set.of());
                new TreeSet<>(partitions).forEach(p -> list.add(new TopicPartition(name, p)));
            }
            lists.put(member.id(), list);
        }
        return lists;
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
