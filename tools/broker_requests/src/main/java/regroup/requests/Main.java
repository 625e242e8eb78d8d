package regroup.requests;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Sends requests to a broker: {"id", "connection", "api", "version", "client_id", "body"} per line
 * in, {"id", "sent_ms", "at_ms", "body"} per line out, or "failed" with the reason in place of the
 * body. Requests of one connection are sent one after the other. Bodies have Kafka's field names;
 * times are milliseconds since the epoch.
 */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        String host = arguments[0];
        int port = Integer.parseInt(arguments[1]);
        Map<String, Connection> connections = new HashMap<>();
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            connections
                .computeIfAbsent(
                    request.get("connection").asText(), name -> new Connection(host, port))
                .send(request, Main::print);
        }
        System.exit(0);
    }

    private static synchronized void print(ObjectNode answer) {
        System.out.println(answer);
    }
}
