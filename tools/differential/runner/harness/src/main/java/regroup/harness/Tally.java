package regroup.harness;

import java.util.Map;
import java.util.TreeMap;

/** Counts what occurred in a run, by subject and case; off by default. */
public final class Tally {
    private static final Map<String, Map<String, Integer>> COUNTS = new TreeMap<>();
    private static boolean on;

    private Tally() { }

    static void turnOn() {
        on = true;
    }

    public static boolean isOn() {
        return on;
    }

    public static void count(String subject, String what) {
        if (on) COUNTS.computeIfAbsent(subject, key -> new TreeMap<>()).merge(what, 1, Integer::sum);
    }

    static Map<String, Map<String, Integer>> counts() {
        return COUNTS;
    }
}
