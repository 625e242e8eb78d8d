package regroup.kafka;

import regroup.harness.Hooks;
import regroup.harness.Runner;

import kafka.coordinator.group.Coordinator39;
import org.apache.kafka.common.utils.AppInfoParser;

/** Plays scenarios on the Scala group coordinator of Kafka 3.9. */
public final class Main {
    private Main() { }

    public static void main(String[] arguments) throws Exception {
        Hooks.install("kafka.coordinator.group.GroupMetadata");
        String name = "Apache Kafka " + AppInfoParser.getVersion() + " kafka.coordinator.group.GroupCoordinator";
        new Runner(name, Coordinator39::new).run(arguments);
    }
}
