"""Slow and failing appends: answers wait for them, and each error has its consequences."""

import pytest

from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    DeleteGroup,
    DescribeGroup,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaver,
    OffsetCommit,
    OffsetFetch,
    Respond,
    SyncGroup,
)

ERA_NAMES = ["4.1", "3.9", "2.5", "2.0", "0.10", "0.9"]


class SlowLogBroker:
    """A coordinator whose appends end when the test ends them; answers by request."""

    def __init__(self, era):
        self.coordinator = Coordinator(
            CoordinatorConfig(group_initial_rebalance_delay_ms=0),
            ERAS[era],
            lambda group_id, prefix: prefix,
        )
        self.now_ms = 0
        self.appends = []
        self.answers = {}

    def send(self, request):
        self._take(self.coordinator.handle(request, self.now_ms))
        self._take(self.coordinator.advance(self.now_ms))

    def end(self, error=Errors.NONE):
        append = self.appends.pop(0)
        self._take(self.coordinator.appended(append, error, self.now_ms))

    def _take(self, effects):
        for effect in effects:
            if isinstance(effect, Append):
                self.appends.append(effect)
            elif isinstance(effect, Respond):
                self.answers[effect.request_id] = effect.response

    @property
    def group(self):
        return self.coordinator.groups.get("g")


def join(request_id, client_id="a", member_id=""):
    protocols = (("range", b""),)
    return JoinGroup(
        request_id=request_id,
        group_id="g",
        member_id=member_id,
        instance_id=None,
        client_id=client_id,
        client_host="/h",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=protocols,
    )


def completing(era):
    """A group whose only member has joined and not synced; no append is in flight."""
    broker = SlowLogBroker(era)
    broker.send(join("j"))
    while broker.appends:
        broker.end()
    assert broker.group.state is GroupState.COMPLETING_REBALANCE
    return broker


def stable(era):
    broker = completing(era)
    broker.send(
        SyncGroup(
            request_id="s", group_id="g", member_id="a", generation=1, assignments={"a": b"A"}
        )
    )
    broker.end()
    assert broker.answers.pop("s").assignment == b"A"
    return broker


@pytest.mark.parametrize("era", ERA_NAMES)
def test_no_sync_is_answered_before_the_record_is_in_the_log(era):
    broker = completing(era)
    broker.send(
        SyncGroup(
            request_id="s", group_id="g", member_id="a", generation=1, assignments={"a": b"A"}
        )
    )
    assert "s" not in broker.answers
    assert broker.group.state is GroupState.COMPLETING_REBALANCE

    broker.end()

    assert broker.answers["s"].assignment == b"A"
    assert broker.group.state is GroupState.STABLE


@pytest.mark.parametrize("era", ERA_NAMES)
def test_an_append_that_ends_after_the_next_rebalance_began_changes_nothing(era):
    broker = completing(era)
    broker.send(
        SyncGroup(
            request_id="s", group_id="g", member_id="a", generation=1, assignments={"a": b"A"}
        )
    )
    broker.send(join("j2", "b"))
    assert broker.answers["s"].error is Errors.REBALANCE_IN_PROGRESS

    broker.end()

    assert broker.group.state is GroupState.PREPARING_REBALANCE
    assert broker.group.members["a"].assignment == b""


# error of the append -> answer to the sync in 4.1, and answer up to 3.9
SYNC_ERRORS = """
NOT_LEADER_OR_FOLLOWER               NOT_COORDINATOR                  NOT_COORDINATOR
KAFKA_STORAGE_ERROR                  NOT_COORDINATOR                  NOT_COORDINATOR
NOT_ENOUGH_REPLICAS                  COORDINATOR_NOT_AVAILABLE        COORDINATOR_NOT_AVAILABLE
UNKNOWN_TOPIC_OR_PARTITION           COORDINATOR_NOT_AVAILABLE        COORDINATOR_NOT_AVAILABLE
NOT_ENOUGH_REPLICAS_AFTER_APPEND     NOT_ENOUGH_REPLICAS_AFTER_APPEND COORDINATOR_NOT_AVAILABLE
REQUEST_TIMED_OUT                    COORDINATOR_NOT_AVAILABLE        REBALANCE_IN_PROGRESS
MESSAGE_TOO_LARGE                    UNKNOWN_SERVER_ERROR             UNKNOWN_SERVER_ERROR
RECORD_LIST_TOO_LARGE                UNKNOWN_SERVER_ERROR             UNKNOWN_SERVER_ERROR
INVALID_FETCH_SIZE                   UNKNOWN_SERVER_ERROR             UNKNOWN_SERVER_ERROR
INVALID_TIMESTAMP                    INVALID_TIMESTAMP                INVALID_TIMESTAMP
"""


@pytest.mark.parametrize("era", ["4.1", "3.9", "2.5"])
@pytest.mark.parametrize("line", SYNC_ERRORS.split("\n")[1:-1], ids=lambda line: line.split()[0])
def test_a_sync_whose_append_fails_starts_a_rebalance(line, era):
    error, now, before = line.split()
    broker = completing(era)
    broker.send(
        SyncGroup(
            request_id="s", group_id="g", member_id="a", generation=1, assignments={"a": b"A"}
        )
    )

    broker.end(Errors[error])

    assert broker.answers["s"].error is Errors[now if era == "4.1" else before]
    assert broker.group.state is GroupState.PREPARING_REBALANCE
    assert broker.group.members["a"].assignment == b""


def test_in_4_1_a_new_group_whose_append_fails_is_removed():
    broker = SlowLogBroker("4.1")
    broker.send(join("j"))
    broker.end(Errors.NOT_LEADER_OR_FOLLOWER)

    assert broker.group is None
    broker.send(DescribeGroup("d", "g"))
    assert broker.answers["d"].state == "Dead"


def test_in_4_1_a_group_is_not_shown_before_it_is_in_the_log():
    broker = SlowLogBroker("4.1")
    broker.send(
        OffsetCommit(
            request_id="c", group_id="g", member_id="", generation=-1, offsets=(("t", 0, 5, ""),)
        )
    )
    broker.send(DescribeGroup("d1", "g"))
    assert "c" not in broker.answers
    assert broker.answers["d1"].state == "Dead"

    broker.end()
    broker.send(DescribeGroup("d2", "g"))

    assert broker.answers["c"].partitions == (("t", 0, Errors.NONE),)
    assert broker.answers["d2"].state == "Empty"


def test_in_4_1_a_heartbeat_waits_for_earlier_appends():
    broker = stable("4.1")
    broker.send(
        OffsetCommit(
            request_id="c", group_id="g", member_id="a", generation=1, offsets=(("t", 0, 5, ""),)
        )
    )
    broker.send(Heartbeat("h", "g", "a", 1))
    assert broker.answers.keys() == {"j"}

    broker.end()

    assert broker.answers["h"].error is Errors.NONE
    assert list(broker.answers) == ["j", "c", "h"]


@pytest.mark.parametrize(
    ("era", "error"), [("4.1", "NOT_COORDINATOR"), ("3.9", "NONE"), ("2.5", "NONE")]
)
def test_the_answer_of_a_leave_whose_append_fails(era, error):
    broker = stable(era)
    broker.send(LeaveGroup("l", "g", (Leaver("a"),)))
    broker.end(Errors.NOT_LEADER_OR_FOLLOWER)

    assert broker.answers["l"].error is Errors[error]
    assert broker.group.state is GroupState.EMPTY


@pytest.mark.parametrize("era", ERA_NAMES)
def test_offsets_are_committed_once_they_are_in_the_log(era):
    broker = stable(era)
    broker.send(
        OffsetCommit(
            request_id="c", group_id="g", member_id="a", generation=1, offsets=(("t", 0, 5, "m"),)
        )
    )
    broker.send(OffsetFetch("f1", "g", (("t", 0),)))
    broker.end()
    broker.send(OffsetFetch("f2", "g", (("t", 0),)))

    assert broker.answers["f1"].partitions == (("t", 0, -1, "", Errors.NONE),)
    assert broker.answers["f2"].partitions == (("t", 0, 5, "m", Errors.NONE),)


@pytest.mark.parametrize("era", ERA_NAMES)
def test_offsets_whose_append_fails_are_not_committed(era):
    broker = stable(era)
    broker.send(
        OffsetCommit(
            request_id="c",
            group_id="g",
            member_id="a",
            generation=1,
            offsets=(("t", 0, 5, ""), ("t", 1, 6, "x" * 4097)),
        )
    )
    broker.end(Errors.NOT_ENOUGH_REPLICAS)
    broker.send(OffsetFetch("f", "g", (("t", 0),)))

    too_large = "COORDINATOR_NOT_AVAILABLE" if era == "4.1" else "OFFSET_METADATA_TOO_LARGE"
    assert broker.answers["c"].partitions == (
        ("t", 0, Errors.COORDINATOR_NOT_AVAILABLE),
        ("t", 1, Errors[too_large]),
    )
    assert broker.answers["f"].partitions == (("t", 0, -1, "", Errors.NONE),)


@pytest.mark.parametrize(("era", "remains"), [("4.1", True), ("3.9", False), ("2.5", False)])
def test_a_delete_whose_tombstones_fail_keeps_the_group_only_in_4_1(era, remains):
    broker = SlowLogBroker(era)
    broker.send(
        OffsetCommit(
            request_id="c", group_id="g", member_id="", generation=-1, offsets=(("t", 0, 5, ""),)
        )
    )
    broker.end()
    broker.send(DeleteGroup("d", "g"))
    broker.end(Errors.NOT_LEADER_OR_FOLLOWER)

    assert (broker.group is not None) is remains
    expected = "NOT_COORDINATOR" if remains else "NONE"
    assert broker.answers["d"].error is Errors[expected]
