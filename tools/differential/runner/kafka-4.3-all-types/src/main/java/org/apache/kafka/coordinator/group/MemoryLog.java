package org.apache.kafka.coordinator.group;

import regroup.alltypes.AllTypesTrace;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.storage.internals.log.VerificationGuard;

/** The log with the writer's signature of Kafka 4.3. */
final class MemoryLog extends ReplayedLog {
    MemoryLog(AllTypesTrace trace) {
        super(trace);
    }

    @Override
    public long append(TopicPartition tp, VerificationGuard guard, MemoryRecords records, short transactionVersion) {
        begin();
        records.records().forEach(record -> write(record.key(), record.value()));
        return endOffset();
    }
}
