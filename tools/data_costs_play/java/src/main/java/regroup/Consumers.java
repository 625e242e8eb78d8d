package regroup;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Consumers of many groups in one JVM, one thread each: 24 JVMs that start at once would delay each
 * other. Arguments: bootstrap, topic, folder. Each line of stdin is a JSON object: action (start,
 * stop, or end, which closes all consumers), group, process, conf; optional are topic, and pid, the
 * name of this process life. Action finalize upgrades the cluster's feature to the highest level
 * that all brokers support.
 */
public final class Consumers {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Consumers() {}

  public static void main(String[] arguments) throws Exception {
    FileOutputStream notes =
        new FileOutputStream(Path.of(arguments[2], "clients.jsonl").toFile(), true);
    Map<String, One> running = new HashMap<>();
    List<One> all = new ArrayList<>();
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      JsonNode command = JSON.readTree(line);
      if (command.get("action").asText().equals("end")) {
        break;
      }
      if (command.get("action").asText().equals("finalize")) {
        finalizeFeature(arguments[0], command.get("feature").asText());
        continue;
      }
      String key = command.get("group").asText() + "." + command.get("process").asText();
      if (command.get("action").asText().equals("stop")) {
        running.remove(key).end();
      } else {
        One one = new One(command, arguments, notes, "java-" + all.size());
        running.put(key, one);
        all.add(one);
        one.start();
      }
    }
    all.forEach(One::end);
    for (One one : all) {
      one.join();
    }
  }

  private static void finalizeFeature(String bootstrap, String feature) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      short level = admin.describeFeatures().featureMetadata().get()
          .supportedFeatures().get(feature).maxVersion();
      admin.updateFeatures(
          Map.of(feature, new FeatureUpdate(level, FeatureUpdate.UpgradeType.UPGRADE)),
          new UpdateFeaturesOptions()).all().get();
    }
  }

  private static final class One extends Thread implements ConsumerRebalanceListener {
    private final JsonNode command;
    private final String topic;
    private final String life;
    private final FileOutputStream notes;
    private final FileOutputStream handled;
    private final Properties settings = new Properties();
    private volatile KafkaConsumer<byte[], byte[]> consumer;
    private volatile boolean stops;

    One(JsonNode command, String[] arguments, FileOutputStream notes, String life)
        throws IOException {
      this.command = command;
      this.topic = command.path("topic").asText(arguments[1]);
      this.notes = notes;
      this.life = command.path("pid").asText(life);
      String name = text("group") + "." + text("process") + "." + this.life;
      handled = new FileOutputStream(Path.of(arguments[2], "handled", name).toFile());
      settings.put("bootstrap.servers", arguments[0]);
      settings.put("group.id", text("group"));
      settings.put("client.id", text("process"));
      settings.put("auto.offset.reset", "earliest");
      command.get("conf").fields().forEachRemaining(
          each -> settings.put(each.getKey(), each.getValue().asText()));
    }

    void end() {
      stops = true;
      KafkaConsumer<byte[], byte[]> started = consumer;
      if (started != null) {
        started.wakeup();
      }
    }

    @Override
    public void run() {
      consumer = new KafkaConsumer<>(
          settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
      note("started", Map.of("conf", command.get("conf")));
      consumer.subscribe(List.of(topic), this);
      try {
        while (!stops) {
          for (var record : consumer.poll(Duration.ofMillis(250))) {
            String line = System.currentTimeMillis() + " " + record.partition() + " "
                + record.offset() + "\n";
            handled.write(line.getBytes(StandardCharsets.UTF_8));
          }
        }
      } catch (WakeupException stopped) {
        // `end` wakes the poll up.
      } catch (Exception failed) {
        note("fatal, exits", Map.of("error", failed.toString()));
      }
      note("closing", Map.of());
      consumer.close();
      note("closed", Map.of());
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
      note("assigned", named(partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
      note("revoked", named(partitions));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
      note("lost", named(partitions));
    }

    private static Map<String, Object> named(Collection<TopicPartition> partitions) {
      return Map.of("partitions", partitions.stream()
          .map(each -> List.of(each.topic(), each.partition())).toList());
    }

    private void note(String what, Map<String, ?> fields) {
      Map<String, Object> line = new LinkedHashMap<>();
      line.put("wall_ms", System.currentTimeMillis());
      line.put("client", text("process"));
      line.put("group", text("group"));
      line.put("pid", life);
      line.put("what", what);
      line.putAll(fields);
      try {
        notes.write((JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8));
      } catch (IOException failed) {
        throw new IllegalStateException(failed);
      }
    }

    private String text(String name) {
      return command.get(name).asText();
    }
  }
}
