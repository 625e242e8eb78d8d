package org.apache.kafka.coordinator.group;

import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEventProcessor;

import java.util.ArrayDeque;
import java.util.Deque;

/** The runtime's events, in one queue and without a thread. */
final class WaitingEvents implements CoordinatorEventProcessor {
    private final Deque<CoordinatorEvent> events = new ArrayDeque<>();
    private Runnable handler;

    CoordinatorEvent poll() {
        return events.poll();
    }

    /** Has each new event handled before the service goes on; null: no longer. */
    void handleAtOnce(Runnable newHandler) {
        handler = newHandler;
    }

    @Override
    public void enqueueLast(CoordinatorEvent event) {
        events.addLast(event);
        Runnable current = handler;
        if (current == null) return;
        handler = null;
        current.run();
        handler = current;
    }

    @Override
    public void enqueueFirst(CoordinatorEvent event) {
        events.addFirst(event);
    }

    @Override
    public void close() { }
}
