"""The results of a replay."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator_core.epochs.evidence import Partition


@dataclass(slots=True)
class GenerationMember:
    """A member of a generation; ``change``: joined, retained or replaced (a static member's id).

    ``left_how``: left, expired, dropped or replaced; None if it stays or the log does not say.
    """

    member_id: str
    process: str
    instance_id: str | None
    client_id: str | None
    client_host: str | None
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    topics: tuple[str, ...]
    change: str
    left_how: str | None = None
    left_ms: int | None = None
    left_reason: str | None = None
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class Owned:
    """What a member has, or should have by the target."""

    member_id: str
    process: str
    partitions: frozenset[Partition]


@dataclass(slots=True)
class Generation:
    """One target assignment.  ``reconciling_ms``: time in Reconciling until the next epoch."""

    number: int
    group_type: str
    preparing_ms: int
    joined_ms: int
    position: int
    assignor: str
    cause: str | None
    culprit: str | None
    member_count: int
    stable_ms: int | None = None
    ended_ms: int | None = None
    outcome: str = "unknown"
    reconciling_ms: int = 0
    last_position: int = 0
    has_log: bool = False
    members: dict[str, GenerationMember] = field(default_factory=dict)
    targets: list[Owned] = field(default_factory=list)
    actual: dict[str, Owned] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EpochBump:
    """The group epoch was counted up, or the group converted; ``generation``: the next target's."""

    epoch: int
    time_ms: int
    position: int
    cause: str
    member_id: str | None
    process: str | None
    has_log: bool


@dataclass(frozen=True, slots=True)
class MemberStep:
    """A current assignment.  ``generation``: the target at that time; None before the first."""

    member_id: str
    process: str
    epoch: int
    previous_epoch: int | None
    state: str
    assigned: frozenset[Partition]
    pending: frozenset[Partition]
    time_ms: int
    position: int
    generation: int | None


@dataclass(frozen=True, slots=True)
class Handover:
    """A partition that changed its process.  ``asked_ms``: the target that gives it to the new one;
    ``released_ms``: the old one had it no more, nor was asked to give it up; ``waited_for``:
    revocation, session or heartbeat, by what took longest.
    """

    partition: Partition
    generation: int
    from_member: str
    from_process: str
    to_member: str
    to_process: str
    asked_ms: int
    released_ms: int
    assigned_ms: int
    waited_for: str
    has_log: bool


@dataclass(slots=True)
class History:
    """``topology``: the topics that each subtopology reads (streams groups)."""

    generations: list[Generation] = field(default_factory=list)
    bumps: list[EpochBump] = field(default_factory=list)
    steps: list[MemberStep] = field(default_factory=list)
    handovers: list[Handover] = field(default_factory=list)
    topology: dict[str, tuple[str, ...]] = field(default_factory=dict)
