package org.apache.kafka.coordinator.group;

import regroup.harness.NoThreads;

import java.util.ArrayDeque;
import java.util.Deque;

/** Keeps tasks of the coordinator's background threads until the coordinator has no other work. */
final class Background extends NoThreads {
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
}
