package regroup.requests;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/** A request and its response: bytes on the wire, JSON outside, by Kafka's own classes. */
final class Exchange {
    private static final String PACKAGE = "org.apache.kafka.common.message.";
    private final String name;
    private final short version;
    private final String clientId;
    private final JsonNode body;
    private final ApiKeys api;

    Exchange(JsonNode request) {
        name = request.get("api").asText();
        version = (short) request.get("version").asInt();
        clientId = request.get("client_id").asText();
        body = request.get("body");
        api = api(name);
    }

    private static ApiKeys api(String name) {
        for (ApiKeys each : ApiKeys.values()) {
            if (each.name.equals(name)) {
                return each;
            }
        }
        throw new IllegalArgumentException("no API " + name);
    }

    ByteBuffer request() throws ReflectiveOperationException {
        RequestHeaderData header =
            new RequestHeaderData()
                .setRequestApiKey(api.id)
                .setRequestApiVersion(version)
                .setClientId(clientId);
        Method read =
            Class.forName(PACKAGE + name + "RequestDataJsonConverter")
                .getMethod("read", JsonNode.class, short.class);
        ApiMessage message = (ApiMessage) read.invoke(null, body, version);
        ByteBuffer first = bytes(header, api.requestHeaderVersion(version));
        ByteBuffer second = bytes(message, version);
        ByteBuffer both = ByteBuffer.allocate(first.remaining() + second.remaining());
        return both.put(first).put(second).flip();
    }

    private static ByteBuffer bytes(ApiMessage message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.flip();
    }

    JsonNode response(ByteBuffer bytes) throws ReflectiveOperationException {
        ByteBufferAccessor readable = new ByteBufferAccessor(bytes);
        new ResponseHeaderData(readable, api.responseHeaderVersion(version));
        Class<?> data = Class.forName(PACKAGE + name + "ResponseData");
        Object message =
            data.getConstructor(Readable.class, short.class).newInstance(readable, version);
        Method write =
            Class.forName(PACKAGE + name + "ResponseDataJsonConverter")
                .getMethod("write", data, short.class);
        return (JsonNode) write.invoke(null, message, version);
    }
}
