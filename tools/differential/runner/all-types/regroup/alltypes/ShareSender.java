package regroup.alltypes;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.message.ShareGroupDescribeResponseData;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ShareGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.Topics;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** Heartbeats and descriptions of share groups. */
final class ShareSender extends Sender {
    ShareSender(GroupCoordinator coordinator, Topics topics, AllTypesTrace trace) {
        super(coordinator, topics, trace);
    }

    void heartbeat(AllTypesStep step) {
        int epoch = step.epoch("member_epoch", 0);
        boolean brief = step.flag("brief") && epoch != 0;
        ShareGroupHeartbeatRequestData request = new ShareGroupHeartbeatRequestData().setGroupId(step.group())
            .setMemberId(step.member()).setMemberEpoch(epoch);
        if (!brief) request.setRackId(step.text("rack_id")).setSubscribedTopicNames(step.texts("topics"));
        answer(coordinator.shareGroupHeartbeat(context(step, ApiKeys.SHARE_GROUP_HEARTBEAT, 1), request), response -> {
            ArrayNode assignment = response.assignment() == null ? null : AllTypesTrace.JSON.createArrayNode();
            if (assignment != null) {
                Map<String, List<Integer>> rows = new TreeMap<>();
                for (ShareGroupHeartbeatResponseData.TopicPartitions tp : response.assignment().topicPartitions())
                    rows.put(topics.name(tp.topicId()), tp.partitions());
                addRows(assignment, rows);
            }
            keepAnswer(step, request.memberId(), epoch, response.errorCode(), response.memberId(), response.memberEpoch(), assignment);
            trace.response(step, error(response.errorCode())).put("member", response.memberId())
                .put("member_epoch", response.memberEpoch()).put("heartbeat_interval_ms", response.heartbeatIntervalMs())
                .set("assignment", assignment);
        });
    }

    void describe(AllTypesStep step) {
        answer(coordinator.shareGroupDescribe(context(step, ApiKeys.SHARE_GROUP_DESCRIBE, 1), List.of(step.group())), response -> {
            ShareGroupDescribeResponseData.DescribedGroup group = response.get(0);
            ObjectNode node = trace.response(step, error(group.errorCode())).put("state", group.groupState())
                .put("epoch", group.groupEpoch()).put("assignment_epoch", group.assignmentEpoch()).put("assignor", group.assignorName());
            ArrayNode members = node.putArray("members");
            group.members().stream().sorted(Comparator.comparing(ShareGroupDescribeResponseData.Member::memberId)).forEach(m -> {
                ObjectNode member = members.addObject().put("member", m.memberId()).put("rack_id", m.rackId())
                    .put("member_epoch", m.memberEpoch()).put("client_id", m.clientId()).put("client_host", m.clientHost());
                new TreeSet<>(m.subscribedTopicNames()).forEach(member.putArray("topics")::add);
                Map<String, List<Integer>> rows = new TreeMap<>();
                m.assignment().topicPartitions().forEach(tp -> rows.put(tp.topicName(), tp.partitions()));
                addRows(member.putArray("assignment"), rows);
            });
        });
    }
}
