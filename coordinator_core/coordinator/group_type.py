"""What Kafka defines per type of group, as data: code asks the type instead of knowing its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Request, Response


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupType:
    """A type of group; ``name`` is the name that ListGroups returns.

    ``refusal`` makes the answer to a heartbeat from an error.  ``record_prefix`` is the prefix of
    the names of the type's records (GroupMetadata, ...).  ``stable_state`` and ``unrevoked_state``
    are codes of member states in records, or None if members have no such state.  ``phases`` are
    the group's states before and after the target assignment, or the leader's assignment, is there.
    """

    name: str
    heartbeat: type[Request]
    refusal: Callable[[Errors], Response]
    record_prefix: str
    phases: tuple[str, str]
    is_stable_in_phases: bool = False  # Kafka's tools show Stable instead of the two phases
    default_assignor: str | None = None  # None if a client chooses the assignor of the group
    stable_state: int | None = None
    unrevoked_state: int | None = None
    # if true, the coordinator assigns; if false, a leader assigns in each generation
    has_epochs: bool = True
    has_static_members: bool = True
    has_topology: bool = False  # members own tasks of subtopologies instead of partitions
    has_initial_delay: bool = False  # the first target assignment waits for more members
    revokes: bool = True  # a partition has one owner: members revoke before other members get it
    converts: bool = False  # groups change their protocol while members stay (KIP-848)

    @property
    def broker_prefix(self) -> str:
        """Prefix of the broker's settings of this type: group.consumer.session.timeout.ms."""
        return f"group.{self.name}."

    @property
    def group_prefix(self) -> str:
        """Prefix of a group's own settings: consumer.session.timeout.ms."""
        return f"{self.name}."
