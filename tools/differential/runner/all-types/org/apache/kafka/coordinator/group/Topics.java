package org.apache.kafka.coordinator.group;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicImage;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** The topics of a scenario as metadata images; a broker for every rack, broker 0 has none. */
public final class Topics {
    private final Map<String, Integer> brokers = new HashMap<>();
    private final Map<Uuid, String> names = new LinkedHashMap<>();
    private MetadataImage image = MetadataImage.EMPTY;
    private long offset;

    public MetadataImage image() {
        return image;
    }

    public static MetadataDelta delta(MetadataImage of) {
        return new MetadataDelta.Builder().setImage(of).build();
    }

    /** What a `metadata` step changes; the new image is in place afterwards. */
    public MetadataDelta change(List<JsonNode> topics, List<String> deleted) {
        MetadataDelta delta = delta(image);
        if (brokers.isEmpty()) broker(delta, "");
        for (String name : deleted) delta.replay(new RemoveTopicRecord().setTopicId(image.topics().getTopic(name).id()));
        for (JsonNode topic : topics) {
            String name = topic.get("name").asText();
            TopicImage existing = deleted.contains(name) ? null : image.topics().getTopic(name);
            Uuid id = existing == null ? uuid(topic.get("id").asText()) : existing.id();
            int from = existing == null ? 0 : existing.partitions().size();
            if (existing == null) delta.replay(new TopicRecord().setName(name).setTopicId(id));
            names.put(id, name);
            for (int p = from; p < topic.get("partitions").asInt(); p++) {
                List<Integer> replicas = new ArrayList<>();
                topic.path("racks").path(p).forEach(rack -> replicas.add(broker(delta, rack.asText())));
                if (replicas.isEmpty()) replicas.add(0);
                delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(p).setReplicas(replicas).setIsr(replicas)
                    .setLeader(replicas.get(0)));
            }
        }
        image = delta.apply(new MetadataProvenance(++offset, 0, 0, true));
        return delta;
    }

    private int broker(MetadataDelta delta, String rack) {
        Integer existing = brokers.get(rack);
        if (existing != null) return existing;
        int id = brokers.size();
        brokers.put(rack, id);
        delta.replay(new RegisterBrokerRecord().setBrokerId(id).setIncarnationId(new Uuid(1, id)).setBrokerEpoch(id)
            .setRack(rack.isEmpty() ? null : rack).setFenced(false));
        return id;
    }

    /** The name of a topic that is or was. */
    public String name(Uuid id) {
        return names.getOrDefault(id, id.toString());
    }

    /** The id of a topic that is or was; of any other one that no topic has. */
    public Uuid id(String name) {
        TopicImage topic = image.topics().getTopic(name);
        if (topic != null) return topic.id();
        Uuid last = null;
        for (Map.Entry<Uuid, String> entry : names.entrySet()) if (entry.getValue().equals(name)) last = entry.getKey();
        return last != null ? last : new Uuid(0xdeadL, name.hashCode());
    }

    private static Uuid uuid(String text) {
        UUID uuid = UUID.fromString(text);
        ByteBuffer bytes = ByteBuffer.allocate(16).putLong(uuid.getMostSignificantBits()).putLong(uuid.getLeastSignificantBits());
        bytes.flip();
        return new Uuid(bytes.getLong(), bytes.getLong());
    }
}
