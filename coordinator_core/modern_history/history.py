"""The results of a replay."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator_core.modern_history.evidence import Partition
from coordinator_core.modern_history.memberships import MemberStep, ModernMembership
from coordinator_core.modern_history.targets import TargetInput


@dataclass(slots=True, kw_only=True)
class GenerationMember:
    """A member of a generation; ``change`` is joined, retained or replaced (a static member's id).

    ``left_how`` is left, session_expired, dropped or replaced, or None if it stays or the log does
    not show how.
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
    """The partitions that a member has, or should have by the target."""

    member_id: str
    process: str
    partitions: frozenset[Partition]


@dataclass(slots=True, kw_only=True)
class Generation:
    """One target assignment.  ``reconciling_ms`` is the time in Reconciling until the next epoch;
    ``member_count`` is None if lines alone do not show it; ``assignor`` is None for a group
    without members. ``is_assumed`` means that no evidence names it.  ``input`` says what the
    assignor read (consumer groups).
    """

    number: int
    group_type: str
    preparing_ms: int
    joined_ms: int
    position: int
    assignor: str | None
    cause: str | None
    culprit: str | None
    member_count: int | None
    stable_ms: int | None = None
    ended_ms: int | None = None
    outcome: str = "unknown"
    reconciling_ms: int = 0
    last_position: int = 0
    has_log: bool = False
    is_assumed: bool = False
    input: TargetInput | None = None
    members: dict[str, GenerationMember] = field(default_factory=dict)
    targets: list[Owned] = field(default_factory=list)
    actual: dict[str, Owned] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class EpochBump:
    """The group epoch was counted up, or the group converted.

    ``reason`` says what happened, as far as the cause does not say it.  ``has_target`` says whether
    a later target includes the epoch; before Kafka 4.4 no target does so for a group that becomes
    empty.
    """

    epoch: int
    time_ms: int
    position: int
    cause: str
    member_id: str | None
    process: str | None
    has_log: bool
    reason: str | None = None
    has_target: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """A partition that changed its process.  ``asked_ms`` is the time of the target that gives it
    to the new process.  ``released_ms`` is the time since which the old process neither had it nor
    was asked to give it up; ``waited_for`` is revocation, session or heartbeat, by what took
    longest.
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
    """``topology`` has the topics that each subtopology reads (streams groups)."""

    generations: list[Generation] = field(default_factory=list)
    bumps: list[EpochBump] = field(default_factory=list)
    steps: list[MemberStep] = field(default_factory=list)
    handovers: list[Handover] = field(default_factory=list)
    memberships: list[ModernMembership] = field(default_factory=list)
    topology: dict[str, tuple[str, ...]] = field(default_factory=dict)
