package regroup.harness;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** One step of a scenario, with references resolved and base64 decoded. */
public final class Step extends StepFields {
    public record Protocol(String name, byte[] metadata) { }

    public record Assignment(String member, byte[] assignment) { }

    public record Leaver(String member, String instance) { }

    public record Offset(String topic, int partition, long offset, String metadata) { }

    public record Partition(String topic, int partition) { }

    private final Answers answers;

    Step(JsonNode json, Answers answers) {
        super(json);
        this.answers = answers;
    }

    public String member() {
        return answers.member(json.get("member").asText());
    }

    public String instance() {
        return textOf(json.path("instance_id"));
    }

    public int generation() {
        JsonNode generation = json.get("generation");
        return generation.isTextual() ? answers.generation(generation.asText()) : generation.asInt();
    }

    public int number(String field) {
        return json.get(field).asInt();
    }

    /** True from JoinGroup version 4 on; version 9 supports skipping the assignment. */
    public boolean requiresKnownMemberId() {
        return flag("requires_known_member_id") || flag("supports_skipping_assignment");
    }

    public List<Protocol> protocols() {
        List<Protocol> protocols = new ArrayList<>();
        json.path("protocols").forEach(row -> protocols.add(new Protocol(row.get(0).asText(), bytes(row.get(1)))));
        return protocols;
    }

    public List<Assignment> assignments() {
        List<Assignment> assignments = new ArrayList<>();
        json.path("assignments").forEach(row -> assignments.add(
            new Assignment(answers.member(row.get(0).asText()), bytes(row.get(1)))));
        return assignments;
    }

    public List<Leaver> leavers() {
        List<Leaver> leavers = new ArrayList<>();
        json.path("members").forEach(row -> leavers.add(new Leaver(answers.member(row.get(0).asText()), textOf(row.get(1)))));
        return leavers;
    }

    public List<Offset> offsets() {
        List<Offset> offsets = new ArrayList<>();
        json.path("offsets").forEach(row -> offsets.add(
            new Offset(row.get(0).asText(), row.get(1).asInt(), row.get(2).asLong(), textOf(row.get(3)))));
        return offsets;
    }

    public List<Partition> partitions() {
        List<Partition> partitions = new ArrayList<>();
        json.path("offsets").forEach(row -> partitions.add(new Partition(row.get(0).asText(), row.get(1).asInt())));
        return partitions;
    }

    private static byte[] bytes(JsonNode node) {
        return Base64.getDecoder().decode(node.asText());
    }
}
