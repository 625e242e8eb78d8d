package regroup.assignors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;

/**
 * Without arguments: reads cases from stdin and writes answers to stdout, one per line, with the subscription bytes that
 * client assignors read. "time SECONDS ASSIGNOR FILE": prints the median milliseconds of the warm assignor, to lists by
 * name and to its own result, which for the coordinator's assignors is sets by topic id.
 */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        if (args.length > 0 && args[0].equals("time")) {
            OUT.println(JSON.writeValueAsString(timed(Double.parseDouble(args[1]), args[2], Path.of(args[3]))));
        } else {
            answerAll();
        }
        OUT.flush();
    }

    private static void answerAll() throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            JsonNode read = JSON.readTree(line);
            OUT.println(JSON.writeValueAsString(answer(read)));
            OUT.flush();
        }
    }

    private static Map<String, Object> answer(JsonNode read) {
        return switch (read.get("assignor").asText()) {
            case "simple" -> answer(read, () -> new ShareAssignorRun().answer(read));
            case "sticky-tasks" -> answer(read, () -> new TaskAssignorRun(TaskCase.read(read)).answer());
            default -> answer(Case.read(read, read.get("assignor").asText()));
        };
    }

    private static Map<String, Object> answer(JsonNode read, Supplier<Map<String, Object>> run) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("case", read.get("case").asText());
        try {
            row.put("assignment", run.get());
        } catch (RuntimeException thrown) {
            row.put("error", thrown.getClass().getSimpleName());
        }
        return row;
    }

    private static Map<String, Object> answer(Case groupCase) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("case", groupCase.name());
        try {
            Map<String, List<TopicPartition>> first = run(groupCase, "subscriptions", row);
            row.put("assignment", pairs(first));
            if (groupCase.rounds() > 1 && groupCase.assignor().equals("cooperative-sticky")) {
                row.put("rejoin", groupCase.members().stream().anyMatch(m -> !first.get(m.id()).containsAll(m.owned())));
                row.put("assignment2", pairs(run(groupCase.rejoining(first), "subscriptions2", row)));
            }
        } catch (RuntimeException thrown) {
            row.keySet().removeAll(List.of("assignment", "rejoin", "assignment2"));
            row.put("error", thrown.getClass().getSimpleName());
        }
        return row;
    }

    private static Map<String, List<TopicPartition>> run(Case groupCase, String field, Map<String, Object> row) {
        AssignorRun run = AssignorRun.of(groupCase);
        if (run instanceof ClientAssignorRun leader) {
            Map<String, String> sent = new LinkedHashMap<>();
            leader.sent.forEach((id, bytes) -> sent.put(id, Base64.getEncoder().encodeToString(bytes)));
            row.put(field, sent);
        }
        run.run();
        return run.result();
    }

    private static Map<String, Object> pairs(Map<String, List<TopicPartition>> lists) {
        Map<String, Object> rows = new LinkedHashMap<>();
        lists.forEach((id, list) ->
                rows.put(id, list.stream().map(tp -> List.of(tp.topic(), tp.partition())).toList()));
        return rows;
    }

    private static Map<String, Object> timed(double seconds, String assignor, Path file) throws Exception {
        Case groupCase = Case.read(JSON.readTree(Files.readString(file)), assignor);
        measured(groupCase, seconds, true);
        double toLists = median(measured(groupCase, seconds, true));
        boolean byTopicId = AssignorRun.of(groupCase) instanceof CoordinatorAssignorRun;
        return Map.of(
                "median_ms", toLists,
                "as_returned_ms", byTopicId ? median(measured(groupCase, seconds, false)) : toLists);
    }

    private static double median(double[] times) {
        Arrays.sort(times);
        return times[times.length / 2];
    }

    /** Milliseconds of each run: at least three runs, fewer if these take more than 8 s. */
    private static double[] measured(Case groupCase, double seconds, boolean toLists) {
        List<Double> times = new ArrayList<>();
        double spent = 0;
        while (spent < 8 && times.size() < 5000 && (times.size() < 3 || spent < seconds)) {
            AssignorRun run = AssignorRun.of(groupCase);
            long start = System.nanoTime();
            run.run();
            if (toLists) run.toLists();
            double took = (System.nanoTime() - start) / 1e9;
            times.add(took * 1e3);
            spent += took;
        }
        return times.stream().mapToDouble(Double::doubleValue).toArray();
    }
}
