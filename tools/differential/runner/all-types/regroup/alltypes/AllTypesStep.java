package regroup.alltypes;

import regroup.harness.StepFields;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** A step of a scenario, with its references resolved. */
public final class AllTypesStep extends StepFields {
    private static final String LAST = "last";

    private final AllTypesTrace trace;

    AllTypesStep(JsonNode json, AllTypesTrace trace) {
        super(json);
        this.trace = trace;
    }

    public JsonNode field(String name) {
        return json.path(name);
    }

    public boolean has(String name) {
        return !json.path(name).isMissingNode() && !json.path(name).isNull();
    }

    public String text(String field, String otherwise) {
        return has(field) ? json.get(field).asText() : otherwise;
    }

    public int integer(String field, int otherwise) {
        return has(field) ? json.get(field).asInt() : otherwise;
    }

    /** A list of strings, null if absent or null. */
    public List<String> texts(String field) {
        if (!has(field)) return null;
        List<String> texts = new ArrayList<>();
        json.get(field).forEach(node -> texts.add(node.asText()));
        return texts;
    }

    public List<JsonNode> rows(String field) {
        return rows(json.path(field));
    }

    public static List<JsonNode> rows(JsonNode list) {
        List<JsonNode> rows = new ArrayList<>();
        list.forEach(rows::add);
        return rows;
    }

    /** The member id, references resolved. */
    public String member() {
        return has("member") ? memberOf(json.get("member")) : "";
    }

    public String memberOf(JsonNode node) {
        AllTypesTrace.Answer answer = trace.answer(node.asText());
        return answer == null ? node.asText() : answer.member();
    }

    /** An epoch or generation: a number, "@x" (the answer to x, -1 without one) or "last" (the member's last answer). */
    public int epoch(String field, int otherwise) {
        if (!has(field)) return otherwise;
        JsonNode node = json.get(field);
        if (!node.isTextual()) return node.asInt();
        if (node.asText().equals(LAST)) return trace.last(group(), member()).epoch();
        AllTypesTrace.Answer answer = trace.answer(node.asText());
        return answer == null ? -1 : answer.epoch();
    }

    /** A list of [name, partitions], or "@x" or "last" likewise; null if absent or null. */
    public JsonNode owned(String field) {
        if (!has(field)) return null;
        JsonNode node = json.get(field);
        if (!node.isTextual()) return node;
        AllTypesTrace.Answer answer = node.asText().equals(LAST) ? trace.last(group(), member()) : trace.answer(node.asText());
        return answer == null || answer.assignment() == null ? AllTypesTrace.Answer.NONE.assignment() : answer.assignment();
    }

    public static byte[] bytes(JsonNode node) {
        return Base64.getDecoder().decode(node.asText());
    }
}
