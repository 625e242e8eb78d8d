package regroup.kafka;

import regroup.alltypes.AllTypesPlayer;
import regroup.alltypes.MadeIds;
import regroup.harness.Hooks;
import regroup.harness.Runner;

import org.apache.kafka.coordinator.group.KafkaCoordinator;
import org.apache.kafka.coordinator.group.KafkaVersion;

/** Plays scenarios of groups of all types on the group coordinator of one Kafka version. */
public final class Main {
    private Main() { }

    public static void main(String[] arguments) throws Exception {
        Hooks.install("org.apache.kafka.coordinator.group.classic.ClassicGroup");
        MadeIds.install();
        String name = "Apache Kafka " + KafkaVersion.number() + " GroupCoordinatorService, all group types";
        new Runner(new AllTypesPlayer(name, KafkaCoordinator::new)).run(arguments);
    }
}
