"""Options of nightly: wrong ones are refused before Spark starts."""

import io
from datetime import date
from types import SimpleNamespace

import pytest

from jobs import nightly
from jobs.configuration.config import Config
from jobs.console.errors import UsageError
from jobs.lake.dates import DateRange
from jobs.nightly import NightlyOptions, inputs_of
from jobs.nightly_run.pipeline import Progress
from jobs.sources.topic.kafka import Kafka


def options(**values):
    return NightlyOptions(lake="lake", cluster_id=values.pop("cluster_id", "c"), **values)


@pytest.fixture
def captured(tmp_path):
    for name in ("__consumer_offsets-1/00000000000000000000.log", "server.log", "server.log.1.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_folders_are_searched_for_the_files_of_each_source(captured):
    inputs = inputs_of(
        options(segments=f"{captured}/__consumer_offsets-*", broker_log=f"{captured}/server.*"),
        Config(),
    )

    assert inputs.segments == [f"{captured}/__consumer_offsets-1/00000000000000000000.log"]
    assert inputs.broker_logs == [f"{captured}/server.log", f"{captured}/server.log.1.gz"]


def test_end_offsets_are_checked_before_a_run(captured):
    ends = captured / "ends.txt"
    ends.write_text("2026-11-21T10:00:00Z\norders:0:5\n")

    inputs = inputs_of(options(end_offsets=str(ends)), Config())

    assert inputs.end_offsets == [str(ends)]
    assert inputs
    ends.write_text("orders:0:5\n")
    with pytest.raises(UsageError, match=r"--end-offsets .*/ends.txt: no time: give output with"):
        inputs_of(options(end_offsets=str(ends)), Config())


def test_only_consumer_offsets_of_a_brokers_data_folder_is_read(captured):
    other = captured / "orders-1" / "00000000000000000000.log"
    other.parent.mkdir()
    other.touch()

    inputs = inputs_of(options(segments=str(captured)), Config())

    assert inputs.segments == [f"{captured}/__consumer_offsets-1/00000000000000000000.log"]
    with pytest.raises(UsageError, match="no file is in a folder named __consumer_offsets-N"):
        inputs_of(options(segments=str(other.parent)), Config())


def test_a_copy_by_mirrormaker_is_skipped_and_by_itself_refused(captured):
    copy = captured / "eu-west.__consumer_offsets-1" / "00000000000000000000.log"
    copy.parent.mkdir()
    copy.touch()

    inputs = inputs_of(options(segments=str(captured)), Config())

    assert inputs.segments == [f"{captured}/__consumer_offsets-1/00000000000000000000.log"]
    with pytest.raises(UsageError, match=r"topic eu-west\.__consumer_offsets is a copy"):
        inputs_of(options(segments=str(copy.parent)), Config())


def test_copies_of_a_partition_with_several_topic_ids_are_of_several_clusters(captured):
    folder = captured / "__consumer_offsets-1"
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: hjwXNs0JTJmYradD5DW4Mw")
    for name, topic in (("b2", "hjwXNs0JTJmYradD5DW4Mw"), ("other", "gFNTqF_9Qbe0wvbUdnj2Ug")):
        copy = captured / name / "__consumer_offsets-1"
        copy.mkdir(parents=True)
        (copy / "00000000000000000000.log").touch()
        (copy / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic}")

    inputs = inputs_of(options(segments=f"{captured}/[_b]*/**/*.log"), Config())

    assert len(inputs.segments) == 2
    with pytest.raises(UsageError, match=r"several topic ids: gFNTqF_9Qbe0wvbUdnj2Ug in .*other"):
        inputs_of(options(segments=str(captured)), Config())


def test_an_index_beside_a_segment_is_skipped_and_by_itself_refused(captured):
    index = captured / "__consumer_offsets-1" / "00000000000000000000.index"
    index.touch()

    inputs = inputs_of(options(segments=f"{captured}/__consumer_offsets-1/*"), Config())

    assert inputs.segments == [f"{captured}/__consumer_offsets-1/00000000000000000000.log"]
    with pytest.raises(UsageError, match=r"the offset index of a segment; give the \.log file"):
        inputs_of(options(segments=str(index)), Config())


def test_kafka_has_the_settings_of_the_configuration():
    inputs = inputs_of(options(kafka="a:1"), Config(kafka={"security.protocol": "SSL"}))

    assert inputs.kafka == Kafka("a:1", {"security.protocol": "SSL"})


def test_without_options_there_are_no_inputs():
    inputs = inputs_of(options(), Config())

    assert (inputs.segments, inputs.broker_logs, inputs.dates) == ([], [], DateRange())


def test_the_time_zone_of_the_command_line_wins_over_the_configuration():
    config = Config(log_timezone="Europe/Berlin")

    assert inputs_of(options(), config).log_timezone == "Europe/Berlin"
    assert inputs_of(options(log_timezone="Asia/Tokyo"), config).log_timezone == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("values", "first", "last"),
    [
        ({"date": "2026-11-21"}, date(2026, 11, 21), date(2026, 11, 21)),
        ({"first": "2026-11-20", "last": "2026-11-21"}, date(2026, 11, 20), date(2026, 11, 21)),
        ({"first": "2026-11-21", "last": "2026-11-21"}, date(2026, 11, 21), date(2026, 11, 21)),
        ({}, None, None),
    ],
    ids=["one date", "a range", "a range of one", "all"],
)
def test_dates(values, first, last):
    assert inputs_of(options(**values), Config()).dates == DateRange(first, last)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cluster_id": ""}, "--cluster-id must not be empty"),
        ({"kafka": ""}, "--kafka : give HOST:PORT"),
        ({"kafka": "localhost"}, "--kafka localhost: give HOST:PORT"),
        ({"dump": "/nowhere"}, "--dump /nowhere: no such file"),
        ({"segments": "/nowhere/*.log"}, "--segments /nowhere/*.log: no such file"),
        ({"broker_log": "/nowhere"}, "--broker-log /nowhere: no such file"),
        ({"log_timezone": "Mars/Olympus"}, "unknown time zone 'Mars/Olympus'"),
        ({"date": "21.11.2026"}, "--date 21.11.2026: not a date"),
        ({"date": "2026-02-30"}, "--date 2026-02-30: not a date"),
        (
            {"date": "9999-12-31"},
            "--date 9999-12-31: give a date between 1970-01-01 and 2261-12-31",
        ),
        (
            {"date": "0001-01-01"},
            "--date 0001-01-01: give a date between 1970-01-01 and 2261-12-31",
        ),
        ({"first": "x", "last": "2026-11-21"}, "--from x: not a date"),
        ({"first": "2026-11-21", "last": "x"}, "--to x: not a date"),
        ({"first": "2026-11-21"}, "--from and --to: give both"),
        ({"last": "2026-11-21"}, "--from and --to: give both"),
        ({"date": "2026-11-21", "last": "2026-11-21"}, "give one date or a range, not both"),
        ({"first": "2026-11-22", "last": "2026-11-21"}, "is after --to 2026-11-21: swap them"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(values, message):
    with pytest.raises(UsageError) as raised:
        inputs_of(options(**values), Config())

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_total_of_a_second_run_does_not_count_the_first(monkeypatch):
    clock = iter([10.0, 15.0, 100.0, 103.0])
    monkeypatch.setattr(nightly.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(nightly, "open_lake_of", lambda *_: None)
    run = SimpleNamespace(internal_errors=0, lake=None)
    monkeypatch.setattr(nightly, "run_jobs", lambda *_: run)
    monkeypatch.setattr(nightly, "summary", lambda _: "summary")
    out = io.StringIO()

    for _ in range(2):
        nightly.nightly(options(), Config(), Progress(out))

    assert [line.split() for line in out.getvalue().splitlines()] == [
        ["total", "5.0", "s"],
        ["summary"],
        ["total", "3.0", "s"],
        ["summary"],
    ]
