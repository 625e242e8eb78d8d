package org.apache.kafka.coordinator.group;

import regroup.harness.Trace;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A log whose records are kept in the trace only; appends count as committed after commit(). */
final class MemoryLog implements PartitionWriter {
    private final Trace trace;
    private Listener listener;
    private TopicPartition partition;
    private long endOffset;
    private long highWatermark;
    private Errors nextFailure;

    MemoryLog(Trace trace) {
        this.trace = trace;
    }

    void failNextAppend(String error) {
        nextFailure = Errors.valueOf(error);
    }

    void commit() {
        if (highWatermark == endOffset) return;
        highWatermark = endOffset;
        listener.onHighWatermarkUpdated(partition, highWatermark);
    }

    @Override
    public long append(TopicPartition tp, VerificationGuard guard, MemoryRecords records) {
        Errors failure = nextFailure;
        nextFailure = null;
        if (failure != null) throw failure.exception();
        records.records().forEach(record -> {
            trace.record(record.key(), record.value());
            endOffset++;
        });
        return endOffset;
    }

    @Override
    public void registerListener(TopicPartition tp, Listener newListener) {
        partition = tp;
        listener = newListener;
    }

    @Override
    public void deregisterListener(TopicPartition tp, Listener oldListener) { }

    @Override
    public LogConfig config(TopicPartition tp) {
        return new LogConfig(Map.of());
    }

    @Override
    public CompletableFuture<VerificationGuard> maybeStartTransactionVerification(
        TopicPartition tp, String transactionalId, long producerId, short producerEpoch, int apiVersion) {
        throw new UnsupportedOperationException("no transactions");
    }

    @Override
    public CompletableFuture<Void> deleteRecords(TopicPartition tp, long deleteBeforeOffset) {
        throw new UnsupportedOperationException("records are never deleted");
    }
}
