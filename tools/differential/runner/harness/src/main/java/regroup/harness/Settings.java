package regroup.harness;

import com.fasterxml.jackson.databind.JsonNode;

/** A scenario's coordinator configuration. Unless the scenario sets a retention check interval, nothing expires. */
public record Settings(int initialRebalanceDelayMs, int minSessionTimeoutMs, int maxSessionTimeoutMs, int maxSize,
                       long retentionCheckIntervalMs, int retentionMinutes) {
    private static final long NEVER = Long.MAX_VALUE / 4;
    private static final int A_WEEK_IN_MINUTES = 7 * 24 * 60;

    static Settings of(JsonNode config) {
        return new Settings(
            config.path("group_initial_rebalance_delay_ms").asInt(3000),
            config.path("group_min_session_timeout_ms").asInt(6000),
            config.path("group_max_session_timeout_ms").asInt(1_800_000),
            config.path("group_max_size").asInt(Integer.MAX_VALUE),
            config.path("offsets_retention_check_interval_ms").asLong(NEVER),
            config.path("offsets_retention_minutes").asInt(A_WEEK_IN_MINUTES));
    }
}
