package org.apache.kafka.coordinator.group;

import regroup.requests.KafkaTimer;

import com.yammer.metrics.core.MetricsRegistry;

import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorRuntimeMetrics;

import java.util.Map;
import java.util.function.BiFunction;

/** Makes Kafka's service on a runtime whose clock, events, executor and log are given. */
final class KafkaService {
    private KafkaService() { }

    static GroupCoordinatorService create(
        Map<String, Object> settings, KafkaTimer time, WaitingEvents events, Background background, ReplayedLog log,
        BiFunction<GroupCoordinatorConfig, GroupConfigManager, GroupCoordinatorShard.Builder> builder) {
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(settings);
        Metrics metrics = new Metrics(time);
        GroupCoordinatorMetrics groupMetrics = new GroupCoordinatorMetrics(new MetricsRegistry(), metrics);
        GroupConfigManager groupConfigs = KafkaVersion.groupConfigs(settings, config);
        CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord> runtime =
            new CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord>()
                .withTime(time)
                .withTimer(time)
                .withLogContext(KafkaVersion.LOG_CONTEXT)
                .withEventProcessor(events)
                .withPartitionWriter(log)
                .withLoader(log)
                .withCoordinatorShardBuilderSupplier(() -> builder.apply(config, groupConfigs))
                .withCoordinatorRuntimeMetrics(new GroupCoordinatorRuntimeMetrics(metrics))
                .withCoordinatorMetrics(groupMetrics)
                .withSerializer(new GroupCoordinatorRecordSerde())
                .withExecutorService(background);
        return KafkaVersion.service(config, KafkaVersion.configured(runtime, config).build(), groupMetrics, groupConfigs, time);
    }
}
