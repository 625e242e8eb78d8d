"""incident_replay: a group's verdicts as rows, as JSON and as an exit code."""

import json

import pytest

from coordinator_core.incident import incarnations, replay
from jobs.console.errors import UsageError
from jobs.incident_replay import READS, classic_rows, incident_replay
from jobs.lake.tables import conform
from jobs.replay.command import ReplayOptions, as_json, replay_group, replay_whole_group
from jobs.replay.group_rows import require_evidence, with_date
from tests.core.incident.incident_rows import of_example

pytestmark = pytest.mark.slow

GROUP = "inventory-static"
T = 1_795_219_200_000  # 2026-11-21, UTC
EVENT = (
    "event_seq", "event", "generation", "member_id", "instance_id", "old_member_id", "step",
    "reason", "client_reason", "cause", "member_count", "broker_id", "file_id", "position",
)  # fmt: skip


def tables(groups=(GROUP,), change=lambda record: record):
    """The lake's rows of real groups; ``change`` alters records."""
    evidence = of_example("3.9.1")
    rows = {name: [] for name in (*READS, "episodes", "generations")}
    for group in groups:
        for row in evidence.events[group]:
            logged = {name: row[name] for name in EVENT} | {
                "group_id": group,
                "event_time": row["at_ms"],
                "members": list(row["members"]),
                "source": "broker_log",
            }
            rows["group_events"].append(logged)
            event = {"seq": row["event_seq"], "event": row["event"], "incarnation": 1}
            rows["timeline"].append({"group_id": group} | event)
        for place, row in enumerate(evidence.records[group]):
            row = change({name: value for name, value in row.items() if name != "incarnation"})
            written = row | {"group_id": group, "append_time": row["at_ms"]}
            del written["at_ms"]
            rows["group_metadata"].append(written)
            at = {name: row[name] for name in ("topic_partition", "log_offset")}
            event = {"seq": (1 << 40) + place, "event": "RECORD", "incarnation": 1}
            rows["timeline"].append({"group_id": group} | at | event)
    return rows


def test_records_of_a_modern_group_are_evidence_without_a_log():
    require_evidence("unused", "c", "g", {"events": [], "records": [], "stored_records": [{}]})


def another_leader(record):
    others = [each["member_id"] for each in record["members"]]
    if record["generation"] != 3:
        return record
    return record | {"leader": next(each for each in others if each != record["leader"])}


@pytest.fixture(scope="module")
def sound(write_lake, tmp_path_factory):
    return write_lake(tmp_path_factory.mktemp("sound"), tables())


@pytest.fixture(scope="module")
def altered(write_lake, tmp_path_factory):
    return write_lake(tmp_path_factory.mktemp("altered"), tables(change=another_leader))


@pytest.fixture(scope="module")
def log_alone(write_lake, tmp_path_factory):
    rows = tables()
    rows["group_metadata"] = []
    rows["timeline"] = [row for row in rows["timeline"] if row["event"] != "RECORD"]
    return write_lake(tmp_path_factory.mktemp("log-alone"), rows)


def test_all_reproduced_is_exit_0(regroup, sound):
    code, out, err = regroup(
        "replay", "--lake", sound, "--cluster-id", "c", "--group", GROUP, "--format", "json"
    )

    output = json.loads(out)
    assert (code, err) == (0, "")
    assert (output["generations"], output["reproduced"], output["diverged"]) == (5, 5, 0)
    assert output["divergences"] == []
    assert output["era"] == "3.9"
    assert [row["generation"] for row in output["verdicts"]] == [1, 2, 3, 4, 5]
    assert {row["verdict"] for row in output["verdicts"]} == {"reproduced"}
    assert output["story"][-1]["text"] == "no members left: generation 5 is empty"
    assert all(s["evidence"] and s["uncertainty_ms"] >= 0 for s in output["stimuli"])


def test_a_log_alone_has_no_divergence_and_is_exit_0(regroup, log_alone):
    arguments = ("replay", "--lake", log_alone, "--cluster-id", "c", "--group", GROUP)

    code, out, err = regroup(*arguments, "--format", "json")
    _, text, _ = regroup(*arguments)

    output = json.loads(out)
    assert (code, err) == (0, "")
    counts = [output[name] for name in ("generations", "reproduced", "diverged", "undecided")]
    assert counts == [5, 1, 0, 4]
    assert output["divergences"] == []
    assert {row["verdict"] for row in output["verdicts"]} == {"reproduced", "undecided"}
    assert "0 diverged, 4 undecided (evidence too thin: no records)" in text


def test_a_divergence_is_exit_1_and_reported(regroup, altered):
    arguments = ("replay", "--lake", altered, "--cluster-id", "c", "--group", GROUP)

    code, out, err = regroup(*arguments, "--format", "json")

    output = json.loads(out)
    first = output["divergences"][0]
    assert (code, err) == (1, "")
    assert output["diverged"] == len(output["divergences"]) > 0
    assert (first["generation"], first["what"]) == (3, "leader")
    assert first["production"] != first["replay"]
    assert first["evidence"] == "__consumer_offsets-4@697"
    assert first["likely"]


def test_the_story_is_a_table(regroup, sound):
    code, out, _ = regroup("replay", "--lake", sound, "--cluster-id", "c", "--group", GROUP)

    assert code == 0
    assert "00:48:43.593" in out
    assert "no heartbeat from inventory-pod-2 (127.0.0.1) for 20.0 s: session expired" in out
    assert "5 of 5 generations reproduced by the coordinator of era 3.9" in out


EPISODE = {
    "group_id": GROUP,
    "incarnation": 1,
    "activity_time": T,
    "episode": 1,
    "kind": "process_lost",
    "from_time": T,
    "to_time": T + 2000,
    "processes": ["inventory-pod-2"],
    "hosts": [],
    "first_generation": 2,
    "last_generation": 2,
    "generations": [2],
    "rebalances": 1,
    "not_stable_ms": 1500,
    "unowned_partition_ms": 700,
    "summary": "session of inventory-pod-2 expired",
    "evidence": "log",
    "confidence": 0.7,
    "activity_last_generation": 2,
}


FINDING = {"group_id": GROUP, "from_time": T, "to_time": T + 500, "finding": "KAFKA-10284"}


@pytest.fixture(scope="module")
def with_episode(write_lake, tmp_path_factory):
    own = {"episodes": [EPISODE], "findings": [FINDING, FINDING | {"group_id": "another"}]}
    return write_lake(tmp_path_factory.mktemp("episode"), tables() | own)


def test_the_story_begins_with_findings_and_episodes(regroup, with_episode):
    code, out, _ = regroup("replay", "--lake", with_episode, "--cluster-id", "c", "--group", GROUP)

    assert code == 0
    assert out.split()[:4] == ["from", "to", "finding", "what"]
    assert out.count("KAFKA-10284   a finding\n") == 1
    assert out.index("KAFKA-10284") < out.index("session of inventory-pod-2 expired\n")


def test_json_has_the_findings_of_the_period(regroup, with_episode):
    options = ("--cluster-id", "c", "--group", GROUP, "--format", "json")
    _, out, _ = regroup("replay", "--lake", with_episode, *options)

    [finding] = json.loads(out)["findings"]
    assert (finding["finding"], finding["from"], finding["to"], finding["remedy"]) == (
        "KAFKA-10284",
        "2026-11-21 00:00:00.000",
        "2026-11-21 00:00:00.500",
        "Look at it.",
    )
    _, out, _ = regroup("replay", "--lake", with_episode, *options, "--from", "2026-11-21T00:00:01")
    assert json.loads(out)["findings"] == []


@pytest.mark.parametrize(
    ("first", "episodes"),
    [
        (
            "2026-11-21T00:00:02",
            [
                {
                    "from": "2026-11-21 00:00:00.000",
                    "to": "2026-11-21 00:00:02.000",
                    "kind": "process_lost",
                    "processes": ["inventory-pod-2"],
                    "rebalances": 1,
                    "not_stable_ms": 1500,
                    "unowned_partition_ms": 700,
                    "unowned_partition_ms_low": 700,
                    "unowned_partition_ms_high": 700,
                    "partitions_moved": None,
                    "summary": "session of inventory-pod-2 expired",
                    "confidence": 0.7,
                }
            ],
        ),
        ("2026-11-21T00:00:03", []),
    ],
)
def test_json_has_the_episodes_of_the_period(regroup, with_episode, first, episodes):
    options = ("--cluster-id", "c", "--group", GROUP, "--from", first, "--format", "json")
    _, out, _ = regroup("replay", "--lake", with_episode, *options)

    assert json.loads(out)["episodes"] == episodes


def test_verdicts_are_csv(regroup, altered):
    code, out, _ = regroup(
        "replay", "--lake", altered, "--cluster-id", "c", "--group", GROUP, "--format", "csv"
    )

    header, *rows = out.splitlines()
    assert code == 1
    assert header.startswith("cluster_id,group_id,incarnation,generation,event_date,verdict")
    assert len(rows) == 5


@pytest.mark.parametrize(
    ("first", "last", "judged"),
    [
        (None, None, [1, 2, 3, 4, 5]),
        ("2026-11-21", "2026-11-21", [1, 2, 3, 4, 5]),
        ("2026-11-21T00:48:00", None, [2, 3, 4, 5]),
        (None, "2026-11-21T00:48:50", [1, 2]),
        ("2026-11-22", None, []),
    ],
)
def test_a_window(sound, first, last, judged):
    result = replay_group(ReplayOptions(sound, "c", GROUP, first, last))

    assert [each.number for each in result.generations] == judged


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00:47", "2026-11-21T00:47"),
        ("7:05", "2026-11-21T07:05"),
        ("00:47:30.5", "2026-11-21T00:47:30.5"),
        ("2026-11-20T00:47", "2026-11-20T00:47"),
        ("noon", "noon"),
        (None, None),
    ],
)
def test_a_time_of_day_is_of_the_last_date_of_the_cluster(write_lake, tmp_path, text, expected):
    midnight_ms = 1_795_219_200_000  # 2026-11-21T00:00Z
    events = [
        {"cluster_id": cluster, "group_id": "g", "seq": ms, "event": "LEFT", "event_time": ms}
        for cluster, ms in [
            ("c", midnight_ms - 1),
            ("c", midnight_ms + 60_000),
            ("other", midnight_ms + 86_400_000),
        ]
    ]
    lake = write_lake(tmp_path / "lake", {"timeline": events, "committed_offsets": []})

    assert with_date(lake, "c", text) == expected


def test_a_time_of_day_needs_a_cluster_with_events(write_lake, tmp_path):
    lake = write_lake(tmp_path / "lake", {"timeline": [], "committed_offsets": []})

    with pytest.raises(UsageError, match=r"no event of cluster c in .*; give a date, too"):
        with_date(lake, "c", "00:47")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--group", "nobody"], "--group nobody: no events or records of this group in"),
        (
            ["--group", GROUP, "--era", "9.9"],
            "--era 9.9: not one of 0.9, 0.10, 0.11, 1.0, 1.1, 2.0.0, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5",
        ),
        (["--group", GROUP, "--from", "noon"], "--from noon: expected a UTC time"),
        (["--from", "2026-11-21"], "--from, --to and --era: give --group, too"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_2(regroup, sound, options, message):
    code, out, err = regroup("replay", "--lake", sound, "--cluster-id", "c", *options)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_the_job_gives_the_rows_of_each_group(frame):
    """The same rows as a replay of the group alone."""
    groups = ("audit-python", GROUP)
    rows = tables(groups)

    made = incident_replay({name: frame(name, rows[name]) for name in READS})

    evidence = of_example("3.9.1")
    expected = [
        (group, row["generation"], row["verdict"], row["evidence"], row["stimuli"])
        for group in groups
        for row in classic_rows(
            "c", replay(incarnations(group, evidence.events[group], evidence.records[group]))
        )
    ]
    columns = ["group_id", "generation", "verdict", "evidence", "stimuli"]
    actual = conform(made, "incident_replay").select(*columns)
    assert sorted(map(tuple, actual.collect())) == sorted(expected)
    assert len(expected) == 11


def test_json_has_the_inferred_broker_settings(sound):
    output = as_json("c", replay_whole_group(ReplayOptions(sound, "c", GROUP)))

    assert output["initial_rebalance_delay_ms"] == 3000
    assert output["initial_rebalance_delay_by"].startswith("generation 1 formed")
    assert output["era_by"] == "log wording of the Scala coordinator since 3.0"
