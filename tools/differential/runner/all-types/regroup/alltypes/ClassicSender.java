package regroup.alltypes;

import regroup.harness.Trace;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseGroup;
import org.apache.kafka.common.message.SyncGroupRequestData.SyncGroupRequestAssignment;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.KafkaVersion;
import org.apache.kafka.coordinator.group.Topics;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Requests of classic members, and those that groups of all types answer. */
final class ClassicSender extends Sender {
    ClassicSender(GroupCoordinator coordinator, Topics topics, AllTypesTrace trace) {
        super(coordinator, topics, trace);
    }

    void join(AllTypesStep step) {
        JoinGroupRequestData request = new JoinGroupRequestData().setGroupId(step.group()).setMemberId(step.member())
            .setGroupInstanceId(step.text("instance_id")).setProtocolType(step.text("protocol_type"))
            .setSessionTimeoutMs(step.integer("session_timeout_ms", 10000))
            .setRebalanceTimeoutMs(step.integer("rebalance_timeout_ms", 60000)).setReason(step.text("reason"));
        step.rows("protocols").forEach(row -> request.protocols()
            .add(new JoinGroupRequestProtocol().setName(row.get(0).asText()).setMetadata(AllTypesStep.bytes(row.get(1)))));
        int version = step.flag("supports_skipping_assignment") ? 9 : step.flag("requires_known_member_id") ? 8 : 3;
        answer(coordinator.joinGroup(context(step, ApiKeys.JOIN_GROUP, version), request, KafkaVersion.BUFFERS),
            response -> joined(step, response));
    }

    private void joined(AllTypesStep step, JoinGroupResponseData response) {
        if (response.errorCode() == Errors.NONE.code() || response.errorCode() == Errors.MEMBER_ID_REQUIRED.code())
            trace.keep(step, response.memberId(), response.generationId(), null);
        ObjectNode node = trace.response(step, error(response.errorCode())).put("generation", response.generationId())
            .put("protocol_type", response.protocolType()).put("protocol_name", response.protocolName())
            .put("leader", response.leader()).put("member", response.memberId());
        if (response.skipAssignment()) node.put("skip_assignment", true);
        ArrayNode members = node.putArray("members");
        response.members().forEach(member -> members.addArray().add(member.memberId()).add(member.groupInstanceId())
            .add(Trace.base64(member.metadata())));
    }

    void sync(AllTypesStep step) {
        SyncGroupRequestData request = new SyncGroupRequestData().setGroupId(step.group()).setMemberId(step.member())
            .setGroupInstanceId(step.text("instance_id")).setGenerationId(step.epoch("generation", -1))
            .setProtocolType(step.text("protocol_type")).setProtocolName(step.text("protocol_name"));
        for (JsonNode row : step.rows("assignments"))
            request.assignments().add(new SyncGroupRequestAssignment()
                .setMemberId(step.memberOf(row.get(0))).setAssignment(AllTypesStep.bytes(row.get(1))));
        answer(coordinator.syncGroup(context(step, ApiKeys.SYNC_GROUP, 5), request, KafkaVersion.BUFFERS),
            response -> synced(step, response));
    }

    private void synced(AllTypesStep step, SyncGroupResponseData response) {
        trace.response(step, error(response.errorCode())).put("protocol_type", response.protocolType())
            .put("protocol_name", response.protocolName()).put("assignment", Trace.base64(response.assignment()));
    }

    void heartbeat(AllTypesStep step) {
        HeartbeatRequestData request = new HeartbeatRequestData().setGroupId(step.group()).setMemberId(step.member())
            .setGroupInstanceId(step.text("instance_id")).setGenerationId(step.epoch("generation", -1));
        answer(coordinator.heartbeat(context(step, ApiKeys.HEARTBEAT, 4), request),
            response -> trace.response(step, error(response.errorCode())));
    }

    void leave(AllTypesStep step) {
        LeaveGroupRequestData request = new LeaveGroupRequestData().setGroupId(step.group());
        for (JsonNode row : step.rows("members"))
            request.members().add(new MemberIdentity()
                .setMemberId(step.memberOf(row.get(0))).setGroupInstanceId(AllTypesStep.textOf(row.get(1))));
        answer(coordinator.leaveGroup(context(step, ApiKeys.LEAVE_GROUP, 5), request), response -> left(step, response));
    }

    private void left(AllTypesStep step, LeaveGroupResponseData response) {
        ArrayNode members = trace.response(step, error(response.errorCode())).putArray("members");
        response.members().forEach(member -> members.addArray().add(member.memberId()).add(member.groupInstanceId())
            .add(error("leave member", member.errorCode())));
    }

    void commit(AllTypesStep step) {
        int version = step.integer("version", 9);
        OffsetCommitRequestData request = new OffsetCommitRequestData().setGroupId(step.group())
            .setMemberId(step.member()).setGroupInstanceId(step.text("instance_id"))
            .setGenerationIdOrMemberEpoch(step.epoch("generation", -1));
        Map<String, OffsetCommitRequestTopic> byName = new LinkedHashMap<>();
        List<JsonNode> unknown = new ArrayList<>();
        for (JsonNode row : step.rows("offsets")) {
            if (KafkaVersion.ADDS_TOPIC_IDS && topics.image().topics().getTopic(row.get(0).asText()) == null) unknown.add(row);
            else byName.computeIfAbsent(row.get(0).asText(), name -> topicOfCommit(name, version)).partitions()
                .add(new OffsetCommitRequestPartition().setPartitionIndex(row.get(1).asInt())
                    .setCommittedOffset(row.get(2).asLong()).setCommittedMetadata(AllTypesStep.textOf(row.get(3))));
        }
        request.topics().addAll(byName.values());
        if (byName.isEmpty() && !unknown.isEmpty()) {
            committed(step, unknown, new OffsetCommitResponseData());
            return;
        }
        answer(coordinator.commitOffsets(context(step, ApiKeys.OFFSET_COMMIT, version), request, KafkaVersion.BUFFERS),
            response -> committed(step, unknown, response));
    }

    private OffsetCommitRequestTopic topicOfCommit(String name, int version) {
        OffsetCommitRequestTopic topic = new OffsetCommitRequestTopic().setName(name);
        return KafkaVersion.ADDS_TOPIC_IDS || version >= 10 ? KafkaVersion.withId(topic, topics.id(name)) : topic;
    }

    /** The broker itself refuses topics that it does not know. */
    private void committed(AllTypesStep step, List<JsonNode> unknown, OffsetCommitResponseData response) {
        ArrayNode partitions = AllTypesTrace.JSON.createArrayNode();
        unknown.forEach(row -> partitions.addArray().add(row.get(0).asText()).add(row.get(1).asInt())
            .add(Errors.UNKNOWN_TOPIC_OR_PARTITION.name()));
        response.topics().forEach(topic -> topic.partitions().forEach(partition -> partitions.addArray()
            .add(topic.name()).add(partition.partitionIndex()).add(error("commit partition", partition.errorCode()))));
        List<String> errors = AllTypesStep.rows(partitions).stream().map(row -> row.get(2).asText()).distinct().toList();
        trace.response(step, errors.size() == 1 ? errors.get(0) : "NONE").set("partitions", partitions);
    }

    void fetch(AllTypesStep step) {
        OffsetFetchRequestGroup request = new OffsetFetchRequestGroup().setGroupId(step.group())
            .setMemberId(step.has("member") ? step.member() : null).setMemberEpoch(step.epoch("member_epoch", -1));
        Map<String, OffsetFetchRequestTopics> byName = new LinkedHashMap<>();
        for (JsonNode row : step.rows("offsets"))
            byName.computeIfAbsent(row.get(0).asText(), name -> new OffsetFetchRequestTopics().setName(name)
                .setPartitionIndexes(new ArrayList<>())).partitionIndexes().add(row.get(1).asInt());
        request.setTopics(step.has("offsets") ? List.copyOf(byName.values()) : null);
        answer(coordinator.fetchOffsets(context(step, ApiKeys.OFFSET_FETCH, step.integer("version", 9)), request, false),
            response -> fetched(step, response));
    }

    private void fetched(AllTypesStep step, OffsetFetchResponseGroup response) {
        ArrayNode partitions = trace.response(step, error(response.errorCode())).putArray("partitions");
        response.topics().forEach(topic -> topic.partitions().forEach(partition -> partitions.addArray()
            .add(topic.name()).add(partition.partitionIndex()).add(partition.committedOffset())
            .add(partition.metadata()).add(error(partition.errorCode()))));
    }

    void describe(AllTypesStep step) {
        answer(coordinator.describeGroups(context(step, ApiKeys.DESCRIBE_GROUPS, step.integer("version", 6)), List.of(step.group())), response -> {
            DescribeGroupsResponseData.DescribedGroup group = response.get(0);
            ObjectNode node = trace.response(step, error(group.errorCode())).put("state", group.groupState())
                .put("protocol_type", group.protocolType()).put("protocol_name", group.protocolData());
            ArrayNode members = node.putArray("members");
            group.members().forEach(member -> members.addArray().add(member.memberId()).add(member.groupInstanceId())
                .add(member.clientId()).add(member.clientHost()).add(Trace.base64(member.memberMetadata()))
                .add(Trace.base64(member.memberAssignment())));
        });
    }

    void delete(AllTypesStep step) {
        answer(coordinator.deleteGroups(context(step, ApiKeys.DELETE_GROUPS, 2), List.of(step.group()), KafkaVersion.BUFFERS),
            response -> trace.response(step, error(response.find(step.group()).errorCode())));
    }

    void list(AllTypesStep step) {
        answer(coordinator.listGroups(context(step, ApiKeys.LIST_GROUPS, 5), new ListGroupsRequestData()), response -> {
            ArrayNode groups = trace.response(step, error(response.errorCode())).putArray("groups");
            response.groups().stream().sorted(Comparator.comparing(g -> g.groupId())).forEach(g -> groups.addArray()
                .add(g.groupId()).add(g.groupType()).add(g.groupState()).add(g.protocolType()));
        });
    }
}
