package regroup.assignors;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/** Runs the streams groups' assignor of Kafka 4.4. */
record TaskAssignorRun(TaskCase taskCase) implements TopologyDescriber {
    Map<String, Object> answer() {
        Map<String, MemberMetadataAndStateImpl> members = new LinkedHashMap<>();
        taskCase.members().forEach((id, member) -> members.put(id, new MemberMetadataAndStateImpl(
                Optional.empty(), Optional.empty(), member.processId(), Map.of(),
                member.active(), member.standby(), Map.of(), member.offsets(), Map.of())));
        var spec = new GroupSpecImpl(members, new AssignmentConfigsImpl(taskCase.standbys(), List.of()));
        Map<String, MemberAssignment> assigned = new StickyTaskAssignor().assign(spec, this).members();
        Map<String, Object> rows = new HashMap<>();
        assigned.forEach((id, tasks) -> rows.put(id, TaskCase.row(tasks.activeTasks(), tasks.standbyTasks(), Map.of())));
        return rows;
    }

    @Override
    public List<String> subtopologies() {
        return List.copyOf(taskCase.subtopologies().keySet());
    }

    @Override
    public int maxNumInputPartitions(String id) {
        return taskCase.subtopologies().get(id).tasks();
    }

    @Override
    public boolean isStateful(String id) {
        return taskCase.subtopologies().get(id).stateful();
    }
}
