package regroup.alltypes;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.Topics;

/** Kafka 4.0 has no streams groups. */
final class StreamsSender extends Sender {
    StreamsSender(GroupCoordinator coordinator, Topics topics, AllTypesTrace trace) {
        super(coordinator, topics, trace);
    }

    void heartbeat(AllTypesStep step) {
        throw Errors.UNSUPPORTED_VERSION.exception();
    }

    void describe(AllTypesStep step) {
        throw Errors.UNSUPPORTED_VERSION.exception();
    }
}
