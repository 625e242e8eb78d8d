package regroup.assignors;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.assignor.TopologyDescriber;

/** Runs the streams groups' assignor of Kafka 4.1. */
record TaskAssignorRun(TaskCase taskCase) implements TopologyDescriber {
    Map<String, Object> answer() {
        Map<String, AssignmentMemberSpec> members = new LinkedHashMap<>();
        taskCase.members().forEach((id, member) -> members.put(id, new AssignmentMemberSpec(
                Optional.empty(), Optional.empty(), member.active(), member.standby(), Map.of(),
                member.processId(), Map.of(), Map.of(), Map.of())));
        var spec = new GroupSpecImpl(
                members, Map.of("num.standby.replicas", Integer.toString(taskCase.standbys())));
        Map<String, MemberAssignment> assigned = new StickyTaskAssignor().assign(spec, this).members();
        Map<String, Object> rows = new HashMap<>();
        assigned.forEach((id, tasks) ->
                rows.put(id, TaskCase.row(tasks.activeTasks(), tasks.standbyTasks(), tasks.warmupTasks())));
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
