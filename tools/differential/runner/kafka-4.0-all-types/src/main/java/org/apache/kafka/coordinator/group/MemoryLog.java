package org.apache.kafka.coordinator.group;

import regroup.alltypes.AllTypesTrace;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import java.util.concurrent.CompletableFuture;

/** The log with the writer's signature of Kafka 4.0. */
final class MemoryLog extends ReplayedLog {
    MemoryLog(AllTypesTrace trace) {
        super(trace);
    }

    @Override
    public long append(TopicPartition tp, VerificationGuard guard, MemoryRecords records) {
        begin();
        records.records().forEach(record -> write(record.key(), record.value()));
        return endOffset();
    }

    @Override
    public CompletableFuture<VerificationGuard> maybeStartTransactionVerification(
        TopicPartition tp, String transactionalId, long producerId, short producerEpoch, short apiVersion) {
        throw new UnsupportedOperationException("no transactions");
    }
}
