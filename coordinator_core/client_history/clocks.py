"""The lead of each client's clock, derived from the generations that two clients have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low

from coordinator_core.client_history.memberships import ClientMembership

SKEW_MS = 100  # smaller differences are network delays, not clocks
# Slack for logs of hosts in different time zones whose dates have no zone.
HALF_HOUR_MS = 1_800_000
ZONE_SLACK_MS = 5_000
BROKER = ("",)

Client = tuple[str, ...]
Times = Mapping[int, int]
"""Time at which each generation was joined, by its number; generations joined twice are left
out."""


def clocks_ahead_ms(
    clients: Mapping[Client, Sequence[ClientMembership]], broker: Times
) -> dict[Client, int]:
    """Lead of each client's clock over the brokers' clocks, or without a common generation over the
    clock of the client with the most generations; 0 if unknown or below SKEW_MS.
    """
    times: dict[Client, Times] = {client: _times(own) for client, own in clients.items()}
    by_size = sorted(times, key=lambda client: (-len(times[client]), client))
    ahead: dict[Client, int] = {}
    if broker:
        times[BROKER] = broker
        by_size.insert(0, BROKER)
    for reference in by_size:
        if reference not in ahead:
            ahead[reference] = 0
            _spread(reference, times, ahead)
    return {
        client: ms if abs(ms) >= SKEW_MS else 0 for client, ms in ahead.items() if client != BROKER
    }


def zone_ms(ahead_ms: int) -> int | None:
    """``ahead_ms`` as whole half hours, in ms, or None if it is 0 or another time."""
    whole = round(ahead_ms / HALF_HOUR_MS) * HALF_HOUR_MS
    return whole if whole and abs(ahead_ms - whole) <= ZONE_SLACK_MS else None


def _spread(reference: Client, times: Mapping[Client, Times], ahead: dict[Client, int]) -> None:
    """Add the clients that have a generation in common with this client, or with a client added
    before.
    """
    connected = [reference]
    for other in connected:
        for client in sorted(times.keys() - ahead.keys()):
            common = times[client].keys() & times[other].keys()
            if common:
                by = median_low(times[client][each] - times[other][each] for each in common)
                ahead[client] = ahead[other] + by
                connected.append(client)


def _times(memberships: Iterable[ClientMembership]) -> dict[int, int]:
    classic = [each for each in memberships if each.is_classic]
    counts = Counter(each.generation for each in classic)
    return {
        each.generation: each.joined_ms
        for previous, each in zip([None, *classic], classic, strict=False)
        if counts[each.generation] == 1 and not _may_replace(each, previous)
    }


def _may_replace(membership: ClientMembership, previous: ClientMembership | None) -> bool:
    """Returns whether a static member may have joined a generation that the group already had."""
    is_first = previous is None or previous.member_id != membership.member_id
    return membership.is_static and is_first
