package regroup;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;

/** What each Java process of a play does with a record; the files are those of handler.py. */
class Process {
  static final ObjectMapper JSON = new ObjectMapper();
  final JsonNode own;
  private final Path control;
  private final FileOutputStream notes;
  private final FileOutputStream records;
  private long handled;
  private int slowNumber;

  Process(String argument) throws IOException {
    own = JSON.readTree(argument);
    Path folder = Path.of(text("folder"));
    control = folder.resolve("control").resolve(text("group") + ".json");
    notes = new FileOutputStream(folder.resolve("clients.jsonl").toFile(), true);
    long pid = ProcessHandle.current().pid();
    String name = text("group") + "." + text("process") + "." + pid + ".handled";
    records = new FileOutputStream(folder.resolve("clients").resolve(name).toFile(), true);
    slowNumber = control().get("slow").get("number").asInt();
  }

  Properties settings() {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", text("bootstrap"));
    settings.put("client.id", text("process"));
    settings.put("auto.offset.reset", "earliest");
    own.get("conf").fields().forEachRemaining(
        each -> settings.put(each.getKey(), each.getValue().asText()));
    return settings;
  }

  void noteStarted(String library) throws IOException {
    Properties kafka = new Properties();
    try (var file = TopicPartition.class.getResourceAsStream("/kafka/kafka-version.properties")) {
      kafka.load(file);
    }
    note("started", Map.of(
        "library", library + " " + kafka.getProperty("version"),
        "mode", text("mode"),
        "conf", own.get("conf")));
  }

  void noteClosing() {
    note("closing", Map.of("handled", handled));
  }

  void handle(int partition, long offset) throws IOException, InterruptedException {
    Thread.sleep(control().get("delay_ms").asLong());
    String line = System.currentTimeMillis() + " " + partition + " " + offset + "\n";
    records.write(line.getBytes(StandardCharsets.UTF_8));
    handled++;
  }

  void sleepIfSlow() throws IOException, InterruptedException {
    JsonNode slow = control().get("slow");
    int number = slow.get("number").asInt();
    if (number > slowNumber && slow.get("process").asText().equals(text("process"))) {
      note("slow", Map.of("seconds", slow.get("seconds").asInt()));
      Thread.sleep(slow.get("seconds").asInt() * 1000L);
      note("slow over", Map.of());
    }
    slowNumber = Math.max(number, slowNumber);
  }

  void notePartitions(String what, Collection<TopicPartition> partitions, String member) {
    TreeSet<Integer> numbers = new TreeSet<>();
    partitions.forEach(each -> numbers.add(each.partition()));
    note(what, Map.of("partitions", numbers, "member", member));
  }

  synchronized void note(String what, Map<String, ?> fields) {
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

  String text(String name) {
    return own.get(name).asText();
  }
}
