package org.apache.kafka.coordinator.group;

import regroup.harness.CoordinatorUnderTest;
import regroup.harness.GroupShown;
import regroup.harness.Settings;
import regroup.harness.Step;
import regroup.harness.Tally;
import regroup.harness.Trace;
import regroup.harness.VirtualClock;
import regroup.requests.KafkaTimer;
import regroup.requests.RequestSender;

import com.yammer.metrics.core.MetricsRegistry;

import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.classic.ClassicGroupMember;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorRuntimeMetrics;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.share.persister.NoOpStatePersister;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Kafka 4.1's own service, runtime and shard of classic groups; its events run one by one in drain(). */
public final class Coordinator41 implements CoordinatorUnderTest {
    private static final Pattern TIMER = Pattern.compile("CoordinatorWriteEvent\\(name=Timeout\\(.*key=(join|sync|heartbeat)?-?(.*)\\)\\)");
    private static final int OFFSETS_PARTITION = 0;

    private final EventQueue queue = new EventQueue();
    private final MemoryLog log;
    private final RequestSender sender;
    private GroupMetadataManager groups;

    public Coordinator41(Settings settings, VirtualClock clock, Trace trace) {
        log = new MemoryLog(trace);
        KafkaTimer time = new KafkaTimer(clock, task -> { });
        GroupCoordinatorConfig config = config(settings);
        GroupConfigManager groupConfigs = new GroupConfigManager(Map.of());
        Metrics metrics = new Metrics(time);
        GroupCoordinatorMetrics groupMetrics = new GroupCoordinatorMetrics(new MetricsRegistry(), metrics);
        CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord> runtime =
            new CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord>()
                .withTime(time)
                .withTimer(time)
                .withLogContext(new LogContext())
                .withEventProcessor(queue)
                .withPartitionWriter(log)
                .withLoader(new NothingToLoad())
                .withCoordinatorShardBuilderSupplier(() -> new WatchedShardBuilder(config, groupConfigs))
                .withDefaultWriteTimeOut(Duration.ofMillis(config.offsetCommitTimeoutMs()))
                .withCoordinatorRuntimeMetrics(new GroupCoordinatorRuntimeMetrics(metrics))
                .withCoordinatorMetrics(groupMetrics)
                .withSerializer(new GroupCoordinatorRecordSerde())
                .withAppendLingerMs(config.appendLingerMs())
                .withExecutorService(new CallerRuns())
                .build();
        GroupCoordinatorService service = new GroupCoordinatorService(
            new LogContext(), config, runtime, groupMetrics, groupConfigs, new NoOpStatePersister(), time);
        sender = new RequestSender(service, trace);
        service.startup(() -> 1);
        service.onElection(OFFSETS_PARTITION, 1);
        service.onNewMetadataImage(MetadataImage.EMPTY, new MetadataDelta(MetadataImage.EMPTY));
        drain();
    }

    private static GroupCoordinatorConfig config(Settings settings) {
        return GroupCoordinatorConfig.fromProps(Map.of(
            GroupCoordinatorConfig.GROUP_INITIAL_REBALANCE_DELAY_MS_CONFIG, settings.initialRebalanceDelayMs(),
            GroupCoordinatorConfig.GROUP_MIN_SESSION_TIMEOUT_MS_CONFIG, settings.minSessionTimeoutMs(),
            GroupCoordinatorConfig.GROUP_MAX_SESSION_TIMEOUT_MS_CONFIG, settings.maxSessionTimeoutMs(),
            GroupCoordinatorConfig.GROUP_MAX_SIZE_CONFIG, settings.maxSize(),
            GroupCoordinatorConfig.OFFSETS_RETENTION_CHECK_INTERVAL_MS_CONFIG, settings.retentionCheckIntervalMs(),
            GroupCoordinatorConfig.OFFSETS_RETENTION_MINUTES_CONFIG, settings.retentionMinutes(),
            GroupCoordinatorConfig.GROUP_COORDINATOR_APPEND_LINGER_MS_CONFIG, 0));
    }

    @Override
    public void request(Step step) {
        sender.send(step);
    }

    /** The appends of an event are committed before the next event runs. */
    @Override
    public void drain() {
        for (CoordinatorEvent event = queue.poll(); event != null; event = queue.poll()) {
            if (Tally.isOn()) countTimer(event.toString());
            event.run();
            log.commit();
        }
    }

    @Override
    public void failNextAppend(String error) {
        log.failNextAppend(error);
    }

    @Override
    public GroupShown group(String groupId) {
        ClassicGroup group = classicGroup(groupId);
        if (group == null) return null;
        List<String> members = group.allMembers().stream().map(ClassicGroupMember::memberId).toList();
        return new GroupShown(group.currentState().toString(), group.generationId(), group.leaderOrNull(), members);
    }

    /** Nothing to close; a shutdown would answer waiting requests. */
    @Override
    public void close() { }

    private ClassicGroup classicGroup(String groupId) {
        try {
            return groups.classicGroup(groupId, Long.MAX_VALUE);
        } catch (GroupIdNotFoundException e) {
            return null;
        }
    }

    private void countTimer(String event) {
        Matcher timer = TIMER.matcher(event);
        if (!timer.matches()) return;
        String kind = timer.group(1);
        if (kind == null) Tally.count("timers", timer.group(2));
        else if (kind.equals("heartbeat")) Tally.count("timers", kind + " of " + owner(timer.group(2)));
        else Tally.count("timers", kind + " from " + previousState(timer.group(2)));
    }

    private String previousState(String groupId) {
        ClassicGroup group = classicGroup(groupId);
        return group == null ? "no group" : group.previousState().toString();
    }

    /** The group of a heartbeat timer; its key is group and member with a dash between, and both may contain dashes. */
    private String owner(String key) {
        for (int dash = key.indexOf('-'); dash > 0; dash = key.indexOf('-', dash + 1)) {
            ClassicGroup group = classicGroup(key.substring(0, dash));
            if (group != null) return owner(group, key.substring(dash + 1));
        }
        return "no group's";
    }

    private static String owner(ClassicGroup group, String memberId) {
        if (group.isPendingMember(memberId)) return "pending member";
        if (!group.hasMember(memberId)) return "nobody";
        ClassicGroupMember member = group.member(memberId);
        String kind = member.isStaticMember() ? "static member" : "dynamic member";
        if (member.isNew()) return "new " + kind;
        if (member.isAwaitingJoin()) return kind + " awaiting join";
        return member.isAwaitingSync() ? kind + " awaiting sync" : kind;
    }

    /** Keeps a reference to the shard's manager of groups, which the service hides. */
    private final class WatchedShardBuilder extends GroupCoordinatorShard.Builder {
        WatchedShardBuilder(GroupCoordinatorConfig config, GroupConfigManager groupConfigs) {
            super(config, groupConfigs);
            withAuthorizerPlugin(Optional.empty());
        }

        @Override
        public GroupCoordinatorShard build() {
            GroupCoordinatorShard shard = super.build();
            try {
                Field field = GroupCoordinatorShard.class.getDeclaredField("groupMetadataManager");
                field.setAccessible(true);
                groups = (GroupMetadataManager) field.get(shard);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
            return shard;
        }
    }
}
