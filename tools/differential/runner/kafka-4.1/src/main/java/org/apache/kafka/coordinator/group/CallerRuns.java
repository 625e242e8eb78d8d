package org.apache.kafka.coordinator.group;

import regroup.harness.NoThreads;

/** Runs each task at once, in the caller's thread. */
final class CallerRuns extends NoThreads {
    @Override
    public void execute(Runnable task) {
        task.run();
    }
}
