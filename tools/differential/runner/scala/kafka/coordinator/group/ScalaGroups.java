package kafka.coordinator.group;

import regroup.harness.GroupShown;
import regroup.harness.Settings;
import regroup.harness.Tally;
import regroup.harness.VirtualClock;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Properties;

/** The common part of the Scala coordinators of all versions: groups, configuration, timers. */
final class ScalaGroups {
    private final GroupMetadataManager manager;

    ScalaGroups(GroupMetadataManager manager) {
        this.manager = manager;
    }

    GroupShown group(String groupId) {
        Option<GroupMetadata> found = manager.getGroup(groupId);
        if (found.isEmpty()) return null;
        GroupMetadata group = found.get();
        List<String> members = CollectionConverters.asJava(group.allMemberMetadata()).stream().map(MemberMetadata::memberId).toList();
        return new GroupShown(group.currentState().toString(), group.generationId(), group.leaderOrNull(), members);
    }

    /** The broker's scheduler of expirations, which would otherwise run in real time. */
    void expireEvery(long intervalMs, VirtualClock clock) {
        clock.set(clock.nowMs() + intervalMs, () -> true, () -> {
            expireEvery(intervalMs, clock);
            manager.cleanupGroupMetadata();
        });
    }

    static Properties properties(Settings settings) {
        Properties properties = new Properties();
        properties.put("zookeeper.connect", "");
        properties.put("group.initial.rebalance.delay.ms", "" + settings.initialRebalanceDelayMs());
        properties.put("group.min.session.timeout.ms", "" + settings.minSessionTimeoutMs());
        properties.put("group.max.session.timeout.ms", "" + settings.maxSessionTimeoutMs());
        properties.put("group.max.size", "" + settings.maxSize());
        properties.put("offsets.retention.minutes", "" + settings.retentionMinutes());
        return properties;
    }

    /** Counts a delayed operation whose timer fires. */
    static void countTimer(Object operation) {
        if (!Tally.isOn()) return;
        String kind = operation.getClass().getSimpleName();
        if (!(operation instanceof DelayedHeartbeat heartbeat)) Tally.count("timers", kind);
        else Tally.count("timers", kind + " of " + owner(heartbeat));
    }

    private static String owner(DelayedHeartbeat heartbeat) {
        GroupMetadata group = (GroupMetadata) read(heartbeat, "group");
        String memberId = (String) read(heartbeat, "memberId");
        if ((boolean) read(heartbeat, "isPending")) return "pending member";
        if (!group.has(memberId)) return "nobody";
        MemberMetadata member = group.get(memberId);
        String kind = member.isStaticMember() ? "static member" : "dynamic member";
        if (member.isNew()) return "new " + kind;
        if (member.isAwaitingJoin()) return kind + " awaiting join";
        return member.isAwaitingSync() ? kind + " awaiting sync" : kind;
    }

    /** Reads a private field of an operation, for the tally only. */
    private static Object read(Object object, String name) {
        try {
            Field field = object.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(object);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
