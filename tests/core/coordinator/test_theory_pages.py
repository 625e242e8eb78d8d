"""The packages' theory pages are true: their examples are played, their lists name every module."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Append, Subtopology, Topology
from coordinator_core.records import decode

PACKAGE = "coordinator_core.coordinator"
TOPIC = TopicImage("t", "AAAAAAAAAAAAAAAAAAAAAQ", 2)
TOPOLOGY = Topology(1, (Subtopology("0", ("t",)),))
JOINS = {
    "consumer": {"topics": ("t",), "owned": (), "rebalance_timeout_ms": 30_000, "version": 1},
    "share": {"topics": ("t",)},
    "streams": {"topology": TOPOLOGY, "owned": (), "rebalance_timeout_ms": 30_000},
}
STATES = ("STABLE", "UNREVOKED", "UNRELEASED")
STEP = re.compile(r"    (\d+) s: (?:timers|(\w+), epoch (\d+)(?:, owns ([\d ]+))?)$")


def page(name):
    return import_module(f"{PACKAGE}.{name}").__doc__


def steps(name):
    """The example's steps: time, member, epoch, owned partitions, and what follows."""
    listed = []
    for line in page(name).splitlines():
        if match := STEP.match(line):
            listed.append([*match.groups(), ""])
        elif listed and line.startswith("        "):
            listed[-1][-1] = f"{listed[-1][-1]} {line.strip()}".strip()
        elif listed:
            break
    return [tuple(step) for step in listed]


class Example:
    """Plays heartbeats of one group of the type, and says what each wrote."""

    def __init__(self, name):
        self.type = GROUP_TYPES[name]
        self.coordinator = Coordinator(CoordinatorConfig(), ERAS["4.4"], lambda group, prefix: "")
        self.coordinator.change_topics([TOPIC], [], 0)

    def play(self, at_s, member, epoch, owned):
        at_ms = int(at_s) * 1000
        self.records = []
        self.perform(self.coordinator.advance(at_ms), at_ms)
        if member is not None:
            self.perform(
                self.coordinator.handle(self.heartbeat(member, epoch, owned), at_ms), at_ms
            )
        while self.coordinator.has_background:
            self.perform(self.coordinator.run_background(at_ms), at_ms)
        state = self.coordinator.modern_groups["g"].state_name()
        return f"{'; '.join(map(self.text, self.records))} -> {state}"

    def heartbeat(self, member, epoch, owned):
        fields = dict(JOINS[self.type.name]) if epoch == "0" else {}
        if owned is not None:
            fields["owned"] = ((TOPIC.topic_id, tuple(map(int, owned.split()))),)
        if self.type.has_topology and epoch == "0":
            fields["process_id"] = member
        return self.type.heartbeat(
            request_id=member, group_id="g", member_id=member, member_epoch=int(epoch), **fields
        )

    def perform(self, effects, at_ms):
        for effect in effects:
            if isinstance(effect, Append):
                self.records += [decode(*record) for record in effect.records]
                self.perform(self.coordinator.appended(effect, Errors.NONE, at_ms), at_ms)

    def text(self, record):
        kind, value = record.name.removeprefix(self.type.record_prefix), record.value
        member = record.key.get("member_id")
        match kind:
            case "GroupMemberMetadata":
                return f"member {member}"
            case "GroupMetadata":
                return f"epoch {value['epoch']}"
            case "GroupTopology":
                return f"topology {value['epoch']}"
            case "GroupTargetAssignmentMetadata":
                return f"target epoch {value['assignment_epoch']}"
            case "GroupTargetAssignmentMember":
                return f"target {member}{numbers(value, 'topic_partitions', 'active_tasks')}"
            case "GroupCurrentMemberAssignment":
                state = STATES[value["state"] - self.type.stable_state]
                has = numbers(value, "assigned_partitions", "active_tasks")
                gives = numbers(value, "partitions_pending_revocation")
                revokes = f", revokes{gives}" if gives else ""
                return f"current {member} {value['member_epoch']} {state}{has}{revokes}"
            case "GroupStatePartitionMetadata":
                initializing = numbers(value, "initializing_topics")
                word = "initializing" if initializing else "initialized"
                return f"{word} t{initializing or numbers(value, 'initialized_topics')}"
        raise AssertionError(record)


def numbers(value, *names):
    rows = [row for name in names for row in value.get(name, ())]
    return "".join(f" {number}" for row in rows for number in row["partitions"])


@pytest.mark.parametrize(("name", "count"), [("consumer", 5), ("share", 4), ("streams", 5)])
def test_the_example_of_a_page_is_what_the_engine_does(name, count):
    example = Example(name)

    expected = steps(name)

    assert len(expected) == count
    assert [(*step[:-1], example.play(*step[:-1])) for step in expected] == expected


@pytest.mark.parametrize(
    "name",
    [
        PACKAGE,
        *(f"{PACKAGE}.{each}" for each in ("classic", "consumer", "share", "streams", "modern")),
        *("coordinator_core.modern_history", "coordinator_core.whatif", "jobs.modern_history"),
    ],
)
def test_a_page_names_every_module_of_its_package(name):
    module = import_module(name)
    modules = {each.stem for each in Path(module.__file__).parent.glob("[!_]*.py")}

    assert sorted(modules - {*re.findall(r"\w+", module.__doc__)}) == []


def test_the_coordinators_page_names_every_group_type():
    words = {*re.findall(r"\w+", import_module(PACKAGE).__doc__)}

    assert sorted({*GROUP_TYPES} - words) == []
