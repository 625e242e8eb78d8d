package kafka.coordinator.group;

import regroup.harness.Trace;
import regroup.harness.VirtualClock;

import kafka.cluster.Partition;
import kafka.server.ReplicaManager;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

import org.mockito.Mockito;
import org.mockito.invocation.InvocationOnMock;
import org.mockito.stubbing.Answer;

import scala.Function1;
import scala.Some;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The replica manager that a Scala coordinator writes through, as a stub: records go to the trace, and the append's
 * callback runs at once. Its methods are distinguished by name, because their classes differ between versions.
 */
final class StubbedReplicas {
    private static final int RECORDS_ARGUMENT = 4;
    private static final int CALLBACK_ARGUMENT = 5;
    private static final byte MAGIC = 2;
    private static final long LOG_START_OFFSET = 0;

    private final Trace trace;
    private final VirtualClock clock;
    private final Partition partition = stub(Partition.class, this::onPartition);
    private Errors nextFailure = Errors.NONE;
    private long appends;

    StubbedReplicas(Trace trace, VirtualClock clock) {
        this.trace = trace;
        this.clock = clock;
    }

    ReplicaManager manager() {
        return stub(ReplicaManager.class, this::onManager);
    }

    void failNextAppend(Errors error) {
        nextFailure = error;
    }

    static <T> T stub(Class<T> type, Answer<?> answer) {
        return Mockito.mock(type, Mockito.withSettings().stubOnly().defaultAnswer(answer));
    }

    private Object onManager(InvocationOnMock call) throws Throwable {
        return switch (call.getMethod().getName()) {
            case "getMagic" -> new Some<>(MAGIC);
            case "onlinePartition", "nonOfflinePartition" -> new Some<>(partition);
            case "appendRecords" -> append(call.getArgument(RECORDS_ARGUMENT), call.getArgument(CALLBACK_ARGUMENT));
            default -> Mockito.RETURNS_DEFAULTS.answer(call);
        };
    }

    private Object append(Map<TopicPartition, MemoryRecords> appended, Function1<Map<TopicPartition, PartitionResponse>, ?> callback) {
        Errors error = takeFailure();
        Map<TopicPartition, PartitionResponse> responses = Map$.MODULE$.empty();
        for (var entry : CollectionConverters.asJava(appended).entrySet()) {
            if (error == Errors.NONE) show(entry.getValue());
            responses = responses.updated(entry.getKey(), new PartitionResponse(error, appends++, clock.nowMs(), LOG_START_OFFSET));
        }
        callback.apply(responses);
        return null;
    }

    /** Tombstones bypass the replica manager: they are written to the partition itself. */
    private Object onPartition(InvocationOnMock call) {
        if (!call.getMethod().getName().equals("appendRecordsToLeader")) return null;
        Errors error = takeFailure();
        if (error != Errors.NONE) throw error.exception();
        show(call.getArgument(0));
        return null;
    }

    private void show(MemoryRecords records) {
        records.records().forEach(record -> trace.record(record.key(), record.value()));
    }

    private Errors takeFailure() {
        Errors error = nextFailure;
        nextFailure = Errors.NONE;
        return error;
    }
}
