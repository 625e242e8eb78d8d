"""Whether the model of the unchanged settings explains what was observed of a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coordinator_core.figures import counted
from coordinator_core.whatif.figures import Figures, Prediction
from coordinator_core.whatif.kafka_names import seconds

# The model explains an observed figure if it is at most this far outside the range over the seeds.
SHARE, MIN_REBALANCES, MIN_DOWNTIME_MS = 0.25, 2, 5000


def misses(observed: Figures, unchanged: Prediction) -> list[str]:
    """The figures that the model misses by more than its bound, predicted and observed; empty: the
    model explains the group.
    """
    return list(_misses(observed, unchanged))


def _misses(observed: Figures, unchanged: Prediction) -> Iterator[str]:
    model, least, most = unchanged.median, unchanged.minimum, unchanged.maximum
    if _is_beyond(observed.rebalances, least.rebalances, most.rebalances, MIN_REBALANCES):
        predicted = counted(model.rebalances, "rebalance")
        yield f"{predicted} predicted, {observed.rebalances} observed"
    observed_ms = observed.unavailable_partition_ms
    least_ms, most_ms = least.unavailable_partition_ms, most.unavailable_partition_ms
    if _is_beyond(observed_ms, least_ms, most_ms, MIN_DOWNTIME_MS):
        yield (
            f"partition downtime {seconds(model.unavailable_partition_ms)} predicted,"
            f" {seconds(observed_ms)} observed (partition-seconds)"
        )


def _is_beyond(observed: int, least: int, most: int, minimum: int) -> bool:
    distance = max(least - observed, observed - most, 0)
    return distance > max(SHARE * observed, minimum)


def not_explained(missed: Sequence[str]) -> str:
    return f"the model does not explain this group: {'; '.join(missed)}"
