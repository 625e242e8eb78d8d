package regroup.frameworks;

import java.time.Duration;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.kstream.KeyValueMapper;
import org.apache.kafka.streams.kstream.Materialized;

/**
 * Counts the words of a topic: two subtopologies, the second with a state store.
 * Arguments: topic, then settings as name=value.
 * Prints a line whenever its tasks change: time in ms, then per thread its active and standby tasks.
 */
public final class CountingApplication {
    private CountingApplication() {
    }

    public static void main(String[] arguments) throws InterruptedException {
        Properties settings = new Properties();
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        for (int i = 1; i < arguments.length; i++) {
            String[] setting = arguments[i].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        StreamsBuilder builder = new StreamsBuilder();
        KeyValueMapper<String, String, String> word = (key, value) -> value;
        builder.<String, String>stream(arguments[0]).selectKey(word).groupByKey().count(Materialized.as("counts"));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        streams.start();
        String previous = "";
        while (true) {
            String tasks = streams.metadataForLocalThreads().stream().map(CountingApplication::line)
                .sorted().collect(Collectors.joining("; "));
            if (!tasks.equals(previous)) {
                System.out.println(System.currentTimeMillis() + " " + tasks);
                System.out.flush();
                previous = tasks;
            }
            Thread.sleep(100);
        }
    }

    private static String line(ThreadMetadata thread) {
        return thread.consumerClientId() + " " + thread.threadState()
            + " active=" + ids(thread.activeTasks()) + " standby=" + ids(thread.standbyTasks());
    }

    private static String ids(Iterable<TaskMetadata> tasks) {
        TreeSet<String> ids = new TreeSet<>();
        tasks.forEach(task -> ids.add(task.taskId().toString()));
        return String.join(",", ids);
    }
}
