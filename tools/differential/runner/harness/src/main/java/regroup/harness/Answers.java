package regroup.harness;

import java.util.HashMap;
import java.util.Map;

/** The answers of joins, for the "@step" references of later steps. */
final class Answers {
    private record Joined(String member, int generation) { }

    private static final int NO_GENERATION = -1;

    private final Map<String, Joined> joined = new HashMap<>();

    void keep(String stepId, String member, int generation) {
        joined.put("@" + stepId, new Joined(member, generation));
    }

    /** The member id of a text or reference; a reference without an answer stands for its own text. */
    String member(String text) {
        Joined answer = joined.get(text);
        return answer == null ? text : answer.member;
    }

    int generation(String reference) {
        Joined answer = joined.get(reference);
        return answer == null ? NO_GENERATION : answer.generation;
    }
}
