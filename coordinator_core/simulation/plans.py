"""Plans of a spec, and the actions on processes that they expand to.

A group has slots, numbered from 1.  The process in a slot has a name, which is its client.id.  A
deployment with surge starts a process with a new name in the slot, as a Kubernetes Deployment does;
every other start keeps the name, as a StatefulSet does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from coordinator_core.coordinator.group_types import CONVERTING
from coordinator_core.protocol.messages import TopicPartition
from coordinator_core.simulation.random_draws import between, fraction, key_of, mixed
from coordinator_core.simulation.spec_values import SpecTable


class ActionKind(Enum):
    START = "start"
    STOP = "stop"  # the application closes its consumer
    KILL = "kill"
    FREEZE = "freeze"  # nothing in the process runs, as in garbage collection or a paused container
    SLOW = "slow"  # the application does not poll; the consumer's background thread runs
    CUT = "cut"  # messages in both directions arrive only after the cut


class Action(NamedTuple):
    """``protocol`` says which the process uses from this start on; "": the same as before."""

    at_ms: int
    kind: ActionKind
    process: str
    length_ms: int = 0
    protocol: str = ""


OBSTACLES = ("pause", "pill")


class Obstacle(NamedTuple):
    """An event that stops one partition of a group.  ``until_ms`` is None if it lasts to the end.

    ``pause`` means that no process handles its records.  ``pill`` means that the record that is
    produced at ``at_ms`` ends each process that begins to handle it.
    """

    kind: str
    partition: TopicPartition
    at_ms: int
    until_ms: int | None

    def is_there(self, since_start_ms: int) -> bool:
        return self.at_ms <= since_start_ms and (
            self.until_ms is None or since_start_ms < self.until_ms
        )


class ProcessSpec(NamedTuple):
    """``instance_of`` is the slot's name, which is the group.instance.id of static members.
    ConsumerConfig explains the first life's ``claims``.
    """

    name: str
    instance_of: str
    claims: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``processes`` are slots, empty for all; ``pick`` is the number of processes chosen at random,
    0 for all.

    The plan is carried out at ``at_ms``, then every ``every_ms``, at most ``times`` times (0: no
    limit), each with ``probability`` and up to ``spread_ms`` later.  ``gap_ms`` is the time from
    one process to the next.  ``protocol`` says what a deployment changes the processes to.
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
    protocol: str = ""


KINDS = (
    "start", "stop", "kill", "deploy", "crash_loop", "scale", "autoscale", "freeze", "slow_poll",
    "cut", "twin",
)  # fmt: skip
_LASTING = {"freeze": ActionKind.FREEZE, "slow_poll": ActionKind.SLOW, "cut": ActionKind.CUT}


def plan_of(table: SpecTable) -> Plan:
    kind = table.one_of("kind", KINDS)
    plan = Plan(
        kind=kind,
        at_ms=table.time_ms("at"),
        every_ms=table.time_or_none_ms("every"),
        times=table.count("times", 0),
        probability=table.probability("probability") if "probability" in table else 1.0,
        spread_ms=table.time_ms("spread", "0ms"),
        processes=table.numbers("processes"),
        pick=table.count("pick", 0),
        gap_ms=table.time_ms("gap", "0ms"),
        length_ms=table.time_or_none_ms("length"),
        down_ms=table.time_or_none_ms("down"),
        overlap_ms=table.time_ms("overlap", "0ms"),
        life_ms=table.time_ms("life", "0ms"),
        loops=table.count("loops", 0),
        to=table.count("to", 0),
        low=table.count("low", 0),
        high=table.count("high", 0),
        protocol=table.one_of("protocol", CONVERTING) if "protocol" in table else "",
    )
    if plan.protocol and kind != "deploy":
        table.wrong("kind", "a deployment that changes the protocol")
    if kind in _LASTING and plan.length_ms is None:
        table.wrong("length", "a duration")
    if kind in ("autoscale", "scale") and not (plan.to or plan.high > plan.low >= 1):
        table.wrong("to" if kind == "scale" else "high", "the number of processes")
    if kind == "crash_loop" and not (plan.life_ms and plan.loops and plan.down_ms):
        table.wrong("loops", "a number of crashes, with the keys life and down")
    table.close()
    return plan


@dataclass(kw_only=True)
class _Slots:
    """The group's processes when the next plan is carried out."""

    group: str
    key: int
    names: dict[int, str]
    alive: int
    specs: dict[str, ProcessSpec] = field(default_factory=dict)
    protocols: dict[int, str] = field(default_factory=dict)
    protocol: str = ""

    def deploys(self, plan: Plan, slots: list[int]) -> None:
        """A deployment may change the protocol; a deployment of all processes also changes it for
        later processes.
        """
        if plan.protocol:
            self.protocols.update(dict.fromkeys(slots, plan.protocol))
            if len(slots) == self.alive:
                self.protocol = plan.protocol

    def protocol_of(self, slot: int) -> str:
        return self.protocols.get(slot, self.protocol)

    def name_of(self, slot: int) -> str:
        return self._registered(self.names.setdefault(slot, f"{self.group}-{slot}"), slot)

    def renamed(self, slot: int, round_: int) -> str:
        self.names[slot] = f"{self.group}-{slot}-v{round_ + 2}"
        return self.name_of(slot)

    def twin_of(self, slot: int) -> str:
        return self._registered(f"{self.name_of(slot)}-twin", slot)

    def _registered(self, name: str, slot: int) -> str:
        self.specs.setdefault(name, ProcessSpec(name, f"{self.group}-{slot}"))
        return name


def planned_actions(
    group: str, processes: int, plans: tuple[Plan, ...], seed: int, length_ms: int
) -> tuple[list[ProcessSpec], list[Action]]:
    """A group's processes in order of their first action, and all actions in order of time.

    Without a plan that starts processes, all processes start at once.
    """
    key = key_of(seed, group, "plans")
    slots = _Slots(group=group, key=key, names={}, alive=processes)
    if not any(plan.kind == "start" for plan in plans):
        plans = (Plan(kind="start", at_ms=0, times=1), *plans)
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
    return list(slots.specs.values()), sorted(in_time, key=lambda action: action.at_ms)


def _times(plan: Plan, key: int, length_ms: int) -> Iterator[tuple[int, int]]:
    """The times in ms at which a plan is carried out, each with its round (0, 1, ...)."""
    at_ms, round_ = plan.at_ms, 0
    max_rounds = plan.times or (1 if plan.every_ms is None else length_ms)
    while at_ms < length_ms and round_ < max_rounds:
        if fraction(key, round_, 0) < plan.probability:
            later_ms = 0 if plan.kind == "start" else between(0, plan.spread_ms, key, round_, 1)
            yield at_ms + later_ms, round_
        at_ms += plan.every_ms or length_ms
        round_ += 1


def _actions(plan: Plan, at_ms: int, round_: int, slots: _Slots, key: int) -> Iterator[Action]:
    if plan.kind in ("scale", "autoscale"):
        yield from _scale(plan, at_ms, round_, slots)
        return
    chosen = _chosen(plan, slots, key)
    slots.deploys(plan, chosen)
    for index, slot in enumerate(chosen):
        protocol = slots.protocol_of(slot)
        when_ms = at_ms + index * plan.gap_ms
        if plan.kind == "start":
            spread_ms = between(0, plan.spread_ms, key, 2, slot)
            yield Action(when_ms + spread_ms, ActionKind.START, slots.name_of(slot))
        elif plan.kind == "twin":
            yield from _stay(plan, when_ms, slots.twin_of(slot))
        elif plan.kind in _LASTING:
            kind = _LASTING[plan.kind]
            yield Action(when_ms, kind, slots.name_of(slot), plan.length_ms or 0)
        elif plan.kind == "crash_loop":
            yield from _crash_loop(plan, when_ms, slots.name_of(slot))
        elif plan.kind == "deploy" and plan.overlap_ms:
            yield Action(when_ms + plan.overlap_ms, ActionKind.STOP, slots.name_of(slot))
            new = slots.renamed(slot, round_)
            yield Action(when_ms, ActionKind.START, new, protocol=protocol)
        else:
            yield from _end(plan, when_ms, slots.name_of(slot), protocol)


def _chosen(plan: Plan, slots: _Slots, key: int) -> list[int]:
    candidates = list(plan.processes) or list(range(1, slots.alive + 1))
    if plan.pick:
        return sorted(sorted(candidates, key=lambda slot: mixed(key, 3, slot))[: plan.pick])
    return candidates


def _end(plan: Plan, at_ms: int, process: str, protocol: str) -> Iterator[Action]:
    """Stop or kill the process; start it again after ``down_ms``, in a deployment always."""
    yield Action(at_ms, ActionKind.KILL if plan.kind == "kill" else ActionKind.STOP, process)
    if plan.down_ms is not None or plan.kind == "deploy":
        yield Action(at_ms + (plan.down_ms or 0), ActionKind.START, process, protocol=protocol)


def _stay(plan: Plan, at_ms: int, process: str) -> Iterator[Action]:
    yield Action(at_ms, ActionKind.START, process)
    if plan.length_ms is not None:
        yield Action(at_ms + plan.length_ms, ActionKind.STOP, process)


def _crash_loop(plan: Plan, at_ms: int, process: str) -> Iterator[Action]:
    """Each wait before a restart is twice the previous one, as in Kubernetes."""
    for loop in range(plan.loops):
        down_ms = (plan.down_ms or 0) * 2**loop
        yield Action(at_ms, ActionKind.KILL, process)
        yield Action(at_ms + down_ms, ActionKind.START, process)
        at_ms += down_ms + plan.life_ms


def _scale(plan: Plan, at_ms: int, round_: int, slots: _Slots) -> Iterator[Action]:
    """Start or stop processes until ``to`` of them run; the processes that started last are stopped
    first.  Autoscaling goes up and down between ``low`` and ``high``, one process at a time.
    """
    to = plan.to
    if plan.kind == "autoscale":
        span = plan.high - plan.low
        to = plan.high - abs(span - (round_ + 1) % (2 * span))
    for slot in range(slots.alive + 1, to + 1):
        protocol = slots.protocol_of(slot)
        yield Action(at_ms, ActionKind.START, slots.name_of(slot), protocol=protocol)
    for slot in range(slots.alive, to, -1):
        yield Action(at_ms, ActionKind.STOP, slots.name_of(slot))
    slots.alive = to
