"""What is done to a group's processes: plans of a spec, and the single actions they come to.

A group has slots, numbered from 1; the process in a slot has a name, its client.id.  A deployment
with surge puts a process of a new name into the slot, as a Deployment's pods have; any other start
is of the same name, as a StatefulSet's have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from coordinator_core.simulation.chance import between, key_of, mixed, share
from coordinator_core.simulation.reading import Table


class Act(Enum):
    START = "start"
    STOP = "stop"  # closed: the application shuts its consumer down
    KILL = "kill"
    FREEZE = "freeze"  # a garbage collection, a stopped container: nothing runs
    SLOW = "slow"  # the application is away from poll; the consumer's own thread runs
    CUT = "cut"  # what is sent or received meanwhile arrives afterwards


class Action(NamedTuple):
    at_ms: int
    act: Act
    process: str
    length_ms: int = 0


class ProcessSpec(NamedTuple):
    """``instance_of``: the slot's name where another process runs under its instance id."""

    name: str
    instance_of: str


@dataclass(frozen=True, slots=True)
class Plan:
    """``processes``: slots, none for all, or ``pick`` so many at random.

    The first time is ``at_ms``, then every ``every_ms``, ``times`` at most (0: to the end), each
    with ``probability`` and up to ``spread_ms`` later; from process to process ``gap_ms`` pass.
    """

    kind: str
    at_ms: int
    every_ms: int | None = None
    times: int = 0
    probability: float = 1.0
    spread_ms: int = 0
    processes: tuple[int, ...] = ()
    pick: int = 0
    gap_ms: int = 0
    length_ms: int | None = None
    down_ms: int | None = None
    overlap_ms: int = 0
    life_ms: int = 0
    loops: int = 0
    to: int = 0
    low: int = 0
    high: int = 0


KINDS = (
    "start", "stop", "kill", "deploy", "crash_loop", "scale", "autoscale", "freeze", "slow_poll",
    "cut", "twin",
)  # fmt: skip
_LASTING = {"freeze": Act.FREEZE, "slow_poll": Act.SLOW, "cut": Act.CUT}


def plan_of(table: Table) -> Plan:
    kind = table.one_of("kind", KINDS)
    found = Plan(
        kind,
        table.time_ms("at"),
        table.time_or_none_ms("every"),
        table.count("times", 0),
        table.chance("probability") if "probability" in table else 1.0,
        table.time_ms("spread", "0ms"),
        table.numbers("processes"),
        table.count("pick", 0),
        table.time_ms("gap", "0ms"),
        table.time_or_none_ms("length"),
        table.time_or_none_ms("down"),
        table.time_ms("overlap", "0ms"),
        table.time_ms("life", "0ms"),
        table.count("loops", 0),
        table.count("to", 0),
        table.count("low", 0),
        table.count("high", 0),
    )
    if kind in _LASTING and found.length_ms is None:
        table.wrong("length", "a duration")
    if kind in ("autoscale", "scale") and not (found.to or found.high > found.low >= 1):
        table.wrong("to" if kind == "scale" else "high", "how many processes")
    if kind == "crash_loop" and not (found.life_ms and found.loops and found.down_ms):
        table.wrong("loops", "how often, and life and down,")
    table.close()
    return found


@dataclass
class _Slots:
    """The processes as they are when the next plan's turn comes."""

    group: str
    key: int
    names: dict[int, str]
    alive: int
    seen: dict[str, ProcessSpec] = field(default_factory=dict)

    def name_of(self, slot: int) -> str:
        return self._known(self.names.setdefault(slot, f"{self.group}-{slot}"), slot)

    def renamed(self, slot: int, round_: int) -> str:
        self.names[slot] = f"{self.group}-{slot}-v{round_ + 2}"
        return self.name_of(slot)

    def twin_of(self, slot: int) -> str:
        return self._known(f"{self.name_of(slot)}-twin", slot)

    def _known(self, name: str, slot: int) -> str:
        self.seen.setdefault(name, ProcessSpec(name, f"{self.group}-{slot}"))
        return name


def lives_of(
    group: str, processes: int, plans: tuple[Plan, ...], seed: int, length_ms: int
) -> tuple[list[ProcessSpec], list[Action]]:
    """A group's processes in the order in which they first do something, and all their actions in
    order of time.  Without a plan that starts any, all start at once.
    """
    key = key_of(seed, group, "plans")
    slots = _Slots(group, key, {}, processes)
    if not any(plan.kind == "start" for plan in plans):
        plans = (Plan("start", 0, times=1), *plans)
    due = [
        (at_ms, number, round_)
        for number, plan in enumerate(plans)
        for at_ms, round_ in _times(plan, mixed(key, number), length_ms)
    ]
    actions = [
        action
        for at_ms, number, round_ in sorted(due)
        for action in _actions(plans[number], at_ms, round_, slots, mixed(key, number, round_))
    ]
    in_time = [action for action in actions if action.at_ms < length_ms]
    return list(slots.seen.values()), sorted(in_time, key=lambda action: action.at_ms)


def _times(plan: Plan, key: int, length_ms: int) -> Iterator[tuple[int, int]]:
    """When a plan is carried out, and the how manieth time that is."""
    at_ms, round_ = plan.at_ms, 0
    most = plan.times or (1 if plan.every_ms is None else length_ms)
    while at_ms < length_ms and round_ < most:
        if share(key, round_, 0) < plan.probability:
            later_ms = 0 if plan.kind == "start" else between(0, plan.spread_ms, key, round_, 1)
            yield at_ms + later_ms, round_
        at_ms += plan.every_ms or length_ms
        round_ += 1


def _actions(plan: Plan, at_ms: int, round_: int, slots: _Slots, key: int) -> Iterator[Action]:
    if plan.kind in ("scale", "autoscale"):
        yield from _scale(plan, at_ms, round_, slots)
        return
    for place, slot in enumerate(_chosen(plan, slots, key)):
        when_ms = at_ms + place * plan.gap_ms
        if plan.kind == "start":
            spread_ms = between(0, plan.spread_ms, key, 2, slot)
            yield Action(when_ms + spread_ms, Act.START, slots.name_of(slot))
        elif plan.kind == "twin":
            yield from _stay(plan, when_ms, slots.twin_of(slot))
        elif plan.kind in _LASTING:
            act = _LASTING[plan.kind]
            yield Action(when_ms, act, slots.name_of(slot), plan.length_ms or 0)
        elif plan.kind == "crash_loop":
            yield from _crash_loop(plan, when_ms, slots.name_of(slot))
        elif plan.kind == "deploy" and plan.overlap_ms:
            yield Action(when_ms + plan.overlap_ms, Act.STOP, slots.name_of(slot))
            yield Action(when_ms, Act.START, slots.renamed(slot, round_))
        else:
            yield from _end(plan, when_ms, slots.name_of(slot))


def _chosen(plan: Plan, slots: _Slots, key: int) -> list[int]:
    everyone = list(plan.processes) or list(range(1, slots.alive + 1))
    if plan.pick:
        return sorted(sorted(everyone, key=lambda slot: mixed(key, 3, slot))[: plan.pick])
    return everyone


def _end(plan: Plan, at_ms: int, process: str) -> Iterator[Action]:
    """Stopped or killed, and back after ``down_ms``: of a deployment always."""
    yield Action(at_ms, Act.KILL if plan.kind == "kill" else Act.STOP, process)
    if plan.down_ms is not None or plan.kind == "deploy":
        yield Action(at_ms + (plan.down_ms or 0), Act.START, process)


def _stay(plan: Plan, at_ms: int, process: str) -> Iterator[Action]:
    yield Action(at_ms, Act.START, process)
    if plan.length_ms is not None:
        yield Action(at_ms + plan.length_ms, Act.STOP, process)


def _crash_loop(plan: Plan, at_ms: int, process: str) -> Iterator[Action]:
    """As Kubernetes does it: the wait before each next start is twice the one before."""
    for loop in range(plan.loops):
        down_ms = (plan.down_ms or 0) * 2**loop
        yield Action(at_ms, Act.KILL, process)
        yield Action(at_ms + down_ms, Act.START, process)
        at_ms += down_ms + plan.life_ms


def _scale(plan: Plan, at_ms: int, round_: int, slots: _Slots) -> Iterator[Action]:
    """To so many processes: the last to come are the first to go.  Autoscaling goes up and down
    between ``low`` and ``high``, one process at a time.
    """
    to = plan.to
    if plan.kind == "autoscale":
        way = plan.high - plan.low
        to = plan.high - abs(way - (round_ + 1) % (2 * way))
    for slot in range(slots.alive + 1, to + 1):
        yield Action(at_ms, Act.START, slots.name_of(slot))
    for slot in range(slots.alive, to, -1):
        yield Action(at_ms, Act.STOP, slots.name_of(slot))
    slots.alive = to
