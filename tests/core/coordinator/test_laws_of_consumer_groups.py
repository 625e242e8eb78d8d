"""Laws that hold for consumer groups after any requests, in both eras."""

import base64
import random
from itertools import count, groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.records import decode
from coordinator_core.scenarios.group_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids
from tools.differential.consumer_groups import consumer_scenario

TOPICS = [
    {"name": name, "id": f"9fd35744-3296-47d1-a563-9a64082{place:05}", "partitions": 4}
    for place, name in enumerate("ab")
]
MEMBERS = [f"10fd9090-95d2-49a4-abc3-1394000{place:05}" for place in range(3)]
SESSION_MS = 45_000

MOVES = st.lists(
    st.tuples(
        st.sampled_from(MEMBERS),
        st.sampled_from(["join", "stay", "leave", "subscribe"]),
        st.sampled_from([["a"], ["b"], ["a", "b"]]),
        st.sampled_from([1, 100, 6000]),
    ),
    max_size=25,
)


def heartbeat(at_ms, place, member, epoch, **fields):
    step = {"at_ms": at_ms, "id": f"h{place}", "op": "consumer_heartbeat", "group": "g"}
    return step | {"member": member, "member_epoch": epoch, "brief": False, **fields}


def scenario(moves):
    steps = [{"at_ms": 0, "id": "s", "op": "metadata", "topics": TOPICS}]
    at_ms = 1000
    for place, (member, move, topics, pause_ms) in enumerate(moves):
        at_ms += pause_ms
        epoch = {"join": 0, "leave": -1}.get(move, "last")
        fields = {} if move == "leave" else {"topics": topics, "rebalance_timeout_ms": 10_000}
        if move in ("stay", "subscribe"):
            fields["owned"] = "last"
        elif move == "join":
            fields["owned"] = []
        steps.append(heartbeat(at_ms, place, member, epoch, **fields))
    return {"name": "law", "config": {"kafka": {}}, "steps": steps}, at_ms


def played(moves, era, *more):
    made, at_ms = scenario(moves)
    for place, step in enumerate(more):
        made["steps"].append({"id": f"m{place}", **step, "at_ms": at_ms + step["at_ms"]})
    player = AllTypesPlayer(made, ERAS[era], given_ids([]))
    return player, player.play("")


def group_of(player):
    return player.coordinator._turn.groups.modern.get("g")


@pytest.mark.parametrize("era", ["4.4", "4.1"])
@given(moves=MOVES)
@settings(max_examples=40, deadline=None)
def test_no_partition_has_two_members(era, moves):
    player, _ = played(moves, era)
    group = group_of(player)
    owned = [
        (topic_id, partition)
        for member in (group.members.values() if group else ())
        for part in (member.assigned, member.pending)
        for topic_id, partitions in part.items()
        for partition in partitions
    ]
    assert len(owned) == len(set(owned))


@pytest.mark.parametrize("era", ["4.4", "4.1"])
@given(moves=MOVES)
@settings(max_examples=40, deadline=None)
def test_epochs_never_go_back(era, moves):
    _, trace = played(moves, era)
    epochs = [row["epoch"] for row in trace if row["event"] == "state" and "epoch" in row]
    assert epochs == sorted(epochs)


@pytest.mark.parametrize("era", ["4.4", "4.1"])
@given(moves=MOVES)
@settings(max_examples=40, deadline=None)
def test_silent_members_are_gone_after_their_session(era, moves):
    player, _ = played(moves, era, {"at_ms": SESSION_MS + 1, "op": "wait", "group": "g"})
    group = group_of(player)
    assert group is None or not group.members


@pytest.mark.parametrize("era", ["4.4", "4.1"])
@given(moves=MOVES)
@settings(max_examples=40, deadline=None)
def test_a_loaded_group_equals_the_one_that_was_written(era, moves):
    player, _ = played(moves, era)
    before = group_of(player)
    reloaded, _ = played(moves, era, {"at_ms": 0, "op": "reload"})
    after = group_of(reloaded)
    if before is None:
        assert after is None
    else:
        assert after.members == before.members
        assert after.targets == before.targets
        assert (after.epoch, after.assignment_epoch) == (before.epoch, before.assignment_epoch)
        assert after.static_members == before.static_members


# Actions are random: crowds, shared instance ids, regular expressions, topics that come and go,
# failed appends, reloads, and migrations between the protocols.
SEEDS = st.integers(min_value=0, max_value=10**6)
CURRENT = "ConsumerGroupCurrentMemberAssignment"


def random_trace(seed, era):
    made = consumer_scenario(random.Random(seed), f"law-{seed}")
    numbers = count()
    player = AllTypesPlayer(made, ERAS[era], lambda group, prefix: f"{prefix}-{next(numbers):032x}")
    return made, player.play("")[1:]


def moments(trace):
    """What each moment wrote of the members' partitions, and its answers."""
    for _, events in groupby(trace, key=lambda event: event["at_ms"]):
        listed = list(events)
        records = [decoded(event) for event in listed if event["event"] == "record"]
        yield (
            [record for record in records if record.name == CURRENT],
            [event for event in listed if event["event"] == "response"],
        )


def decoded(event):
    value = event["value"]
    return decode(
        base64.b64decode(event["key"]), None if value is None else base64.b64decode(value)
    )


def written(value, *fields):
    return [
        (row["topic_id"], partition)
        for field in fields
        for row in value[field]
        for partition in row["partitions"]
    ]


@pytest.mark.parametrize("era", ["4.4", "4.1"])
@given(seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_the_records_of_no_moment_give_a_partition_to_two_members(era, seed):
    _, trace = random_trace(seed, era)
    present = {}
    for records, _ in moments(trace):
        for record in records:
            present.pop(record.key["member_id"], None)
            if record.value is not None:
                owned = written(
                    record.value, "assigned_partitions", "partitions_pending_revocation"
                )
                present[record.key["member_id"]] = owned
        owned = [partition for partitions in present.values() for partition in partitions]
        assert len(owned) == len(set(owned))


@pytest.mark.parametrize("era", ["4.4", "4.1"])
@given(seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_answers_tell_a_member_the_partitions_of_its_record(era, seed):
    """Together with the law about records: no two answers give away one partition."""
    _, trace = random_trace(seed, era)
    present = {}
    for records, answers in moments(trace):
        in_moment = {}
        for record in records:
            count_of = in_moment.setdefault(record.key["member_id"], [])
            value = record.value
            count_of.append(0 if value is None else len(written(value, "assigned_partitions")))
        for answer in answers:
            if answer["op"] == "consumer_heartbeat" and answer["assignment"] is not None:
                member = answer["member"]
                partitions = sum(len(each) for _, each in answer["assignment"])
                assert partitions in [present.get(member, 0), *in_moment.get(member, [])]
        present.update({member: counts[-1] for member, counts in in_moment.items()})


def of_joined_members(moves):
    """Members join once until they leave: 4.1 fences one that joins twice for its session."""
    joined, changed = set(), []
    for member, move, topics, pause_ms in moves:
        is_in = member in joined
        if move != "leave":
            move = "stay" if is_in else "join"
        if is_in or move == "join":
            changed.append((member, move, topics, pause_ms))
        (joined.discard if move == "leave" else joined.add)(member)
    return changed


@pytest.mark.parametrize("era", ["4.4", "4.1"])
@given(moves=MOVES)
@settings(max_examples=40, deadline=None)
def test_members_that_all_heartbeat_reach_their_target(era, moves):
    """Six rounds: partitions are revoked, released and taken."""
    moves = of_joined_members(moves)
    player, _ = played(moves, era)
    group = group_of(player)
    rounds = [
        heartbeat(0, f"{turn}-{member.member_id}", member.member_id, "last")
        | {"topics": sorted(member.topics), "rebalance_timeout_ms": 10_000, "owned": "last"}
        | {"at_ms": 1001 * (turn + 1)}
        for turn in range(6)
        for member in (group.members.values() if group else ())
    ]

    player, _ = played(moves, era, *rounds)

    group = group_of(player)
    if group is not None and group.members:
        assert group.state_name() == "Stable"
        for member in group.members.values():
            owned = {topic: set(partitions) for topic, partitions in member.assigned.items()}
            target = group.targets.get(member.member_id, {})
            assert owned == {topic: set(partitions) for topic, partitions in target.items()}


@pytest.mark.parametrize("era", ["4.4", "4.1"])
@given(moves=MOVES)
@settings(max_examples=40, deadline=None)
def test_a_member_that_does_not_revoke_is_removed_in_time(era, moves):
    """It heartbeats on, and never says that it gave its partitions up."""
    player, _ = played(moves, era)
    group = group_of(player)
    stubborn = [
        {**heartbeat(0, f"{turn}-{member}", member, "last", brief=True), "at_ms": 1000 * turn}
        for turn in range(1, 30)
        for member in (group.members if group else ())
    ]

    _, trace = played(moves, era, *stubborn)

    asked_ms = {}
    for event in trace:
        if event["event"] == "response" and event["assignment"] is not None:
            asked_ms[event["member"]] = event["at_ms"]
        if event["event"] == "state" and "members" in event:
            for member, _, state in event["members"]:
                if state == "UNREVOKED_PARTITIONS":
                    assert event["at_ms"] - asked_ms[member] <= 10_000


def test_a_group_stays_when_its_conversion_cannot_be_written_after_a_load():
    """Both members' sessions end at once, and only the end of the classic member's can be written.
    Kafka 4.4 gives the same state."""
    # By its hash, this member's session ends first.
    member = "2ba1990f-ae33-4f15-9737-9978a6310c3e"
    protocols = [["range", "AAMAAAABAAFh/////wAAAAD//////////////w=="]]
    classic = {"protocol_type": "consumer", "protocols": protocols, "member": ""}
    timeouts = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
    steps = [
        {"at_ms": 0, "id": "classic", "op": "join", "group": "g"} | classic | timeouts,
        heartbeat(3000, 0, member, 0, topics=[], rebalance_timeout_ms=10_000, owned=[]),
        {"at_ms": 3000, "id": "f", "op": "fault", "group": "g"}
        | {"append_error": "NOT_LEADER_OR_FOLLOWER"},
        {"at_ms": 3000, "id": "r", "op": "reload"},
        {"at_ms": 48_000, "id": "w", "op": "wait", "group": "g"},
    ]
    made = {"name": "conversion", "config": {}, "steps": steps}

    trace = AllTypesPlayer(made, ERAS["4.4"], given_ids(["c-0"])).play("")

    assert trace[-1] == {
        "at_ms": 48_000,
        "event": "state",
        "group": "g",
        "type": "consumer",
        "state": "Assigning",
        "epoch": 2,
        "assignment_epoch": 1,
        "members": [[member, 1, "STABLE"]],
    }
