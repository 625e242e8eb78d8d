package regroup;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer process of a play.  Mode auto: the client commits what an earlier poll returned. */
public final class Consume extends Process implements ConsumerRebalanceListener {
  private final KafkaConsumer<byte[], byte[]> consumer;
  private volatile boolean stops;

  private Consume(String argument) throws Exception {
    super(argument);
    Properties settings = settings();
    settings.put("group.id", text("group"));
    settings.put("max.poll.records", 50);
    if (own.get("static").asBoolean()) {
      settings.put("group.instance.id", text("process"));
    }
    consumer = new KafkaConsumer<>(
        settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  public static void main(String[] arguments) throws Exception {
    new Consume(arguments[0]).run();
  }

  private void run() throws Exception {
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      stops = true;
      consumer.wakeup();
      try {
        main.join();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }));
    noteStarted("kafka-clients");
    consumer.subscribe(List.of(text("topic")), this);
    try {
      while (!stops) {
        sleepIfSlow();
        for (var record : consumer.poll(Duration.ofMillis(200))) {
          handle(record.partition(), record.offset());
        }
      }
    } catch (WakeupException stopped) {
      // The shutdown hook ends the poll.
    }
    noteClosing();
    consumer.close();
    note("closed", Map.of());
  }

  @Override
  public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
    noted("assigned", partitions);
  }

  @Override
  public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
    noted("revoked", partitions);
  }

  @Override
  public void onPartitionsLost(Collection<TopicPartition> partitions) {
    noted("lost", partitions);
  }

  private void noted(String what, Collection<TopicPartition> partitions) {
    notePartitions(what, partitions, consumer.groupMetadata().memberId());
  }
}
