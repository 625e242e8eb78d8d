"""What consumers' logs say about a group's generations, members and assignments, without a broker.

A client logs when it asks to join, when the join is answered (with its generation and member id),
when it receives its assignment, and what it then owns.  The leader's log has the assignment of all
members.  In a consumer group (KIP-848) a client logs the member epoch in each of its states.

The coordinator answers all members of a generation at the same time, so the answers in the logs of
two clients show the difference of their clocks.  Durations are from one client's clock each.  Times
are converted to one clock if the clocks differ by more than SKEW_MS.

- memberships: one client's lines -> the client's generations
- departures:  one client's lines -> when and why it stopped being a member
- clocks:      how far each client's clock is ahead
- generations: all clients' memberships -> generations, members and assignments of the group
- causes:      all clients' memberships and departures -> why rebalances began
- episodes:    generations and causes -> the group's episodes
"""

from coordinator_core.client_history.causes import causes_of_clients
from coordinator_core.client_history.clocks import clocks_ahead_ms, zone_ms
from coordinator_core.client_history.episodes import episodes_of_clients
from coordinator_core.client_history.generations import (
    BrokerGeneration,
    ClientGeneration,
    ClientMember,
    GroupHistory,
    generations_of,
    generations_of_clients,
    history_of_clients,
)
from coordinator_core.client_history.memberships import (
    ClientMembership,
    ClientRow,
    leader_assignment,
    memberships_of_clients,
)

__all__ = [
    "BrokerGeneration",
    "ClientGeneration",
    "ClientMember",
    "ClientMembership",
    "ClientRow",
    "GroupHistory",
    "causes_of_clients",
    "clocks_ahead_ms",
    "episodes_of_clients",
    "generations_of",
    "generations_of_clients",
    "history_of_clients",
    "leader_assignment",
    "memberships_of_clients",
    "zone_ms",
]
