"""The digest of a day: what is alike is one entry, in every format."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_string

import pytest

from jobs.alerts import digest
from jobs.alerts.alerting import AlertsOptions, AlertWindow
from jobs.alerts.checks import Alert
from jobs.alerts.digest import ClusterSpan, digest_of, spans_of
from jobs.alerts.digest_formats import BODIES
from jobs.alerts.formats import DigestFormat
from jobs.configuration.alert_settings import AlertSettings, read_settings
from jobs.configuration.webhooks import Webhook
from jobs.console.errors import UsageError
from tests.jobs.test_webhooks import receiver  # noqa: F401  # a fixture

START, NOON = datetime(2026, 11, 20, 12), datetime(2026, 11, 21, 12)
ELEVEN = datetime(2026, 11, 21, 11)


def alert(group, check="storm", *, value=12, last=NOON, process=None):
    return Alert(
        alert=check,
        cluster_id="prod",
        group_id=group,
        process=process,
        first_time=START,
        last_time=last,
        value=value,
        threshold=10,
        unit="generations",
        message=f"{value} in a row",
    )


def episode(group, kind="rolling_deployment", cost_ms=1000, text="6 processes", without_begin=0):
    figures = {"rebalances": 2, "not_stable_ms": 1500, "cost_ms": cost_ms}
    figures |= {"rebalances_without_begin": without_begin}
    return {"group_id": group, "kind": kind, "text": text, **figures}


def finding(group, name="static_id_used_twice", remedy="Use two ids. In Java:\nx=1"):
    texts = {"summary": f"{group} used an id twice", "remedy": remedy}
    return {"group_id": group, "finding": name, "kind": "configuration", **texts}


def span(*, episodes=(), findings=(), alerts=(), present=(), rebalances=()):
    return ClusterSpan(
        window=AlertWindow("prod", START, NOON),
        episodes=list(episodes),
        findings=list(findings),
        rebalances=list(rebalances),
        alerts=list(alerts),
        present=frozenset(present),
        present_since=ELEVEN,
    )


def entries(of_span, patterns=("*",)):
    sections = digest_of(of_span, patterns).sections
    return {section.title: [tuple(each) for each in section.entries] for section in sections}


def test_episodes_of_one_kind_are_one_entry_and_the_costliest_kind_is_first():
    episodes = [
        episode("c", cost_ms=9000),
        episode("a", "slow_poll", 8000, "a-1 was slow"),
        *(episode(group) for group in "abde"),
        episode("x", "group_start", 99_000),
    ]

    assert entries(span(episodes=episodes)) == {
        "What cost most": [
            (
                "rolling deployment",
                "5 episodes of c, a, b and 2 more groups; 10 rebalances, 7.5 s not stable, "
                "13 partition-seconds without an owner or not served. Costliest: c: 6 "
                "processes",
            ),
            ("slow poll", "a: a-1 was slow"),
        ]
    }


def test_a_cost_with_rebalances_without_a_logged_begin_is_a_lower_limit():
    episodes = [episode("a"), episode("b", without_begin=1)]

    [[(_, text)]] = entries(span(episodes=episodes)).values()

    assert "3.0 s not stable, at least 2 partition-seconds without an owner" in text


def test_a_time_not_stable_that_no_log_shows_is_unknown():
    unlogged = {"group_id": "a", "total_ms": None, "rebalances": 1}
    emptied = {"group_id": "a", "total_ms": None, "rebalances": 0}
    logged = {"group_id": "a", "total_ms": 3000, "rebalances": 1}

    headlines = [digest_of(span(rebalances=rows)).headline for rows in (
        [unlogged, emptied], [unlogged, logged], [emptied, logged],
    )]  # fmt: skip

    assert [each.split(", ")[1] for each in headlines] == [
        "time not stable unknown (no log shows when rebalances began)",
        "at least 3.0 s not stable",
        "3.0 s not stable",
    ]


def test_kinds_beyond_five_are_named():
    [section] = digest_of(span(episodes=[episode("g", f"kind_{n}") for n in range(7)])).sections

    assert (len(section.entries), section.left_out) == (5, "2 more: kind 5, kind 6")


def test_findings_of_one_name_are_one_entry_without_lines_to_paste():
    assert entries(
        span(findings=[finding("a"), finding("b"), finding(None, "stall", "Check.")])
    ) == {
        "Findings": [
            (
                "static_id_used_twice (configuration)",
                "2 findings of a, b. a used an id twice. Use two ids.",
            ),
            ("stall (configuration)", "None used an id twice. Check."),
        ]
    }


def test_groups_with_alerts_of_the_same_checks_are_one_entry():
    groups = [f"g{n}" for n in range(249)]
    alerts = [alert(group, value=12 + (group == "g7")) for group in groups]
    alerts += [alert("other", "flapping"), alert("other", "storm"), alert("other", "storm")]
    present = {(each.alert, f"prod/{each.group_id}", None) for each in alerts}

    assert entries(span(alerts=alerts, present=present)) == {
        "Alerts": [
            ("storm: g7, g0, g1 and 246 more groups", "g7: 13 in a row (248 more alerts)"),
            ("storm, flapping: other", "12 in a row (2 more alerts)"),
        ]
    }


def test_an_alert_that_is_not_raised_now_is_resolved():
    ended = alert("a", last=datetime(2026, 11, 21, 3, 30))
    again = alert("b", last=datetime(2026, 11, 21, 5))
    present = {("storm", "prod/b", None)}

    summary = digest_of(span(alerts=[ended, again, alert("b")], present=present))

    assert (
        summary.headline == "0 rebalances in 0 groups, 0.0 s not stable, 1 alert raised, 2 resolved"
    )
    assert [(section.title, section.entries) for section in summary.sections] == [
        ("Alerts", [("storm: b", "12 in a row")]),
        ("Resolved alerts", [("storm: a, b", "no longer raised; last seen 2026-11-21 05:00 UTC")]),
    ]


def test_only_groups_that_match_a_pattern_are_told():
    rows = span(episodes=[episode("billing-1"), episode("x")], findings=[finding(None)])

    assert entries(rows, ("billing-*",)) == {
        "What cost most": [("rolling deployment", "billing-1: 6 processes")]
    }


def test_a_finding_is_no_alert_too():
    rows = span(alerts=[alert("a", "finding")], findings=[finding("a")])

    assert list(entries(rows)) == ["Findings"]


HOSTILE = "<!channel> *b* [x](http://e)\x1b"


@pytest.mark.parametrize("format", DigestFormat)
def test_names_of_groups_are_no_markup(format):
    text = BODIES[format]([digest_of(span(episodes=[episode(HOSTILE)]))])

    assert "\x1b" not in text
    if format is DigestFormat.SLACK:
        message = json.loads(text)
        assert "&lt;!channel&gt; *b*" in message["blocks"][2]["text"]["text"]
        assert {block["text"]["type"] for block in message["blocks"]} == {"plain_text"}
    elif format is DigestFormat.TEAMS:
        [attachment] = json.loads(text)["attachments"]
        assert r"\<\!channel\> \*b\* \[x\]\(http://e\)" in attachment["content"]["body"][3]["text"]
    elif format is DigestFormat.HTML:
        assert "&lt;!channel&gt; *b*" in text
        assert "<!channel>" not in text
    elif format is DigestFormat.MARKDOWN:
        assert r"**: \<\!channel\> \*b\* \[x\]\(http://e\)" in text
    elif format is DigestFormat.JSON:
        assert json.loads(text)[0]["sections"][0]["entries"][0]["head"] == "rolling deployment"


def test_a_mail_has_a_subject_text_and_html():
    mail = message_from_string(BODIES[DigestFormat.MAIL]([digest_of(span())]))

    assert mail["Subject"] == "Regroup: prod, 2026-11-20 12:00 to 2026-11-21 12:00 UTC"
    assert [part.get_content_type() for part in mail.get_payload()] == ["text/plain", "text/html"]


@pytest.fixture(scope="module")
def lake(write_lake, tmp_path_factory):
    """Group old stormed at 06:00, group new at 11:50; the lake ends at 12:00."""

    def ms(hour, minute, second):
        return int(datetime(2026, 11, 21, hour, minute, second, tzinfo=UTC).timestamp() * 1000)

    def rebalances(group, hour, minute):
        return [
            {"group_id": group, "generation": n, "cause": "LEAVE", "outcome": "stable"}
            | {"preparing_time": ms(hour, minute, n), "to_time": ms(hour, minute, n) + 500}
            | {"total_ms": 500, "logical_rebalance": n, "round": 1}
            for n in range(1, 13)
        ]

    rows = [*rebalances("old", 6, 0), *rebalances("new", 11, 50)]
    place = {"group_id": "new", "activity_time": ms(11, 50, 1), "kind": "slow_poll"}
    slow = place | {"episode": 1, "from_time": ms(11, 50, 1), "to_time": ms(11, 50, 12)}
    slow |= {"rebalances": 12, "not_stable_ms": 6000, "summary": "n-1 was slow"}
    slow |= {"processes": [], "hosts": [], "generations": [], "evidence": "log", "confidence": 0.9}
    slow |= {"first_generation": 1, "last_generation": 12, "activity_last_generation": 12}
    tables = {
        "rebalance_latency": rows,
        "generations": [{k: row[k] for k in ("group_id", "generation", "cause")} for row in rows],
        "timeline": [{"group_id": "new", "seq": 1, "event_time": ms(12, 0, 0), "event": "RECORD"}],
        "episodes": [slow],
    }
    others = ("committed_offsets", "rebalance_causes", "generation_members", "churn", "findings")
    others = (*others, "ownership_gaps")
    return write_lake(tmp_path_factory.mktemp("lake"), {**tables, **{each: [] for each in others}})


def test_the_digest_of_a_lake(lake):
    [rows] = spans_of(AlertsOptions(lake, since="24h"), AlertSettings())

    summary = digest_of(rows)

    assert (
        summary.headline
        == "24 rebalances in 2 groups, 12.0 s not stable, 1 alert raised, 1 resolved"
    )
    assert [(each.title, [entry.head for entry in each.entries]) for each in summary.sections] == [
        ("What cost most", ["slow poll"]),
        ("Alerts", ["storm: new"]),
        ("Resolved alerts", ["storm: old"]),
    ]


@pytest.mark.parametrize(
    "since", ["2h", "7200s", "2026-11-21T10:00", "2026-11-21T11:00+01:00", "2026-11-21 10:00:00Z"]
)
def test_a_shorter_span(lake, since):
    [rows] = spans_of(AlertsOptions(lake, since=since), AlertSettings())

    assert (rows.window.start, rows.window.now) == (datetime(2026, 11, 21, 10), NOON)
    assert digest_of(rows).headline.startswith("12 rebalances in 1 group, 6.0 s not stable")


def test_a_digest_is_sent_once_to_the_webhooks_that_take_digests(lake, receiver, tmp_path, capsys):  # noqa: F811
    webhook = Webhook(name="team", format="json", url=receiver.url, digest=True, groups=("new",))
    alerts_only = replace(webhook, name="alerts", digest=False)
    settings = AlertSettings(webhooks=(webhook, alerts_only), outbox=str(tmp_path / "outbox"))
    options = AlertsOptions(lake, since="24h")

    codes = [digest.run(options, settings, DigestFormat.TEXT, notifies=True) for _ in range(2)]

    assert codes == [0, 0]
    assert capsys.readouterr().err == "webhook team: 1 sent\nwebhook team: 0 sent\n"
    [body] = receiver.bodies
    assert (body["status"], body["digests"][0]["headline"]) == (
        "digest",
        "12 rebalances in 1 group, 6.0 s not stable, 1 alert raised, 0 resolved",
    )


def test_no_webhook_takes_digests(lake):
    settings = AlertSettings(webhooks=(Webhook(name="team", format="json", url="http://a"),))

    with pytest.raises(UsageError, match="no webhook takes digests; set digest = true in one"):
        digest.run(AlertsOptions(lake), settings, DigestFormat.TEXT, notifies=True)


def test_pagerduty_takes_no_digests():
    table = {"webhooks": {"x": {"format": "pagerduty", "key_variable": "K", "digest": True}}}

    with pytest.raises(UsageError, match="digest is not possible for format pagerduty"):
        read_settings(table, "--conf x:")


def test_partition_seconds_are_defined_once_if_the_digest_has_them():
    with_cost = digest_of(span(episodes=[episode("a"), episode("b")]))
    without = digest_of(span(episodes=[episode("a", "slow_poll", 8000, "a-1 was slow")]))

    text = BODIES[DigestFormat.TEXT]([with_cost])
    assert text.count("partition-seconds: number of partitions without an owner") == 1
    assert text.index("partition-seconds: number") < text.index("2 partition-seconds without")
    assert "partition-seconds" not in BODIES[DigestFormat.TEXT]([without])
