"""The player of classic scenarios: what it sends to a broker, when, and what it does not."""

from coordinator_core.coordinator.eras import ERAS
from tools.broker_requests.client import Answer
from tools.broker_traces.player import ClassicPlayer

NEWEST = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3}
JOIN = {
    "op": "join",
    "group": "g",
    "member": "",
    "client_id": "c",
    "client_host": "/127.0.0.1",
    "instance_id": None,
    "session_timeout_ms": 6000,
    "rebalance_timeout_ms": 6000,
    "protocol_type": "consumer",
    "protocols": [["range", "AAE="]],
    "requires_known_member_id": False,
    "reason": None,
}
HEARTBEAT = {"op": "heartbeat", "group": "g", "instance_id": None}
JOINED = {
    "errorCode": 0,
    "generationId": 1,
    "protocolName": "range",
    "leader": "c-1",
    "memberId": "c-1",
    "members": [],
}


class SentRequests:
    """A client that keeps what it is to send."""

    def __init__(self):
        self.rows = []

    def send(self, request_id, connection, call, client_id):
        self.rows.append((request_id, connection, call.api, call.version, client_id))


def player(*steps):
    last_ms = steps[-1]["at_ms"]
    steps = [*steps, {"at_ms": last_ms + 2000, "id": "end", "op": "wait", "group": "g"}]
    scenario = {"name": "s", "config": {}, "steps": steps}
    return ClassicPlayer(scenario, ERAS["2.3"], NEWEST, start_ms=10_000)


def answer(body, at_ms):
    return Answer("", at_ms - 2, at_ms, body, "")


def test_a_join_that_needs_no_known_id_is_sent_in_version_3():
    sent = SentRequests()
    played = player({**JOIN, "at_ms": 0, "id": "a1"})

    played.take(10_000, sent)
    played.note("a1", "s 0", answer(JOINED, 10_005), sent)

    assert sent.rows == [("s a1 0", "s 0", "JoinGroup", 3, "c")]
    assert played.member_ids == {"a1": "c-1"}
    assert played.events == [
        {
            "at_ms": 5,
            "event": "response",
            "to": "a1",
            "op": "join",
            "error": "NONE",
            "generation": 1,
            "protocol_type": None,
            "protocol_name": "range",
            "leader": "c-1",
            "member": "c-1",
            "members": [],
            "version": 3,
            "sent_at_ms": 3,
        }
    ]


def test_a_step_waits_for_the_answer_that_it_refers_to():
    sent = SentRequests()
    beat = {**HEARTBEAT, "at_ms": 100, "id": "a2", "member": "@a1", "generation": "@a1"}
    played = player({**JOIN, "at_ms": 0, "id": "a1"}, beat)

    played.take(10_000, sent)
    played.take(10_100, sent)
    assert [row[0] for row in sent.rows] == ["s a1 0"]
    played.note("a1", "s 0", answer(JOINED, 10_900), sent)

    assert sent.rows[1:] == [("s a2 0", "s 0", "Heartbeat", 3, "regroup")]


def test_after_a_second_without_the_answer_the_step_is_skipped():
    sent = SentRequests()
    beat = {**HEARTBEAT, "at_ms": 100, "id": "a2", "member": "@a1", "generation": 1}
    played = player({**JOIN, "at_ms": 0, "id": "a1"}, beat)
    for now_ms in (10_000, 10_100, 11_100, 12_100):
        played.take(now_ms, sent)

    assert played.has_ended
    assert played.events == [
        {
            "at_ms": 1100,
            "event": "skipped",
            "to": "a2",
            "op": "heartbeat",
            "why": "no response to a1 yet",
        },
        {
            "at_ms": 2100,
            "event": "no_response",
            "to": "a1",
            "op": "join",
            "version": 3,
            "sent_at_ms": 0,
        },
    ]


def test_while_a_request_is_open_the_next_one_takes_another_connection():
    sent = SentRequests()
    beat = {**HEARTBEAT, "at_ms": 0, "id": "b1", "member": "x", "generation": 1}
    played = player({**JOIN, "at_ms": 0, "id": "a1"}, beat)

    played.take(10_000, sent)
    played.take(10_005, sent)  # The steps must be ten milliseconds apart, so it is too early.
    assert [row[1] for row in sent.rows] == ["s 0"]
    played.take(10_010, sent)

    assert [row[1] for row in sent.rows] == ["s 0", "s 1"]


def test_requests_that_the_broker_lacks_are_skipped():
    sent = SentRequests()
    played = player({"at_ms": 0, "id": "x1", "op": "delete", "group": "g"})

    played.take(10_000, sent)

    assert sent.rows == []
    assert played.events == [
        {"at_ms": 0, "event": "skipped", "to": "x1", "op": "delete", "why": "no DeleteGroups"}
    ]
