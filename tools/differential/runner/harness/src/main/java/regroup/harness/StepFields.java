package regroup.harness;

import com.fasterxml.jackson.databind.JsonNode;

/** The fields that steps of every kind of scenario have, and how optional ones are read. */
public abstract class StepFields {
    protected final JsonNode json;

    protected StepFields(JsonNode json) {
        this.json = json;
    }

    public final String id() {
        return json.get("id").asText();
    }

    public final String op() {
        return json.get("op").asText();
    }

    public final String group() {
        return json.path("group").asText("");
    }

    public final long atMs() {
        return json.get("at_ms").asLong();
    }

    /** A field's text, null if it is absent or null. */
    public final String text(String field) {
        return textOf(json.path(field));
    }

    /** False if the field is absent. */
    public final boolean flag(String field) {
        return json.path(field).asBoolean(false);
    }

    /** Null for a null or absent node. */
    public static String textOf(JsonNode node) {
        return node.isNull() || node.isMissingNode() ? null : node.asText();
    }
}
