package regroup.harness;

import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;

/** Time that passes only on request; timers with the same deadline fire in the order in which they were set. */
public final class VirtualClock {
    private record Alarm(long deadlineMs, long serial, BooleanSupplier wanted, Runnable action) implements Comparable<Alarm> {
        @Override
        public int compareTo(Alarm other) {
            int byDeadline = Long.compare(deadlineMs, other.deadlineMs);
            return byDeadline != 0 ? byDeadline : Long.compare(serial, other.serial);
        }
    }

    private final PriorityQueue<Alarm> alarms = new PriorityQueue<>();
    private long nowMs;
    private long serials;

    public long nowMs() {
        return nowMs;
    }

    public int pending() {
        return alarms.size();
    }

    /** Sets a timer; a cancelled one does nothing at its deadline. */
    public void set(long deadlineMs, BooleanSupplier wanted, Runnable action) {
        alarms.add(new Alarm(deadlineMs, serials++, wanted, action));
    }

    /** Passes time up to and including `untilMs`; `afterwards` runs after each timer that fired. */
    public void pass(long untilMs, Runnable afterwards) {
        for (Alarm next = alarms.peek(); next != null && next.deadlineMs <= untilMs; next = alarms.peek()) {
            alarms.remove();
            nowMs = Math.max(nowMs, next.deadlineMs);
            if (!next.wanted.getAsBoolean()) continue;
            next.action.run();
            afterwards.run();
        }
        nowMs = untilMs;
    }
}
