package regroup.assignors;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** Runs a client assignor as a group's leader does: with subscriptions decoded from bytes. */
final class ClientAssignorRun implements AssignorRun {
    /** The subscription bytes that each member sends. */
    final Map<String, byte[]> sent = new LinkedHashMap<>();

    private final Case groupCase;
    private final ConsumerPartitionAssignor assignor;
    private final Cluster cluster;
    private final GroupSubscription group;
    private Map<String, Assignment> assignments;

    ClientAssignorRun(Case groupCase) {
        this.groupCase = groupCase;
        assignor = newAssignor();
        cluster = cluster();
        Map<String, Subscription> read = groupCase.hashed() ? new HashMap<>() : new LinkedHashMap<>();
        for (Case.Consumer member : groupCase.members()) {
            ByteBuffer bytes = ConsumerProtocol.serializeSubscription(subscription(member), member.version());
            byte[] copy = new byte[bytes.remaining()];
            bytes.duplicate().get(copy);
            sent.put(member.id(), copy);
            Subscription subscription = ConsumerProtocol.deserializeSubscription(bytes);
            subscription.setGroupInstanceId(Optional.ofNullable(member.instanceId()));
            read.put(member.id(), subscription);
        }
        group = new GroupSubscription(read);
    }

    @Override
    public void run() {
        assignments = assignor.assign(cluster, group).groupAssignment();
    }

    @Override
    public Map<String, List<TopicPartition>> result() {
        Map<String, List<TopicPartition>> lists = new LinkedHashMap<>();
        groupCase.members().forEach(m -> lists.put(m.id(), assignments.get(m.id()).partitions()));
        return lists;
    }

    private ConsumerPartitionAssignor newAssignor() {
        return switch (groupCase.assignor()) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException(groupCase.assignor());
        };
    }

    /** Owned partitions of eager sticky members are only in the user data, which onAssignment sets. */
    private Subscription subscription(Case.Consumer member) {
        boolean sticky = groupCase.assignor().equals("sticky");
        int generation = member.generation() == null ? -1 : member.generation();
        return new Subscription(
                member.topics(),
                userData(member, sticky),
                sticky ? List.of() : member.owned(),
                generation,
                Optional.ofNullable(member.rack()));
    }

    private ByteBuffer userData(Case.Consumer member, boolean sticky) {
        if (member.generation() == null) {
            return sticky && !member.owned().isEmpty() ? withoutGeneration(member.owned()) : null;
        }
        ConsumerPartitionAssignor memberAssignor = newAssignor();
        memberAssignor.onAssignment(
                new Assignment(member.owned()),
                new ConsumerGroupMetadata("group", member.generation(), member.id(), Optional.empty()));
        return memberAssignor.subscriptionUserData(new HashSet<>(member.topics()));
    }

    /** Sticky's user data before 2.3: an array of (topic, array of partitions) without a generation. */
    private static ByteBuffer withoutGeneration(List<TopicPartition> owned) {
        Map<String, List<Integer>> grouped = new LinkedHashMap<>();
        for (TopicPartition tp : owned) {
            grouped.computeIfAbsent(tp.topic(), t -> new ArrayList<>()).add(tp.partition());
        }
        ByteBuffer bytes = ByteBuffer.allocate(1 << 20);
        bytes.putInt(grouped.size());
        grouped.forEach((topic, partitions) -> {
            byte[] name = topic.getBytes(java.nio.charset.StandardCharsets.UTF_8);
            bytes.putShort((short) name.length).put(name).putInt(partitions.size());
            partitions.forEach(bytes::putInt);
        });
        return bytes.flip();
    }

    private Cluster cluster() {
        Map<String, Node> brokers = new HashMap<>();
        List<PartitionInfo> infos = new ArrayList<>();
        groupCase.topics().forEach((name, topic) -> {
            for (int partition = 0; partition < topic.partitions(); partition++) {
                Node[] replicas = topic.racks() == null
                        ? new Node[] {Node.noNode()}
                        : topic.racks().get(partition).stream()
                                .map(rack -> brokers.computeIfAbsent(
                                        "rack " + rack, r -> new Node(brokers.size(), "host", 9092, rack)))
                                .toArray(Node[]::new);
                Node leader = replicas.length == 0 ? null : replicas[0];
                infos.add(new PartitionInfo(name, partition, leader, replicas, replicas));
            }
        });
        return new Cluster("cluster", brokers.values(), infos, Set.of(), Set.of());
    }
}
