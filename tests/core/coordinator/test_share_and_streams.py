"""Share and streams groups: rules, laws on random steps, and traces of Kafka's own classes.

tests/data/coordinator-share-streams has random scenarios of tools/differential, and their traces of
Kafka 4.4.0 and 4.1.1; of other versions, some traces that differ from the nearest era's.  The
traces of 4.1's streams groups come from a JVM with -XX:hashCode=2, because its assignor breaks ties
by identity hash codes.
"""

import gzip
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.assignors.sticky_tasks.model import TaskAssignorError
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.metadata_image import MetadataImage, TopicImage
from coordinator_core.coordinator.streams.topology import InvalidTopology, Status, configure
from coordinator_core.protocol.errors import UnexpectedState
from coordinator_core.protocol.messages import CopartitionGroup, Subtopology, Topology
from coordinator_core.scenarios.group_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids
from tools.differential.share_and_streams import share_scenario, streams_scenario
from tools.differential.traces import by_key

DATA = Path(__file__).parents[2] / "data" / "coordinator-share-streams"
A = "00000000-0000-0000-0000-00000000000a"
READ = [{"id": "0", "source_topics": ["a"]}]
STATE = [{"id": "0", "source_topics": ["a"], "changelog_topics": [["log", 0]]}]
BOTH = [*READ, {"id": "1", "source_topics": ["missing"]}]

laws = settings(max_examples=25, deadline=None, derandomize=True)


def rows(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("path", sorted(DATA.glob("traces-*")), ids=lambda path: path.name)
def test_random_scenarios_give_the_trace_of_the_era(path):
    scenarios = {scenario["name"]: scenario for scenario in rows("scenarios.jsonl.gz")}
    differing = []
    era = path.name[len("traces-") : -len(".jsonl.gz")]
    for row in rows(path.name):
        kafka = row["trace"]

        played = AllTypesPlayer(
            scenarios[row["name"]], ERAS[era], given_ids(kafka[0]["member_ids"])
        ).play("")

        if by_key(played) != by_key(kafka):
            differing.append(row["name"])
    assert differing == []
    assert len(scenarios) == 76


# -- rules


def image(**counts):
    topics = {name: TopicImage(name, f"{name:A>22}", count) for name, count in counts.items()}
    return MetadataImage(topics)


def reads(*topics, repartition=(), log=(), together=()):
    return Subtopology("0", topics, (), repartition, log, together)


EQUAL_SOURCES = (CopartitionGroup((0, 1)),)
SOURCE_AND_INTERNAL = (CopartitionGroup((0,), (0,)),)


@pytest.mark.parametrize(
    ("rule", "subtopologies", "topics", "tasks", "problem", "missing"),
    [
        ("one task per partition", [reads("a")], {"a": 3}, {"0": 3}, None, ()),
        ("the largest topic counts", [reads("a", "b")], {"a": 3, "b": 5}, {"0": 5}, None, ()),
        (
            "all source topics must exist",
            [reads("a", "b")],
            {"a": 3},
            None,
            Status.MISSING_SOURCE_TOPICS,
            (),
        ),
        (
            "a changelog topic that does not exist is to be created",
            [reads("a", log=(("log", 0),))],
            {"a": 3},
            {"0": 3},
            Status.MISSING_INTERNAL_TOPICS,
            ("log",),
        ),
        (
            "a changelog topic has one partition per task",
            [reads("a", log=(("log", 0),))],
            {"a": 3, "log": 3},
            {"0": 3},
            None,
            (),
        ),
        (
            "a changelog topic of another size is an error",
            [reads("a", log=(("log", 0),))],
            {"a": 3, "log": 2},
            None,
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            (),
        ),
        (
            "topics read together have equal partitions",
            [reads("a", "b", together=EQUAL_SOURCES)],
            {"a": 3, "b": 3},
            {"0": 3},
            None,
            (),
        ),
        (
            "topics read together with other partitions are an error",
            [reads("a", "b", together=EQUAL_SOURCES)],
            {"a": 3, "b": 5},
            None,
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            (),
        ),
        (
            "a repartition topic of fixed size must fit the topics it is read with",
            [
                reads("a", repartition=(("r", 4),), together=SOURCE_AND_INTERNAL),
                Subtopology("1", ("a",), ("r",)),
            ],
            {"a": 3},
            None,
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            (),
        ),
        (
            "a repartition topic has as many partitions as its writer has tasks",
            [Subtopology("0", ("a",), ("r",)), Subtopology("1", (), (), (("r", 0),))],
            {"a": 3},
            {"0": 3, "1": 3},
            Status.MISSING_INTERNAL_TOPICS,
            ("r",),
        ),
        (
            "a repartition topic takes the size of the topics it is read with",
            [
                Subtopology("0", ("a",), ("r",)),
                Subtopology("1", ("b",), (), (("r", 0),), (), SOURCE_AND_INTERNAL),
            ],
            {"a": 3, "b": 6},
            {"0": 3, "1": 6},
            Status.MISSING_INTERNAL_TOPICS,
            ("r",),
        ),
    ],
)
def test_a_topology_is_configured_against_the_topics_that_exist(
    rule, subtopologies, topics, tasks, problem, missing
):
    configured = configure(Topology(7, tuple(subtopologies)), image(**topics))

    counted = configured.subtopologies
    assert configured.epoch == 7, rule
    assert (counted and {each: counted[each].tasks for each in counted}) == tasks, rule
    assert (configured.problem, configured.missing_topics) == (problem, missing), rule


@pytest.mark.parametrize(
    ("rule", "subtopologies", "error"),
    [
        ("a subtopology reads something", [Subtopology("0")], InvalidTopology),
        (
            "a repartition topic has a writer",
            [reads("a", repartition=(("r", 0),))],
            InvalidTopology,
        ),
        (
            "repartition topics form no loop",
            [
                Subtopology("0", (), ("r",), (("s", 0),)),
                Subtopology("1", (), ("s",), (("r", 0),)),
            ],
            InvalidTopology,
        ),
    ],
)
def test_a_topology_that_no_topics_can_make_valid_is_refused(rule, subtopologies, error):
    with pytest.raises((InvalidTopology, UnexpectedState)) as caught:
        configure(Topology(1, tuple(subtopologies)), image(a=3))
    assert caught.type is error, rule


def metadata(at_ms=0, **counts):
    topics = [{"name": name, "id": A, "partitions": count} for name, count in counts.items()]
    return {"at_ms": at_ms, "id": f"metadata{at_ms}", "op": "metadata", "topics": topics}


def share(at_ms, step_id, member, epoch, **fields):
    return {
        "at_ms": at_ms,
        "id": step_id,
        "op": "share_heartbeat",
        "group": "g",
        "member": member,
        "member_epoch": epoch,
        **fields,
    }


def streams(at_ms, step_id, member, epoch, subtopologies=None, **fields):
    topology = subtopologies and {"epoch": 1, "subtopologies": subtopologies}
    joining = {"rebalance_timeout_ms": 5000, "process_id": member, "owned": []} if topology else {}
    return {
        **share(at_ms, step_id, member, epoch, **joining),
        "op": "streams_heartbeat",
        **({"topology": topology} if topology else {}),
        **fields,
    }


def play(steps, era="4.4", **kafka):
    scenario = {"name": "s", "about": "", "config": {"kafka": kafka}, "steps": steps}
    return AllTypesPlayer(scenario, ERAS[era], given_ids([])).play("")


def answers(steps, era="4.4", **kafka):
    events = play(steps, era, **kafka)
    return {event["to"]: event for event in events if event["event"] == "response"}


@pytest.mark.parametrize(
    ("rule", "member", "epoch", "fields", "error"),
    [
        ("a member joins", "m", 0, {"topics": ["a"]}, "NONE"),
        ("a joining member subscribes", "m", 0, {}, "INVALID_REQUEST"),
        ("a rack has a name", "m", 0, {"topics": ["a"], "rack_id": ""}, "INVALID_REQUEST"),
        ("no epoch is below that of leaving", "m", -2, {}, "INVALID_REQUEST"),
        ("only a join creates a group", "m", 3, {}, "GROUP_ID_NOT_FOUND"),
    ],
)
def test_heartbeats_of_share_groups_are_checked(rule, member, epoch, fields, error):
    answered = answers([metadata(a=2), share(1, "h", member, epoch, **fields)])
    assert answered["h"]["error"] == error, rule


@pytest.mark.parametrize(
    ("rule", "epoch", "fields", "error"),
    [
        ("a member joins", 0, {}, "NONE"),
        ("a joining member has no tasks", 0, {"owned": [["active", "0", [0]]]}, "INVALID_REQUEST"),
        ("a joining member has a timeout", 0, {"rebalance_timeout_ms": -1}, "INVALID_REQUEST"),
        ("a topology comes with a join", 4, {}, "INVALID_REQUEST"),
        ("an instance id is not empty", 0, {"instance_id": ""}, "INVALID_REQUEST"),
    ],
)
def test_heartbeats_of_streams_groups_are_checked(rule, epoch, fields, error):
    answered = answers([metadata(a=2), streams(1, "h", "m", epoch, READ, **fields)])
    assert answered["h"]["error"] == error, rule


def test_a_changelog_topic_of_a_topology_has_no_fixed_size():
    fixed = [{"id": "0", "source_topics": ["a"], "changelog_topics": [["log", 2]]}]
    answered = answers([metadata(a=2), streams(1, "h", "m", 0, fixed)])
    assert answered["h"]["error"] == "STREAMS_INVALID_TOPOLOGY"


@pytest.mark.parametrize(
    ("rule", "era", "subtopologies", "delay_ms", "status"),
    [
        ("nothing to report", "4.4", READ, 0, []),
        ("the first assignment waits", "4.4", READ, 3000, [Status.ASSIGNMENT_DELAYED]),
        ("4.1 does not wait", "4.1", READ, 3000, []),
        ("a source topic is missing", "4.4", BOTH, 0, [Status.MISSING_SOURCE_TOPICS]),
        ("an internal topic is missing", "4.4", STATE, 0, [Status.MISSING_INTERNAL_TOPICS]),
    ],
)
def test_an_answer_reports_what_tasks_wait_for(rule, era, subtopologies, delay_ms, status):
    delay = {"group.streams.initial.rebalance.delay.ms": delay_ms} if era == "4.4" else {}
    answered = answers([metadata(a=2), streams(1, "h", "m", 0, subtopologies)], era, **delay)
    assert answered["h"]["status"] == status, rule


def test_an_assignor_that_throws_after_the_initial_delay_fails_the_next_heartbeat(monkeypatch):
    """Kafka schedules the timer of the delay without retry.  The timer computes a target only if a
    heartbeat has configured the topology again after its record was written."""

    def throws(*_):
        raise TaskAssignorError("no process for task 0")

    era = ERAS["4.4"]
    modern = replace(era.modern, streams=replace(era.modern.streams, assign=throws))
    monkeypatch.setitem(ERAS, "4.4", replace(era, modern=modern))
    joins_and_stays = [
        metadata(a=2),
        streams(1, "joins", "m", 0, READ),
        streams(1000, "waits", "m", "last", owned=[]),
        streams(5000, "stays", "m", "last", owned=[]),
    ]
    delay = {"group.streams.initial.rebalance.delay.ms": 3000}

    answered = answers(joins_and_stays, **delay)

    assert answered["joins"]["error"] == "NONE"
    assert answered["stays"]["error"] == "UNKNOWN_SERVER_ERROR"


def test_internal_topics_are_named_to_be_created_and_tasks_come_once_they_exist():
    log = {"name": "log", "id": A[:-1] + "b", "partitions": 2}
    answered = answers(
        [
            metadata(a=2),
            streams(1, "join", "m", 0, STATE),
            {"at_ms": 2, "id": "create", "op": "metadata", "topics": [log]},
            streams(3000, "later", "m", "last", owned=[]),
        ],
        **{"group.streams.initial.rebalance.delay.ms": 0},
    )

    assert answered["join"]["creatable_topics"] == ["log"]
    assert answered["join"]["assignment"] == []
    assert answered["later"]["creatable_topics"] == []
    assert answered["later"]["assignment"] == [["active", "0", [0, 1]]]


def test_a_task_goes_to_a_new_process_after_the_old_one_gave_it_up():
    answered = answers(
        [
            metadata(a=2),
            streams(1, "m joins", "m", 0, READ),
            streams(2, "n joins", "n", 0, READ),
            streams(2002, "m revokes", "m", "last", owned="last"),
            streams(2003, "n waits", "n", "last", owned=[]),
            streams(2004, "m revoked", "m", "last", owned="last"),
            streams(2005, "n gets", "n", "last", owned=[]),
        ],
        **{
            "group.streams.initial.rebalance.delay.ms": 0,
            "group.streams.assignment.interval.ms": 0,
        },
    )

    assigned = {step: answer["assignment"] for step, answer in answered.items()}
    assert assigned == {
        "m joins": [["active", "0", [0, 1]]],
        "n joins": [],
        "m revokes": [["active", "0", [0]]],
        "n waits": None,
        "m revoked": None,
        "n gets": [["active", "0", [1]]],
    }


@pytest.mark.parametrize("era", ["4.4", "4.1"])
def test_a_silent_member_is_removed_at_the_end_of_its_session(era):
    for join in (share(1, "h", "m", 0, topics=["a"]), streams(1, "h", "m", 0, READ)):
        wait = {"at_ms": 45002, "id": "end", "op": "wait"}

        states = [each for each in play([metadata(a=2), join, wait], era) if "members" in each]

        assert [each["at_ms"] for each in states if not each["members"]] == [45001]


# -- laws


def scenario(kind, seed):
    make = share_scenario if kind == "share" else streams_scenario
    return make(random.Random(seed), f"{kind}-{seed}")


def player_of(scenario, era):
    return AllTypesPlayer(scenario, ERAS[era], given_ids([f"classic-{n}" for n in range(100)]))


def played(kind, seed, era):
    return player_of(scenario(kind, seed), era).play("")


kinds = st.sampled_from(["share", "streams"])
seeds = st.integers(0, 10**6)
eras = st.sampled_from(["4.4", "4.1"])


@laws
@given(kinds, seeds, eras)
def test_group_epochs_never_go_back_while_appends_succeed(kind, seed, era):
    steps = [step for step in scenario(kind, seed)["steps"] if step["op"] != "fault"]
    quiet = {**scenario(kind, seed), "steps": steps}
    events = player_of(quiet, era).play("")
    epochs = []
    for event in events:
        if event["event"] == "state" and "assignment_epoch" not in event:
            epochs.clear()  # The group was deleted, or is a classic group now.
        elif event["event"] == "state":
            epochs.append(event["epoch"])
            assert event["assignment_epoch"] <= event["epoch"]
            assert epochs == sorted(epochs)


@laws
@given(seeds, eras)
def test_the_active_tasks_of_a_group_have_one_owner(seed, era):
    player = player_of(scenario("streams", seed), era)
    player.play("")
    for group in player.coordinator.modern_groups.values():
        active = [
            (subtopology, partition)
            for member in group.members.values()
            for tasks in (member.assigned, member.pending)
            for subtopology, partitions in tasks.active.items()
            for partition in partitions
        ]
        assert len(active) == len(set(active))


@laws
@given(kinds, seeds, eras)
def test_loaded_groups_equal_those_that_were_written(kind, seed, era):
    made = scenario(kind, seed)
    made["steps"] = [step for step in made["steps"] if step["op"] != "fault"]
    reload = {"id": "reload", "op": "reload", "at_ms": made["steps"][-1]["at_ms"]}
    written, loaded = (
        player_of({**made, "steps": [*made["steps"], *more]}, era) for more in ([], [reload])
    )
    written.play("")
    loaded.play("")

    assert stored(loaded) == stored(written)


def stored(player):
    """By group: what its records have."""
    return {
        name: (group.epoch, group.assignment_epoch, group.members, group.targets)
        for name, group in player.coordinator.modern_groups.items()
    }


@laws
@given(kinds, seeds, eras)
def test_the_same_steps_give_the_same_trace(kind, seed, era):
    assert played(kind, seed, era) == played(kind, seed, era)
