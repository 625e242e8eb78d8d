package regroup.assignors;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** A case made ready, so that run() is the assignor's own time and nothing else. */
interface Assigning {
    void run();

    /** From what run() gave to lists by name, where it gave something else: a part of the time from names to lists. */
    default void toLists() {}

    /** Lists by member id, all members of the case. */
    Map<String, List<TopicPartition>> result();

    static Assigning of(Given given) {
        return switch (given.assignor()) {
            case "uniform", "server-range" -> new OnTheServer(given);
            default -> new OnTheLeader(given);
        };
    }
}
