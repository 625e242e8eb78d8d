"""Members of consumer, share and streams groups: reconciliation, fencing, leaving, fatal errors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator_core.client import (
    LIBRARIES,
    Consumer,
    ConsumerConfig,
    FindCoordinatorResponse,
    ListenerCall,
    MetadataResponse,
    Raised,
    Send,
)
from coordinator_core.client.modern.member_ids import member_id_of
from coordinator_core.client.modern.membership import MembershipState
from coordinator_core.client.modern.reactions import (
    COLUMNS,
    HEARTBEATS,
    JAVA_MODERN,
    LIBRDKAFKA_MODERN,
)
from coordinator_core.client.reactions import FATAL, OTHER, RESET
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    CommitResponse,
    ConsumerGroupHeartbeat,
    FetchResponse,
    MemberHeartbeatResponse,
    OffsetCommit,
    OffsetFetch,
)

ID = "A" * 22
CONFIG = ConsumerConfig(
    group_id="g",
    client_id="c",
    group_protocol="consumer",
    member_id="m",
    max_poll_interval_ms=30_000,
    enable_auto_commit=False,
)


class Member:
    """A member that is answered at once; ``heartbeats``: not answered yet."""

    def __init__(self, library, **config):
        self.consumer = Consumer(replace(CONFIG, **config), LIBRARIES[library])
        self.now_ms = 0
        self.calls, self.raised, self.heartbeats, self.sent = [], [], [], []
        self.do(self.consumer.subscribe(["orders"], 0))
        self.do(self.consumer.poll(0))

    def do(self, effects):
        for effect in effects:
            if isinstance(effect, Send):
                self._answer(effect.request)
            elif isinstance(effect, ListenerCall):
                self.calls.append((effect.kind, [number for _, number in effect.partitions]))
                self.do(self.consumer.listened(self.now_ms))
            elif isinstance(effect, Raised):
                self.raised.append((effect.error, effect.is_fatal))

    def _answer(self, request):
        if isinstance(request, ConsumerGroupHeartbeat):
            self.heartbeats.append(request)
            self.sent.append((self.now_ms, request.member_epoch, request.owned))
            return
        answers = {
            "FindCoordinator": FindCoordinatorResponse(Errors.NONE, 1),
            "Metadata": MetadataResponse({"orders": 4}, {"orders": ID}),
            "OffsetFetch": FetchResponse(Errors.NONE, tuple(
                (*each, 0, "", Errors.NONE) for each in getattr(request, "partitions", ()) or ()
            )),
            "OffsetCommit": CommitResponse(()),
        }  # fmt: skip
        answer = answers[type(request).__name__]
        self.do(self.consumer.received(request.request_id, answer, self.now_ms))

    def answer(self, partitions=None, epoch=1, error=Errors.NONE):
        rows = None if partitions is None else ((ID, tuple(partitions)),) if partitions else ()
        answer = MemberHeartbeatResponse(error, "m", epoch, 3000, rows)
        request = self.heartbeats.pop(0)
        self.do(self.consumer.received(request.request_id, answer, self.now_ms))

    def wait(self, ms):
        """Fire the timers within the next ``ms``, each at its time."""
        end_ms = self.now_ms + ms
        while (due_ms := self.consumer.next_deadline_ms()) is not None and due_ms <= end_ms:
            self.now_ms = max(due_ms, self.now_ms)
            self.do(self.consumer.advance(self.now_ms))
        self.now_ms = end_ms
        self.do(self.consumer.advance(end_ms))

    def joined(self, partitions=(0, 1)):
        """Join, take the partitions and acknowledge them."""
        self.wait(10)
        self.answer(partitions)
        self.wait(300)
        if self.heartbeats:
            self.answer()
        self.calls.clear()
        self.sent.clear()
        return self


LIBRARIES_OF_TESTS = ("java-4.4", "librdkafka-2")


@pytest.mark.parametrize("library", LIBRARIES_OF_TESTS)
def test_a_new_assignment_is_taken_and_acknowledged_at_once(library):
    member = Member(library)
    member.wait(10)
    member.answer([0, 1])

    member.wait(300)

    assert member.calls == [("assigned", [0, 1])]
    assert [(epoch, owned) for _, epoch, owned in member.sent] == [(0, ()), (1, ((ID, (0, 1)),))]


@pytest.mark.parametrize("library", LIBRARIES_OF_TESTS)
def test_revoked_partitions_are_given_up_before_others_are_taken(library):
    member = Member(library).joined()
    member.wait(3000)
    member.answer([1, 2])

    member.wait(400)

    assert member.calls == [("revoked", [0]), ("assigned", [2])]
    assert member.sent[-1][2] == ((ID, (1, 2)),)


@pytest.mark.parametrize(
    ("library", "calls"),
    [("java-4.4", [("assigned", [])]), ("librdkafka-2", [])],
)
def test_only_java_calls_the_listener_for_an_empty_first_assignment(library, calls):
    member = Member(library)
    member.wait(10)
    member.answer([])

    member.wait(300)

    assert member.calls == calls


@pytest.mark.parametrize("library", LIBRARIES_OF_TESTS)
@pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH])
def test_a_fenced_member_loses_its_partitions_and_joins_with_its_id(library, error):
    member = Member(library).joined()
    member.wait(3000)
    member.answer(error=error)

    member.wait(200)

    assert member.calls == [("lost", [0, 1])]
    assert member.sent[-1][1:] == (0, ())
    assert member.heartbeats[-1].member_id == "m"


@pytest.mark.parametrize(
    ("library", "error"),
    [
        ("java-4.4", Errors.UNRELEASED_INSTANCE_ID),
        ("java-4.4", Errors.UNSUPPORTED_ASSIGNOR),
        ("java-4.4", Errors.INVALID_REGULAR_EXPRESSION),
        ("librdkafka-2", Errors.UNRELEASED_INSTANCE_ID),
        ("librdkafka-2", Errors.UNSUPPORTED_ASSIGNOR),
    ],
)
def test_a_fatal_error_is_raised_and_ends_the_heartbeats(library, error):
    member = Member(library)
    member.wait(10)
    member.answer(error=error)

    member.wait(20_000)

    assert member.raised == [(error, True)]
    assert member.heartbeats == []


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("i", -2)])
@pytest.mark.parametrize("library", LIBRARIES_OF_TESTS)
def test_a_static_member_leaves_for_a_while_at_close(library, instance_id, epoch):
    member = Member(library, instance_id=instance_id).joined()

    member.do(member.consumer.close(member.now_ms))

    assert member.calls == [("revoked", [0, 1])]
    assert member.sent[-1][1] == epoch


def test_java_leaves_at_max_poll_interval_and_rejoins_at_the_next_poll():
    member = Member("java-4.4").joined()
    member.do(member.consumer.process(member.now_ms))

    for _ in range(11):
        member.wait(3000)
        while member.heartbeats:
            member.answer()
    left = member.sent[-1][1]
    member.do(member.consumer.poll(member.now_ms))
    member.wait(300)

    assert left == -1
    assert member.calls == [("lost", [0, 1])]
    assert member.sent[-1][1] == 0


def test_librdkafka_stops_heartbeats_at_max_poll_interval_and_leaves_at_the_next_poll():
    member = Member("librdkafka-2").joined()
    member.do(member.consumer.process(member.now_ms))
    for _ in range(14):
        member.wait(3000)
        while member.heartbeats:
            member.answer()
    last_ms = member.sent[-1][0]

    member.do(member.consumer.poll(member.now_ms))
    member.answer(epoch=-1)
    member.wait(10)

    assert 27_000 <= last_ms <= 31_000
    assert member.calls == [("lost", [0, 1])]
    assert [epoch for _, epoch, _ in member.sent[-2:]] == [-1, 0]


@pytest.mark.parametrize("table", [JAVA_MODERN, LIBRDKAFKA_MODERN])
def test_every_row_has_a_reaction_per_request(table):
    assert all(set(row) == set(COLUMNS) for row in table.values())
    assert all(table[Errors.UNKNOWN_MEMBER_ID][each] is RESET for each in HEARTBEATS)
    assert all(table[OTHER][each] is FATAL for each in HEARTBEATS)


def test_member_ids_are_base64_in_the_alphabet_of_the_library():
    data = bytes([0xFB, 0xFF, 0xFE] + [0xFF] * 13)

    java = member_id_of(data, is_librdkafka=False)
    librdkafka = member_id_of(data, is_librdkafka=True)

    assert (len(java), len(librdkafka)) == (22, 22)
    assert "/" in librdkafka
    assert not set("+/") & set(java)
    assert not java.startswith("-")


def test_commits_and_fetches_have_the_member_epoch():
    consumer = Consumer(replace(CONFIG, enable_auto_commit=True), LIBRARIES["java-4.4"])
    requests = []
    member = Member.__new__(Member)
    member.consumer, member.now_ms = consumer, 0
    member.calls, member.raised, member.heartbeats, member.sent = [], [], [], []
    answer = member._answer

    def noted(request):
        requests.append(request)
        answer(request)

    member._answer = noted
    member.do(consumer.subscribe(["orders"], 0))
    member.do(consumer.poll(0))
    member.joined()
    member.wait(300)

    member.do(consumer.commit(member.now_ms))

    (fetch,) = [each for each in requests if isinstance(each, OffsetFetch)]
    commit = next(each for each in requests if isinstance(each, OffsetCommit))
    assert (fetch.member_id, fetch.member_epoch) == ("m", 1)
    assert (commit.member_id, commit.generation, commit.version) == ("m", 1, 9)


def test_every_state_is_described():
    assert all(state.value for state in MembershipState)
