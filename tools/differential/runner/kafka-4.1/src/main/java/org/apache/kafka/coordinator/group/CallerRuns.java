package org.apache.kafka.coordinator.group;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.TimeUnit;

/** Runs each task at once, in the caller's thread. */
final class CallerRuns extends AbstractExecutorService {
    @Override
    public void execute(Runnable task) {
        task.run();
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
        return false;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
        return false;
    }
}
