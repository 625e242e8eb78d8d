package org.apache.kafka.coordinator.group;

import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEventProcessor;

import java.util.ArrayDeque;
import java.util.Deque;

/** The runtime's events, in one queue and without a thread. */
final class EventQueue implements CoordinatorEventProcessor {
    private final Deque<CoordinatorEvent> events = new ArrayDeque<>();

    CoordinatorEvent poll() {
        return events.poll();
    }

    @Override
    public void enqueueLast(CoordinatorEvent event) {
        events.addLast(event);
    }

    @Override
    public void enqueueFirst(CoordinatorEvent event) {
        events.addFirst(event);
    }

    @Override
    public void close() { }
}
