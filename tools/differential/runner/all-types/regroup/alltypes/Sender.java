package regroup.alltypes;

import regroup.harness.Tally;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;

import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.Topics;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Requests to Kafka's GroupCoordinator interface; its answers become events of the trace. */
abstract class Sender {
    final GroupCoordinator coordinator;
    final Topics topics;
    final AllTypesTrace trace;

    Sender(GroupCoordinator coordinator, Topics topics, AllTypesTrace trace) {
        this.coordinator = coordinator;
        this.topics = topics;
        this.trace = trace;
    }

    /** Keeps what "last" and "@x" stand for. */
    void keepAnswer(AllTypesStep step, String asked, int epoch, short code, String member, int memberEpoch, JsonNode assignment) {
        if (code == Errors.NONE.code() && epoch >= 0) trace.keep(step, member, memberEpoch, assignment);
        else if (code == Errors.NONE.code() || code == Errors.FENCED_MEMBER_EPOCH.code() || code == Errors.UNKNOWN_MEMBER_ID.code())
            trace.forget(step, asked);
    }

    static void addRows(ArrayNode list, Map<String, List<Integer>> rows) {
        rows.forEach((name, partitions) -> addNumbers(list.addArray().add(name), partitions));
    }

    static void addNumbers(ArrayNode row, List<Integer> numbers) {
        ArrayNode list = row.addArray();
        numbers.stream().sorted().forEach(list::add);
    }

    static List<Integer> numbers(JsonNode list) {
        List<Integer> numbers = new ArrayList<>();
        list.forEach(node -> numbers.add(node.asInt()));
        return numbers;
    }

    static <T> void answer(CompletableFuture<T> future, Consumer<T> then) {
        future.whenComplete((response, failure) -> {
            if (failure != null) throw new IllegalStateException(failure);
            then.accept(response);
        });
    }

    static String error(short code) {
        return Errors.forCode(code).name();
    }

    static String error(String what, short code) {
        Tally.count("errors", what + " " + error(code));
        return error(code);
    }

    static RequestContext context(AllTypesStep step, ApiKeys api, int version) {
        try {
            return new RequestContext(new RequestHeader(api, (short) version, step.text("client_id", "oracle"), 0), "1",
                InetAddress.getByName(step.text("client_host", "/127.0.0.1").substring(1)), KafkaPrincipal.ANONYMOUS,
                ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT,
                ClientInformation.EMPTY, false);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(e);
        }
    }
}
