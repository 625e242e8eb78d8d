package org.apache.kafka.coordinator.group;

import org.apache.kafka.coordinator.group.streams.StreamsGroup;

import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Map;

/** Streams groups in `state` events. */
final class ShownStreams {
    private ShownStreams() { }

    static void show(ObjectNode shown, Group group, Map<String, ShownGroups.Member> members) {
        if (!(group instanceof StreamsGroup streams)) return;
        ShownGroups.epochs(shown, streams.stateAsString(), streams.groupEpoch(), streams.assignmentEpoch());
        streams.members().forEach((id, m) -> members.put(id, new ShownGroups.Member(m.memberEpoch(), m.state().name())));
    }
}
