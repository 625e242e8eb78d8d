"""Every cell of the error tables, tested with a consumer that gets the error."""

import pytest

from coordinator_core.client import (
    LIBRARIES,
    Closed,
    Consumer,
    ConsumerConfig,
    FindCoordinator,
    FindCoordinatorResponse,
    Raised,
)
from coordinator_core.client.reactions import (
    ADOPT,
    COLUMNS,
    FAIL,
    FENCED,
    FIND,
    IGNORE,
    JAVA,
    LIBRDKAFKA,
    OTHER,
    RAISE,
    REJOIN,
    RENEW,
    RESET,
    RETRY,
    Reaction,
)
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    CommitResponse,
    FetchResponse,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    LeaveResponse,
    OffsetCommit,
    OffsetFetch,
    SyncGroup,
    SyncResponse,
)
from tests.core.client.harness import LOST, ClientHarness, once

ANSWERS = {
    FindCoordinator: lambda request, error: FindCoordinatorResponse(error),
    JoinGroup: lambda request, error: JoinResponse(error=error, member_id="c-given"),
    SyncGroup: lambda request, error: SyncResponse(error),
    Heartbeat: lambda request, error: HeartbeatResponse(error),
    OffsetCommit: lambda request, error: CommitResponse(
        tuple((topic, partition, error) for topic, partition, _, _ in request.offsets)
    ),
    OffsetFetch: lambda request, error: FetchResponse(error, ()),
    LeaveGroup: lambda request, error: LeaveResponse(error),
}
OTHERS = [Errors.UNKNOWN_SERVER_ERROR, Errors.GROUP_AUTHORIZATION_FAILED]
# The second JoinGroup fails, because the first is answered with the member id.
AFTER = {JoinGroup: 1}


def cells(table):
    return list(every_cell(table))


def every_cell(table):
    for error, row in table.items():
        if error is Errors.NONE:
            continue
        for column, reaction in row.items():
            for each in OTHERS if error is OTHER else [error]:
                yield pytest.param(
                    column, each, reaction, id=f"{column.__name__}-{each.name}-{reaction.name}"
                )


def driven(library, column, error):
    """Runs a group of one member; its request of this type gets the error.  See Aftermath."""
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    answered_at = []

    def answer(request):
        answered_at.append((harness.now_ms, len(harness.log), request))
        return LOST if error is Errors.NETWORK_EXCEPTION else ANSWERS[column](request, error)

    config = ConsumerConfig(group_id="g", client_id="c", session_timeout_ms=10000)
    harness.add(Consumer(config, LIBRARIES[library]), "c")
    harness.intercept = once(column, answer, AFTER.get(column, 0))
    if column is OffsetCommit:
        harness.at(1000, harness.consume, "c")
    if column is LeaveGroup:
        harness.at(1000, harness.call, "c", "close")
    harness.run(20000)
    assert answered_at, "the request was never sent"
    return Aftermath(harness, *answered_at[0])


class Aftermath:
    """Requests and effects after the response with the error; times in ms since that response."""

    def __init__(self, harness, at_ms, logged, request):
        self.sent = [(ms - at_ms - 1, r) for ms, _, r in harness.requests if ms > at_ms]
        self.log = [effect for _, _, effect in harness.log[logged:]]
        self.request = request

    def first(self, kind):
        return next(((ms, r) for ms, r in self.sent if isinstance(r, kind)), (None, None))

    @property
    def raised(self):
        return [(e.error, e.is_fatal) for e in self.log if isinstance(e, Raised)]

    @property
    def listener(self):
        return [e.kind for e in self.log if type(e).__name__ == "ListenerCall"][:1]


def retries(kind, ms):
    """The request is repeated after ``ms``; no error is raised."""
    return lambda seen, error: seen.first(kind)[0] == ms and seen.raised == []


def finds_and_retries(kind, ms=0):
    def check(seen, error):
        find_ms, repeated_ms = seen.first(FindCoordinator)[0], seen.first(kind)[0]
        return find_ms == ms and repeated_ms >= ms + 2 and seen.raised == []

    return check


def rejoins(member_id, ms=0, listener=()):
    """The member rejoins after ``ms``; ``member_id`` None: that of the failed request."""

    def check(seen, error):
        joined_ms, join = seen.first(JoinGroup)
        expected = seen.request.member_id if member_id is None else member_id
        return (joined_ms, join.member_id) == (ms, expected) and seen.listener == list(listener)

    return check


def raises(is_fatal=False):
    return lambda seen, error: seen.raised == [(error, is_fatal)]


def continues_without_rejoin(seen, error):
    return seen.raised == [] and seen.first(JoinGroup)[0] is None


def closes(seen, error):
    return isinstance(seen.log[-1], Closed) and seen.raised == []


BOTH_DO = {
    (JoinGroup, ADOPT): rejoins("c-given", listener=["assigned"]),
    (JoinGroup, FENCED): raises(is_fatal=True),
    (SyncGroup, FIND): finds_and_retries(JoinGroup),
    (SyncGroup, FENCED): raises(is_fatal=True),
    (Heartbeat, RETRY): retries(Heartbeat, 100),
    (Heartbeat, FIND): finds_and_retries(Heartbeat),
    (Heartbeat, REJOIN): rejoins(None, ms=2, listener=["revoked"]),  # after a commit
    (Heartbeat, RESET): rejoins(None, listener=["lost"]),
    (Heartbeat, RENEW): rejoins("", listener=["lost"]),
    (Heartbeat, FENCED): raises(is_fatal=True),
    (OffsetCommit, RETRY): retries(OffsetCommit, 100),
    (OffsetCommit, FIND): finds_and_retries(OffsetCommit),
    (OffsetCommit, RESET): rejoins(None, listener=["lost"]),
    (OffsetCommit, RENEW): rejoins("", listener=["lost"]),
    (OffsetCommit, FAIL): continues_without_rejoin,
    (OffsetCommit, FENCED): raises(is_fatal=True),
    (OffsetFetch, RETRY): retries(OffsetFetch, 100),
    (OffsetFetch, FIND): finds_and_retries(OffsetFetch),
    (OffsetFetch, RAISE): raises(),
    (LeaveGroup, IGNORE): closes,
}

JAVA_DOES = BOTH_DO | {
    (FindCoordinator, RETRY): retries(FindCoordinator, 100),
    (FindCoordinator, RAISE): raises(),
    (JoinGroup, RETRY): retries(JoinGroup, 100),
    (JoinGroup, FIND): finds_and_retries(JoinGroup, ms=100),
    (JoinGroup, REJOIN): rejoins(None, listener=["assigned"]),
    (JoinGroup, RENEW): rejoins("", listener=["assigned"]),
    (JoinGroup, RAISE): raises(),
    (SyncGroup, REJOIN): rejoins(None, listener=["assigned"]),
    (SyncGroup, RESET): rejoins(None, listener=["assigned"]),
    (SyncGroup, RENEW): rejoins("", listener=["assigned"]),
    (SyncGroup, RAISE): raises(),
    (OffsetCommit, REJOIN): rejoins(None, ms=2, listener=["revoked"]),
}


def raises_and_asks_again(kind, ms):
    return lambda seen, error: seen.raised == [(error, False)] and seen.first(kind)[0] == ms


# Joins are at least one second apart, and two seconds after an error, because the main thread
# checks once a second.  The join comes 8 ms after its timer was set, and the sync follows the join
# after 4 ms.
LIBRDKAFKA_DOES = BOTH_DO | {
    (FindCoordinator, RETRY): lambda seen, error: seen.first(FindCoordinator)[0] in range(498, 500),
    (FindCoordinator, RAISE): raises_and_asks_again(FindCoordinator, 498),
    (JoinGroup, RETRY): retries(JoinGroup, 2992),
    (JoinGroup, FIND): finds_and_retries(JoinGroup),
    (JoinGroup, RESET): rejoins(None, ms=2992, listener=["assigned"]),
    (JoinGroup, RENEW): rejoins("", ms=2992, listener=["assigned"]),
    (JoinGroup, RAISE): raises_and_asks_again(JoinGroup, 2992),
    (SyncGroup, RETRY): retries(JoinGroup, 1988),
    (SyncGroup, REJOIN): rejoins(None, ms=1988, listener=["assigned"]),
    (SyncGroup, RESET): rejoins(None, ms=1988, listener=["assigned"]),
    (SyncGroup, RENEW): rejoins("", ms=1988, listener=["assigned"]),
    (Heartbeat, IGNORE): continues_without_rejoin,
}


@pytest.mark.parametrize(("column", "error", "reaction"), cells(JAVA))
def test_java_reacts_as_in_its_table(column, error, reaction):
    seen = driven("java-4.1", column, error)

    assert JAVA_DOES[column, reaction](seen, error), (seen.sent[:4], seen.log[:6])


@pytest.mark.parametrize(("column", "error", "reaction"), cells(LIBRDKAFKA))
def test_librdkafka_reacts_as_in_its_table(column, error, reaction):
    seen = driven("librdkafka-2", column, error)

    assert LIBRDKAFKA_DOES[column, reaction](seen, error), (seen.sent[:4], seen.log[:6])


@pytest.mark.parametrize("table", [JAVA, LIBRDKAFKA])
def test_a_table_has_a_reaction_for_every_request(table):
    assert all(set(row) == set(COLUMNS) for row in table.values())
    assert {OTHER, Errors.NONE, Errors.NETWORK_EXCEPTION} < table.keys()
    assert set(table[Errors.NONE].values()) == {Reaction.GO_ON}
