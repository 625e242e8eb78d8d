package regroup.assignors;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** One case of the streams groups' assignor; members keep the order of the line. */
record TaskCase(int standbys, Map<String, Subtopology> subtopologies, Map<String, Member> members) {

    record Subtopology(int tasks, boolean stateful) {}

    record Member(
            String processId,
            Map<String, Set<Integer>> active,
            Map<String, Set<Integer>> standby,
            Map<String, Map<Integer, Long>> offsets) {}

    static TaskCase read(JsonNode line) {
        Map<String, Subtopology> subtopologies = new TreeMap<>();
        line.get("subtopologies").forEach(each -> subtopologies.put(
                each.get("id").asText(), new Subtopology(each.get("tasks").asInt(), each.get("stateful").asBoolean())));
        Map<String, Member> members = new LinkedHashMap<>();
        line.get("members").forEach(each -> members.put(each.get("id").asText(), new Member(
                each.get("process_id").asText(), tasks(each.get("active")), tasks(each.get("standby")),
                offsets(each.get("offsets")))));
        return new TaskCase(line.get("standbys").asInt(), subtopologies, members);
    }

    private static Map<String, Set<Integer>> tasks(JsonNode node) {
        Map<String, Set<Integer>> tasks = new LinkedHashMap<>();
        node.fields().forEachRemaining(entry -> {
            Set<Integer> numbers = new LinkedHashSet<>();
            entry.getValue().forEach(number -> numbers.add(number.asInt()));
            tasks.put(entry.getKey(), numbers);
        });
        return tasks;
    }

    private static Map<String, Map<Integer, Long>> offsets(JsonNode node) {
        Map<String, Map<Integer, Long>> offsets = new LinkedHashMap<>();
        node.fields().forEachRemaining(entry -> {
            Map<Integer, Long> sums = new LinkedHashMap<>();
            entry.getValue().fields().forEachRemaining(
                    sum -> sums.put(Integer.parseInt(sum.getKey()), sum.getValue().asLong()));
            offsets.put(entry.getKey(), sums);
        });
        return offsets;
    }

    static Map<String, Object> row(
            Map<String, Set<Integer>> active, Map<String, Set<Integer>> standby, Map<String, Set<Integer>> warmup) {
        return Map.of("active", sorted(active), "standby", sorted(standby), "warmup", sorted(warmup));
    }

    private static Map<String, List<Integer>> sorted(Map<String, Set<Integer>> tasks) {
        Map<String, List<Integer>> rows = new TreeMap<>();
        tasks.forEach((id, numbers) -> rows.put(id, new ArrayList<>(new TreeSet<>(numbers))));
        return rows;
    }
}
