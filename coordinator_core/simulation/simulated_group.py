"""One consumer group within a simulated cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator_core.simulation.ground_truth import GroupTruth
from coordinator_core.simulation.modern_truth import ModernTruth
from coordinator_core.simulation.ownership_times import OwnershipTimes
from coordinator_core.simulation.plans import Action
from coordinator_core.simulation.process import SimulatedProcess
from coordinator_core.simulation.spec import GroupSpec


@dataclass(kw_only=True)
class SimulatedGroup:
    """``done`` is the number of ``actions`` carried out.  ``open`` has messages in transit plus
    appends not acknowledged.  ``ids`` have the number of member ids assigned.  ``later_ms`` has
    times at which the processes have something scheduled.  ``idle_not_before_ms`` says when to look
    for idle time next. ``written_ms`` says when the last record about the group was written, other
    than offsets. ``truth`` is about the time as a classic group, and ``modern_truth`` about the
    time as another type. ``has_expired`` says whether a session, or the wait for a pending member's
    join, has expired.
    """

    spec: GroupSpec
    partition: int
    truth: GroupTruth
    modern_truth: ModernTruth
    processes: list[SimulatedProcess] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    done: int = 0
    open: int = 0
    ids: int = 0
    owned: OwnershipTimes = field(default_factory=OwnershipTimes)
    later_ms: list[int] = field(default_factory=list)
    idle_not_before_ms: int = 0
    written_ms: int = 0
    has_expired: bool = False

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def next_action_ms(self) -> int | None:
        """The time at which the next planned action is due, in ms since the fleet's start."""
        return self.actions[self.done].at_ms if self.done < len(self.actions) else None
