package regroup.alltypes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.message.ConsumerGroupDescribeResponseData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.Topics;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** Heartbeats and descriptions of consumer groups. */
final class ConsumerSender extends Sender {
    ConsumerSender(GroupCoordinator coordinator, Topics topics, AllTypesTrace trace) {
        super(coordinator, topics, trace);
    }

    void heartbeat(AllTypesStep step) {
        int epoch = step.epoch("member_epoch", 0);
        boolean brief = step.flag("brief") && epoch != 0;
        ConsumerGroupHeartbeatRequestData request = new ConsumerGroupHeartbeatRequestData().setGroupId(step.group())
            .setMemberId(step.member()).setMemberEpoch(epoch).setInstanceId(step.text("instance_id"));
        if (!brief) {
            request.setRackId(step.text("rack_id")).setRebalanceTimeoutMs(step.integer("rebalance_timeout_ms", -1))
                .setSubscribedTopicNames(step.texts("topics")).setSubscribedTopicRegex(step.text("regex"))
                .setServerAssignor(step.text("assignor"));
        }
        JsonNode owned = step.owned("owned");
        if (epoch == 0 && step.flag("brief")) owned = AllTypesTrace.JSON.createArrayNode();
        if (owned != null) {
            List<ConsumerGroupHeartbeatRequestData.TopicPartitions> list = new ArrayList<>();
            owned.forEach(row -> list.add(new ConsumerGroupHeartbeatRequestData.TopicPartitions()
                .setTopicId(topics.id(row.get(0).asText())).setPartitions(numbers(row.get(1)))));
            request.setTopicPartitions(list);
        }
        answer(coordinator.consumerGroupHeartbeat(context(step, ApiKeys.CONSUMER_GROUP_HEARTBEAT, step.integer("version", 1)), request),
            response -> heartbeatAnswered(step, request, response));
    }

    private void heartbeatAnswered(AllTypesStep step, ConsumerGroupHeartbeatRequestData request, ConsumerGroupHeartbeatResponseData response) {
        ArrayNode assignment = response.assignment() == null ? null : AllTypesTrace.JSON.createArrayNode();
        if (assignment != null) {
            Map<String, List<Integer>> rows = new TreeMap<>();
            response.assignment().topicPartitions().forEach(tp -> rows.put(topics.name(tp.topicId()), tp.partitions()));
            addRows(assignment, rows);
        }
        keepAnswer(step, request.memberId(), request.memberEpoch(), response.errorCode(), response.memberId(), response.memberEpoch(), assignment);
        trace.response(step, error(response.errorCode())).put("member", response.memberId())
            .put("member_epoch", response.memberEpoch()).put("heartbeat_interval_ms", response.heartbeatIntervalMs())
            .set("assignment", assignment);
    }

    void describe(AllTypesStep step) {
        answer(coordinator.consumerGroupDescribe(context(step, ApiKeys.CONSUMER_GROUP_DESCRIBE, 1), List.of(step.group())), response -> {
            ConsumerGroupDescribeResponseData.DescribedGroup group = response.get(0);
            ObjectNode node = trace.response(step, error(group.errorCode())).put("state", group.groupState())
                .put("epoch", group.groupEpoch()).put("assignment_epoch", group.assignmentEpoch()).put("assignor", group.assignorName());
            ArrayNode members = node.putArray("members");
            group.members().stream().sorted(Comparator.comparing(ConsumerGroupDescribeResponseData.Member::memberId)).forEach(m -> {
                ObjectNode member = members.addObject().put("member", m.memberId()).put("instance_id", m.instanceId())
                    .put("rack_id", m.rackId()).put("member_epoch", m.memberEpoch()).put("client_id", m.clientId())
                    .put("client_host", m.clientHost());
                new TreeSet<>(m.subscribedTopicNames()).forEach(member.putArray("topics")::add);
                member.put("regex", m.subscribedTopicRegex()).put("member_type", m.memberType());
                addRows(member.putArray("assignment"), rowsOf(m.assignment()));
                addRows(member.putArray("target"), rowsOf(m.targetAssignment()));
            });
        });
    }

    private Map<String, List<Integer>> rowsOf(ConsumerGroupDescribeResponseData.Assignment assignment) {
        Map<String, List<Integer>> rows = new TreeMap<>();
        assignment.topicPartitions().forEach(tp -> rows.put(tp.topicName(), tp.partitions()));
        return rows;
    }
}
