import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.yaml.snakeyaml.Yaml;

/** Consume with the properties of a file until the process is stopped, or print YAML as JSON. */
public class PastedClient {
    public static void main(String[] arguments) throws Exception {
        try (Reader reader = Files.newBufferedReader(Path.of(arguments[1]))) {
            if (arguments[0].equals("yaml")) {
                System.out.println(new ObjectMapper().writeValueAsString(new Yaml().load(reader)));
            } else {
                Properties properties = new Properties();
                properties.load(reader);
                consume(properties, arguments[2]);
            }
        }
    }

    private static void consume(Properties properties, String topic) {
        StringDeserializer text = new StringDeserializer();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties, text, text)) {
            consumer.subscribe(List.of(topic));
            while (true) {
                consumer.poll(Duration.ofMillis(100));
            }
        }
    }
}
