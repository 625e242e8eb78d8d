package kafka.coordinator.group;

import regroup.harness.CoordinatorUnderTest;
import regroup.harness.GroupShown;
import regroup.harness.Settings;
import regroup.harness.Step;
import regroup.harness.Tally;
import regroup.harness.Trace;
import regroup.harness.VirtualClock;

import com.fasterxml.jackson.databind.node.ArrayNode;

import kafka.common.OffsetAndMetadata;
import kafka.server.DelayedOperationPurgatory;
import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.OffsetFetchResponse;

import scala.Function0;
import scala.Function1;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.collection.immutable.List;
import scala.collection.immutable.List$;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Set$;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

import java.util.Collection;
import java.util.function.Consumer;

/** Kafka 2.5's own Scala coordinator, called as its broker's request handlers call it. */
public final class Coordinator25 implements CoordinatorUnderTest {
    private static final int OFFSETS_PARTITION = 0;
    private static final int PURGE_INTERVAL = 1000;

    private final Trace trace;
    private final VirtualClock clock;
    private final StubbedReplicas replicas;
    private final GroupCoordinator coordinator;
    private final ScalaGroups groups;

    public Coordinator25(Settings settings, VirtualClock clock, Trace trace) {
        this.trace = trace;
        this.clock = clock;
        KafkaTimer time = new KafkaTimer(clock, ScalaGroups::countTimer);
        replicas = new StubbedReplicas(trace, clock);
        KafkaZkClient oneOffsetsPartition = StubbedReplicas.stub(KafkaZkClient.class, call -> new Some<>(1));
        coordinator = (GroupCoordinator) Signatures.call(GroupCoordinator$.MODULE$, "apply",
            KafkaConfig.fromProps(ScalaGroups.properties(settings)), oneOffsetsPartition, replicas.manager(),
            new DelayedOperationPurgatory<DelayedHeartbeat>("Heartbeat", time, 0, PURGE_INTERVAL, false, true),
            new DelayedOperationPurgatory<DelayedJoin>("Rebalance", time, 0, PURGE_INTERVAL, false, true),
            time, new Metrics(time));
        Signatures.call(coordinator, "startup", (Function0<Object>) () -> 1, false);
        coordinator.groupManager().addPartitionOwnership(OFFSETS_PARTITION);
        groups = new ScalaGroups(coordinator.groupManager());
        groups.expireEvery(settings.retentionCheckIntervalMs(), clock);
    }

    @Override
    public void request(Step step) {
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
        List<Tuple2<String, byte[]>> protocols = list(step.protocols().stream()
            .map(protocol -> new Tuple2<>(protocol.name(), protocol.metadata())).toList());
        boolean requireKnownMemberId = step.requiresKnownMemberId() && step.instance() == null;
        coordinator.handleJoinGroup(step.group(), step.member(), instance(step), requireKnownMemberId,
            step.text("client_id"), step.text("client_host"), step.number("rebalance_timeout_ms"),
            step.number("session_timeout_ms"), step.text("protocol_type"), protocols, then(result -> joined(step, result)));
    }

    private void joined(Step step, JoinGroupResult result) {
        ArrayNode members = trace.joinResponse(step, result.error().name(), result.generationId(), orNull(result.protocolType()),
            orNull(result.protocolName()), result.leaderId(), result.memberId(), false);
        CollectionConverters.asJava(result.members()).forEach(member -> members.addArray()
            .add(member.memberId()).add(member.groupInstanceId()).add(Trace.base64(member.metadata())));
    }

    private void sync(Step step) {
        Map<String, byte[]> assignments = Map$.MODULE$.empty();
        for (Step.Assignment row : step.assignments()) assignments = assignments.updated(row.member(), row.assignment());
        coordinator.handleSyncGroup(step.group(), step.generation(), step.member(), Option.apply(step.text("protocol_type")),
            Option.apply(step.text("protocol_name")), instance(step), assignments, then(result -> synced(step, result)));
    }

    private void synced(Step step, SyncGroupResult result) {
        trace.response(step, result.error().name())
            .put("protocol_type", orNull(result.protocolType()))
            .put("protocol_name", orNull(result.protocolName()))
            .put("assignment", Trace.base64(result.memberAssignment()));
    }

    private void heartbeat(Step step) {
        coordinator.handleHeartbeat(step.group(), step.member(), instance(step), step.generation(),
            then(error -> trace.response(step, error.name())));
    }

    private void leave(Step step) {
        List<MemberIdentity> leavers = list(step.leavers().stream().map(leaver ->
            new MemberIdentity().setMemberId(leaver.member()).setGroupInstanceId(leaver.instance())).toList());
        coordinator.handleLeaveGroup(step.group(), leavers, then(result -> left(step, result)));
    }

    private void left(Step step, LeaveGroupResult result) {
        ArrayNode members = trace.response(step, result.topLevelError().name()).putArray("members");
        CollectionConverters.asJava(result.memberResponses()).forEach(member -> {
            Tally.count("left members", member.error().name());
            members.addArray().add(member.memberId()).add(orNull(member.groupInstanceId())).add(member.error().name());
        });
    }

    private void commit(Step step) {
        Map<TopicPartition, OffsetAndMetadata> offsets = Map$.MODULE$.empty();
        for (Step.Offset row : step.offsets())
            offsets = offsets.updated(new TopicPartition(row.topic(), row.partition()), committed(row));
        coordinator.handleCommitOffsets(step.group(), step.member(), instance(step), step.generation(), offsets,
            then(result -> committed(step, CollectionConverters.asJava(result))));
    }

    private OffsetAndMetadata committed(Step.Offset row) {
        String metadata = row.metadata() == null ? "" : row.metadata();
        return OffsetAndMetadata.apply(row.offset(), metadata, clock.nowMs());
    }

    /** The response has no error field: it shows the error of all partitions if they have the same. */
    private void committed(Step step, java.util.Map<TopicPartition, Errors> errors) {
        errors.values().forEach(error -> Tally.count("committed partitions", error.name()));
        boolean agree = errors.values().stream().distinct().count() == 1;
        ArrayNode partitions = trace.response(step, agree ? errors.values().iterator().next().name() : "NONE").putArray("partitions");
        errors.forEach((partition, error) -> partitions.addArray()
            .add(partition.topic()).add(partition.partition()).add(error.name()));
    }

    private void fetch(Step step) {
        Seq<TopicPartition> asked = list(step.partitions().stream()
            .map(row -> new TopicPartition(row.topic(), row.partition())).toList());
        Tuple2<Errors, scala.collection.Map<TopicPartition, OffsetFetchResponse.PartitionData>> result =
            coordinator.handleFetchOffsets(step.group(), false, new Some<>(asked));
        ArrayNode partitions = trace.response(step, result._1().name()).putArray("partitions");
        CollectionConverters.asJava(result._2()).forEach((partition, data) -> partitions.addArray()
            .add(partition.topic()).add(partition.partition()).add(data.offset).add(data.metadata).add(data.error.name()));
    }

    private void describe(Step step) {
        Tuple2<Errors, GroupSummary> result = coordinator.handleDescribeGroup(step.group());
        GroupSummary group = result._2();
        ArrayNode members = trace.response(step, result._1().name())
            .put("state", group.state())
            .put("protocol_type", group.protocolType())
            .put("protocol_name", group.protocol())
            .putArray("members");
        CollectionConverters.asJava(group.members()).forEach(member -> members.addArray()
            .add(member.memberId()).add(orNull(member.groupInstanceId())).add(member.clientId()).add(member.clientHost())
            .add(Trace.base64(member.metadata())).add(Trace.base64(member.assignment())));
    }

    private void delete(Step step) {
        var errors = coordinator.handleDeleteGroups(Set$.MODULE$.<String>empty().incl(step.group()));
        trace.response(step, errors.apply(step.group()).name());
    }

    @Override
    public void drain() { }

    /** NOT_LEADER_OR_FOLLOWER has another name in 2.5. */
    @Override
    public void failNextAppend(String error) {
        replicas.failNextAppend(Errors.valueOf(error.equals("NOT_LEADER_OR_FOLLOWER") ? "NOT_LEADER_FOR_PARTITION" : error));
    }

    @Override
    public GroupShown group(String groupId) {
        return groups.group(groupId);
    }

    @Override
    public void close() {
        coordinator.shutdown();
    }

    private static Option<String> instance(Step step) {
        return Option.apply(step.instance());
    }

    private static String orNull(Option<String> text) {
        return text.isEmpty() ? null : text.get();
    }

    private static <T> List<T> list(Collection<T> items) {
        return List$.MODULE$.from(CollectionConverters.asScala(items));
    }

    private static <T> Function1<T, BoxedUnit> then(Consumer<T> show) {
        return result -> {
            show.accept(result);
            return BoxedUnit.UNIT;
        };
    }
}
