"""Laws that hold for consumer groups after any requests, in both eras."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.scenarios.all_types import AllTypesPlayer
from coordinator_core.scenarios.scenario import given_ids

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
    return player.coordinator._turn.modern.get("g")


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
