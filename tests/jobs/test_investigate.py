"""`regroup investigate`: from inputs or a lake to one answer."""

import json
from datetime import datetime

import pytest

from jobs.command_line.cli import app
from jobs.investigate.answer import Answer
from jobs.investigate.documents import as_markdown, as_text
from jobs.investigate.headline import headlines
from jobs.investigate.missing_evidence import Seen, missing_evidence

LOG = """\
[2024-05-01 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group orders in state \
PreparingRebalance with old generation 0 (__consumer_offsets-31) (reason: Adding new member c-1-a \
with group instance id None) (kafka.coordinator.group.GroupCoordinator)
[2024-05-01 10:00:03,000] INFO [GroupCoordinator 1]: Stabilized group orders generation 1 \
(__consumer_offsets-31) with 1 members (kafka.coordinator.group.GroupCoordinator)
[2024-05-01 10:00:03,010] INFO [GroupCoordinator 1]: Assignment received from leader c-1-a for \
group orders for generation 1. The group has 1 members, 0 of which are static. \
(kafka.coordinator.group.GroupCoordinator)
[2024-05-01 10:05:00,000] INFO [GroupCoordinator 1]: Member c-1-a in group orders has failed, \
removing it from the group (kafka.coordinator.group.GroupCoordinator)
[2024-05-01 10:05:00,001] INFO [GroupCoordinator 1]: Preparing to rebalance group orders in state \
PreparingRebalance with old generation 1 (__consumer_offsets-31) (reason: removing member c-1-a on \
heartbeat expiration) (kafka.coordinator.group.GroupCoordinator)
[2024-05-01 10:05:00,002] INFO [GroupCoordinator 1]: Group orders with generation 2 is now empty \
(__consumer_offsets-31) (kafka.coordinator.group.GroupCoordinator)
"""


OF_GROUP = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0] [GroupId ads]"
DELETED = f"""\
[2026-11-27 04:26:36,708] INFO {OF_GROUP} Member ads-m1 joins the consumer group using the \
consumer protocol. (org.apache.kafka.coordinator.group.GroupMetadataManager)
[2026-11-27 04:26:36,709] INFO {OF_GROUP} Bumped group epoch to 2 with metadata hash 80. \
(org.apache.kafka.coordinator.group.GroupMetadataManager)
[2026-11-27 04:26:36,710] INFO {OF_GROUP} Computed a new target assignment for epoch 2 with \
'uniform' assignor in 0ms. (org.apache.kafka.coordinator.group.GroupMetadataManager)
[2026-11-27 04:29:36,708] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=0] The \
following groups were deleted: ads. A total of 0 offsets were removed. \
(org.apache.kafka.coordinator.group.GroupCoordinatorShard)
"""


def run(capsys, *arguments):
    """(exit code, stdout, stderr)"""
    from jobs.command_line import cli

    code = 0
    try:
        code = app(["investigate", *arguments], "regroup", standalone_mode=False) or 0
    except Exception as error:
        with pytest.raises(SystemExit) as ended:
            cli._end(error)
        code = ended.value.code
    return code, *capsys.readouterr()


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """The JSON of a log that ends with a session's expiry."""
    folder = tmp_path_factory.mktemp("log")
    (folder / "server.log").write_text(LOG)
    return folder / "server.log"


@pytest.fixture(scope="module")
def lake(answer, tmp_path_factory):
    """A lake with the log as cluster what_if, and as cluster east with another group."""
    folder = tmp_path_factory.mktemp("lake")
    (folder / "other.log").write_text(answer.read_text().replace("orders", "billing"))
    root = str(folder / "lake")
    for cluster, path in (("what_if", answer), ("east", folder / "other.log")):
        options = ["--lake", root, "--cluster-id", cluster, "--broker-log", str(path)]
        app(["nightly", *options, "--no-advice", "--engine", "embedded"], standalone_mode=False)
    return root


def test_a_brokers_log_answers_without_a_lake(answer, capsys):
    code, out, err = run(capsys, "--broker-log", str(answer), "--format", "json")

    document = json.loads(out)
    assert (code, err) == (0, "")
    assert sorted(document) == [
        "advice", "episodes", "files", "findings", "groups", "headline", "missing_evidence",
    ]  # fmt: skip
    assert [(row["group_id"], row["rebalances"]) for row in document["groups"]] == [("orders", 1)]
    assert [row["kind"] for row in document["episodes"]] == ["group_start", "process_lost"]
    assert [row["evidence"] for row in document["missing_evidence"]] == [
        "records of __consumer_offsets",
        "the consumers' logs",
    ]
    assert [
        (row["lines"], row["understood"], row["not_understood"], row["kind"])
        for row in document["files"]
    ] == [(6, 6, 0, "broker log")]


def test_a_deleted_group_of_the_consumer_protocol_is_an_episode(tmp_path, capsys):
    (tmp_path / "server.log").write_text(DELETED)
    arguments = ["--broker-log", str(tmp_path / "server.log"), "--format", "json"]

    _, out, _ = run(capsys, *arguments)

    document = json.loads(out)
    episodes = document["episodes"]
    assert [row["partitions_moved"] for row in episodes] == [None, 0]
    assert [row["partitions_moved"] for row in document["groups"]] == [None]
    assert [(row["kind"], row["first_generation"], row["confidence"]) for row in episodes] == [
        ("group_start", 2, 0.9),
        ("group_deleted", 2, 1.0),
    ]


def test_another_group_is_refused_with_the_names_of_those_there_are(lake, capsys):
    code, out, err = run(capsys, "--lake", lake, "--cluster-id", "what_if", "--group", "order")

    assert (code, out) == (2, "")
    assert err == "regroup: --group order: not in the evidence; groups in the evidence: orders\n"


def test_a_lake_answers_for_one_cluster_whatever_its_name_is(lake, capsys):
    arguments = ["--lake", lake, "--cluster-id", "what_if", "--format", "json"]
    code, out, _ = run(capsys, *arguments)

    document = json.loads(out)
    assert code == 0
    assert [row["group_id"] for row in document["groups"]] == ["orders"]
    assert {row["cluster_id"] for row in document["episodes"] + document["files"]} == {"what_if"}


def test_a_file_without_an_understood_line_is_named_and_ends_with_1(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("buy milk\n")

    code, out, err = run(capsys, "--client-log", str(tmp_path / "notes.txt"))

    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "The evidence names no group."
    assert "notes.txt: it seems to be the log of an application without consumers" in lines[1]
    assert err == "regroup: no line or record in the given files is readable\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --segments, --kafka, --dump, --broker-log, --client-log or --trace, or --lake"),
        (["--cluster-id", "c"], "or --lake DIR --cluster-id ID"),
        (["--lake", "x", "--broker-log", "y"], "--lake and --broker-log: give inputs or a lake"),
        (["--lake", "no-lake"], "--lake no-lake: no such folder"),
    ],
)
def test_wrong_arguments_end_with_one_line(arguments, message, capsys):
    code, out, err = run(capsys, *arguments)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


SPAN = (datetime(2024, 5, 1, 10), datetime(2024, 5, 1, 11))


@pytest.mark.parametrize(
    ("sources", "missing"),
    [
        ({"client_log"}, ["records of __consumer_offsets", "the coordinator's log"]),
        ({"broker_log"}, ["records of __consumer_offsets", "the consumers' logs"]),
        ({"segments", "broker_log", "client_log"}, ["log end offsets"]),
        ({"dump", "broker_log", "client_log", "end_offsets"}, []),
    ],
)
def test_missing_evidence_depends_on_the_sources(sources, missing):
    seen = Seen(frozenset(sources), ("orders",), {}, {}, (), (), *SPAN)

    assert [each.evidence for each in missing_evidence(seen)] == missing


def test_a_log_without_dates_is_given_and_lacks_only_its_dates(tmp_path, capsys):
    log = tmp_path / "app.log"
    log.write_text("INFO:aiokafka.consumer.group_coordinator:(Re-)joining group orders\n")

    code, out, _ = run(capsys, "--client-log", str(log), "--format", "json")

    document = json.loads(out)
    assert (code, document["files"][0]["kind"]) == (1, "no line has a complete date")
    *_, missing = document["missing_evidence"]
    assert [each["evidence"] for each in document["missing_evidence"]] == [
        "records of __consumer_offsets",
        "the coordinator's log",
        "dates of log lines",
    ]
    assert missing["unknown"] == f"times of lines without a complete date in {log}"
    assert missing["how"].startswith('configure logging with format="%(asctime)s ')


def test_what_clients_logged_without_their_group_is_named(tmp_path, capsys):
    log = tmp_path / "app.log"
    log.write_text(
        "%4|1700000000.123|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll"
        " interval (300000ms) exceeded by 53ms (adjust max.poll.interval.ms for long-running"
        " message processing): leaving group\n"
    )

    _, out, _ = run(capsys, "--client-log", str(log), "--format", "json")

    *_, missing = json.loads(out)["missing_evidence"]
    assert (missing["evidence"], missing["unknown"]) == (
        "the groups of clients",
        "the group of 1 poll timeout of rdkafka (2023-11-14 22:13:20)",
    )


def joined(name, time, generation):
    member_id = f"{name}-11111111-1111-4222-8333-000000000001"
    of = f"Generation{{generationId={generation}, memberId='{member_id}', protocol='range'}} (a.B)"
    steps = (
        ("0,000", "(Re-)joining group (a.B)"),
        ("3,000", f"Successfully joined group with generation {of}"),
        ("3,010", f"Successfully synced group in generation {of}"),
    )
    return "".join(
        f"2024-05-01 {time}{second} INFO [Consumer clientId={name}, groupId=g] {message}\n"
        for second, message in steps
    )


def test_clocks_that_differ_are_named(tmp_path, capsys):
    (tmp_path / "a.log").write_text(joined("a", "12:00:0", 7) + joined("a", "12:05:0", 8))
    (tmp_path / "b.log").write_text(joined("b", "15:30:0", 7))

    _, out, _ = run(capsys, "--client-log", str(tmp_path / "*.log"), "--format", "json")

    *_, missing = json.loads(out)["missing_evidence"]
    assert missing["evidence"] == "the time zones of dates"
    assert "dates: b 3.5 h ahead (a time zone); the" in missing["unknown"]


def test_missing_evidence_names_partition_and_span():
    seen = Seen(frozenset({"client_log"}), ("orders",), {}, {}, (), (), *SPAN)

    assert [each.how for each in missing_evidence(seen)] == [
        "copy the .log files of __consumer_offsets-31 (if the topic has 50 partitions) from a"
        " broker's log.dirs and add --segments FOLDER, or add --dump FILE with the output of"
        " kafka-dump-log or kcat",
        "copy server.log of the brokers that lead __consumer_offsets-31 (if the topic has 50"
        " partitions) from 2024-05-01 09:50 to 2024-05-01 11:10 UTC, and add --broker-log FILE",
    ]


def test_a_partition_that_the_evidence_names_is_certain():
    """orders would be in partition 31 of 50."""
    seen = Seen(
        frozenset({"broker_log"}),
        ("orders",),
        {"orders": "__consumer_offsets-3"},
        {},
        (),
        (),
        *SPAN,
    )

    assert missing_evidence(seen)[0].how.startswith(
        "copy the .log files of __consumer_offsets-3 from a broker's log.dirs"
    )


def group(**values):
    return {
        "group_id": "orders",
        "generations": 3,
        "rebalances": 3,
        "not_stable_ms": None,
        "unowned_partition_ms": None,
        "unserved_partition_ms": None,
        "records_reprocessed": None,
        "partitions_moved": None,
        "first_seen": SPAN[0],
        "last_seen": SPAN[1],
    } | values


def episode(**values):
    return {
        "group_id": "orders",
        "kind": "slow_poll",
        "from_time": SPAN[0],
        "rebalances": 2,
        "not_stable_ms": None,
        "place": 9,
        "text": "c-1 did not poll",
        "evidence": "log",
        "confidence": 0.9,
    } | values


def test_the_headline_has_the_kind_with_most_rebalances_and_the_costliest_episode():
    episodes = [
        episode(kind="group_start", rebalances=5, place=1),
        episode(rebalances=1),
        episode(rebalances=2),
        episode(kind="scale_out", rebalances=2, text="c-2 starts", place=2),
    ]

    assert headlines([group()], episodes, [], []) == [
        "orders: 3 rebalances from 2024-05-01 10:00:00 to 11:00:00 UTC, 3 of them in episodes of"
        " kind slow_poll. Costliest episode: c-2 starts."
    ]


def test_a_headline_names_none_of_five_that_are_alike():
    groups = [group(group_id=f"app-{n}") for n in range(1, 6)]
    episodes = [episode(group_id=each["group_id"]) for each in groups]
    finding = {"finding": "KAFKA-1", "summary": "a bug", "confidence": 0.9}
    findings = [finding | {"group_id": each["group_id"]} for each in groups]
    other = {
        "finding": "host_lost",
        "summary": "h was lost",
        "confidence": 0.8,
        "group_id": "app-1",
    }

    assert headlines([*groups, group()], episodes, [*findings, other], []) == [
        "KAFKA-1: 5 findings in 5 groups.",
        "host_lost: h was lost.",
        "app-*: 5 groups, 15 rebalances, mostly slow poll.",
        "orders: 3 rebalances from 2024-05-01 10:00:00 to 11:00:00 UTC.",
    ]


def test_a_headline_names_the_kind_of_many_episodes_of_a_group():
    [line] = headlines([group()], [episode(place=n) for n in range(1, 6)], [], [])

    assert line.endswith(
        "10 of them in episodes of kind slow_poll. Costliest kind: slow poll, 5 episodes."
    )


def test_a_cause_that_is_known_leads_whatever_the_unknown_ones_cost():
    unknown = episode(
        kind="unknown", rebalances=9, place=1, text="evidence begins with generation 4"
    )

    [line] = headlines([group()], [unknown, episode(rebalances=0)], [], [])
    assert line.endswith("UTC. Costliest episode: c-1 did not poll.")
    [line] = headlines([group()], [unknown], [], [])
    assert line.endswith("Costliest episode: evidence begins with generation 4.")


def test_a_headline_says_why_a_group_has_no_rebalance():
    groups = [{"group_id": "g", "reason": "commits without members"}]

    assert headlines(groups, [], [], []) == [
        "g: no rebalance in the evidence (commits without members)."
    ]


def test_unknown_figures_are_named_and_not_zero():
    answered = Answer(
        groups=[group()], findings=[], episodes=[], advice=[], missing_evidence=[], files=[]
    )

    assert as_text(answered).splitlines()[2:] == [
        "What it cost",
        "- orders: 3 rebalances",
        "    unknown: time not stable, partition downtime, moved partitions",
    ]


def test_unserved_time_and_records_handled_again_are_said_where_known():
    figures = {"unowned_partition_ms": 329_000, "unserved_partition_ms": 598_400}
    figures |= {"unowned_partition_ms_low": 40_400, "unowned_partition_ms_high": 329_000}
    groups = [group(not_stable_ms=500, partitions_moved=0, **figures, records_reprocessed=85)]
    answered = Answer(
        groups=groups, findings=[], episodes=[], advice=[], missing_evidence=[], files=[]
    )

    lines = as_text(answered).splitlines()
    assert lines[1].startswith("partition-seconds: number of partitions without an owner")
    assert lines[4:] == [
        "- orders: 3 rebalances, 500 ms not stable, 329 partition-seconds (40 to 329) without an"
        " owner, 598 owned but not served, 85 records handled again, 0 partitions moved",
    ]


def test_a_group_of_unknown_rebalances_has_its_generations():
    groups = [group(rebalances=None)]
    answered = Answer(
        groups=groups, findings=[], episodes=[], advice=[], missing_evidence=[], files=[]
    )

    assert as_text(answered).splitlines()[2:4] == ["What it cost", "- orders: 3 generations"]


def test_names_from_clients_cannot_format_markdown_or_move_the_cursor():
    name = "<b>*x*</b>\x1b[2J"
    answered = Answer(
        groups=[], findings=[], episodes=[episode(group_id=name)], advice=[],
        missing_evidence=[], files=[],
    )  # fmt: skip

    assert (
        "- 2024-05-01 10:00:00 \\<b\\>\\*x\\*\\</b\\>\\\\x1b\\[2J: c-1 did not poll"
        " (slow_poll, confidence 0.9, evidence log)"
    ) in as_markdown(answered).splitlines()


def test_advice_has_a_block_per_place_to_paste_into():
    advice = {
        "group_id": "orders", "sentence": "group.instance.id (process name)", "risk": None,
        "makes_better": None, "makes_worse": None,
        "client_properties": "# every consumer\na=1\n\n# only in c-1\ngroup.instance.id=c-1",
        "broker_properties": "# brokers\nb=2",
    }  # fmt: skip
    answered = Answer(
        groups=[group()], findings=[], episodes=[], advice=[advice], missing_evidence=[], files=[]
    )

    lines = as_text(answered).splitlines()
    at = lines.index("- orders: group.instance.id (process name)") + 1
    assert lines[at : at + 8] == [
        "        # every consumer", "        a=1", "",
        "        # only in c-1", "        group.instance.id=c-1", "",
        "        # brokers", "        b=2",
    ]  # fmt: skip
    assert "  ```\n  # only in c-1\n  group.instance.id=c-1\n  ```\n" in as_markdown(answered)


def test_a_finding_has_its_remedy_and_the_settings_to_paste():
    finding = {
        "finding": "session_too_short", "kind": "configuration", "group_id": "orders",
        "from_time": SPAN[0], "confidence": 0.85, "summary": "one lost heartbeat ends a session",
        "remedy": "Set the session to three heartbeats.\nsession.timeout.ms=45000",
        "reference": "https://example.org/kip",
    }  # fmt: skip
    answered = Answer(
        groups=[group()], findings=[finding], episodes=[], advice=[], missing_evidence=[], files=[]
    )

    lines = as_text(answered).splitlines()
    assert lines[:2] == [
        "session_too_short: one lost heartbeat ends a session.",
        "orders: 3 rebalances from 2024-05-01 10:00:00 to 11:00:00 UTC.",
    ]
    assert lines[3:8] == [
        "Known problems",
        "- 2024-05-01 10:00:00 orders: one lost heartbeat ends a session:"
        " session_too_short (configuration, confidence 0.85)",
        "    Set the session to three heartbeats.",
        "    see https://example.org/kip",
        "        session.timeout.ms=45000",
    ]
