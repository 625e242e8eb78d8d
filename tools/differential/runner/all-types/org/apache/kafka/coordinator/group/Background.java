package org.apache.kafka.coordinator.group;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.TimeUnit;

/** Keeps tasks of the coordinator's background threads until the coordinator has no other work. */
final class Background extends AbstractExecutorService {
    private final Deque<Runnable> tasks = new ArrayDeque<>();

    /** Runs the first task, if there is any. */
    boolean runOne() {
        Runnable task = tasks.poll();
        if (task != null) task.run();
        return task != null;
    }

    @Override
    public void execute(Runnable task) {
        tasks.add(task);
    }

    @Override
    public void shutdown() { }

    @Override
    public List<Runnable> shutdownNow() {
        return List.of();
    }

    @Override
    public boolean isShutdown() {
        return false;
    }

    @Override
    public boolean isTerminated() {
        return true;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
        return true;
    }
}
