package regroup.alltypes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.message.StreamsGroupDescribeResponseData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.KafkaVersion;
import org.apache.kafka.coordinator.group.Topics;
import org.apache.kafka.coordinator.group.streams.StreamsGroupHeartbeatResult;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** Heartbeats and descriptions of streams groups. */
final class StreamsSender extends Sender {
    StreamsSender(GroupCoordinator coordinator, Topics topics, AllTypesTrace trace) {
        super(coordinator, topics, trace);
    }

    void heartbeat(AllTypesStep step) {
        int epoch = step.epoch("member_epoch", 0);
        boolean brief = step.flag("brief") && epoch != 0;
        StreamsGroupHeartbeatRequestData request = new StreamsGroupHeartbeatRequestData().setGroupId(step.group())
            .setMemberId(step.member()).setMemberEpoch(epoch).setInstanceId(step.text("instance_id"))
            .setEndpointInformationEpoch(step.integer("endpoint_epoch", 0)).setShutdownApplication(step.flag("shutdown"));
        if (!brief) {
            request.setRackId(step.text("rack_id")).setRebalanceTimeoutMs(step.integer("rebalance_timeout_ms", -1))
                .setProcessId(step.text("process_id"));
            if (step.has("topology")) request.setTopology(topology(step.field("topology")));
            if (step.has("client_tags")) {
                List<StreamsGroupHeartbeatRequestData.KeyValue> tags = new ArrayList<>();
                step.rows("client_tags").forEach(row -> tags.add(new StreamsGroupHeartbeatRequestData.KeyValue()
                    .setKey(row.get(0).asText()).setValue(row.get(1).asText())));
                request.setClientTags(tags);
            }
            if (step.has("endpoint")) request.setUserEndpoint(new StreamsGroupHeartbeatRequestData.Endpoint()
                .setHost(step.field("endpoint").get(0).asText()).setPort(step.field("endpoint").get(1).asInt()));
        }
        JsonNode owned = step.owned("owned");
        if (epoch == 0 && step.flag("brief")) owned = AllTypesTrace.JSON.createArrayNode();
        if (owned != null) {
            request.setActiveTasks(tasks(owned, 0)).setStandbyTasks(tasks(owned, 1)).setWarmupTasks(tasks(owned, 2));
        }
        answer(coordinator.streamsGroupHeartbeat(context(step, ApiKeys.STREAMS_GROUP_HEARTBEAT, step.integer("version", 0)), request),
            result -> heartbeatAnswered(step, request, result));
    }

    private void heartbeatAnswered(AllTypesStep step, StreamsGroupHeartbeatRequestData request, StreamsGroupHeartbeatResult result) {
        StreamsGroupHeartbeatResponseData response = result.data();
        ArrayNode assignment = response.activeTasks() == null ? null : AllTypesTrace.JSON.createArrayNode();
        if (assignment != null) {
            addTasks(assignment, "active", response.activeTasks());
            addTasks(assignment, "standby", response.standbyTasks());
            addTasks(assignment, "warmup", response.warmupTasks());
        }
        keepAnswer(step, request.memberId(), request.memberEpoch(), response.errorCode(), response.memberId(), response.memberEpoch(), assignment);
        ObjectNode node = trace.response(step, error(response.errorCode())).put("member", response.memberId())
            .put("member_epoch", response.memberEpoch()).put("heartbeat_interval_ms", response.heartbeatIntervalMs());
        node.set("assignment", assignment);
        ArrayNode status = node.putArray("status");
        if (response.status() != null)
            response.status().stream().map(s -> (int) s.statusCode()).sorted().forEach(status::add);
        new TreeSet<>(result.creatableTopics().keySet()).forEach(node.putArray("creatable_topics")::add);
    }

    private static StreamsGroupHeartbeatRequestData.Topology topology(JsonNode json) {
        StreamsGroupHeartbeatRequestData.Topology topology = new StreamsGroupHeartbeatRequestData.Topology().setEpoch(json.path("epoch").asInt(0));
        List<StreamsGroupHeartbeatRequestData.Subtopology> list = new ArrayList<>();
        json.path("subtopologies").forEach(sub -> {
            List<StreamsGroupHeartbeatRequestData.CopartitionGroup> groups = new ArrayList<>();
            sub.path("copartition_groups").forEach(g -> groups.add(new StreamsGroupHeartbeatRequestData.CopartitionGroup()
                .setSourceTopics(shorts(g.path("source_topics"))).setRepartitionSourceTopics(shorts(g.path("repartition_source_topics")))));
            list.add(new StreamsGroupHeartbeatRequestData.Subtopology().setSubtopologyId(sub.get("id").asText())
                .setSourceTopics(strings(sub.path("source_topics")))
                .setRepartitionSinkTopics(strings(sub.path("repartition_sink_topics")))
                .setRepartitionSourceTopics(infos(sub.path("repartition_source_topics")))
                .setStateChangelogTopics(infos(sub.path("changelog_topics"))).setCopartitionGroups(groups));
        });
        return topology.setSubtopologies(list);
    }

    /** Rows of [name, partitions]. */
    private static List<StreamsGroupHeartbeatRequestData.TopicInfo> infos(JsonNode rows) {
        List<StreamsGroupHeartbeatRequestData.TopicInfo> infos = new ArrayList<>();
        rows.forEach(row -> infos.add(new StreamsGroupHeartbeatRequestData.TopicInfo().setName(row.get(0).asText())
            .setPartitions(row.get(1).asInt()).setReplicationFactor((short) 1)));
        return infos;
    }

    private static List<String> strings(JsonNode list) {
        List<String> strings = new ArrayList<>();
        list.forEach(node -> strings.add(node.asText()));
        return strings;
    }

    private static List<Short> shorts(JsonNode list) {
        List<Short> shorts = new ArrayList<>();
        list.forEach(node -> shorts.add((short) node.asInt()));
        return shorts;
    }

    /** Of rows [role, subtopology, partitions], those of one role. */
    private static List<StreamsGroupHeartbeatRequestData.TaskIds> tasks(JsonNode rows, int role) {
        String name = List.of("active", "standby", "warmup").get(role);
        List<StreamsGroupHeartbeatRequestData.TaskIds> tasks = new ArrayList<>();
        rows.forEach(row -> {
            if (row.get(0).asText().equals(name)) tasks.add(new StreamsGroupHeartbeatRequestData.TaskIds()
                .setSubtopologyId(row.get(1).asText()).setPartitions(numbers(row.get(2))));
        });
        return tasks;
    }

    private static void addTasks(ArrayNode rows, String role, List<StreamsGroupHeartbeatResponseData.TaskIds> tasks) {
        if (tasks == null) return;
        Map<String, List<Integer>> sorted = new TreeMap<>();
        tasks.forEach(task -> sorted.put(task.subtopologyId(), task.partitions()));
        sorted.forEach((id, partitions) -> addNumbers(rows.addArray().add(role).add(id), partitions));
    }

    void describe(AllTypesStep step) {
        answer(KafkaVersion.streamsDescribe(coordinator, context(step, ApiKeys.STREAMS_GROUP_DESCRIBE, 0), List.of(step.group())), response -> {
            StreamsGroupDescribeResponseData.DescribedGroup group = response.get(0);
            ObjectNode node = trace.response(step, error(group.errorCode())).put("state", group.groupState())
                .put("epoch", group.groupEpoch()).put("assignment_epoch", group.assignmentEpoch())
                .put("topology_epoch", group.topology() == null ? -1 : group.topology().epoch());
            ArrayNode members = node.putArray("members");
            group.members().stream().sorted(Comparator.comparing(StreamsGroupDescribeResponseData.Member::memberId)).forEach(m -> {
                ObjectNode member = members.addObject().put("member", m.memberId()).put("instance_id", m.instanceId())
                    .put("rack_id", m.rackId()).put("member_epoch", m.memberEpoch()).put("client_id", m.clientId())
                    .put("client_host", m.clientHost()).put("topology_epoch", m.topologyEpoch()).put("process_id", m.processId());
                addDescribed(member.putArray("assignment"), m.assignment());
                addDescribed(member.putArray("target"), m.targetAssignment());
            });
        });
    }

    private static void addDescribed(ArrayNode rows, StreamsGroupDescribeResponseData.Assignment assignment) {
        addDescribed(rows, "active", assignment.activeTasks());
        addDescribed(rows, "standby", assignment.standbyTasks());
        addDescribed(rows, "warmup", assignment.warmupTasks());
    }

    private static void addDescribed(ArrayNode rows, String role, List<StreamsGroupDescribeResponseData.TaskIds> tasks) {
        Map<String, List<Integer>> sorted = new TreeMap<>();
        tasks.forEach(task -> sorted.put(task.subtopologyId(), task.partitions()));
        sorted.forEach((id, partitions) -> addNumbers(rows.addArray().add(role).add(id), partitions));
    }
}
