package org.apache.kafka.coordinator.group;

import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Map;

/** Kafka 4.0 has no streams groups. */
final class ShownStreams {
    private ShownStreams() { }

    static void show(ObjectNode shown, Group group, Map<String, ShownGroups.Member> members) { }
}
