package regroup.requests;

import regroup.harness.VirtualClock;

import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

import java.util.function.Consumer;
import java.util.function.Supplier;

/** The virtual clock as Kafka's Time and Timer; a listener is called before a task runs. */
public final class KafkaTimer implements Time, Timer {
    private final VirtualClock clock;
    private final Consumer<TimerTask> aboutToRun;

    public KafkaTimer(VirtualClock clock, Consumer<TimerTask> aboutToRun) {
        this.clock = clock;
        this.aboutToRun = aboutToRun;
    }

    @Override
    public void add(TimerTask task) {
        TimerTaskEntry entry = new TimerTaskEntry(task, clock.nowMs() + task.delayMs);
        clock.set(entry.expirationMs, () -> !entry.cancelled(), () -> {
            aboutToRun.accept(task);
            task.run();
        });
    }

    @Override
    public int size() {
        return clock.pending();
    }

    @Override
    public long milliseconds() {
        return clock.nowMs();
    }

    @Override
    public long nanoseconds() {
        return clock.nowMs() * 1_000_000;
    }

    @Override
    public void close() { }

    @Override
    public boolean advanceClock(long timeoutMs) {
        throw new UnsupportedOperationException("only the player moves the clock");
    }

    @Override
    public void sleep(long ms) {
        throw new UnsupportedOperationException("one thread, nobody to wake it");
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
        throw new UnsupportedOperationException("one thread, nobody to wake it");
    }
}
