package regroup.requests;

import regroup.harness.Step;
import regroup.harness.Tally;
import regroup.harness.Trace;

import com.fasterxml.jackson.databind.node.ArrayNode;

import org.apache.kafka.common.message.DescribeGroupsResponseData.DescribedGroup;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseGroup;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData.SyncGroupRequestAssignment;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.coordinator.group.GroupCoordinator;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Makes requests of steps, hands them to Kafka's GroupCoordinator interface and writes its responses to the trace. */
public final class RequestSender {
    private static final short JOIN_WITHOUT_KNOWN_MEMBER_ID = 3;
    private static final short JOIN_WITH_KNOWN_MEMBER_ID = 8;
    private static final short JOIN_WITH_SKIPPED_ASSIGNMENT = 9;
    private static final RequestContext SYNC = context(ApiKeys.SYNC_GROUP, (short) 5);
    private static final RequestContext HEARTBEAT = context(ApiKeys.HEARTBEAT, (short) 4);
    private static final RequestContext LEAVE = context(ApiKeys.LEAVE_GROUP, (short) 5);
    private static final RequestContext COMMIT = context(ApiKeys.OFFSET_COMMIT, (short) 8);
    private static final RequestContext FETCH = context(ApiKeys.OFFSET_FETCH, (short) 8);
    private static final RequestContext DESCRIBE = context(ApiKeys.DESCRIBE_GROUPS, (short) 5);
    private static final RequestContext DELETE = context(ApiKeys.DELETE_GROUPS, (short) 2);

    private final GroupCoordinator coordinator;
    private final Trace trace;

    public RequestSender(GroupCoordinator coordinator, Trace trace) {
        this.coordinator = coordinator;
        this.trace = trace;
    }

    public void send(Step step) {
        try {
            switch (step.op()) {
                case "join" -> join(step);
                case "sync" -> sync(step);
                case "heartbeat" -> heartbeat(step);
                case "leave" -> leave(step);
                case "commit" -> commit(step);
                case "fetch" -> fetch(step);
                case "describe" -> describe(step);
                case "delete" -> delete(step);
                default -> throw new AssertionError("no such op: " + step.op());
            }
        } catch (RuntimeException e) {
            trace.thrown(step, Errors.forException(e).name());
        }
    }

    private void join(Step step) {
        JoinGroupRequestData request = new JoinGroupRequestData()
            .setGroupId(step.group())
            .setMemberId(step.member())
            .setGroupInstanceId(step.instance())
            .setProtocolType(step.text("protocol_type"))
            .setSessionTimeoutMs(step.number("session_timeout_ms"))
            .setRebalanceTimeoutMs(step.number("rebalance_timeout_ms"))
            .setReason(step.text("reason"));
        for (Step.Protocol protocol : step.protocols())
            request.protocols().add(new JoinGroupRequestProtocol().setName(protocol.name()).setMetadata(protocol.metadata()));
        RequestContext context = context(ApiKeys.JOIN_GROUP, joinVersion(step), step.text("client_id"), step.text("client_host"));
        when(coordinator.joinGroup(context, request, BufferSupplier.NO_CACHING), response -> joined(step, response));
    }

    private static short joinVersion(Step step) {
        if (step.flag("supports_skipping_assignment")) return JOIN_WITH_SKIPPED_ASSIGNMENT;
        return step.requiresKnownMemberId() ? JOIN_WITH_KNOWN_MEMBER_ID : JOIN_WITHOUT_KNOWN_MEMBER_ID;
    }

    private void joined(Step step, JoinGroupResponseData response) {
        ArrayNode members = trace.joinResponse(step, name(response.errorCode()), response.generationId(),
            response.protocolType(), response.protocolName(), response.leader(), response.memberId(), response.skipAssignment());
        response.members().forEach(member -> members.addArray()
            .add(member.memberId()).add(member.groupInstanceId()).add(Trace.base64(member.metadata())));
    }

    private void sync(Step step) {
        SyncGroupRequestData request = new SyncGroupRequestData()
            .setGroupId(step.group())
            .setMemberId(step.member())
            .setGroupInstanceId(step.instance())
            .setGenerationId(step.generation())
            .setProtocolType(step.text("protocol_type"))
            .setProtocolName(step.text("protocol_name"));
        for (Step.Assignment row : step.assignments())
            request.assignments().add(new SyncGroupRequestAssignment().setMemberId(row.member()).setAssignment(row.assignment()));
        when(coordinator.syncGroup(SYNC, request, BufferSupplier.NO_CACHING), response -> synced(step, response));
    }

    private void synced(Step step, SyncGroupResponseData response) {
        trace.response(step, name(response.errorCode()))
            .put("protocol_type", response.protocolType())
            .put("protocol_name", response.protocolName())
            .put("assignment", Trace.base64(response.assignment()));
    }

    private void heartbeat(Step step) {
        HeartbeatRequestData request = new HeartbeatRequestData()
            .setGroupId(step.group())
            .setMemberId(step.member())
            .setGroupInstanceId(step.instance())
            .setGenerationId(step.generation());
        when(coordinator.heartbeat(HEARTBEAT, request), response -> trace.response(step, name(response.errorCode())));
    }

    private void leave(Step step) {
        LeaveGroupRequestData request = new LeaveGroupRequestData().setGroupId(step.group());
        for (Step.Leaver leaver : step.leavers())
            request.members().add(new MemberIdentity().setMemberId(leaver.member()).setGroupInstanceId(leaver.instance()));
        when(coordinator.leaveGroup(LEAVE, request), response -> left(step, response));
    }

    private void left(Step step, LeaveGroupResponseData response) {
        ArrayNode members = trace.response(step, name(response.errorCode())).putArray("members");
        response.members().forEach(member -> {
            Tally.count("left members", name(member.errorCode()));
            members.addArray().add(member.memberId()).add(member.groupInstanceId()).add(name(member.errorCode()));
        });
    }

    private void commit(Step step) {
        Map<String, OffsetCommitRequestTopic> topics = new LinkedHashMap<>();
        for (Step.Offset row : step.offsets())
            topics.computeIfAbsent(row.topic(), topic -> new OffsetCommitRequestTopic().setName(topic)).partitions()
                .add(new OffsetCommitRequestPartition().setPartitionIndex(row.partition())
                    .setCommittedOffset(row.offset()).setCommittedMetadata(row.metadata()));
        OffsetCommitRequestData request = new OffsetCommitRequestData()
            .setGroupId(step.group())
            .setMemberId(step.member())
            .setGroupInstanceId(step.instance())
            .setGenerationIdOrMemberEpoch(step.generation())
            .setTopics(List.copyOf(topics.values()));
        when(coordinator.commitOffsets(COMMIT, request, BufferSupplier.NO_CACHING), response -> committed(step, response));
    }

    /** The response has no error field: it shows the error of all partitions if they have the same. */
    private void committed(Step step, OffsetCommitResponseData response) {
        List<String> errors = response.topics().stream()
            .flatMap(topic -> topic.partitions().stream()).map(partition -> name(partition.errorCode())).toList();
        errors.forEach(error -> Tally.count("committed partitions", error));
        boolean agree = errors.stream().distinct().count() == 1;
        ArrayNode partitions = trace.response(step, agree ? errors.get(0) : "NONE").putArray("partitions");
        response.topics().forEach(topic -> topic.partitions().forEach(partition -> partitions.addArray()
            .add(topic.name()).add(partition.partitionIndex()).add(name(partition.errorCode()))));
    }

    private void fetch(Step step) {
        Map<String, OffsetFetchRequestTopics> topics = new LinkedHashMap<>();
        for (Step.Partition row : step.partitions())
            topics.computeIfAbsent(row.topic(), topic -> new OffsetFetchRequestTopics().setName(topic))
                .partitionIndexes().add(row.partition());
        OffsetFetchRequestGroup request = new OffsetFetchRequestGroup()
            .setGroupId(step.group())
            .setTopics(List.copyOf(topics.values()));
        when(coordinator.fetchOffsets(FETCH, request, false), response -> fetched(step, response));
    }

    private void fetched(Step step, OffsetFetchResponseGroup response) {
        ArrayNode partitions = trace.response(step, name(response.errorCode())).putArray("partitions");
        response.topics().forEach(topic -> topic.partitions().forEach(partition -> partitions.addArray()
            .add(topic.name()).add(partition.partitionIndex()).add(partition.committedOffset())
            .add(partition.metadata()).add(name(partition.errorCode()))));
    }

    private void describe(Step step) {
        when(coordinator.describeGroups(DESCRIBE, List.of(step.group())), response -> described(step, response.get(0)));
    }

    private void described(Step step, DescribedGroup group) {
        ArrayNode members = trace.response(step, name(group.errorCode()))
            .put("state", group.groupState())
            .put("protocol_type", group.protocolType())
            .put("protocol_name", group.protocolData())
            .putArray("members");
        group.members().forEach(member -> members.addArray()
            .add(member.memberId()).add(member.groupInstanceId()).add(member.clientId()).add(member.clientHost())
            .add(Trace.base64(member.memberMetadata())).add(Trace.base64(member.memberAssignment())));
    }

    private void delete(Step step) {
        when(coordinator.deleteGroups(DELETE, List.of(step.group()), BufferSupplier.NO_CACHING),
            response -> trace.response(step, name(response.find(step.group()).errorCode())));
    }

    private static <T> void when(CompletableFuture<T> answer, Consumer<T> show) {
        answer.whenComplete((response, failure) -> {
            if (failure != null) throw new IllegalStateException(failure);
            show.accept(response);
        });
    }

    private static String name(short errorCode) {
        return Errors.forCode(errorCode).name();
    }

    private static RequestContext context(ApiKeys api, short version) {
        return context(api, version, "player", "/127.0.0.1");
    }

    private static RequestContext context(ApiKeys api, short version, String clientId, String clientHost) {
        try {
            return new RequestContext(new RequestHeader(api, version, clientId, 0), "1",
                InetAddress.getByName(clientHost.substring(1)), KafkaPrincipal.ANONYMOUS,
                ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT,
                ClientInformation.EMPTY, false);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(clientHost, e);
        }
    }
}
