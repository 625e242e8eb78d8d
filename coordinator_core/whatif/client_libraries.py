"""The client libraries of a group under changed settings."""

from __future__ import annotations

from coordinator_core.client import LIBRARIES
from coordinator_core.client.libraries import SlowHandler
from coordinator_core.simulation.spec import MODERN_CLIENTS
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.kafka_names import POLL, SESSION, kind_of
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL, SettingsChange

# Effect of a slow handler on a member of a library without max.poll.interval.ms.
WHILE_SLOW = {
    SlowHandler.STAYS: "stays in the group, and its partitions wait",
    SlowHandler.EXPIRES: f"sends no heartbeats, and its session expires after {SESSION}",
}


def library_under(baseline: Baseline, process: str, change: SettingsChange) -> str:
    """The library of the process, in a version that has the group protocol of the change."""
    if change.client_library is not None:
        return change.client_library
    library = baseline.libraries[process]
    is_consumer = change.protocol_of(baseline.group_protocol) == CONSUMER_PROTOCOL
    if not is_consumer or library in MODERN_CLIENTS:
        return library
    return "java-4.1" if kind_of(library) == "Java" else library


def kinds_under(baseline: Baseline, change: SettingsChange) -> list[str]:
    """The libraries without their versions (`kind_of`), sorted."""
    libraries = {library_under(baseline, name, change) for name in baseline.libraries}
    return sorted(map(kind_of, libraries))


def slow_handlers(baseline: Baseline) -> str | None:
    """What the group's libraries without max.poll.interval.ms do, or None if all have it."""
    own = {
        kind_of(name): WHILE_SLOW[LIBRARIES[name].slow_handler]
        for name in sorted(set(baseline.libraries.values()))
        if not LIBRARIES[name].has_poll_interval
    }
    texts = [
        f"{kind} has no {POLL}: a member with a slow handler {does}" for kind, does in own.items()
    ]
    return "; ".join(texts) or None
