package regroup.alltypes;

import regroup.harness.MemberIds;
import regroup.harness.ScenarioPlayer;
import regroup.harness.VirtualClock;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.LinkedHashSet;
import java.util.Set;

/** Plays scenarios of groups of all types: timers due at a step's time first, then the step, then timers it set for the same time. */
public final class AllTypesPlayer implements ScenarioPlayer {
    private final String runner;
    private final AllTypesCoordinator.Maker maker;

    public AllTypesPlayer(String runner, AllTypesCoordinator.Maker maker) {
        this.runner = runner;
        this.maker = maker;
    }

    @Override
    public String play(JsonNode scenario) {
        MemberIds.startOver(MemberIds.Style.ORDERED);
        MadeIds.startOver();
        VirtualClock clock = new VirtualClock();
        AllTypesTrace trace = new AllTypesTrace(clock);
        AllTypesCoordinator coordinator = maker.make(scenario.path("config"), clock, trace);
        Set<String> groups = groups(scenario);
        Runnable settle = () -> {
            coordinator.drain();
            groups.forEach(group -> trace.state(group, coordinator.group(group)));
        };
        for (JsonNode json : scenario.get("steps")) {
            AllTypesStep step = new AllTypesStep(json, trace);
            clock.pass(step.atMs(), settle);
            if (!step.op().equals("wait")) coordinator.request(step);
            settle.run();
            clock.pass(step.atMs(), settle);
        }
        return trace.lines(runner, MemberIds.made());
    }

    private static Set<String> groups(JsonNode scenario) {
        Set<String> groups = new LinkedHashSet<>();
        scenario.get("steps").forEach(step -> {
            if (step.has("group")) groups.add(step.get("group").asText());
        });
        return groups;
    }
}
