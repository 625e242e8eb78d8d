package regroup.harness;

/** One of Kafka's group coordinators, single-threaded, on virtual time and a log in memory. */
public interface CoordinatorUnderTest extends AutoCloseable {
    /** Sends a step's request; the answer goes to the trace when the coordinator gives it. */
    void request(Step step);

    /** Does all waiting work that needs no time to pass. */
    void drain();

    /** Lets the next append of any records fail with this error and write nothing. */
    void failNextAppend(String error);

    /** The group's present state, null if it does not exist. */
    GroupShown group(String groupId);

    @Override
    void close();

    /** Makes a new coordinator for each scenario. */
    interface Maker {
        CoordinatorUnderTest make(Settings settings, VirtualClock clock, Trace trace);
    }
}
