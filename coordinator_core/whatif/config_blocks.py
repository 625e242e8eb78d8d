"""The lines to paste into the configurations of consumers and brokers for a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coordinator_core.client import LIBRARIES
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.kafka_names import (
    INITIAL_DELAY,
    INSTANCE_ID,
    POLL,
    SESSION,
    STRATEGY,
    kind_of,
    listed,
    strategy,
)
from coordinator_core.whatif.settings import COOPERATIVE, ORDINAL, SettingsChange


def client_properties(baseline: Baseline, change: SettingsChange) -> str | None:
    """Consumer properties with comments; None if the change has none.  kafka-python takes the same
    names as keyword arguments, with underscores.
    """
    lines = [*_instance_id(baseline, change), *_timeouts(change), *_strategy(baseline, change)]
    if not lines:
        return None
    return "\n".join([f"# every consumer of group {baseline.group_id}", *lines])


def broker_properties(change: SettingsChange) -> str | None:
    """Broker properties with comments; None if the change has none.  Brokers refuse the initial
    delay from kafka-configs.sh: "Cannot update these configs dynamically".
    """
    if change.initial_rebalance_delay_ms is None:
        return None
    return (
        "# server.properties of each broker, then restart it; kafka-configs.sh cannot change it\n"
        "# for all groups of the broker\n"
        f"{INITIAL_DELAY}={change.initial_rebalance_delay_ms}"
    )


def _instance_id(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    if change.membership == "dynamic":
        yield f"# remove {INSTANCE_ID}"
    if change.membership != "static" or all(p.instance_id for p in baseline.processes):
        return
    if change.instance_ids == ORDINAL:
        yield "# unique per process, and a replacement takes it over: a StatefulSet's pod name"
    else:
        names = listed(sorted({*baseline.clients().values()}))
        yield f"# unique per process, and the same after a restart; here: {names}"
    yield f"{INSTANCE_ID}=${{HOSTNAME}}"


def _timeouts(change: SettingsChange) -> Iterator[str]:
    if change.session_timeout_ms is not None:
        yield f"{SESSION}={change.session_timeout_ms}"
    if change.rebalance_timeout_ms is not None:
        yield f"{POLL}={change.rebalance_timeout_ms}"


def _strategy(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    if change.assignors is None or change.assignors == baseline.assignors:
        return
    kinds = sorted({kind_of(library) for library in baseline.libraries.values()})
    for kind in kinds:
        if len(kinds) > 1:
            yield f"# {kind} consumers:"
        yield from _strategy_of(kind, change.assignors, baseline.assignors)


def _strategy_of(kind: str, after: tuple[str, ...], before: Iterable[str]) -> Iterator[str]:
    if not is_online(kind, after, before):
        yield f"# {kind} cannot change to it online: stop all processes first"
        yield f"{STRATEGY}={strategy(after, kind)}"
        return
    yield "# first rolling deployment: old and new processes have one assignor in common"
    yield f"{STRATEGY}={strategy((*after, *before), kind)}"
    yield "# second rolling deployment, after the first has ended:"
    yield f"# {STRATEGY}={strategy(after, kind)}"


def is_online(kind: str, after: Iterable[str], before: Iterable[str]) -> bool:
    """Whether processes with the old and the new assignors can be members at the same time."""
    changes_protocol = (COOPERATIVE in after) != (COOPERATIVE in before)
    is_librdkafka = any(
        library.is_librdkafka for library in LIBRARIES.values() if kind_of(library.name) == kind
    )
    return not (changes_protocol and is_librdkafka)
