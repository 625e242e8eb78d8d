package org.apache.kafka.coordinator.group;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;

import java.util.concurrent.CompletableFuture;

/** Every scenario starts with an empty log. */
final class NothingToLoad implements CoordinatorLoader<CoordinatorRecord> {
    @Override
    public CompletableFuture<LoadSummary> load(TopicPartition partition, CoordinatorPlayback<CoordinatorRecord> coordinator) {
        return CompletableFuture.completedFuture(new LoadSummary(0, 0, 0, 0, 0));
    }

    @Override
    public void close() { }
}
