package regroup.harness;

import java.util.List;

/** The contents of a `state` event: joined members are in the order of the coordinator's own map. */
public record GroupShown(String state, int generation, String leader, List<String> members) {
    static final GroupShown NEVER = gone(0);

    static GroupShown gone(int lastGeneration) {
        return new GroupShown("Dead", lastGeneration, null, List.of());
    }

    boolean looksLike(GroupShown other) {
        return generation == other.generation && state.equals(other.state);
    }
}
