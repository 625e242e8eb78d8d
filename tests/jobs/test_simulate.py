"""The pipeline reads a simulated cluster's output, and its tables equal the ground truth."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.simulation.against_truth import (
    differences,
    differing_totals,
    play,
    run_nightly,
    tables,
)
from coordinator_core.simulation import fleet_of
from coordinator_core.simulation.random_fleets import random_fleet
from jobs import ingest
from jobs.checks.check import broken_laws
from jobs.configuration.config import Config, Engine
from jobs.console.errors import UsageError
from jobs.decode.command import decode
from jobs.lake.opening import open_lake
from jobs.segments.reader import read_segment
from jobs.segments.writer import SegmentWriter, record_batch
from jobs.simulate import into_lake as simulate_lake
from jobs.simulate.command import simulate
from jobs.simulate.output_files import write
from jobs.simulate.spec_file import SimulationSpec, read_spec

FLEETS = Path(__file__).parents[2] / "examples" / "fleets"
START_MS = 1_795_161_600_000
SMALL = """
name = "small"
start = 2026-11-20T08:00:00Z
length = "2m"
[cluster]
era = "3.9"
brokers = {brokers}
[[topics]]
name = "orders"
partitions = 6
[[groups]]
name = "billing"
topics = ["orders"]
processes = 2
client = "java-3.9"
commit_interval = "20s"
"""


@pytest.fixture
def small(tmp_path):
    def make(brokers=1):
        path = tmp_path / "small.toml"
        path.write_text(SMALL.format(brokers=brokers), encoding="utf-8")
        return str(path)

    return make


# -- segments ------------------------------------------------------------------------------------


def test_a_record_batch_has_a_brokers_bytes():
    batch = record_batch(258, 3, 1_000, [(b"key", b"value"), (b"k", None)])

    assert (
        batch.hex(" ")
        == " ".join(
            (
                "00 00 00 00 00 00 01 02",  # base offset
                "00 00 00 48",  # length of the bytes that follow
                "00 00 00 03 02",  # leader epoch, magic
                batch[17:21].hex(" "),  # The next test checks the checksum.
                "00 00 00 00 00 01",  # attributes, last offset delta
                "00 00 00 00 00 00 03 e8 00 00 00 00 00 00 03 e8",  # first and largest time
                "ff ff ff ff ff ff ff ff ff ff 00 00 00 00 00 00 00 02",  # no producer, two records
                "1c 00 00 00 06 6b 65 79 0a 76 61 6c 75 65 00",
                "0e 00 00 02 02 6b 01 00",
            )
        )
    )


@pytest.mark.parametrize(("version", "several_times"), [("3.9.1", 0), ("4.1.2", 64)])
def test_a_real_brokers_batches_are_written_back_byte_for_byte(version, several_times):
    """Except batches of 4.1 that hold several appends with different timestamps."""
    folder = FLEETS.parent / f"mixed-clients-{version}" / "segments"
    count = Counter()

    for file in sorted(folder.glob("*/*.log")):
        data = file.read_bytes()
        for batch in read_segment(data, partition=0, file=str(file)):
            count[len(set(batch.timestamps)) == 1] += 1
            if len(set(batch.timestamps)) > 1:
                continue
            written = record_batch(
                batch.base_offset,
                batch.leader_epoch,
                batch.timestamps[0],
                list(zip(batch.keys, batch.values, strict=True)),
                batch.base_sequence,
            )
            assert written == data[batch.position : batch.position + batch.size]

    assert count[True] > 1_000
    assert count[False] == several_times


@given(
    st.lists(
        st.tuples(st.binary(max_size=300), st.none() | st.binary(max_size=20_000)),
        min_size=1,
        max_size=70,
    ),
    st.integers(0, 1 << 40),
)
def test_the_segment_reader_reads_written_batches_back(records, base_offset):
    data = record_batch(base_offset, 7, 1_795_161_600_000, records)

    (batch,) = read_segment(data, partition=3, file="f")

    assert list(zip(batch.keys, batch.values, strict=True)) == records
    assert batch.offsets == list(range(base_offset, base_offset + len(records)))
    assert set(batch.timestamps) == {1_795_161_600_000}


def test_segments_roll_by_size_and_are_named_after_their_first_offset(tmp_path):
    writer = SegmentWriter(tmp_path, "__consumer_offsets-4", 100)
    for offset in range(3):
        writer.append(offset * 10, b"x" * 45)
    writer.close()

    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("*/*.log")}
    assert sizes == {"00000000000000000000.log": 90, "00000000000000000020.log": 45}


# -- the command `regroup simulate` --------------------------------------------------------------


def test_the_files_of_a_simulation(small, tmp_path):
    rows = simulate(small(), str(tmp_path / "out"), None)

    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")}
    assert written == {
        "server.log",
        "trace.jsonl",
        "truth.jsonl",
        "segments/__consumer_offsets-4/00000000000000000000.log",
    }
    assert [row[:4] for row in rows] == [["billing", 2, 2, 1]]


def test_each_of_several_brokers_has_its_own_log(small, tmp_path):
    simulate(small(brokers=2), str(tmp_path / "out"), None)

    assert sorted(path.name for path in (tmp_path / "out").glob("server*")) == [
        "server-1.log",
        "server-2.log",
    ]


def test_the_same_spec_and_seed_give_the_same_bytes(small, tmp_path):
    spec = small()
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        simulate(spec, str(tmp_path / name), seed)

    a, b, c = (
        {p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*.*")}
        for n in "abc"
    )
    assert a == b != c


def test_decode_and_the_trace_have_the_same_records(small, tmp_path):
    simulate(small(), str(tmp_path / "out"), None)
    with (tmp_path / "decoded").open("w+", encoding="utf-8") as decoded:
        assert decode([str(tmp_path / "out" / "segments")], decoded) == 0
        decoded.seek(0)
        lines = [json.loads(line) for line in decoded]
    trace = [json.loads(line) for line in (tmp_path / "out" / "trace.jsonl").open()]

    assert [(line["key"], line["value"]) for line in lines] == [
        (event["key"], event["value"]) for event in trace if event["event"] == "record"
    ]
    assert Counter(line["type"] for line in lines) == {"GroupMetadata": 1, "OffsetCommit": 30}
    assert trace[0]["event"] == "start"
    assert len(trace[0]["member_ids"]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "invalid TOML"),
        ("start = 2026-11-20", "start must have a time zone"),
        ('name = "n"', "length is missing"),
        ('name = "n"\nlength = "2m"', "groups: at least one group is required"),
    ],
)
def test_an_invalid_spec_is_a_usage_error(tmp_path, text, message):
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=message):
        read_spec(path)


def test_a_folder_that_is_not_empty_is_refused(small, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()

    with pytest.raises(UsageError, match="not empty"):
        simulate(small(), str(tmp_path / "out"), None)


# -- through the pipeline ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.again_on_spark
def test_tables_equal_the_ground_truth(config, tmp_path):
    """A small run of `python -m bench.simulation.against_truth`."""
    played = play(range(1, 7), tmp_path / "fleets", minutes=6, faults=False)
    run_nightly(tmp_path / "fleets", tmp_path / "lake", config)

    actual = tables(tmp_path / "lake")

    assert len(played.truth) > 30
    assert differences(played, actual) == []
    assert broken_laws(str(tmp_path / "lake"))[1] == []


def test_tables_of_all_group_types_equal_the_ground_truth(tmp_path):
    """Consumer, share and streams groups on the embedded engine; seeds without regular expressions,
    whose first epochs share one millisecond.
    """
    settings = {"minutes": 6, "faults": False, "with_modern_groups": True}
    played = play((1, 4, 8), tmp_path / "fleets", **settings)
    run_nightly(tmp_path / "fleets", tmp_path / "lake", Config(engine=Engine.EMBEDDED))

    differing = differences(played, tables(tmp_path / "lake"))

    types = {truth.get("group_type", "classic") for truth in played.truth.values()}
    assert types >= {"consumer", "streams"}
    assert differing == []
    assert differing_totals(played, tmp_path / "lake") == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("joined_ms", 1), ("outcome", "empty"), ("members", []), ("assignment", {"m": [["t", 0]]})],
)
def test_each_difference_from_the_ground_truth_is_reported(tmp_path, field, value):
    played = play([4], tmp_path, minutes=4, faults=False)
    same = {key: truth | _without_empty(truth) for key, truth in played.truth.items()}
    key = next(key for key, truth in same.items() if truth["outcome"] == "stable")

    assert differences(played, same) == []
    (difference,) = differences(played, same | {key: same[key] | {field: value}})
    assert (difference.key, difference.field, difference.table) == (key, field, value)
    (difference,) = differences(played, {other: same[other] for other in same if other != key})
    assert (difference.key, difference.field) == (key, "generation")


def _without_empty(truth):
    """The assignment without members that have no partitions: they have no row in the table."""
    return {"assignment": {member: each for member, each in truth["assignment"].items() if each}}


@pytest.mark.embedded_suffices
def test_simulating_into_a_lake_equals_ingesting_the_files(spark, tmp_path):
    values = random_fleet(4, minutes=5, faults=False)
    spec = SimulationSpec(simulate_lake.with_group_count(fleet_of(values), 5), START_MS)
    write(spec, tmp_path / "out", 1)
    by_files, direct = (open_lake(spark, str(tmp_path / name), "c") for name in ("files", "direct"))

    counts = simulate_lake.run(direct, spec, 1)
    ingest.run(
        by_files,
        ingest.Inputs(
            segments=sorted(map(str, (tmp_path / "out").glob("segments/*/*.log"))),
            broker_logs=sorted(map(str, (tmp_path / "out").glob("server*.log"))),
        ),
    )

    differing = {"offsets_records": [], "broker_log_events": ["file_id", "position"]}
    for table, columns in differing.items():
        actual, expected = (
            lake.read(table).drop("file", *columns).toPandas() for lake in (direct, by_files)
        )
        order = list(actual.columns)
        assert sorted(map(repr, actual.itertuples(index=False))) == sorted(
            map(repr, expected[order].itertuples(index=False))
        )
    assert counts.groups == 5
    assert counts.records == by_files.read("offsets_records").count() > 0
    assert broken_laws(str(tmp_path / "direct"))[1] == []
