package regroup.harness;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Plays one scenario: timers due at a step's time first, then the step, then timers it set for the same time. */
final class Player {
    /** Up to this many groups, all groups are checked after each step; above, only the groups of the step or of a transition. */
    private static final int FEW_GROUPS = 64;

    private final JsonNode scenario;
    private final VirtualClock clock = new VirtualClock();
    private final Answers answers = new Answers();
    private final Trace trace = new Trace(clock, answers);
    private final Set<String> groups = new LinkedHashSet<>();

    Player(JsonNode scenario) {
        this.scenario = scenario;
        scenario.get("steps").forEach(step -> groups.add(step.path("group").asText("")));
    }

    /** The trace's lines. */
    String play(String runner, CoordinatorUnderTest.Maker maker) {
        String style = scenario.path("member_ids").asText("ordered");
        MemberIds.startOver(MemberIds.Style.valueOf(style.toUpperCase()));
        try (CoordinatorUnderTest coordinator = maker.make(Settings.of(scenario.path("config")), clock, trace)) {
            for (JsonNode json : scenario.get("steps")) take(new Step(json, answers), coordinator);
            return trace.lines(runner, MemberIds.made());
        }
    }

    private void take(Step step, CoordinatorUnderTest coordinator) {
        Runnable settle = () -> settle(coordinator, step.group());
        clock.pass(step.atMs(), settle);
        switch (step.op()) {
            case "wait" -> { }
            case "fault" -> coordinator.failNextAppend(step.text("append_error"));
            default -> ask(step, coordinator);
        }
        settle.run();
        clock.pass(step.atMs(), settle);
    }

    private void ask(Step step, CoordinatorUnderTest coordinator) {
        GroupShown group = coordinator.group(step.group());
        trace.asked(step, group == null ? "no group" : group.state());
        coordinator.request(step);
    }

    private void settle(CoordinatorUnderTest coordinator, String group) {
        coordinator.drain();
        for (String touched : touched(group)) trace.state(touched, coordinator.group(touched));
        Hooks.MOVED_GROUPS.clear();
    }

    private Iterable<String> touched(String group) {
        if (groups.size() <= FEW_GROUPS) return groups;
        List<String> touched = new ArrayList<>(Hooks.MOVED_GROUPS);
        if (!Hooks.MOVED_GROUPS.contains(group)) touched.add(group);
        return touched;
    }
}
