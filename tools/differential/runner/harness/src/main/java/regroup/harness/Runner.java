package regroup.harness;

import com.fasterxml.jackson.databind.JsonNode;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The command line.
 *
 *   runner.jar [--out DIR] [--tally FILE] SCENARIO.json|DIRECTORY ...   traces to files, or to standard output
 *   runner.jar --serve [--tally FILE]                                   one scenario per line in; its trace and an empty line out
 *
 * With --serve, a scenario in which the coordinator itself throws is answered by one `failure` event.
 */
public final class Runner {
    private final ScenarioPlayer player;
    private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public Runner(ScenarioPlayer player) {
        this.player = player;
    }

    /** Plays scenarios of classic groups. */
    public Runner(String name, CoordinatorUnderTest.Maker maker) {
        this(scenario -> new Player(scenario).play(name, maker));
    }

    public void run(String[] arguments) throws IOException {
        List<String> rest = new ArrayList<>(List.of(arguments));
        String directory = option(rest, "--out");
        String tally = option(rest, "--tally");
        if (tally != null) Tally.turnOn();
        if (rest.remove("--serve")) serve();
        else for (String path : rest) batch(Path.of(path), directory);
        if (tally != null) Files.writeString(Path.of(tally), Trace.json(Tally.counts()));
    }

    private static String option(List<String> arguments, String option) {
        int at = arguments.indexOf(option);
        if (at < 0) return null;
        arguments.remove(at);
        return arguments.remove(at);
    }

    private void serve() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(Trace.JSON.readTree(line)));
            out.flush();
        }
    }

    private String answer(JsonNode scenario) {
        try {
            return player.play(scenario);
        } catch (RuntimeException e) {
            return Trace.json(Trace.JSON.createObjectNode().put("event", "failure").put("error", e.toString())) + "\n";
        }
    }

    private void batch(Path path, String directory) throws IOException {
        if (directory != null) Files.createDirectories(Path.of(directory));
        for (Path file : scenarios(path)) {
            JsonNode scenario = Trace.JSON.readTree(file.toFile());
            if (directory == null) out.print(player.play(scenario));
            else Files.writeString(Path.of(directory, scenario.get("name").asText() + ".jsonl"), player.play(scenario));
        }
        out.flush();
    }

    private static List<Path> scenarios(Path path) throws IOException {
        if (!Files.isDirectory(path)) return List.of(path);
        try (Stream<Path> files = Files.list(path)) {
            return files.filter(file -> file.toString().endsWith(".json")).sorted().toList();
        }
    }
}
