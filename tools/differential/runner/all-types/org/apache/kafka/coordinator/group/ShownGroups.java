package org.apache.kafka.coordinator.group;

import regroup.alltypes.AllTypesTrace;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.classic.ClassicGroupMember;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.share.ShareGroup;

import java.util.Map;
import java.util.TreeMap;

/** The contents of `state` events. */
final class ShownGroups {
    record Member(int epoch, String state) { }

    private ShownGroups() { }

    /** Null if the group does not exist. */
    static ObjectNode shown(GroupMetadataManager groups, String groupId) {
        Group group;
        try {
            group = groups.group(groupId);
        } catch (GroupIdNotFoundException e) {
            return null;
        }
        ObjectNode shown = AllTypesTrace.JSON.createObjectNode().put("type", group.type().toString().toLowerCase());
        if (group instanceof ClassicGroup classic) return classic(shown, classic);
        Map<String, Member> members = new TreeMap<>();
        if (group instanceof ConsumerGroup consumer) {
            epochs(shown, consumer.stateAsString(), consumer.groupEpoch(), consumer.assignmentEpoch());
            consumer.members().forEach((id, m) -> members.put(id, new Member(m.memberEpoch(), m.state().name())));
        } else if (group instanceof ShareGroup share) {
            epochs(shown, share.stateAsString(), share.groupEpoch(), share.assignmentEpoch());
            share.members().forEach((id, m) -> members.put(id, new Member(m.memberEpoch(), m.state().name())));
        } else {
            ShownStreams.show(shown, group, members);
        }
        ArrayNode rows = shown.putArray("members");
        members.forEach((id, member) -> rows.addArray().add(id).add(member.epoch).add(member.state));
        return shown;
    }

    private static ObjectNode classic(ObjectNode shown, ClassicGroup group) {
        shown.put("state", group.currentState().toString()).put("generation", group.generationId()).put("leader", group.leaderOrNull());
        ArrayNode members = shown.putArray("members");
        group.allMembers().stream().map(ClassicGroupMember::memberId).forEach(members::add);
        return shown;
    }

    static void epochs(ObjectNode shown, String state, int epoch, int assignmentEpoch) {
        shown.put("state", state).put("epoch", epoch).put("assignment_epoch", assignmentEpoch);
    }
}
