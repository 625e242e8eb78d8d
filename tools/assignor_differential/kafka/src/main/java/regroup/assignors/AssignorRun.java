package regroup.assignors;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** A prepared case: run() takes only the assignor's own time. */
interface AssignorRun {
    void run();

    /** Converts the result of run() to lists by topic name, unless it has them; counts as time of the assignor. */
    default void toLists() {}

    /** Assigned partitions by member id, for all members of the case. */
    Map<String, List<TopicPartition>> result();

    static AssignorRun of(Case groupCase) {
        return switch (groupCase.assignor()) {
            case "uniform", "server-range" -> new CoordinatorAssignorRun(groupCase);
            default -> new ClientAssignorRun(groupCase);
        };
    }
}
