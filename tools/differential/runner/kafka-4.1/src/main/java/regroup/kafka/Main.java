package regroup.kafka;

import regroup.harness.Hooks;
import regroup.harness.Runner;

import org.apache.kafka.coordinator.group.Coordinator41;
import org.apache.kafka.common.utils.AppInfoParser;

/** Plays scenarios on the Java group coordinator of Kafka 4.1, classic groups only. */
public final class Main {
    private Main() { }

    public static void main(String[] arguments) throws Exception {
        Hooks.install("org.apache.kafka.coordinator.group.classic.ClassicGroup");
        String name = "Apache Kafka " + AppInfoParser.getVersion() + " GroupCoordinatorService, classic groups";
        new Runner(name, Coordinator41::new).run(arguments);
    }
}
