package regroup.harness;

import com.fasterxml.jackson.databind.JsonNode;

/** Plays scenarios of one format; returns the trace's lines. */
public interface ScenarioPlayer {
    String play(JsonNode scenario);
}
