package kafka.coordinator.group;

import regroup.harness.CoordinatorUnderTest;
import regroup.harness.GroupShown;
import regroup.harness.Settings;
import regroup.harness.Step;
import regroup.harness.Trace;
import regroup.harness.VirtualClock;
import regroup.requests.KafkaTimer;
import regroup.requests.RequestSender;

import kafka.server.DelayedOperationPurgatory;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;

/** Kafka 3.9's own Scala coordinator, asked through the adapter that its broker uses. */
public final class Coordinator39 implements CoordinatorUnderTest {
    private static final int OFFSETS_PARTITION = 0;
    private static final int PURGE_INTERVAL = 1000;

    private final StubbedReplicas replicas;
    private final GroupCoordinator coordinator;
    private final ScalaGroups groups;
    private final RequestSender sender;

    public Coordinator39(Settings settings, VirtualClock clock, Trace trace) {
        KafkaTimer time = new KafkaTimer(clock, ScalaGroups::countTimer);
        replicas = new StubbedReplicas(trace, clock);
        coordinator = GroupCoordinator$.MODULE$.apply(KafkaConfig.fromProps(ScalaGroups.properties(settings)), replicas.manager(),
            new DelayedOperationPurgatory<DelayedHeartbeat>("Heartbeat", time, 0, PURGE_INTERVAL, false, true),
            new DelayedOperationPurgatory<DelayedRebalance>("Rebalance", time, 0, PURGE_INTERVAL, false, true),
            time, new Metrics(time));
        coordinator.startup(() -> 1, false);
        coordinator.groupManager().addOwnedPartition(OFFSETS_PARTITION);
        groups = new ScalaGroups(coordinator.groupManager());
        groups.expireEvery(settings.retentionCheckIntervalMs(), clock);
        sender = new RequestSender(new GroupCoordinatorAdapter(coordinator, time), trace);
    }

    @Override
    public void request(Step step) {
        sender.send(step);
    }

    @Override
    public void drain() { }

    @Override
    public void failNextAppend(String error) {
        replicas.failNextAppend(Errors.valueOf(error));
    }

    @Override
    public GroupShown group(String groupId) {
        return groups.group(groupId);
    }

    @Override
    public void close() {
        coordinator.shutdown();
    }
}
