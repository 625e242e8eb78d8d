package regroup.assignors;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** One case, read from its line; topics and members keep the order of the line. */
record Case(
        String name,
        String assignor,
        boolean hashed,
        int rounds,
        Map<String, Topic> topics,
        List<Consumer> members) {

    /** Racks of the replicas, one list per partition, or null. */
    record Topic(int partitions, List<List<String>> racks) {}

    /** version is that of the subscription; generation is null if the consumer never had one. */
    record Consumer(
            String id,
            String instanceId,
            String rack,
            List<String> topics,
            List<TopicPartition> owned,
            Integer generation,
            short version) {}

    static Case read(JsonNode line, String assignor) {
        boolean server = assignor.equals("uniform") || assignor.equals("server-range");
        Map<String, Topic> topics = new LinkedHashMap<>();
        line.get("topics").fields().forEachRemaining(entry -> topics.put(
                entry.getKey().intern(),
                new Topic(entry.getValue().get("partitions").asInt(), racks(entry.getValue().path("racks")))));
        List<Consumer> members = new ArrayList<>();
        line.get("members").forEach(member -> members.add(consumer(member)));
        return new Case(
                line.get("case").asText(),
                assignor,
                line.path("map_order").asText(server ? "given" : "hash").equals("hash"),
                line.path("rounds").asInt(1),
                topics,
                members);
    }

    private static List<List<String>> racks(JsonNode node) {
        if (!node.isArray()) return null;
        List<List<String>> racks = new ArrayList<>();
        for (JsonNode partition : node) {
            List<String> replicas = new ArrayList<>();
            partition.forEach(rack -> replicas.add(text(rack)));
            racks.add(replicas);
        }
        return racks;
    }

    private static Consumer consumer(JsonNode node) {
        List<String> topics = new ArrayList<>();
        node.get("topics").forEach(topic -> topics.add(topic.asText().intern()));
        List<TopicPartition> owned = new ArrayList<>();
        node.path("owned").forEach(pair ->
                owned.add(new TopicPartition(pair.get(0).asText().intern(), pair.get(1).asInt())));
        JsonNode generation = node.path("generation");
        return new Consumer(
                node.get("id").asText(),
                text(node.path("instance_id")),
                text(node.path("rack")),
                topics,
                owned,
                generation.isNumber() ? generation.asInt() : null,
                (short) node.path("version").asInt(3));
    }

    private static String text(JsonNode node) {
        return node.isTextual() ? node.asText() : null;
    }

    /** The case of the next generation: all members rejoin and own the first round's assignment. */
    Case rejoining(Map<String, List<TopicPartition>> assigned) {
        int generation = members.stream()
                .filter(m -> m.generation() != null).mapToInt(Consumer::generation).max().orElse(0);
        List<Consumer> again = members.stream()
                .map(m -> new Consumer(m.id(), m.instanceId(), m.rack(), m.topics(), assigned.get(m.id()),
                        Math.max(generation, 0) + 1, m.version()))
                .toList();
        return new Case(name, assignor, hashed, rounds, topics, again);
    }
}
