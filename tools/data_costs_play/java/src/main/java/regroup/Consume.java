package regroup;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * A consumer process of a play; the argument and the files are those of handler.py. Mode auto: the
 * client commits what poll returned. Pauses and pills are not for this client.
 */
public final class Consume implements ConsumerRebalanceListener {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final JsonNode own;
  private final Path control;
  private final FileOutputStream notes;
  private final FileOutputStream records;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private volatile boolean stops;
  private long handled;
  private int slowNumber;

  private Consume(JsonNode own) throws IOException {
    this.own = own;
    Path folder = Path.of(text("folder"));
    control = folder.resolve("control").resolve(text("group") + ".json");
    notes = new FileOutputStream(folder.resolve("clients.jsonl").toFile(), true);
    long pid = ProcessHandle.current().pid();
    String name = text("group") + "." + text("process") + "." + pid + ".handled";
    records = new FileOutputStream(folder.resolve("clients").resolve(name).toFile(), true);
    slowNumber = control().get("slow").get("number").asInt();
    Properties settings = new Properties();
    settings.put("bootstrap.servers", text("bootstrap"));
    settings.put("group.id", text("group"));
    settings.put("client.id", text("process"));
    settings.put("auto.offset.reset", "earliest");
    settings.put("max.poll.records", 50);
    if (own.get("static").asBoolean()) {
      settings.put("group.instance.id", text("process"));
    }
    own.get("conf").fields().forEachRemaining(
        each -> settings.put(each.getKey(), each.getValue().asText()));
    consumer = new KafkaConsumer<>(
        settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  public static void main(String[] arguments) throws Exception {
    new Consume(JSON.readTree(arguments[0])).run();
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
    note("started", Map.of(
        "library", "kafka-clients " + AppInfoParser.getVersion(),
        "mode", text("mode"),
        "conf", own.get("conf")));
    consumer.subscribe(List.of(text("topic")), this);
    try {
      while (!stops) {
        sleepIfSlow();
        for (var record : consumer.poll(Duration.ofMillis(200))) {
          Thread.sleep(control().get("delay_ms").asLong());
          String line = System.currentTimeMillis() + " " + record.partition() + " "
              + record.offset() + "\n";
          records.write(line.getBytes(StandardCharsets.UTF_8));
          handled++;
        }
      }
    } catch (WakeupException stopped) {
      // The shutdown hook ends the poll.
    }
    note("closing", Map.of("handled", handled));
    consumer.close();
    note("closed", Map.of());
  }

  private void sleepIfSlow() throws Exception {
    JsonNode slow = control().get("slow");
    int number = slow.get("number").asInt();
    if (number > slowNumber && slow.get("process").asText().equals(text("process"))) {
      note("slow", Map.of("seconds", slow.get("seconds").asInt()));
      Thread.sleep(slow.get("seconds").asInt() * 1000L);
      note("slow over", Map.of());
    }
    slowNumber = Math.max(number, slowNumber);
  }

  @Override
  public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
    note("assigned", numbers(partitions));
  }

  @Override
  public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
    note("revoked", numbers(partitions));
  }

  @Override
  public void onPartitionsLost(Collection<TopicPartition> partitions) {
    note("lost", numbers(partitions));
  }

  private static Map<String, Object> numbers(Collection<TopicPartition> partitions) {
    TreeSet<Integer> numbers = new TreeSet<>();
    partitions.forEach(each -> numbers.add(each.partition()));
    return Map.of("partitions", numbers);
  }

  private void note(String what, Map<String, ?> fields) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("wall_ms", System.currentTimeMillis());
    line.put("client", text("process"));
    line.put("group", text("group"));
    line.put("pid", ProcessHandle.current().pid());
    line.put("what", what);
    line.putAll(fields);
    try {
      notes.write((JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    }
  }

  private JsonNode control() throws IOException {
    return JSON.readTree(Files.readString(control));
  }

  private String text(String name) {
    return own.get(name).asText();
  }
}
