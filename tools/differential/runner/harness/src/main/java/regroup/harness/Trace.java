package regroup.harness;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The events of one scenario as JSON Lines, in order. */
public final class Trace {
    public static final ObjectMapper JSON = new ObjectMapper();

    private final VirtualClock clock;
    private final Answers answers;
    private final Map<String, GroupShown> shown = new HashMap<>();
    private final Map<String, String> stateAtRequest = new HashMap<>();
    private final StringBuilder written = new StringBuilder();
    private ObjectNode open;

    Trace(VirtualClock clock, Answers answers) {
        this.clock = clock;
        this.answers = answers;
    }

    /** Notes the group's state when the request came, for the tally. */
    void asked(Step step, String state) {
        stateAtRequest.put(step.id(), state);
    }

    /** A response; before the next event, the caller adds the fields of its kind. */
    public ObjectNode response(Step step, String error) {
        if (Tally.isOn()) Tally.count("answers", step.op() + " in " + stateAtRequest.remove(step.id()) + ": " + error);
        return event("response").put("to", step.id()).put("op", step.op()).put("error", error);
    }

    /** A join's response; the caller adds members to the list it gets. */
    public ArrayNode joinResponse(Step step, String error, int generation, String protocolType, String protocolName,
                                  String leader, String member, boolean skipAssignment) {
        answers.keep(step.id(), member, generation);
        ObjectNode response = response(step, error).put("generation", generation).put("protocol_type", protocolType)
            .put("protocol_name", protocolName).put("leader", leader).put("member", member);
        if (skipAssignment) response.put("skip_assignment", true);
        return response.putArray("members");
    }

    /** The broker's answer when the coordinator throws: only the error. */
    public void thrown(Step step, String error) {
        if (step.op().equals("join")) joinResponse(step, error, -1, null, null, "", "", false);
        else response(step, error);
    }

    public void record(ByteBuffer key, ByteBuffer value) {
        event("record").put("key", base64(key)).put("value", value == null ? null : base64(value));
    }

    /** Shows the group (null: removed) if its state or generation changed since it was last shown. */
    void state(String groupId, GroupShown group) {
        GroupShown last = shown.getOrDefault(groupId, GroupShown.NEVER);
        GroupShown now = group == null ? GroupShown.gone(last.generation()) : group;
        if (now.looksLike(last)) return;
        shown.put(groupId, now);
        Tally.count("shown states", last.state() + " -> " + now.state());
        ArrayNode members = event("state").put("group", groupId).put("state", now.state())
            .put("generation", now.generation()).put("leader", now.leader()).putArray("members");
        now.members().forEach(members::add);
    }

    /** All lines, the start line before the rest. */
    String lines(String runner, List<String> memberIds) {
        finish();
        ObjectNode start = JSON.createObjectNode().put("event", "start").put("runner", runner);
        memberIds.forEach(start.putArray("member_ids")::add);
        return json(start) + "\n" + written;
    }

    private ObjectNode event(String kind) {
        finish();
        open = JSON.createObjectNode().put("at_ms", clock.nowMs()).put("event", kind);
        return open;
    }

    private void finish() {
        if (open != null) written.append(json(open)).append('\n');
        open = null;
    }

    public static String json(Object value) {
        try {
            return JSON.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    public static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    private static String base64(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return base64(bytes);
    }
}
