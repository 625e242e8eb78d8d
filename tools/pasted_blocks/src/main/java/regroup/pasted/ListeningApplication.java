package regroup.pasted;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.kafka.annotation.KafkaListener;

@SpringBootApplication
public class ListeningApplication {
    public static void main(String[] arguments) {
        SpringApplication.run(ListeningApplication.class, arguments);
    }

    @KafkaListener(topics = "words")
    public void listen(String word) {
    }
}
