"""regroup what-if: its output as JSON, CSV and table, and one-line errors."""

import csv
import io
import json
import shutil
import sys
from functools import partial

import pytest

from coordinator_core.whatif import Figures
from jobs.command_line.cli import main
from jobs.replay.group_rows import require_evidence
from jobs.what_if.command import SHOWN_BY
from schemas import table_names
from tests.jobs.test_incident_replay import tables

pytestmark = pytest.mark.slow

GROUPS = ["inventory-static", "billing-eager"]
FIGURES = list(Figures._fields)
GAP_MS = 1795222060000  # 2026-11-21 00:47:40


def test_records_of_a_consumer_group_are_evidence_without_a_log():
    """`regroup what-if` refused the group, and proposed its own name."""
    rows = {"events": [], "records": [], "modern_records": [{}]}

    require_evidence("unused", "c", "g", rows, SHOWN_BY)


@pytest.fixture(scope="module")
def lake(write_lake, tmp_path_factory):
    """Two groups of a real incident; groups of Kafka Connect, of Kafka Streams, of an own assignor;
    a tool that only commits.
    """
    rows = tables(GROUPS)
    rows["group_days"] = [{"group_id": group} for group in GROUPS]
    workers = [row for row in rows["group_metadata"] if row["group_id"] == "inventory-static"]
    rows["group_metadata"] += [
        row | {"group_id": "connect", "protocol_type": "connect", "log_offset": 1000 + n}
        for n, row in enumerate(workers)
    ]
    rows["group_metadata"] += [
        row | {"group_id": "streams", "protocol": "stream", "log_offset": 2000 + n}
        for n, row in enumerate(workers)
    ]
    rows["group_metadata"] += [
        row | {"group_id": "custom", "protocol": "OwnAssigner", "log_offset": 4000 + n}
        for n, row in enumerate(workers)
    ]
    rows["timeline"] += [
        {"group_id": group, "seq": n, "event": "RECORD", "incarnation": 1}
        | {"topic_partition": row["topic_partition"], "log_offset": first + n}
        for group, first in (("connect", 1000), ("streams", 2000), ("custom", 4000))
        for n, row in enumerate(workers)
    ]
    rows["ownership_gaps"] = [
        {"group_id": "billing-eager", "topic": "orders", "partition": partition, "from_time": begin,
         "to_time": begin + lasted, "unowned_ms": lasted, "from_process": "p", "to_process": "p",
         "from_generation": 1, "generation": 2, "why": "rebalance", "evidence": "log",
         "estimated": True}
        for partition, begin, lasted in [(0, GAP_MS, 30_402), (1, GAP_MS, 100_000)]
    ]  # fmt: skip
    rows["handover_costs"] = [
        {"group_id": "billing-eager", "topic": topic, "partition": partition, "process": "p",
         "member_id": "m", "from_time": GAP_MS - 60_000, "to_time": to_ms, "to_time_low": to_ms,
         "to_time_high": to_ms, "how_ended": "revoked",
         "bounded": True, "incarnation": 1, "from_generation": 1, "evidence": "log",
         "estimated": True, "commit_interval_ms": 5000, "records_per_second": rate,
         "records_reprocessed": records, "consumption_pause_ms": pause_ms,
         "catch_up_ms": pause_ms and 2 * pause_ms}
        for topic, partition, to_ms, rate, records, pause_ms in [
            ("orders", 0, GAP_MS, 9.0, 20.5, 30_000),
            ("orders", 0, GAP_MS + 200_000, 11.0, 0.0, None),
            ("orders", 1, GAP_MS, 10.0, 4.0, 10_000),
            ("orders", 2, GAP_MS, None, None, None),
            *(("orders", n, GAP_MS, 10.0, 0.0, 0) for n in range(3, 12)),
        ]
    ]  # fmt: skip
    rows["committed_offsets"] += [
        {"group_id": "tool", "topic": "orders", "partition": 0, "commit_time": GAP_MS,
         "topic_partition": "__consumer_offsets-0", "log_offset": 3000, "outcome": "plain"}
    ]  # fmt: skip
    for row in [row for table in rows.values() for row in table]:
        row["cluster_id"] = "prod"
    root = tmp_path_factory.mktemp("lake")
    write_lake(root, {table: [] for table in table_names()} | rows)
    return str(root)


@pytest.fixture
def on_group(monkeypatch, capsys, lake):
    """``on_group(command, *arguments)``: exit code, stdout, stderr of a command for one group."""

    def run(command, *arguments, group="billing-eager"):
        command = ["regroup", command, "--lake", lake, "--cluster-id", "prod", "--group", group]
        monkeypatch.setattr(sys, "argv", [*command, *arguments])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as left:
            main()
        output = capsys.readouterr()
        return left.value.code or 0, output.out, output.err

    return run


@pytest.fixture
def what_if(on_group):
    return partial(on_group, "what-if")


def test_json_has_observed_model_and_predicted(what_if):
    code, out, _ = what_if("--set", "membership=static", "--seeds", "2", "--format", "json")

    output = json.loads(out)
    assert code == 0
    for part in ("observed", "model", "predicted"):
        assert [name for name in output[part] if name in FIGURES] == FIGURES
    assert output["observed"]["rebalances"] == output["model"]["rebalances"] == 15
    assert output["observed"]["moved_partitions"] == 135
    assert output["predicted"]["setting"] == "membership=static"
    assert output["predicted"]["seeds"] == 2
    assert output["predicted"]["rebalances"] < 7
    assert output["predicted"]["least"].keys() == output["predicted"]["most"].keys() == set(FIGURES)
    assert (output["era"], output["processes"]) == ("3.9", 6)
    assert output["predicted"]["instance_ids"] == "process"
    assert output["other_instance_ids"] is None  # Every process kept its name.
    assert output["client_properties"].splitlines()[3:5] == [
        '{"group.instance.id": "billing-1"}',
        '{"group.instance.id": "billing-2"}',
    ]
    assert output["worse"].startswith("longer partition downtime than 11")
    assert "advice" not in output


def test_a_change_that_makes_the_downtime_longer_is_said_to(what_if):
    code, out, _ = what_if(
        "--set", "group.instance.id=process", "session.timeout.ms=45000", "--seeds", "2"
    )

    assert code == 0
    assert (
        "\nworse: partition downtime 377 s instead of 112 s (partition-seconds); consumption pauses"
    ) in out
    assert "\nbetter: 1 rebalance instead of 15; 6 s in rebalances instead of 2" in out
    assert '\n{"session.timeout.ms": "45000", "group.instance.id": "billing-1"}\n' in out


@pytest.mark.parametrize(
    "settings",
    [
        ["--set", "membership=static", "session_timeout_ms=45000"],
        ["--set", "membership=static", "--set", "session_timeout_ms=45000"],
        ["--set", "membership=static", "--set", "session.timeout.ms=45000"],
    ],
)
def test_several_settings_are_one_change(what_if, settings):
    code, out, _ = what_if(*settings, "--seeds", "1", "--format", "csv")

    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [(row["basis"], row["setting"]) for row in rows] == [
        ("observed", "unchanged"),
        ("model", "unchanged"),
        ("predicted", "membership=static session_timeout_ms=45000"),
    ]
    assert rows[2]["rebalances"] == "1"


def test_without_settings_all_candidates_are_tried_and_advice_is_given(what_if):
    code, out, _ = what_if("--seeds", "1", group="inventory-static")

    assert code == 0
    lines = [line for line in out.splitlines() if line.startswith(" predicted")]
    # librdkafka has no sticky assignor, and the members are static.
    assert len(lines) == 5
    assert "\n2 further changes simulated: " in out
    # The model misses this saving, so it says nothing about other changes.
    assert "\nadvice: nothing to gain: at most 0 s of partition downtime" in out
    assert "\nworse changes: " not in out
    assert "\nconfidence: 0." in out
    assert "4 processes (librdkafka-2)" in out


@pytest.mark.parametrize(
    ("prefer", "setting", "sentence"),
    [
        ("rebalances", "membership=static session_timeout_ms=45000", "1 rebalance instead of 15,"),
        (
            "reprocessed",
            "commit_interval_ms=1000",
            "15 rebalances instead of 15, 10 records reprocessed instead of 50;",
        ),
    ],
)
def test_advice_saves_what_the_user_prefers(what_if, prefer, setting, sentence):
    code, out, _ = what_if("--seeds", "1", "--prefer", prefer, "--format", "json")

    advice = json.loads(out)["advice"]
    assert code == 0
    assert advice["setting"] == setting
    assert advice["sentence"].partition(": ")[2].startswith(sentence)


def test_an_unknown_preference_is_refused(what_if):
    code, _, err = what_if("--prefer", "money")

    assert (code, err) == (
        2, "regroup: --prefer money: not one of downtime, rebalances, reprocessed, lag\n"
    )  # fmt: skip


def test_advice_as_json(what_if):
    code, out, _ = what_if("--seeds", "1", "--format", "json")

    advice = json.loads(out)["advice"]
    assert code == 0
    assert (advice["setting"], advice["client_properties"], advice["risk"]) == (None, None, None)
    assert advice["rejected"].startswith("group.instance.id (process name), session.timeout.ms=")
    assert "but partition downtime 377 s instead of 112 s" in advice["rejected"]
    assert advice["confidence"] == 0.86


def test_a_period(what_if):
    """Processes that started before the period run in it; earlier rebalances do not count."""
    span = ["--from", "2026-11-21T00:47:40", "--to", "2026-11-21T00:49:30"]
    code, out, _ = what_if(*span, "--set", "era=4.1", "--seeds", "1", "--format", "json")

    output = json.loads(out)
    assert code == 0
    assert output["from"].startswith("2026-11-21 00:47:40")
    assert output["to"].startswith("2026-11-21 00:49:30")
    assert output["observed"]["rebalances"] == output["model"]["rebalances"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "speed=1"], "--set speed=1: unknown setting; must be one of membership"),
        (["--set", "membership=perhaps"], "membership must be one of static, dynamic"),
        (["--set", "era=4.1", "--set", "era=3.9"], "era is given more than once"),
        (
            ["--set", "session.timeout.ms=1"],
            "--set session.timeout.ms=1: below the broker's group.min.session.timeout.ms (6000)",
        ),
        (
            ["--set", "session.timeout.ms=70000"],
            "librdkafka requires max.poll.interval.ms (60000) to be at least as long",
        ),
        (["--seeds", "0"], "--seeds 0: must be at least 1"),
        (
            ["--deploy-as", "helm"],
            "--deploy-as helm: not one of properties, env, spring, kubernetes, compose, connect,"
            " streams, librdkafka",
        ),
        (
            ["--deploy-as", "spring"],
            "--deploy-as spring: the clients of group billing-eager are librdkafka; must be one of"
            " properties, kubernetes, compose, librdkafka",
        ),
        (["--era", "5"], "--era 5: not one of 0.9, 0.10"),
        (["--from", "noon"], "--from noon: expected a UTC time"),
        (["--from", "2027-01-01"], "no events or records from --from to --to"),
    ],
)
def test_a_wrong_argument_is_one_line(what_if, arguments, message):
    code, out, err = what_if(*arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_groups_that_cannot_be_simulated(what_if, lake):
    unknown = "no events or records of this group in"
    for group, message in [
        ("nobody", unknown),
        ("connect", "not a consumer group (connect)"),
        ("streams", "not a consumer group (Kafka Streams, whose tasks no model assigns)"),
        (
            "custom",
            "--group custom: assignor OwnAssigner cannot be simulated; set the assignor to"
            " range, roundrobin, sticky or cooperative-sticky, and predict from the evidence after"
            " that change",
        ),
        ("biling-eager", f"{unknown} {lake}; did you mean billing-eager?"),
    ]:
        code, _, err = what_if(group=group)

        assert code == 2
        assert message in err
        assert err.count("\n") == 1


def test_the_sweep_says_of_every_group_whether_to_migrate(lake, regroup, tmp_path):
    swept = str(shutil.copytree(lake, tmp_path / "lake"))
    consumer = "group_protocol=consumer era=4.4"
    where = ["--lake", swept, "--cluster-id", "prod"]
    sweep = ["what-if-sweep", *where, "--engine", "embedded", "--set", consumer, "--seeds", "1"]

    assert regroup(*sweep)[0] == 0
    sql = """SELECT rank, group_id, group_type, verdict, reason, setting,
        [b.blocker || ' ' || b.effect FOR b IN blockers] AS blockers,
        unowned_predicted_partition_ms > unowned_unchanged_partition_ms AS longer
        FROM migration_advice ORDER BY rank"""
    _, out, _ = regroup("sql", *where[:2], sql, "--format", "json")

    rows = {row["group_id"]: row for row in json.loads(out)}
    assert [row["rank"] for row in rows.values()] == [1, 2, 3, 4, 5, 6]
    assert {name: (row["group_type"], row["verdict"]) for name, row in rows.items()} == {
        "billing-eager": ("classic", "blocked"),
        "inventory-static": ("classic", "blocked"),
        "connect": ("connect", "blocked"),
        "streams": ("classic", "blocked"),
        "custom": ("classic", "blocked"),
        "tool": ("commits", "not applicable"),
    }
    assert {name: row["blockers"] for name, row in rows.items()} == {
        "billing-eager": ["broker_version prevents", "client_version check"],
        "inventory-static": ["broker_version prevents", "client_version check"],
        "connect": ["framework prevents"],
        "streams": ["framework prevents"],
        "custom": ["custom_assignor prevents"],
        "tool": [],
    }
    billing = rows["billing-eager"]
    assert (billing["setting"], billing["longer"]) == ("era=4.4 group_protocol=consumer", True)
    assert billing["reason"].startswith("brokers of Kafka 3.9 (")
    assert rows["connect"]["reason"] == (
        "Kafka Connect: its workers support the classic protocol only"
    )


@pytest.mark.parametrize(
    "command",
    [
        ["what-if", "--group", "billing-eager", "--set", "membership=static"],
        ["what-if-sweep", "--engine", "embedded"],
        ["report", "--out", "page.html"],
    ],
    ids=lambda command: command[0],
)
def test_a_lake_of_a_version_without_gaps_of_ownership_must_be_recomputed(
    lake, regroup, tmp_path, command
):
    older = shutil.copytree(lake, tmp_path / "lake")
    shutil.rmtree(older / "ownership_gaps")

    code, out, err = regroup(*command, "--lake", str(older), "--cluster-id", "prod")

    assert (code, out) == (2, "")
    assert err == (
        f"regroup: --lake {older}: no table ownership_gaps in it yet;"
        " run `regroup nightly --recompute-all`\n"
    )


COSTS = ("records_reprocessed", "consumption_pause_ms")


def costs_of(figures):
    return [figures[name] for name in COSTS]


def test_records_reprocessed_and_pauses(what_if):
    setting = ["--set", "auto.commit.interval.ms=1000", "--seeds", "1"]
    code, out, _ = what_if(*setting, "--format", "json")

    output = json.loads(out)
    assert code == 0
    assert costs_of(output["observed"]) == [24, 40_000]  # 20.5 + 4.0
    model, predicted = output["model"], output["predicted"]
    assert [each["records_reprocessed"] for each in (model, predicted)] == [50, 10]
    own = dict.fromkeys(("setting", "settings", "pareto", "records_reprocessed", "least", "most"))
    assert predicted | own == model | own
    assert (predicted["settings"], predicted["pareto"]) == ("auto.commit.interval.ms=1000", True)
    assert output["client_properties"].splitlines()[2:] == ['{"auto.commit.interval.ms": "1000"}']
    columns = "records_reprocessed   consumption_pause_ms   catch_up_ms   range"
    assert columns in what_if(*setting)[1]


def test_catch_up_is_the_longest_pause_by_the_observed_ratio(what_if):
    code, out, _ = what_if("--set", "membership=static", "--seeds", "1", "--format", "json")

    output = json.loads(out)
    assert code == 0
    assert output["observed"]["catch_up_ms"] == 60_000  # This follows a pause of 30 s.
    assert output["model"]["catch_up_ms"] == 21_190  # This follows a pause of 10,595 ms.


def test_a_period_has_the_costs_of_tenures_that_ended_in_it(what_if):
    code, out, _ = what_if(
        "--from", "2026-11-21T00:50:00", "--set", "era=4.1", "--seeds", "1", "--format", "json"
    )

    assert (code, costs_of(json.loads(out)["observed"])) == (0, [0, 0])


def test_without_commits_the_costs_are_unknown(what_if):
    arguments = ["--set", "membership=static", "--seeds", "1"]
    code, out, _ = what_if(*arguments, "--format", "json", group="inventory-static")

    output = json.loads(out)
    assert code == 0
    for basis in ("observed", "model", "predicted"):
        assert costs_of(output[basis]) == [None, None]
    assert "records_reprocessed" not in what_if(*arguments, group="inventory-static")[1]

    refused = what_if("--set", "auto.commit.interval.ms=1000", group="inventory-static")
    assert refused == (
        2,
        "",
        "regroup: --set auto.commit.interval.ms: no commits of the group show how many "
        "records it processes\n",
    )


def test_a_lake_of_a_version_without_costs_of_handovers(lake, regroup, tmp_path):
    older = shutil.copytree(lake, tmp_path / "lake")
    shutil.rmtree(older / "handover_costs")
    where = ["--lake", str(older), "--cluster-id", "prod"]
    change = ["--set", "membership=static", "--seeds", "1"]

    code, out, _ = regroup(
        "what-if", *where, "--group", "billing-eager", *change, "--format", "json"
    )
    swept, _, _ = regroup("what-if-sweep", *where, "--engine", "embedded", *change)

    output = json.loads(out)
    assert (code, swept) == (0, 0)
    assert [costs_of(output[basis]) for basis in ("observed", "model")] == [[None, None]] * 2
    sql = """SELECT basis, rebalances, records_reprocessed, consumption_pause_ms, outcome_costs
        FROM what_if WHERE group_id = 'billing-eager' AND basis <> 'predicted' ORDER BY basis"""
    unknown = dict.fromkeys(COSTS)
    assert json.loads(regroup("sql", *where[:2], sql, "--format", "json")[1]) == [
        {"basis": "model", "rebalances": 15, **unknown, "outcome_costs": [unknown]},
        {"basis": "observed", "rebalances": 15, **unknown, "outcome_costs": None},
    ]


def test_the_sweep_stores_the_costs_of_each_seed(lake, regroup, what_if, tmp_path):
    swept = str(shutil.copytree(lake, tmp_path / "lake"))
    where = ["--lake", swept, "--cluster-id", "prod"]
    change = ["--set", "membership=static", "--seeds", "2"]

    assert regroup("what-if-sweep", *where, "--engine", "embedded", *change)[0] == 0

    model = json.loads(what_if(*change, "--format", "json")[1])["model"]
    sql = """SELECT records_reprocessed, consumption_pause_ms, records_reprocessed_min AS least,
        consumption_pause_ms_max AS most, outcome_costs, catch_up_ms, outcome_catch_ups_ms
        FROM what_if WHERE group_id = 'billing-eager' AND basis = 'model'"""
    ((row),) = json.loads(regroup("sql", *where[:2], sql, "--format", "json")[1])
    assert costs_of(row) == costs_of(model)
    assert row["least"] == model["least"]["records_reprocessed"]
    assert row["most"] == model["most"]["consumption_pause_ms"]
    assert len(row["outcome_costs"]) == 2
    assert row["catch_up_ms"] == model["catch_up_ms"]
    assert len(row["outcome_catch_ups_ms"]) == 2
    assert model["catch_up_ms"] in row["outcome_catch_ups_ms"]
    assert costs_of(model) in [costs_of(each) for each in row["outcome_costs"]]
