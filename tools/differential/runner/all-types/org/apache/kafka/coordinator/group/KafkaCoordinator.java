package org.apache.kafka.coordinator.group;

import regroup.alltypes.AllTypesCoordinator;
import regroup.alltypes.AllTypesSender;
import regroup.alltypes.AllTypesStep;
import regroup.alltypes.AllTypesTrace;
import regroup.harness.Tally;
import regroup.harness.VirtualClock;
import regroup.requests.KafkaTimer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Kafka's own service, runtime and shard of all group types; its events run one by one in drain(). */
public final class KafkaCoordinator implements AllTypesCoordinator {
    private static final Pattern TIMER = Pattern.compile("CoordinatorWriteEvent\\(name=Timeout\\(.*key=([a-z]+).*");
    private static final int OFFSETS_PARTITION = 0;

    private final WaitingEvents events = new WaitingEvents();
    private final Background background = new Background();
    private final Topics topics = new Topics();
    private final ReplayedLog log;
    private final GroupCoordinatorService service;
    private final AllTypesSender sender;
    private GroupMetadataManager groups;
    private int leaderEpoch = 1;

    public KafkaCoordinator(JsonNode config, VirtualClock clock, AllTypesTrace trace) {
        log = new MemoryLog(trace);
        KafkaTimer time = new KafkaTimer(clock, task -> { });
        service = KafkaService.create(settings(config), time, events, background, log, this::builder);
        sender = new AllTypesSender(service, topics, trace);
        service.startup(() -> 1);
        service.onElection(OFFSETS_PARTITION, leaderEpoch);
        KafkaVersion.update(service, Topics.delta(topics.image()), topics.image());
        drain();
    }

    /** Names with underscores, and Kafka's own under "kafka". Unless a scenario sets the interval, nothing expires. */
    private static Map<String, Object> settings(JsonNode config) {
        Map<String, Object> settings = new HashMap<>();
        config.fields().forEachRemaining(entry -> {
            if (!entry.getKey().equals("kafka")) settings.put(entry.getKey().replace('_', '.'), entry.getValue().asText());
        });
        settings.putIfAbsent(GroupCoordinatorConfig.OFFSETS_RETENTION_CHECK_INTERVAL_MS_CONFIG, Long.MAX_VALUE / 4);
        config.path("kafka").fields().forEachRemaining(entry -> settings.put(entry.getKey(), entry.getValue().asText()));
        return settings;
    }

    @Override
    public void request(AllTypesStep step) {
        switch (step.op()) {
            case "fault" -> log.failNextAppend(Errors.valueOf(step.text("append_error")));
            case "metadata" -> changeTopics(step);
            case "group_config" -> configure(step);
            case "reload" -> reload();
            default -> sender.request(step);
        }
    }

    /** The service waits until its shards have the new image. */
    private void changeTopics(AllTypesStep step) {
        List<String> deleted = step.texts("deleted");
        var delta = topics.change(step.rows("topics"), deleted == null ? List.of() : deleted);
        events.handleAtOnce(this::drain);
        KafkaVersion.update(service, delta, topics.image());
        events.handleAtOnce(null);
    }

    private void configure(AllTypesStep step) {
        Properties properties = new Properties();
        step.field("configs").fields().forEachRemaining(e -> properties.put(e.getKey(), e.getValue().asText()));
        service.updateGroupConfig(step.group(), properties);
    }

    private void reload() {
        service.onResignation(OFFSETS_PARTITION, OptionalInt.of(++leaderEpoch));
        drain();
        service.onElection(OFFSETS_PARTITION, ++leaderEpoch);
    }

    /** The appends of an event are committed before the next event; background work runs when no event is left. */
    @Override
    public void drain() {
        do {
            for (CoordinatorEvent event = events.poll(); event != null; event = events.poll()) {
                if (Tally.isOn()) countTimer(event.toString());
                event.run();
                log.commit();
            }
        } while (background.runOne());
    }

    @Override
    public ObjectNode group(String groupId) {
        return ShownGroups.shown(groups, groupId);
    }

    private static void countTimer(String event) {
        Matcher timer = TIMER.matcher(event);
        if (timer.matches()) Tally.count("timers", timer.group(1));
    }

    private GroupCoordinatorShard.Builder builder(GroupCoordinatorConfig config, GroupConfigManager groupConfigs) {
        return new WatchedShardBuilder(config, groupConfigs);
    }

    /** Keeps a reference to the shard's manager of groups, which the service hides. */
    private final class WatchedShardBuilder extends GroupCoordinatorShard.Builder {
        WatchedShardBuilder(GroupCoordinatorConfig config, GroupConfigManager groupConfigs) {
            super(config, groupConfigs);
            KafkaVersion.withoutAuthorizer(this);
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
