package regroup.frameworks;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;
import org.apache.kafka.streams.state.HostInfo;

/** Prints random metadata of Streams' members, as bytes and as fields, in all versions: JSON Lines. */
public final class MetadataSamples {
    private static final int NEWEST = 11;
    private static final int PER_VERSION = 8;
    private final Random random;

    private MetadataSamples(long seed) {
        random = new Random(seed);
    }

    public static void main(String[] arguments) {
        MetadataSamples samples = new MetadataSamples(Long.parseLong(arguments[0]));
        for (int version = 1; version <= NEWEST; version++) {
            for (int n = 0; n < PER_VERSION; n++) {
                System.out.println(samples.subscription(version));
                System.out.println(samples.assignment(version));
            }
        }
    }

    private String subscription(int version) {
        Map<TaskId, Long> sums = new TreeMap<>();
        for (TaskId task : tasks(version)) {
            sums.put(task, random.nextInt(3) == 0 ? -2L : (long) random.nextInt(1_000_000));
        }
        UUID process = new UUID(random.nextLong(), random.nextLong());
        String endpoint = version >= 2 && random.nextBoolean() ? "host-é:" + random.nextInt(9999) : null;
        int error = version >= 9 ? random.nextInt(3) : 0;
        Map<String, String> tags = version >= 11 ? Map.of("zone", "eu-" + random.nextInt(3)) : Map.of();
        SubscriptionInfo info = new SubscriptionInfo(version, version < 3 ? -1 : NEWEST, new ProcessId(process),
            endpoint, sums, (byte) random.nextInt(100), error, tags);
        String offsets = sums.entrySet().stream()
            // Before version 7 the bytes tell active tasks from others, without offsets.
            .map(e -> pair(e.getKey(), String.valueOf(version < 7 && e.getValue() != -2 ? 0 : e.getValue())))
            .collect(Collectors.joining(","));
        return String.format("{\"kind\":\"subscription\",\"version\":%d,\"bytes\":\"%s\",\"process_id\":\"%s\","
            + "\"endpoint\":%s,\"error_code\":%d,\"offset_sums\":[%s]}", version, hex(info.encode()), process,
            endpoint == null ? "null" : "\"" + endpoint + "\"", error, offsets);
    }

    private String assignment(int version) {
        List<TaskId> active = new ArrayList<>(tasks(version));
        Map<TaskId, Set<TopicPartition>> standby = new TreeMap<>();
        for (TaskId task : tasks(version)) {
            standby.put(task, partitions());
        }
        Map<HostInfo, Set<TopicPartition>> hosts = Map.of(new HostInfo("a", 80), partitions(), new HostInfo("b", 81), partitions());
        int error = version >= 4 ? random.nextInt(3) : 0;
        AssignmentInfo info = new AssignmentInfo(version, NEWEST, active, standby, hosts, hosts, error);
        long next = Long.MAX_VALUE;
        if (version >= 7 && random.nextBoolean()) {
            next = random.nextBoolean() ? 0 : 1_700_000_000_000L + random.nextInt(1_000_000);
            info.setNextRebalanceTime(next);
        }
        String listed = active.stream().map(t -> pair(t, null)).collect(Collectors.joining(","));
        String standbys = standby.entrySet().stream()
            .map(e -> pair(e.getKey(), e.getValue().stream()
                .sorted((a, b) -> a.toString().compareTo(b.toString()))
                .map(p -> "[\"" + p.topic() + "\"," + p.partition() + "]").collect(Collectors.joining(",", "[", "]"))))
            .collect(Collectors.joining(","));
        return String.format("{\"kind\":\"assignment\",\"version\":%d,\"bytes\":\"%s\",\"active\":[%s],"
            + "\"standby\":[%s],\"error_code\":%d,\"next_rebalance_ms\":%d}", version, hex(info.encode()),
            listed, standbys, error, next);
    }

    private static String pair(TaskId task, String value) {
        String id = task.toString();
        int end = id.lastIndexOf('_');
        String fields = "\"" + id.substring(0, end) + "\"," + task.partition();
        return "[" + fields + (value == null ? "]" : "," + value + "]");
    }

    private Set<TaskId> tasks(int version) {
        Set<TaskId> tasks = new TreeSet<>();
        // Kafka does not compare tasks with and without the name of a topology.
        String topology = version >= 10 && random.nextInt(3) == 0 ? "tällä" : null;
        for (int n = random.nextInt(5); n > 0; n--) {
            tasks.add(new TaskId(random.nextInt(3), random.nextInt(20), topology));
        }
        return tasks;
    }

    private Set<TopicPartition> partitions() {
        return Set.of(new TopicPartition("t", random.nextInt(20)), new TopicPartition("töpic", random.nextInt(20)));
    }

    private static String hex(ByteBuffer data) {
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
