"""Nightly, page, `regroup investigate`, `regroup what-if` and the sweep give the same advice.

`make -C tools one-advice` tries all captures.
"""

import os
import tarfile
from pathlib import Path

import pytest

from coordinator_core.whatif import UNCHANGED, SettingsChange
from jobs.bronze import configurations
from jobs.console.errors import UsageError
from jobs.engine.embedded import embedded_session
from jobs.investigate.answer import Asked, answer_of
from jobs.lake.opening import open_lake
from jobs.nightly_run import advice_step
from jobs.report.episodes import advice as advice_of_page
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow
from jobs.what_if.command import WhatIfOptions, evaluate
from jobs.what_if.sweep import Sweep
from jobs.what_if_sweep import READS, cluster_evidence, periods_of, predicted
from tests.end_to_end.conftest import NEW_GROUPS, TWINS
from tests.end_to_end.incident_lake import IncidentLake

pytestmark = pytest.mark.slow

DATA = Path(TWINS).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
INCIDENT_LOGS = DATA / "incident_client_logs"
LOGGED = {
    "3.9": {
        "segments": EXAMPLES / "mixed-clients-3.9.1" / "segments",
        "broker_log": EXAMPLES / "mixed-clients-3.9.1" / "server.log",
        "client_log": str(INCIDENT_LOGS / "mixed-3.9.1"),
    },
    "4.4": {
        "dump": str(DATA / "modern_groups" / "mixed-4.4.0" / "records.jsonl.gz"),
        "broker_log": DATA / "modern_groups" / "mixed-4.4.0" / "server.log.gz",
        "client_log": str(INCIDENT_LOGS / "mixed-4.4.0"),
    },
}
SCRIPTS = [
    tuple(path.name.removesuffix(".tar.gz").rsplit("-", 1))
    for path in sorted(Path(TWINS).glob("*.tar.gz"))
    if not path.name.endswith("-again.tar.gz")
]
CAPTURES = [
    ("demo", "kafka-4.1"),
    pytest.param(("mixed-protocols", "4.4.0"), marks=pytest.mark.campaign),
]
if "REGROUP_ALL_CAPTURES" in os.environ:
    CAPTURES = [("demo", "kafka-3.9"), *(("new", name) for name in NEW_GROUPS), *SCRIPTS]
    CAPTURES += [("costs", name) for name in "BCD"]
    CAPTURES += [("logged", "3.9"), ("logged", "4.4")]
    # More captures: folders with segments, server.log and the clients' logs.
    folders = Path(os.environ.get("REGROUP_CAPTURES") or "/nowhere").glob("**/segments")
    CAPTURES += [("folder", str(each.parent)) for each in sorted(folders)]


@pytest.fixture(scope="module", params=CAPTURES, ids="-".join)
def advised(request, demo_by, incidents_of, twins_by, tmp_path_factory):
    """Lake and cluster, with nightly's advice and the lines that it prints."""
    script, cluster = request.param
    folder = tmp_path_factory.mktemp("advised")
    lakes = {
        "demo": lambda: demo_by("embedded"),
        "new": lambda: incidents_of(cluster.rpartition("-")[2]),
    }
    if script in ("costs", "logged", "folder"):
        root = str(folder / "lake")
        IncidentLake(root, "embedded").run("c", **_files(script, cluster, folder))
        cluster = "c"
    else:
        source = lakes.get(script, lambda: twins_by("embedded", script, cluster))()
        root = source.copy(folder).root
    lake = open_lake(embedded_session(), root, cluster)
    return lake, cluster, advice_step.run(lake, None, None)


def _files(script, name, folder):
    """The options of nightly for a capture with clients' logs or log end offsets."""
    if script == "logged":
        return LOGGED[name]
    if script == "costs":
        with tarfile.open(DATA / "data_costs" / f"{name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        (source,) = {path.parent for path in folder.rglob("end_offsets.jsonl*")}
    else:
        source = Path(name)
    kinds = {"broker_log": "server.log*", "end_offsets": "end_offsets.jsonl*"}
    matches = {option: next(source.glob(like), None) for option, like in kinds.items()}
    files = {option: str(path) for option, path in matches.items() if path is not None}
    if (source / "java-clients").is_dir():
        files["client_log"] = str(source / "java-clients")
    return {"segments": str(source / "segments")} | files


def verdicts(rows):
    return {row["group_id"]: (row["setting"], row["sentence"]) for row in rows}


def of_what_if(root, cluster, group):
    try:
        advice = evaluate(WhatIfOptions(lake=root, cluster_id=cluster, group_id=group)).advice
    except UsageError as error:
        return None, f"no prediction: {str(error).removeprefix('--group ')}"
    return (None if advice.change is None else str(advice.change)), advice.sentence


def test_all_commands_give_the_same_advice(advised):
    lake, cluster, lines = advised
    stored = [row.asDict() for row in lake.read("advice").collect()]
    own = verdicts(row for row in stored if not row["sentence"].startswith("not simulated"))

    answer = answer_of(Asked(lake.root, cluster, None))
    assert verdicts(answer.advice) == verdicts(stored)
    shown = advice_of_page(ReportLake(lake.root, cluster, None, ReportWindow()))
    rows = [dict(zip(shown["columns"], row, strict=True)) for row in shown["rows"]]
    assert verdicts(rows) == verdicts(stored)

    for group, verdict in own.items():
        assert of_what_if(lake.root, cluster, group) == verdict, group

    tables = {name: lake.read(name) for name in READS}
    of_cluster = cluster_evidence(tables)
    tables |= {
        name: rows.where(rows.group_id.isin(list(own)))
        for name, rows in tables.items()
        if "group_id" in rows.columns
    }
    earlier = advice_step.earlier_outcomes(lake, list(own))
    sweep = Sweep(periods_of(tables), of_cluster, migrations=False, earlier=earlier)
    swept = predicted(tables, sweep).collect()
    assert verdicts(row for group in swept for row in group["advice"]) == own
    for group in swept:
        for row in group["migration_advice"]:
            is_unexplained = "does not explain" in own.get(row["group_id"], ("", ""))[1]
            if is_unexplained and row["verdict"] != "blocked":
                assert "does not explain" in row["reason"], row["group_id"]

    assert f" {len(stored)} group" in lines[0]
    changes = {group: sentence for group, (setting, sentence) in own.items() if setting}
    assert len(lines) == 1 + bool(changes)
    for line in lines[1:]:
        assert any(
            line.startswith(f"best advice: {group}: {sentence.partition('; ')[0]}: regroup what-if")
            for group, sentence in changes.items()
        )


def test_no_advice_proposes_what_is_in_force(advised):
    lake, _, _ = advised
    for row in lake.read("advice").where("setting IS NOT NULL").collect():
        in_force = row["settings_in_force"].split(", ")
        change = SettingsChange.of(row["setting"].split())
        assert change != UNCHANGED
        for part in change.in_kafka_names().split(", "):
            same_protocol = change.group_protocol is None
            assert not (same_protocol and any(each.startswith(f"{part} (") for each in in_force))


def test_the_group_with_the_longest_downtime_gets_advice_or_the_reason(advised):
    lake, _, _ = advised
    downtime = lake.read("ownership_gaps").groupBy("group_id").sum("unowned_ms").collect()
    worst = max(downtime, key=lambda row: row[1])["group_id"]

    advice = {row["group_id"]: row["sentence"] for row in lake.read("advice").collect()}

    assert not advice[worst].startswith("not simulated")


# Properties of the brokers of mixed-protocols.
PROPERTIES = """
node.id=1
group.consumer.session.timeout.ms=10000
group.consumer.heartbeat.interval.ms=3000
group.consumer.min.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=1000
"""


def test_settings_of_the_brokers_file_are_in_force(twins_by, tmp_path):
    """Regular expressions are not simulated, so the model does not explain audit-regex."""
    root = twins_by("embedded", "mixed-protocols", "4.4.0").copy(tmp_path).root
    lake = open_lake(embedded_session(), root, "4.4.0")
    (tmp_path / "server.properties").write_text(PROPERTIES)
    configurations.store_files(lake, [str(tmp_path / "server.properties")])

    advice_step.run(lake, None, None, budget_s=60.0)

    advice = {row["group_id"]: row for row in lake.read("advice").collect()}
    assert advice["inventory-static"]["sentence"].startswith("nothing to gain: no change")
    assert advice["audit-regex"]["sentence"].startswith(
        "no advice: the model does not explain this group: 3 rebalances predicted, 8 observed"
    )
    of_brokers = "10000 (server.properties)"
    for group, session in (
        ("inventory-static", of_brokers),
        ("audit-regex", of_brokers),
        ("shipping-librdkafka", of_brokers),
        # The group has its own setting, which was set while it ran.
        ("billing-consumer", "12000 (line of a broker)"),
    ):
        assert f"consumer.session.timeout.ms={session}" in advice[group]["settings_in_force"]
        assert "restart" not in (advice[group]["broker_properties"] or "")
    # Half a minute passed between two incarnations of these groups.
    assert advice["search-migrated"]["confidence"] > 0.9
    assert "does not explain" not in advice["legacy-eager"]["sentence"]
