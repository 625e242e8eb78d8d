package org.apache.kafka.coordinator.group;

import regroup.alltypes.AllTypesTrace;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A log in memory, replayed at each load; appends count as committed after commit(). */
abstract class ReplayedLog implements PartitionWriter, CoordinatorLoader<CoordinatorRecord> {
    private record Written(ByteBuffer key, ByteBuffer value) { }

    private static final long NO_PRODUCER = -1L;

    private final AllTypesTrace trace;
    private final List<Written> written = new ArrayList<>();
    private Listener listener;
    private TopicPartition partition;
    private long highWatermark;
    private Errors nextFailure;

    ReplayedLog(AllTypesTrace trace) {
        this.trace = trace;
    }

    void failNextAppend(Errors error) {
        nextFailure = error;
    }

    void commit() {
        if (highWatermark == written.size() || listener == null) return;
        highWatermark = written.size();
        listener.onHighWatermarkUpdated(partition, highWatermark);
    }

    /** Throws if this append is to fail. */
    final void begin() {
        Errors failure = nextFailure;
        nextFailure = null;
        if (failure != null) throw failure.exception();
    }

    final void write(ByteBuffer key, ByteBuffer value) {
        trace.record(key, value);
        written.add(new Written(copy(key), copy(value)));
    }

    final long endOffset() {
        return written.size();
    }

    private static ByteBuffer copy(ByteBuffer buffer) {
        if (buffer == null) return null;
        return ByteBuffer.allocate(buffer.remaining()).put(buffer.duplicate()).flip();
    }

    @Override
    public CompletableFuture<LoadSummary> load(TopicPartition tp, CoordinatorPlayback<CoordinatorRecord> coordinator) {
        GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        long offset = 0;
        for (Written record : written) {
            ByteBuffer value = record.value == null ? null : record.value.duplicate();
            coordinator.replay(offset++, NO_PRODUCER, (short) NO_PRODUCER, serde.deserialize(record.key.duplicate(), value));
        }
        if (offset > 0) {
            coordinator.updateLastWrittenOffset(offset);
            coordinator.updateLastCommittedOffset(offset);
        }
        return CompletableFuture.completedFuture(new LoadSummary(0, 0, 0, offset, 0));
    }

    @Override
    public void registerListener(TopicPartition tp, Listener newListener) {
        partition = tp;
        listener = newListener;
    }

    @Override
    public void deregisterListener(TopicPartition tp, Listener oldListener) {
        listener = null;
    }

    @Override
    public LogConfig config(TopicPartition tp) {
        return new LogConfig(Map.of());
    }

    /** Overrides the method of Kafka 4.1 and later; that of 4.0 has another type of version. */
    public CompletableFuture<VerificationGuard> maybeStartTransactionVerification(
        TopicPartition tp, String transactionalId, long producerId, short producerEpoch, int apiVersion) {
        throw new UnsupportedOperationException("no transactions");
    }

    @Override
    public CompletableFuture<Void> deleteRecords(TopicPartition tp, long deleteBeforeOffset) {
        throw new UnsupportedOperationException("records are never deleted");
    }

    @Override
    public void close() { }
}
