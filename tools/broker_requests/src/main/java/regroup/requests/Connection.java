package regroup.requests;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/** A connection to a broker, opened when needed and after a failure, with its own thread. */
final class Connection {
    private final String host;
    private final int port;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private Socket socket;

    Connection(String host, int port) {
        this.host = host;
        this.port = port;
    }

    void send(JsonNode request, Consumer<ObjectNode> answers) {
        thread.execute(() -> answers.accept(answer(request)));
    }

    private ObjectNode answer(JsonNode request) {
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        answer.set("id", request.get("id"));
        answer.put("sent_ms", System.currentTimeMillis());
        try {
            answer.set("body", ask(new Exchange(request)));
        } catch (IOException | ReflectiveOperationException | RuntimeException error) {
            close();
            answer.put("failed", reason(error));
        }
        return answer.put("at_ms", System.currentTimeMillis());
    }

    private JsonNode ask(Exchange exchange) throws IOException, ReflectiveOperationException {
        ByteBuffer request = exchange.request();
        if (socket == null) {
            socket = new Socket(host, port);
            socket.setTcpNoDelay(true);
        }
        ByteBuffer sized = ByteBuffer.allocate(4 + request.remaining());
        socket.getOutputStream().write(sized.putInt(request.remaining()).put(request).array());
        DataInputStream in = new DataInputStream(socket.getInputStream());
        byte[] response = new byte[in.readInt()];
        in.readFully(response);
        return exchange.response(ByteBuffer.wrap(response));
    }

    private void close() {
        try {
            if (socket != null) {
                socket.close();
            }
        } catch (IOException ignored) {
            // The connection is given up anyway.
        }
        socket = null;
    }

    private static String reason(Exception error) {
        Throwable cause = error.getCause() == null ? error : error.getCause();
        return cause.toString();
    }
}
