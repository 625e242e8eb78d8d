package regroup.alltypes;

import regroup.harness.VirtualClock;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** A coordinator of all group types under virtual time. */
public interface AllTypesCoordinator {
    /** Handles a step; its answer goes to the trace, at once or later. */
    void request(AllTypesStep step);

    /** Does all waiting work that needs no time to pass. */
    void drain();

    /** What a `state` event shows of the group besides its name, or null if there is none. */
    ObjectNode group(String groupId);

    /** Makes the coordinator of a scenario. */
    interface Maker {
        AllTypesCoordinator make(JsonNode config, VirtualClock clock, AllTypesTrace trace);
    }
}
