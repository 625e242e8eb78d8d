"""A coordinator that loads a log continues where the previous coordinator stopped."""

import pytest

from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    DescribeGroup,
    Event,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaver,
    OffsetCommit,
    OffsetFetch,
    Respond,
    SyncGroup,
)
from coordinator_core.records import BadRecord, encode_key, encode_value

ERA_NAMES = ["4.1", "3.9", "2.5", "2.0", "0.10", "0.9"]


class LoggingBroker:
    """A coordinator and its log; ``send`` returns the answers."""

    def __init__(self, era, **config):
        config = CoordinatorConfig(group_initial_rebalance_delay_ms=0, **config)
        self.coordinator = Coordinator(config, ERAS[era], lambda group_id, prefix: prefix)
        self.log = []
        self.events = []

    def send(self, request, now_ms):
        effects = self.coordinator.advance(now_ms)
        effects += self.coordinator.handle(request, now_ms)
        return self.perform(effects + self.coordinator.advance(now_ms), now_ms)

    def perform(self, effects, now_ms):
        answers = {}
        for effect in effects:
            if isinstance(effect, Append):
                self.log += effect.records
                after = self.coordinator.appended(effect, Errors.NONE, now_ms)
                answers |= self.perform(after, now_ms)
            elif isinstance(effect, Respond):
                answers[effect.request_id] = effect.response
            elif isinstance(effect, Event):
                self.events.append(effect)
        return answers


def join(request_id, client_id="a", member_id=""):
    protocols = (("range", b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"),)
    return JoinGroup(
        request_id=request_id,
        group_id="g",
        member_id=member_id,
        instance_id=None,
        client_id=client_id,
        client_host="/h",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=protocols,
    )


def with_a_stable_group(era):
    broker = LoggingBroker(era)
    broker.send(join("j"), 0)
    broker.send(
        SyncGroup(
            request_id="s", group_id="g", member_id="a", generation=1, assignments={"a": b"A"}
        ),
        100,
    )
    broker.send(
        OffsetCommit(
            request_id="c",
            group_id="g",
            member_id="a",
            generation=1,
            offsets=(("t", 0, 5, "m"), ("t", 1, 6, "")),
        ),
        200,
    )
    assert broker.coordinator.groups["g"].state is GroupState.STABLE
    return broker


def loaded(previous, era, log=None, now_ms=1000, **config):
    broker = LoggingBroker(era, **config)
    broker.perform(broker.coordinator.load(previous.log if log is None else log, now_ms), now_ms)
    return broker


@pytest.mark.parametrize("era", ERA_NAMES)
def test_a_loaded_group_equals_the_written_one(era):
    previous = with_a_stable_group(era)
    broker = loaded(previous, era)

    for request in (DescribeGroup("d", "g"), OffsetFetch("f", "g", (("t", 0), ("t", 1)))):
        assert broker.send(request, 1000) == previous.send(request, 1000)
    assert broker.coordinator.groups["g"].leader == "a"
    assert broker.send(Heartbeat("h", "g", "a", 1), 1000)["h"].error is Errors.NONE
    assert broker.log == []


@pytest.mark.parametrize("era", ERA_NAMES)
def test_a_compacted_log_gives_the_same_groups(era):
    previous = with_a_stable_group(era)
    previous.send(
        OffsetCommit(
            request_id="c", group_id="g", member_id="a", generation=1, offsets=(("t", 0, 9, ""),)
        ),
        300,
    )
    compacted = list({key: (key, value) for key, value in previous.log}.values())
    assert len(compacted) < len(previous.log)

    complete, short = loaded(previous, era), loaded(previous, era, compacted)

    for request in (DescribeGroup("d", "g"), OffsetFetch("f", "g", (("t", 0), ("t", 1)))):
        assert complete.send(request, 1000) == short.send(request, 1000)


@pytest.mark.parametrize("era", ERA_NAMES)
def test_members_get_a_new_session(era):
    broker = loaded(with_a_stable_group(era), era, now_ms=1000)

    assert broker.coordinator.next_deadline_ms() == 1000 + 30_000
    broker.perform(broker.coordinator.advance(30_999), 30_999)
    assert broker.coordinator.groups["g"].state is GroupState.STABLE
    broker.perform(broker.coordinator.advance(31_000), 31_000)

    group = broker.coordinator.groups.get("g")
    assert group is None if era == "0.9" else group.state is GroupState.EMPTY


@pytest.mark.parametrize("era", ERA_NAMES)
def test_the_next_generation_follows_the_loaded_one(era):
    broker = loaded(with_a_stable_group(era), era)

    answers = broker.send(join("j2", member_id="a"), 2000)

    assert answers["j2"].generation == 2


@pytest.mark.parametrize("era", ["4.1", "3.9", "2.5", "2.0", "0.10"])
def test_an_empty_group_keeps_its_generation_and_a_removed_group_is_not_loaded(era):
    previous = with_a_stable_group(era)
    previous.send(LeaveGroup("l", "g", (Leaver("a"),)), 500)
    broker = loaded(previous, era)
    tombstone = (encode_key("GroupMetadata", {"group": "g"}), None)
    offsets = [(key, None) for key, _ in previous.log if key.startswith(b"\0\1")]

    group = broker.coordinator.groups["g"]
    assert (group.state, group.generation) == (GroupState.EMPTY, 2)
    assert "g" not in loaded(previous, era, [*previous.log, *offsets, tombstone]).coordinator.groups


@pytest.mark.parametrize("era", ["4.1", "3.9", "2.5", "2.0", "0.10"])
def test_offsets_without_a_group_record_make_an_empty_group(era):
    previous = LoggingBroker(era)
    previous.send(
        OffsetCommit(
            request_id="c", group_id="g", member_id="", generation=-1, offsets=(("t", 0, 5, ""),)
        ),
        0,
    )
    broker = loaded(previous, era)

    assert broker.send(DescribeGroup("d", "g"), 1000)["d"].state == "Empty"
    assert broker.send(
        OffsetCommit(
            request_id="c", group_id="g", member_id="", generation=-1, offsets=(("t", 0, 6, ""),)
        ),
        1000,
    )["c"].partitions


@pytest.mark.parametrize("era", ["4.1", "3.9", "2.5"])
def test_a_group_over_a_lowered_maximal_size_rebalances(era):
    previous = with_a_stable_group(era)
    broker = loaded(previous, era, group_max_size=0)

    assert broker.coordinator.groups["g"].state is GroupState.PREPARING_REBALANCE
    starts = [e.fields["cause"] for e in broker.events if e.kind == "REBALANCE_START"]
    assert starts == ["OVER_CAPACITY"]


def test_old_records_have_one_timeout_for_session_and_rebalance():
    member = {
        "member_id": "m",
        "client_id": "c",
        "client_host": "/h",
        "session_timeout": 7000,
        "subscription": b"",
        "assignment": b"A",
    }
    value = {
        "protocol_type": "consumer",
        "generation": 3,
        "protocol": "range",
        "leader": "m",
        "members": [member],
    }
    log = [(encode_key("GroupMetadata", {"group": "g"}), encode_value("GroupMetadata", 0, value))]
    broker = loaded(None, "3.9", log)

    group = broker.coordinator.groups["g"]
    assert (group.generation, group.members["m"].rebalance_timeout_ms) == (3, 7000)


def test_unreadable_bytes_raise_with_the_record_type():
    log = [(encode_key("GroupMetadata", {"group": "g"}), b"\0\1\0")]

    with pytest.raises(BadRecord, match="GroupMetadata"):
        loaded(None, "4.1", log)


@pytest.mark.parametrize("era", ERA_NAMES)
def test_unloading_fails_waiting_requests_and_removes_groups(era):
    broker = with_a_stable_group(era)
    broker.send(join("j2", "b"), 600)

    answers = broker.perform(broker.coordinator.unload(700), 700)

    assert {key: answer.error for key, answer in answers.items()} == {"j2": Errors.NOT_COORDINATOR}
    assert broker.coordinator.groups == {}
    assert broker.coordinator.next_deadline_ms() is None
