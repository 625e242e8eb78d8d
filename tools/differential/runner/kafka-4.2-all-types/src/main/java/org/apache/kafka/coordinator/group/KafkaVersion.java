package org.apache.kafka.coordinator.group;

import regroup.requests.KafkaTimer;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.StreamsGroupDescribeResponseData;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.share.persister.NoOpStatePersister;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;

/** Kafka 4.2: names and signatures that differ between versions. */
public final class KafkaVersion {
    /** Whether the broker adds topic ids to commits of every version, and refuses topics that it does not have. */
    public static final boolean ADDS_TOPIC_IDS = false;
    public static final BufferSupplier BUFFERS = BufferSupplier.NO_CACHING;
    static final LogContext LOG_CONTEXT = new LogContext("[GroupCoordinator id=0] ");
    /** No scenario makes the requests that need offsets of partitions. */
    private static final PartitionMetadataClient NO_OFFSETS = null;

    private KafkaVersion() { }

    public static String number() {
        return AppInfoParser.getVersion();
    }

    static void withoutAuthorizer(GroupCoordinatorShard.Builder builder) {
        builder.withAuthorizerPlugin(Optional.empty());
    }

    public static OffsetCommitRequestTopic withId(OffsetCommitRequestTopic topic, Uuid id) {
        return topic.setTopicId(id);
    }

    static GroupConfigManager groupConfigs(Map<String, Object> settings, GroupCoordinatorConfig config) {
        return new GroupConfigManager(Map.of());
    }

    static CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord> configured(
        CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord> runtime, GroupCoordinatorConfig config) {
        return runtime
            .withDefaultWriteTimeOut(Duration.ofMillis(config.offsetCommitTimeoutMs()))
            .withAppendLingerMs(OptionalInt.of(0));
    }

    static GroupCoordinatorService service(
        GroupCoordinatorConfig config, CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord> runtime,
        GroupCoordinatorMetrics metrics, GroupConfigManager groupConfigs, KafkaTimer time) {
        return new GroupCoordinatorService(LOG_CONTEXT, config, runtime, metrics, groupConfigs,
            new NoOpStatePersister(), time, NO_OFFSETS);
    }

    static void update(GroupCoordinatorService service, MetadataDelta delta, MetadataImage image) {
        service.onNewMetadataImage(new KRaftCoordinatorMetadataImage(image), new KRaftCoordinatorMetadataDelta(delta));
    }

    public static CompletableFuture<List<StreamsGroupDescribeResponseData.DescribedGroup>> streamsDescribe(
        GroupCoordinator to, RequestContext context, List<String> groups) {
        return to.streamsGroupDescribe(context, groups);
    }
}
