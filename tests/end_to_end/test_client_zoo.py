"""Groups of client libraries on a real broker: rebalances, downtime, episodes, commits in gaps."""

import gzip
import json
from pathlib import Path

import pytest

from tests.end_to_end.incident_lake import IncidentLake
from tools.client_zoo_groups import main
from tools.cluster_play import judge

DATA = Path(__file__).parents[1] / "data" / "client_zoo"
PARTITIONS = {
    "zoo-aiokafka": 0,
    "zoo-franz-go-kzap": 3,
    "zoo-streams": 4,
    "zoo-confluent-python-debug": 3,
}
# For aiokafka the episodes cannot distinguish killed and frozen processes, because a frozen process
# comes back like a new process, and a killed process like a frozen process.  The log of librdkafka
# shows the freeze.
EXPECTED = """\
| group | rebalances | not stable ms | downtime s | range s | true s | off | actions |
| --- | --- | --- | --- | --- | --- | --- | --- |
| zoo-aiokafka | 15 / 15 | 31422 / 31422 | 62.8 | 21.2 to 62.8 | 41.8 | figure | all found |
| zoo-franz-go-kzap | 20 / 20 | 27469 / 27469 | 38.3 | 38.3 | 36.4 |  | all found |
| zoo-streams | 23 / 23 | 34316 / 34316 | 118.8 | 118.8 | 136.1 |  | all found |
| zoo-confluent-python-debug | 15 / 15 | 27295 / 27295 | 50.5 | 28.2 to 50.5 | 56.7 |  | all found |

| action | episodes |
| --- | --- |
| group start | group_start 4 |
| roll | rolling_deployment 4 |
| kill | process_lost_or_frozen 2, process_lost 2 |
| slow | slow_poll 3 |
| scale out | scale_out 4 |
| scale in | scale_in 4 |
| freeze | process_frozen 3, process_lost_or_frozen 1 |
| shutdown | shutdown 4 |
"""
# A revocation commits, so the record may be later than the time at which the partition became free.
COMMITS_IN_GAPS = f"""
    SELECT c.group_id, c.partition, from_time, append_time
    FROM ownership_gaps g JOIN committed_offsets c USING (cluster_id, group_id, topic, partition)
    WHERE group_id IN {tuple(PARTITIONS)} AND NOT tombstone
    AND EPOCH_MS(append_time) > EPOCH_MS(from_time) + 1000
    AND EPOCH_MS(append_time) < EPOCH_MS(from_time) + unowned_ms - 50"""


@pytest.fixture(scope="module")
def lake(made_once):
    def write(root):
        sources = root.parent / f"{root.name}-sources"
        for group, partition in PARTITIONS.items():
            folder = sources / f"__consumer_offsets-{partition}"
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / "00000000000000000000.log").open("ab") as segment:
                segment.write(gzip.decompress((DATA / f"{group}.log.gz").read_bytes()))
        IncidentLake(str(root), "embedded").run(
            "c",
            f"{sources}/*/*.log",
            DATA / "server.log.gz",
            client_log=f"{DATA}/confluent-python-debug-*.log.gz",
        )

    return IncidentLake(str(made_once("client-zoo", write)), "embedded")


def test_groups_against_the_script_of_their_processes(lake, capsys):
    main(lake.root, "c", str(DATA))

    assert capsys.readouterr().out == EXPECTED


def test_a_play_on_a_cluster_is_judged_by_the_same_downtime(lake, tmp_path, capsys):
    figures = json.loads((DATA / "truth.json").read_text())["groups"]["zoo-streams"]
    first_ms, ends_ms = figures["first_full_assignment_ms"], figures["final_stop_ms"]
    true_ms = figures["unowned_partition_ms"]["first_full_to_final_stop"]
    of_group = {"first_full_ms": first_ms, "unowned_partition_ms": true_ms, "rebalances": 23}
    of_group["by_phase"] = {"all": true_ms}
    truth = {"ends_ms": ends_ms, "groups": {"zoo-streams": of_group}}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    phase = {"action": "phase", "phase": "all", "wall_ms": first_ms}
    marks = (phase, {"action": "ends", "wall_ms": ends_ms})
    (tmp_path / "timeline.jsonl").write_text("".join(json.dumps(each) + "\n" for each in marks))

    assert judge.main(lake.root, "c", str(tmp_path)) == 1  # 13 % off

    rows = capsys.readouterr().out.splitlines()[2:4]
    assert rows == [
        "| zoo-streams | all | 23 / 23 | 118.8 / 136.1 | -13 |",
        "|  | all |  | 118.8 / 136.1 | -13 |",
    ]


def test_no_gap_spans_commits_of_an_owner(lake):
    assert lake.rows(COMMITS_IN_GAPS) == []
