package regroup.alltypes;

import regroup.harness.Tally;
import regroup.harness.Trace;
import regroup.harness.VirtualClock;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The events of one scenario, in order, and the answers that later steps may refer to. */
public final class AllTypesTrace {
    public static final ObjectMapper JSON = Trace.JSON;

    /** A member's id, epoch or generation, and assignment in an answer (null: not in it). */
    public record Answer(String member, int epoch, JsonNode assignment) {
        static final Answer NONE = new Answer("", 0, JSON.createArrayNode());
    }

    private final VirtualClock clock;
    private final List<ObjectNode> events = new ArrayList<>();
    private final Map<String, Answer> answers = new HashMap<>();
    private final Map<String, Answer> members = new HashMap<>();
    private final Map<String, JsonNode> shown = new LinkedHashMap<>();

    AllTypesTrace(VirtualClock clock) {
        this.clock = clock;
    }

    /** Starts a response; the caller adds the response's own fields. */
    public ObjectNode response(AllTypesStep step, String error) {
        Tally.count("errors", step.op() + " " + error);
        return event("response").put("to", step.id()).put("op", step.op()).put("error", error);
    }

    /** The answer to a join of either protocol. */
    public void keep(AllTypesStep step, String member, int epoch, JsonNode assignment) {
        Answer answer = new Answer(member, epoch, assignment);
        answers.put("@" + step.id(), answer);
        String key = step.group() + "/" + member;
        members.merge(key, answer, (previous, next) -> next.assignment != null ? next : new Answer(member, epoch, previous.assignment));
    }

    /** The member has to join again. */
    public void forget(AllTypesStep step, String member) {
        members.remove(step.group() + "/" + member);
    }

    public Answer answer(String reference) {
        return answers.get(reference);
    }

    public Answer last(String group, String member) {
        return members.getOrDefault(group + "/" + member, Answer.NONE);
    }

    public void record(ByteBuffer key, ByteBuffer value) {
        event("record").put("key", base64(key)).put("value", value == null ? null : base64(value));
    }

    /** Shows the group if it is not as last shown. */
    void state(String groupId, ObjectNode view) {
        JsonNode last = shown.get(groupId);
        ObjectNode now = view;
        if (now == null) {
            if (last == null || last.get("state").asText().equals("Dead")) return;
            now = JSON.createObjectNode().put("type", last.get("type").asText()).put("state", "Dead");
        }
        if (last != null && same(now, last)) return;
        shown.put(groupId, now);
        Tally.count("states", now.get("type").asText() + " " + now.get("state").asText());
        event("state").put("group", groupId).setAll(now);
    }

    /** Of a classic group only state and generation count. */
    private static boolean same(JsonNode now, JsonNode last) {
        if (!now.path("type").asText().equals("classic") || !last.path("type").asText().equals("classic")) return now.equals(last);
        return now.get("state").equals(last.get("state")) && now.path("generation").equals(last.path("generation"));
    }

    String lines(String runner, List<String> memberIds) {
        ObjectNode start = JSON.createObjectNode().put("event", "start").put("runner", runner);
        memberIds.forEach(start.putArray("member_ids")::add);
        StringBuilder out = new StringBuilder(Trace.json(start)).append('\n');
        for (ObjectNode event : events) out.append(Trace.json(event)).append('\n');
        return out.toString();
    }

    private ObjectNode event(String kind) {
        ObjectNode node = JSON.createObjectNode().put("at_ms", clock.nowMs()).put("event", kind);
        events.add(node);
        return node;
    }

    public static String base64(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return Trace.base64(bytes);
    }
}
