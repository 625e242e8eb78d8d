"""Heartbeat, sync, join, commit and leave: the answer in each state, and the checks before it.

The group has two members, the leader `lead` and the follower `tail`, in generation 7.
"""

import pytest

from coordinator_core.coordinator.classic.group import ClassicMember
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import CoordinatorBug, Errors
from coordinator_core.protocol.messages import (
    Append,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaver,
    OffsetCommit,
    Respond,
    SyncGroup,
)

SESSION_MS = 10_000
RANGE = (("range", b"R"),)
CONFIG = CoordinatorConfig(group_initial_rebalance_delay_ms=3000)


def coordinator_with(state, era="4.1", static=()):
    """A coordinator with the group in this state and without timers."""
    coordinator = Coordinator(CONFIG, ERAS[era], lambda group_id, prefix: f"{prefix}-new")
    turn = coordinator._turn
    group = turn.groups.new_classic("g", turn.now_ms)
    turn.log.shard_of(group.partition).unwritten.clear()
    if state is not GroupState.EMPTY:
        for name in ("lead", "tail"):
            group.protocol_type = "consumer"
            instance_id = f"i-{name}" if name in static else None
            member = ClassicMember(
                member_id=name,
                instance_id=instance_id,
                client_id="c",
                client_host="/h",
                rebalance_timeout_ms=20_000,
                session_timeout_ms=SESSION_MS,
                protocols=RANGE,
                assignment=name.encode(),
            )
            if instance_id is not None:
                group.static_members[instance_id] = name
            group.add(member, None)
    group.state, group.generation, group.protocol = state, 7, "range"
    return coordinator


def answers(effects):
    return [(e.request_id, e.response.error.name) for e in effects if isinstance(e, Respond)]


def cases(table):
    lines = [line.split() for line in table.splitlines() if line]
    return [pytest.param(*fields, id="-".join(fields[:-1])) for fields in lines]


# era  state                member  generation -> answer           session renewed
HEARTBEATS = """
4.1    EMPTY                gone    7             UNKNOWN_MEMBER_ID      no
4.1    PREPARING_REBALANCE  lead    7             REBALANCE_IN_PROGRESS  yes
4.1    COMPLETING_REBALANCE lead    7             NONE                   yes
4.1    STABLE               tail    7             NONE                   yes
4.1    STABLE               gone    7             UNKNOWN_MEMBER_ID      no
4.1    STABLE               tail    6             ILLEGAL_GENERATION     no
4.1    PREPARING_REBALANCE  tail    6             ILLEGAL_GENERATION     no
3.9    COMPLETING_REBALANCE lead    7             NONE                   yes
2.5    COMPLETING_REBALANCE lead    7             REBALANCE_IN_PROGRESS  no
2.5    COMPLETING_REBALANCE lead    6             ILLEGAL_GENERATION     no
2.5    PREPARING_REBALANCE  lead    7             REBALANCE_IN_PROGRESS  yes
2.0    COMPLETING_REBALANCE lead    6             REBALANCE_IN_PROGRESS  no
2.0    COMPLETING_REBALANCE gone    7             UNKNOWN_MEMBER_ID      no
2.0    PREPARING_REBALANCE  lead    7             REBALANCE_IN_PROGRESS  yes
0.10   COMPLETING_REBALANCE lead    6             REBALANCE_IN_PROGRESS  no
0.9    PREPARING_REBALANCE  gone    6             REBALANCE_IN_PROGRESS  no
0.9    COMPLETING_REBALANCE lead    7             REBALANCE_IN_PROGRESS  no
0.9    STABLE               lead    7             NONE                   yes
0.9    STABLE               gone    7             UNKNOWN_MEMBER_ID      no
"""


@pytest.mark.parametrize(
    ("era", "state", "member", "generation", "error", "renewed"), cases(HEARTBEATS)
)
def test_heartbeat(era, state, member, generation, error, renewed):
    coordinator = coordinator_with(GroupState[state], era)

    effects = coordinator.handle(Heartbeat("h1", "g", member, int(generation)), 500)

    assert answers(effects) == [("h1", error)]
    deadline_ms = coordinator.next_deadline_ms()
    assert deadline_ms == (500 + SESSION_MS if renewed == "yes" else None)


# era  state                member  protocol  -> answers            record written  session renewed
SYNCS = """
4.1    EMPTY                gone    -         s:UNKNOWN_MEMBER_ID            no   no
4.1    PREPARING_REBALANCE  lead    -         s:REBALANCE_IN_PROGRESS        no   no
4.1    COMPLETING_REBALANCE tail    -         -                              no   no
4.1    COMPLETING_REBALANCE lead    -         s:NONE                         yes  yes
4.1    COMPLETING_REBALANCE lead    range     s:NONE                         yes  yes
4.1    COMPLETING_REBALANCE lead    sticky    s:INCONSISTENT_GROUP_PROTOCOL  no   no
4.1    STABLE               tail    -         s:NONE                         no   no
3.9    STABLE               tail    -         s:NONE                         no   yes
2.5    STABLE               tail    -         s:NONE                         no   yes
0.9    STABLE               lead    -         s:NONE                         no   yes
0.9    COMPLETING_REBALANCE tail    -         -                              no   no
"""


@pytest.mark.parametrize(
    ("era", "state", "member", "protocol", "expected", "written", "renewed"), cases(SYNCS)
)
def test_sync(era, state, member, protocol, expected, written, renewed):
    coordinator = coordinator_with(GroupState[state], era)
    name = None if protocol == "-" else protocol
    request = SyncGroup(
        request_id="s",
        group_id="g",
        member_id=member,
        generation=7,
        instance_id=None,
        protocol_type=None,
        protocol_name=name,
        assignments={"lead": b"L", "tail": b"T"},
    )

    effects = coordinator.handle(request, 500)
    appends = [each for each in effects if isinstance(each, Append)]
    for append in appends:
        assert answers(effects) == []  # There is no answer before the record is in the log.
        effects += coordinator.appended(append, Errors.NONE, 500)

    assert answers(effects) == ([] if expected == "-" else [tuple(expected.split(":"))])
    assert bool(appends) is (written == "yes")
    deadline_ms = coordinator.next_deadline_ms()
    assert deadline_ms == (500 + SESSION_MS if renewed == "yes" else None)


def test_followers_are_answered_when_the_leaders_assignment_is_stored():
    coordinator = coordinator_with(GroupState.COMPLETING_REBALANCE)
    assert (
        answers(
            coordinator.handle(
                SyncGroup(request_id="s1", group_id="g", member_id="tail", generation=7), 0
            )
        )
        == []
    )
    effects = coordinator.handle(
        SyncGroup(
            request_id="s2",
            group_id="g",
            member_id="lead",
            generation=7,
            assignments={"lead": b"L"},
        ),
        5,
    )
    append = next(each for each in effects if isinstance(each, Append))

    responses = [e for e in coordinator.appended(append, Errors.NONE, 9) if isinstance(e, Respond)]

    assert {(e.request_id, e.response.assignment) for e in responses} == {("s2", b"L"), ("s1", b"")}
    assert coordinator.groups["g"].state is GroupState.STABLE


# era  state                member  protocols -> answer               state afterwards
JOINS = """
4.1    EMPTY                gone    same      UNKNOWN_MEMBER_ID            EMPTY
4.1    PREPARING_REBALANCE  tail    same      -                            PREPARING_REBALANCE
4.1    COMPLETING_REBALANCE tail    same      NONE                         COMPLETING_REBALANCE
4.1    COMPLETING_REBALANCE lead    same      NONE                         COMPLETING_REBALANCE
4.1    COMPLETING_REBALANCE tail    changed   -                            PREPARING_REBALANCE
4.1    STABLE               tail    same      NONE                         STABLE
4.1    STABLE               tail    changed   -                            PREPARING_REBALANCE
4.1    STABLE               lead    same      -                            PREPARING_REBALANCE
4.1    STABLE               tail    other     INCONSISTENT_GROUP_PROTOCOL  STABLE
4.1    STABLE               gone    same      UNKNOWN_MEMBER_ID            STABLE
4.1    STABLE               -       same      MEMBER_ID_REQUIRED           STABLE
4.1    EMPTY                -       none      INCONSISTENT_GROUP_PROTOCOL  EMPTY
3.9    STABLE               -       same      MEMBER_ID_REQUIRED           STABLE
2.5    STABLE               lead    same      -                            PREPARING_REBALANCE
2.0    STABLE               -       same      -                            PREPARING_REBALANCE
2.0    STABLE               tail    same      NONE                         STABLE
2.0    EMPTY                -       none      INCONSISTENT_GROUP_PROTOCOL  EMPTY
0.10   EMPTY                -       none      UNKNOWN_SERVER_ERROR         PREPARING_REBALANCE
0.10   EMPTY                -       same      NONE                         COMPLETING_REBALANCE
"""
PROTOCOLS = {"same": RANGE, "changed": (("range", b"X"),), "other": (("x", b""),), "none": ()}


@pytest.mark.parametrize(("era", "state", "member", "protocols", "error", "after"), cases(JOINS))
def test_join(era, state, member, protocols, error, after):
    coordinator = coordinator_with(GroupState[state], era)
    member_id = "" if member == "-" else member

    effects = coordinator.handle(_join("j", member_id, protocols=PROTOCOLS[protocols]), 0)

    assert answers(effects) == ([] if error == "-" else [("j", error)])
    assert coordinator.groups["g"].state is GroupState[after]


def _join(request_id, member_id, *, protocols=RANGE, instance_id=None, session_ms=SESSION_MS):
    return JoinGroup(
        request_id=request_id,
        group_id="g",
        member_id=member_id,
        instance_id=instance_id,
        client_id="c",
        client_host="/h",
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=20_000,
        protocol_type="consumer",
        protocols=protocols,
        requires_known_member_id=instance_id is None,
    )


# state                member  instance -> answer               (of heartbeat and sync in 4.1, 2.5)
FENCING = """
STABLE               lead    i-lead    NONE                NONE
STABLE               tail    i-lead    FENCED_INSTANCE_ID  FENCED_INSTANCE_ID
STABLE               lead    i-none    UNKNOWN_MEMBER_ID   NONE
STABLE               gone    i-none    UNKNOWN_MEMBER_ID   UNKNOWN_MEMBER_ID
STABLE               gone    i-lead    FENCED_INSTANCE_ID  FENCED_INSTANCE_ID
"""


@pytest.mark.parametrize(("state", "member", "instance", "now", "in_2_5"), cases(FENCING))
def test_fencing(state, member, instance, now, in_2_5):
    for era, error in (("4.1", now), ("3.9", now), ("2.5", in_2_5)):
        coordinator = coordinator_with(GroupState[state], era, static=("lead",))

        heartbeat = coordinator.handle(Heartbeat("h", "g", member, 7, instance), 0)
        sync = coordinator.handle(
            SyncGroup(
                request_id="s", group_id="g", member_id=member, generation=7, instance_id=instance
            ),
            0,
        )

        assert answers([*heartbeat, *sync]) == [("h", error), ("s", error)], era


# era  state                member  generation -> error
COMMITS = """
4.1    EMPTY                -       -1            NONE
4.1    EMPTY                lead    7             UNKNOWN_MEMBER_ID
4.1    STABLE               lead    7             NONE
4.1    STABLE               lead    6             ILLEGAL_GENERATION
4.1    STABLE               gone    7             UNKNOWN_MEMBER_ID
4.1    STABLE               -       -1            UNKNOWN_MEMBER_ID
4.1    PREPARING_REBALANCE  lead    7             NONE
4.1    COMPLETING_REBALANCE lead    7             REBALANCE_IN_PROGRESS
4.1    COMPLETING_REBALANCE gone    7             UNKNOWN_MEMBER_ID
2.0    COMPLETING_REBALANCE gone    7             REBALANCE_IN_PROGRESS
0.9    STABLE               lead    7             NONE
"""


@pytest.mark.parametrize(("era", "state", "member", "generation", "error"), cases(COMMITS))
def test_commit(era, state, member, generation, error):
    coordinator = coordinator_with(GroupState[state], era)
    member_id = "" if member == "-" else member
    offsets = (("t", 0, 42, "m"),)

    effects = coordinator.handle(
        OffsetCommit(
            request_id="c",
            group_id="g",
            member_id=member_id,
            generation=int(generation),
            offsets=offsets,
        ),
        0,
    )
    for append in [each for each in effects if isinstance(each, Append)]:
        effects += coordinator.appended(append, Errors.NONE, 0)

    rows = [e.response.partitions for e in effects if isinstance(e, Respond)]
    assert rows == [(("t", 0, Errors[error]),)]
    assert len(coordinator.groups["g"].offsets) == (error == "NONE")


# era  state                leavers       -> errors                       state afterwards
LEAVES = """
4.1    STABLE               tail          NONE                            PREPARING_REBALANCE
4.1    STABLE               lead,tail     NONE,NONE                       EMPTY
4.1    STABLE               gone          UNKNOWN_MEMBER_ID               STABLE
4.1    STABLE               gone,tail     UNKNOWN_MEMBER_ID,NONE          PREPARING_REBALANCE
4.1    COMPLETING_REBALANCE tail          NONE                            PREPARING_REBALANCE
4.1    EMPTY                gone          UNKNOWN_MEMBER_ID               EMPTY
3.9    STABLE               lead,tail     NONE,NONE                       EMPTY
2.5    STABLE               tail,tail     NONE,UNKNOWN_MEMBER_ID          PREPARING_REBALANCE
"""


@pytest.mark.parametrize(("era", "state", "leavers", "errors", "after"), cases(LEAVES))
def test_leave(era, state, leavers, errors, after):
    coordinator = coordinator_with(GroupState[state], era)
    group = coordinator.groups["g"]

    request = LeaveGroup("l", "g", tuple(Leaver(name) for name in leavers.split(",")))
    effects = coordinator.handle(request, 0)
    for append in [each for each in effects if isinstance(each, Append)]:
        effects += coordinator.appended(append, Errors.NONE, 0)

    (response,) = [e.response for e in effects if isinstance(e, Respond)]
    assert response.error is Errors.NONE
    assert ",".join(error.name for _, _, error in response.members) == errors
    assert group.state is GroupState[after]


@pytest.mark.parametrize(
    ("era", "after"), [("4.1", "PREPARING_REBALANCE"), ("3.9", "STABLE"), ("2.5", "STABLE")]
)
def test_in_4_1_a_stable_group_rebalances_when_a_pending_member_leaves(era, after):
    coordinator = coordinator_with(GroupState.STABLE, era)
    assert answers(coordinator.handle(_join("j", ""), 0)) == [("j", "MEMBER_ID_REQUIRED")]

    effects = coordinator.handle(LeaveGroup("l", "g", (Leaver("c-new"),)), 1)

    assert answers(effects) == [("l", "NONE")]
    assert coordinator.groups["g"].state is GroupState[after]


@pytest.mark.parametrize("session_ms", [5999, 1_800_001])
def test_session_timeouts_have_limits(session_ms):
    coordinator = coordinator_with(GroupState.EMPTY)

    effects = coordinator.handle(_join("j", "", session_ms=session_ms), 0)

    assert answers(effects) == [("j", "INVALID_SESSION_TIMEOUT")]


@pytest.mark.parametrize("era", ["4.1", "3.9", "2.5", "2.0", "0.10", "0.9"])
def test_the_answers_to_an_empty_group_id(era):
    coordinator = coordinator_with(GroupState.EMPTY, era)
    error = "INVALID_GROUP_ID" if era not in ("0.10", "0.9") else "UNKNOWN_MEMBER_ID"

    effects = [
        *coordinator.handle(_join("j", "")._replace(group_id=""), 0),
        *coordinator.handle(SyncGroup(request_id="s", group_id="", member_id="m", generation=1), 0),
        *coordinator.handle(Heartbeat("h", "", "m", 1), 0),
        *coordinator.handle(LeaveGroup("l", "", (Leaver("m"),)), 0),
    ]

    assert answers(effects) == [("j", "INVALID_GROUP_ID"), ("s", error), ("h", error), ("l", error)]


def test_time_never_runs_backwards():
    coordinator = coordinator_with(GroupState.STABLE)
    coordinator.handle(Heartbeat("h1", "g", "lead", 7), 500)

    with pytest.raises(CoordinatorBug):
        coordinator.handle(Heartbeat("h2", "g", "lead", 7), 499)
