package org.apache.kafka.coordinator.group;

import regroup.requests.KafkaTimer;

import com.yammer.metrics.core.MetricsRegistry;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.DeleteGroupsResponseData.DeletableGroupResultCollection;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.StreamsGroupDescribeResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorRuntimeMetrics;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.share.persister.NoOpStatePersister;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;

/** Kafka 4.2: names and signatures that differ between versions. */
public final class KafkaVersion {
    /** Whether the broker adds topic ids to commits of every version, and refuses topics that it does not have. */
    public static final boolean ADDS_TOPIC_IDS = false;

    private KafkaVersion() { }

    public static String number() {
        return AppInfoParser.getVersion();
    }

    static GroupCoordinatorService service(
        Map<String, Object> settings, KafkaTimer time, WaitingEvents events, Background background, ReplayedLog log,
        BiFunction<GroupCoordinatorConfig, GroupConfigManager, GroupCoordinatorShard.Builder> builder) {
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(settings);
        LogContext logContext = new LogContext("[GroupCoordinator id=0] ");
        Metrics metrics = new Metrics(time);
        GroupCoordinatorMetrics groupMetrics = new GroupCoordinatorMetrics(new MetricsRegistry(), metrics);
        GroupConfigManager groupConfigs = new GroupConfigManager(Map.of());
        CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord> runtime =
            new CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord>()
                .withTime(time)
                .withTimer(time)
                .withLogContext(logContext)
                .withEventProcessor(events)
                .withPartitionWriter(log)
                .withLoader(log)
                .withCoordinatorShardBuilderSupplier(() -> builder.apply(config, groupConfigs))
                .withDefaultWriteTimeOut(Duration.ofMillis(config.offsetCommitTimeoutMs()))
                .withCoordinatorRuntimeMetrics(new GroupCoordinatorRuntimeMetrics(metrics))
                .withCoordinatorMetrics(groupMetrics)
                .withSerializer(new GroupCoordinatorRecordSerde())
                .withAppendLingerMs(OptionalInt.of(0))
                .withExecutorService(background)
                .build();
        return new GroupCoordinatorService(logContext, config, runtime, groupMetrics, groupConfigs,
            new NoOpStatePersister(), time, new NoOffsets());
    }

    static void update(GroupCoordinatorService service, MetadataDelta delta, MetadataImage image) {
        service.onNewMetadataImage(new KRaftCoordinatorMetadataImage(image), new KRaftCoordinatorMetadataDelta(delta));
    }

    public static CompletableFuture<JoinGroupResponseData> join(GroupCoordinator to, RequestContext context, JoinGroupRequestData request) {
        return to.joinGroup(context, request, BufferSupplier.NO_CACHING);
    }

    public static CompletableFuture<SyncGroupResponseData> sync(GroupCoordinator to, RequestContext context, SyncGroupRequestData request) {
        return to.syncGroup(context, request, BufferSupplier.NO_CACHING);
    }

    public static CompletableFuture<OffsetCommitResponseData> commit(
        GroupCoordinator to, RequestContext context, OffsetCommitRequestData request) {
        return to.commitOffsets(context, request, BufferSupplier.NO_CACHING);
    }

    public static CompletableFuture<DeletableGroupResultCollection> delete(
        GroupCoordinator to, RequestContext context, List<String> groups) {
        return to.deleteGroups(context, groups, BufferSupplier.NO_CACHING);
    }

    public static CompletableFuture<List<StreamsGroupDescribeResponseData.DescribedGroup>> streamsDescribe(
        GroupCoordinator to, RequestContext context, List<String> groups) {
        return to.streamsGroupDescribe(context, groups);
    }

    /** No scenario makes the requests that need offsets of partitions. */
    private static final class NoOffsets implements PartitionMetadataClient {
        @Override
        public Map<TopicPartition, CompletableFuture<OffsetResponse>> listLatestOffsets(Set<TopicPartition> partitions) {
            return Map.of();
        }

        @Override
        public void close() { }
    }
}
