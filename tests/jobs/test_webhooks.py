"""Webhooks: what each receiver gets, what is sent again, and that no alert is lost."""

import itertools
import json
import socket
import threading
import time
from contextlib import suppress
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from jobs.alerts.alerting import AlertWindow
from jobs.alerts.checks import CHECKS, Alert
from jobs.alerts.notify import notify, require_webhooks
from jobs.alerts.webhooks import RAISED, RESOLVED, as_json, request_body
from jobs.configuration.alert_settings import AlertSettings, read_settings
from jobs.configuration.webhooks import ALERTS, FORMATS, Webhook
from jobs.console.errors import UsageError

NOON = datetime(2026, 11, 21, 12)
WINDOW = AlertWindow("prod", datetime(2026, 11, 21, 11), NOON)


def alert(group="billing", check="storm", cluster="prod", process=None, message="12 in a row"):
    return Alert(
        alert=check,
        cluster_id=cluster,
        group_id=group,
        process=process,
        first_time=NOON,
        last_time=NOON,
        value=12,
        threshold=10,
        unit="generations",
        message=message,
    )


class Receiver:
    """An HTTP server on loopback.  ``answers``: status codes for the next requests, then 200."""

    def __init__(self):
        self.bodies, self.answers = [], []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status < 300:
                    receiver.bodies.append(body)
                self.send_response(status)
                if status in (301, 302):
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}/hook/secret"

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver():
    server = Receiver()
    yield server
    server.close()


@pytest.fixture
def send(receiver, tmp_path):
    """``send(alerts, **settings of the webhook)``: notifies; returns the deliveries' lines."""

    def run(alerts, /, windows=(WINDOW,), pauses=None, **settings):
        webhook = Webhook(name="team", **{"format": "json", "url": receiver.url} | settings)
        waits = [] if pauses is None else pauses
        settings = AlertSettings(webhooks=(webhook,))
        deliveries = notify(settings, str(tmp_path), alerts, windows, waits.append)
        return [delivery.line for delivery in deliveries]

    run.lake = str(tmp_path)
    return run


def statuses(receiver):
    return [(body["status"], body["group_id"]) for body in receiver.bodies]


def test_an_alert_is_sent_once_and_its_end_once(send, receiver):
    assert send([alert()]) == ["webhook team: 1 sent"]
    assert send([alert()]) == ["webhook team: 0 sent"]
    assert send([alert("other")]) == ["webhook team: 2 sent"]
    assert send([]) == ["webhook team: 1 sent"]
    assert send([]) == ["webhook team: 0 sent"]

    expected = [(RAISED, "billing"), (RAISED, "other"), (RESOLVED, "billing"), (RESOLVED, "other")]
    assert sorted(statuses(receiver)) == sorted(expected)


def test_alerts_of_clusters_that_were_not_checked_stay_raised(send, receiver):
    send([alert()])
    send([], windows=())

    assert statuses(receiver) == [(RAISED, "billing")]


def test_no_end_is_sent_where_it_is_not_wanted(send, receiver):
    send([alert()], resolved=False)
    send([], resolved=False)

    assert statuses(receiver) == [(RAISED, "billing")]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_an_error_that_may_pass_is_tried_again_at_once_and_at_the_next_call(send, receiver, status):
    pauses = []
    receiver.answers = [status] * 3
    alerts = [alert("a"), alert("b")]

    assert send(alerts, pauses=pauses) == [f"webhook team: 0 sent, 2 waiting: HTTP {status}"]
    assert pauses == [1.0, 3.0]
    assert send(alerts) == ["webhook team: 2 sent"]
    assert statuses(receiver) == [(RAISED, "a"), (RAISED, "b")]


def test_the_second_attempt_may_succeed(send, receiver):
    receiver.answers = [503]

    assert send([alert()]) == ["webhook team: 1 sent"]


@pytest.mark.parametrize("status", [302, 400, 404])
def test_a_refused_message_waits_without_holding_up_others(send, receiver, status):
    receiver.answers = [status]
    alerts = [alert("a"), alert("b")]

    assert send(alerts) == [f"webhook team: 1 sent, 1 waiting: HTTP {status}"]
    assert send(alerts) == ["webhook team: 1 sent"]
    assert statuses(receiver) == [(RAISED, "b"), (RAISED, "a")]


def test_alerts_that_ended_while_the_receiver_was_down_arrive_in_order(send, receiver):
    receiver.answers = [500] * 6

    send([alert()])
    send([])
    assert send([]) == ["webhook team: 2 sent"]
    assert statuses(receiver) == [(RAISED, "billing"), (RESOLVED, "billing")]


def test_no_message_has_the_address(tmp_path):
    webhook = Webhook(name="team", format="json", url="http://127.0.0.1:9/secret")
    (delivery,) = notify(
        AlertSettings(webhooks=(webhook,)), str(tmp_path), [alert()], [WINDOW], lambda _: None
    )

    assert delivery.waiting == 1
    assert "secret" not in delivery.line


@pytest.fixture(params=["http", "https"])
def slow_receiver(request):
    """Accepts connections, and sends a byte of its answer, or of a TLS record, every 50 ms."""
    listening = socket.create_server(("127.0.0.1", 0))
    begin = {"http": b"HTTP/1.1 200 OK\r\nX: ", "https": b"\x16\x03\x03\x40\x00"}[request.param]

    def answer(connection):
        with connection, suppress(OSError):
            for byte in itertools.chain(begin, itertools.repeat(ord("a"))):
                connection.sendall(bytes([byte]))
                time.sleep(0.05)

    def accept():
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=listening.accept()[:1], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"{request.param}://127.0.0.1:{listening.getsockname()[1]}/hook/secret"
    listening.close()


def test_a_receiver_that_answers_byte_by_byte_is_given_up(slow_receiver, tmp_path, monkeypatch):
    monkeypatch.setattr("jobs.alerts.notify._LIMIT_S", 0.3)
    webhook = Webhook(name="ops", format="json", url=slow_receiver)

    (delivery,) = notify(
        AlertSettings(webhooks=(webhook,)), str(tmp_path), [alert()], [WINDOW], lambda _: None
    )

    assert (delivery.sent, delivery.waiting) == (0, 1)
    assert "secret" not in delivery.line


def test_a_connection_that_is_made_after_the_limit_ends_at_once(slow_receiver, send, monkeypatch):
    """A host may have addresses that do not answer before the one that does."""
    connect = socket.create_connection

    def later(*arguments, **options):
        time.sleep(0.2)
        return connect(*arguments, **options)

    monkeypatch.setattr("jobs.alerts.notify._LIMIT_S", 0.1)
    monkeypatch.setattr(socket, "create_connection", later)

    (line,) = send([alert()], url=slow_receiver)

    assert line.startswith("webhook team: 0 sent, 1 waiting: ")


def test_messages_wait_when_a_receiver_took_the_time_of_a_call(send, receiver, monkeypatch):
    monkeypatch.setattr("jobs.alerts.notify._CALL_LIMIT_S", 0.0)

    assert send([alert("a"), alert("b")]) == [
        "webhook team: 0 sent, 2 waiting: the receiver took more than 0 s"
    ]


def test_a_receiver_that_repeats_the_request_does_not_show_the_address(send):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def repeat():
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        connection.sendall(connection.recv(1 << 16))

        threading.Thread(target=repeat, daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/hook/secret"

        (line,) = send([alert()], url=address)

    assert line == "webhook team: 0 sent, 1 waiting: BadStatusLine: the response is not HTTP"


@pytest.mark.parametrize(
    "address",
    [
        "ftp://host/secret",
        "http://user:secret@host/",
        "http://host:secret/",
        "http://host:0/secret",
        "http://[secret/",
        "http://a..b/secret",
        "http://host/sec ret",
        "http://secret%0d%0ahost/",
        "http://host/secr\u00e9t",
        "http:///secret",
        "secret",
    ],
)
def test_an_address_that_cannot_be_asked_is_an_error_without_it(monkeypatch, address):
    monkeypatch.setenv("HOOK", address)
    webhook = Webhook(name="ops", format="json", url_variable="HOOK")

    with pytest.raises(UsageError) as error:
        webhook.require_variables()

    assert "secret" not in str(error.value)
    assert str(error.value).startswith("[alerts.webhooks.ops]: the address must be an http")


def test_what_waited_for_a_receiver_that_was_down_is_sent_when_it_is_up(send, receiver):
    (line,) = send([alert()], url="http://127.0.0.1:9/secret")

    assert line.startswith("webhook team: 0 sent, 1 waiting: ConnectionRefusedError")
    assert send([alert()]) == ["webhook team: 1 sent"]
    assert statuses(receiver) == [(RAISED, "billing")]


def test_a_process_that_ends_before_the_receiver_accepts_loses_no_message(send, receiver):
    receiver.answers = [503]
    settings = AlertSettings(webhooks=(Webhook(name="team", format="json", url=receiver.url),))

    def end(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        notify(settings, send.lake, [alert()], [WINDOW], end)

    assert receiver.bodies == []
    assert send([alert()]) == ["webhook team: 1 sent"]


TITLE = "storm billing in prod: 12 in a row"
ARRIVES = [
    ("json", {"status": "raised", "group_id": "billing", "value": 12, "threshold": 10,
              "first_time": "2026-11-21T12:00:00Z",
              "key": "storm/prod/billing//2026-11-21T12:00:00Z"}),
    ("slack", {"text": TITLE,
               "blocks": [{"type": "section",
                           "text": {"type": "plain_text", "text": TITLE, "emoji": False}}]}),
    ("teams", {"type": "message"}),
    ("pagerduty", {"routing_key": "routing", "event_action": "trigger", "client": "Regroup",
                   "dedup_key": "storm/prod/billing//2026-11-21T12:00:00Z"}),
]  # fmt: skip


@pytest.mark.parametrize(("format", "expected"), ARRIVES)
def test_each_format_arrives_after_a_failure(send, receiver, monkeypatch, format, expected):
    monkeypatch.setenv("PD", "routing")
    key = {"key_variable": "PD"} if format == "pagerduty" else {}
    receiver.answers = [503]

    assert send([alert()], format=format, **key) == ["webhook team: 1 sent"]

    (body,) = receiver.bodies
    assert {name: body[name] for name in expected} == expected


def test_groups_and_checks_choose_the_alerts(send, receiver):
    alerts = [alert("billing-a"), alert("other"), alert("billing-b", "stuck")]
    send(alerts, groups=("billing-*",), alerts=("storm",))

    assert statuses(receiver) == [(RAISED, "billing-a")]


# -- bodies ----------------------------------------------------------------------------------------

HOSTILE = alert("<!channel> [x](http://evil)\n\x1b[31m", message="m & n")


def body(format, status=RAISED, of=HOSTILE, **settings):
    return request_body(
        Webhook(name="team", format=format, url="http://h", **settings), status, as_json(of)
    )


def test_the_configuration_knows_the_checks():
    assert [check.name for check in CHECKS] == [*ALERTS]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_has_a_body(format):
    assert body(format)


def test_slack_takes_no_markup_from_names():
    text = body("slack")["text"]

    assert text.startswith("storm &lt;!channel&gt; [x](http://evil)")
    assert "&amp;" in text
    assert "\n" not in text
    assert "\x1b" not in text


def test_teams_gets_an_adaptive_card_without_markdown_of_names():
    (attachment,) = body("teams")["attachments"]
    card = attachment["content"]

    assert card["type"] == "AdaptiveCard"
    assert "\\[x\\]\\(http" in card["body"][0]["text"]
    assert {"title": "cluster_id", "value": "prod"} in card["body"][1]["facts"]


def test_pagerduty_gets_one_incident_per_problem(monkeypatch):
    monkeypatch.setenv("PD", "routing")
    trigger = body("pagerduty", key_variable="PD")
    resolve = body("pagerduty", RESOLVED, key_variable="PD")

    assert trigger["routing_key"] == "routing"
    assert trigger["event_action"] == "trigger"
    assert trigger["payload"]["severity"] == "warning"
    assert len(body("pagerduty", of=alert(message="x" * 5000))["payload"]["summary"]) == 1024
    assert resolve["event_action"] == "resolve"
    assert trigger["dedup_key"] == resolve["dedup_key"]


# -- settings --------------------------------------------------------------------------------------


def settings(**webhooks):
    return read_settings({"webhooks": webhooks}, "--conf c.toml:").webhooks


def test_settings_are_read():
    (webhook,) = settings(team={"format": "slack", "url_variable": "S", "groups": ["a-*"]})

    assert webhook == Webhook(name="team", format="slack", url_variable="S", groups=("a-*",))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "format must be json, slack, teams, pagerduty, not None"),
        ({"format": "mail"}, "format must be"),
        ({"format": "json"}, "needs url or url_variable"),
        ({"format": "json", "url": "http://h", "url_variable": "S"}, "needs url or url_variable"),
        ({"format": "pagerduty"}, "key_variable is required"),
        ({"format": "json", "url": "http://h", "key_variable": "K"}, "key_variable is required"),
        ({"format": "json", "url": "http://h", "groups": "a"}, "groups has a wrong type"),
        ({"format": "json", "url": "http://h", "alerts": ["storms"]}, "the checks are storm"),
        ({"format": "json", "url": "http://h", "urls": 1}, "unknown setting 'urls'"),
    ],
)
def test_wrong_settings_say_what_to_change(table, message):
    with pytest.raises(UsageError, match=r"\[alerts\.webhooks\.team\]") as error:
        settings(team=table)
    assert message in str(error.value)


def test_a_missing_variable_or_webhook_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("S", raising=False)
    webhook = Webhook(name="team", format="slack", url_variable="S")
    with pytest.raises(UsageError, match="set the environment variable S"):
        require_webhooks(AlertSettings(webhooks=(webhook,)), str(tmp_path))
    with pytest.raises(UsageError, match="no webhook is configured"):
        require_webhooks(AlertSettings(), str(tmp_path))


def test_a_lake_in_a_store_needs_a_file_for_the_outbox(tmp_path):
    webhook = Webhook(name="team", format="json", url="http://h")
    with pytest.raises(UsageError, match=r"set \[alerts\] outbox"):
        require_webhooks(AlertSettings(webhooks=(webhook,)), "s3a://bucket/lake")
    file = tmp_path / "outbox.sqlite"
    own = AlertSettings(webhooks=(webhook,), outbox=str(file))
    assert require_webhooks(own, "s3a://bucket/lake") == file


def test_an_outbox_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    webhook = Webhook(name="team", format="json", url="http://h")
    own = AlertSettings(webhooks=(webhook,), outbox=str(tmp_path / "file" / "outbox.sqlite"))
    with pytest.raises(UsageError, match="give a file to write"):
        notify(own, str(tmp_path), [], [])
