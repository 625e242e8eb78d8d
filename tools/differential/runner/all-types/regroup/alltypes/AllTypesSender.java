package regroup.alltypes;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.Topics;

/** Steps as requests, each to the sender of its kind. */
public final class AllTypesSender {
    private final AllTypesTrace trace;
    private final ConsumerSender consumer;
    private final ShareSender share;
    private final StreamsSender streams;
    private final ClassicSender classic;

    public AllTypesSender(GroupCoordinator coordinator, Topics topics, AllTypesTrace trace) {
        this.trace = trace;
        consumer = new ConsumerSender(coordinator, topics, trace);
        share = new ShareSender(coordinator, topics, trace);
        streams = new StreamsSender(coordinator, topics, trace);
        classic = new ClassicSender(coordinator, topics, trace);
    }

    /** As the broker, answers an exception of the coordinator by its error alone. */
    public void request(AllTypesStep step) {
        try {
            send(step);
        } catch (RuntimeException e) {
            if (e instanceof IllegalArgumentException || e instanceof NullPointerException) throw e;
            trace.response(step, Errors.forException(e).name());
        }
    }

    private void send(AllTypesStep step) {
        switch (step.op()) {
            case "consumer_heartbeat" -> consumer.heartbeat(step);
            case "share_heartbeat" -> share.heartbeat(step);
            case "streams_heartbeat" -> streams.heartbeat(step);
            case "consumer_describe" -> consumer.describe(step);
            case "share_describe" -> share.describe(step);
            case "streams_describe" -> streams.describe(step);
            case "list" -> classic.list(step);
            case "join" -> classic.join(step);
            case "sync" -> classic.sync(step);
            case "heartbeat" -> classic.heartbeat(step);
            case "leave" -> classic.leave(step);
            case "commit" -> classic.commit(step);
            case "fetch" -> classic.fetch(step);
            case "describe" -> classic.describe(step);
            case "delete" -> classic.delete(step);
            default -> throw new IllegalArgumentException("op " + step.op());
        }
    }
}
