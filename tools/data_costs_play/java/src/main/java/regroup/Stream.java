package regroup;

import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;

/** A process of a play with Kafka Streams: one stateful subtopology that counts records. */
public final class Stream extends Process {
  private static final int LOOK_EVERY_MS = 100;

  private Stream(String argument) throws IOException {
    super(argument);
  }

  public static void main(String[] arguments) throws Exception {
    new Stream(arguments[0]).run();
  }

  private void run() throws Exception {
    noteStarted("kafka-streams");
    Properties settings = settings();
    settings.put("application.id", text("group"));
    settings.put("state.dir", text("folder") + "/state/" + text("group") + "." + text("process"));
    settings.put("default.key.serde", Serdes.ByteArraySerde.class.getName());
    settings.put("default.value.serde", Serdes.ByteArraySerde.class.getName());
    StreamsBuilder topology = new StreamsBuilder();
    topology.<byte[], byte[]>stream(text("topic"))
        .processValues(Count::new)
        .groupBy((key, value) -> value)
        .count();
    KafkaStreams streams = new KafkaStreams(topology.build(), settings);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      noteClosing();
      streams.close(Duration.ofSeconds(20));
      note("closed", Map.of());
    }));
    streams.start();
    watch(streams);
  }

  private void watch(KafkaStreams streams) throws InterruptedException {
    Set<TopicPartition> before = Set.of();
    while (true) {
      Set<TopicPartition> owned = owned(streams);
      noteDifference("revoked", before, owned);
      noteDifference("assigned", owned, before);
      before = owned;
      Thread.sleep(LOOK_EVERY_MS);
    }
  }

  private Set<TopicPartition> owned(KafkaStreams streams) {
    Set<TopicPartition> owned = new HashSet<>();
    streams.metadataForLocalThreads().forEach(thread -> thread.activeTasks().forEach(
        task -> owned.addAll(task.topicPartitions())));
    owned.removeIf(each -> !each.topic().equals(text("topic")));
    return owned;
  }

  private void noteDifference(String what, Set<TopicPartition> of, Set<TopicPartition> without) {
    Set<TopicPartition> partitions = new HashSet<>(of);
    partitions.removeAll(without);
    if (!partitions.isEmpty()) {
      notePartitions(what, partitions, "");
    }
  }

  private final class Count extends ContextualFixedKeyProcessor<byte[], byte[], byte[]> {
    @Override
    public void process(FixedKeyRecord<byte[], byte[]> record) {
      var metadata = context().recordMetadata().orElseThrow();
      try {
        sleepIfSlow();
        handle(metadata.partition(), metadata.offset());
      } catch (IOException | InterruptedException failed) {
        throw new IllegalStateException(failed);
      }
      context().forward(record);
    }
  }
}
