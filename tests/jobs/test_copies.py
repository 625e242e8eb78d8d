"""Copies of one partition that differ without leader epochs that decide."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from coordinator_core.records.codec import encode_key, encode_value
from jobs.bronze.source_names import KAFKA
from jobs.bronze.storing import record_tables
from jobs.checks.check import broken_laws
from jobs.engine.embedded import embedded_session
from jobs.ingest import Inputs, run
from jobs.lake.opening import open_lake
from jobs.lake.sql import query
from jobs.segments.writer import record_batch

DAY_MS = 1_795_161_600_000
KEY = encode_key("OffsetCommit", {"group": "g", "topic": "t", "partition": 0})


def value(text):
    return encode_value(
        "OffsetCommit", 3, {"offset": 1, "leader_epoch": 0, "metadata": text, "commit_timestamp": 0}
    )


@pytest.fixture
def copy(tmp_path):
    """``copy(broker, texts)``: a segment of this broker, a batch per text (None: compacted)."""

    def write(broker, texts):
        folder = tmp_path / broker / "__consumer_offsets-3"
        folder.mkdir(parents=True)
        batches = [
            record_batch(offset, 0, DAY_MS + offset, [(KEY, value(text))])
            for offset, text in enumerate(texts)
            if text is not None
        ]
        (folder / "00000000000000000000.log").write_bytes(b"".join(batches))
        return str(folder / "00000000000000000000.log")

    return write


@pytest.fixture
def after(tmp_path):
    """``after(lake, *runs)``: what the lake has after a run per list of files."""

    def ingest(name, *runs):
        lake = open_lake(embedded_session(), str(tmp_path / name), "c")
        for files in runs:
            run(lake, Inputs(segments=list(files)))
            assert broken_laws(str(tmp_path / name))[1] == []
        return str(tmp_path / name)

    return ingest


def kept(lake):
    rows = query(lake, "SELECT value FROM offsets_records ORDER BY log_offset")[1]
    return "".join(bytes(each).split(b"\0\1")[-1].decode("latin1")[0] for (each,) in rows)


def quarantined(lake):
    rows = query(lake, "SELECT file, log_offset, reason FROM quarantine ORDER BY 1, 2")[1]
    return [(file.split("/")[-3], offset, reason) for file, offset, reason in rows]


BY_MOST = (
    "diverged replica: offset {}, 2 of 3 copies of the partition have other records from offset 2"
    " on"
)
NO_MAJORITY = (
    "diverged replica: offset {}, 2 copies of the partition differ, without a majority, from offset"
    " 2 on"
)
# copies -> kept records, and quarantined records: copy, offset, reason
CASES = {
    "one copy": ({"b1": "abXY"}, "abXY", []),
    "equal copies": ({"b1": "abcd", "b2": "abc", "b3": "abcd"}, "abcd", []),
    "a compacted copy does not differ": ({"b1": "abcd", "b2": ["a", None, "c", "d"]}, "abcd", []),
    "the tail of one of three": (
        {"b1": "abXYZ", "b2": "abcd", "b3": "abcd"},
        "abcd",
        [("b1", 2, BY_MOST), ("b1", 3, BY_MOST), ("b1", 4, BY_MOST)],
    ),
    "one record of one of three": (
        {"b1": "abXd", "b2": "abcd", "b3": "abcd"},
        "abcd",
        [("b1", 2, BY_MOST)],
    ),
    "two copies: the longer one": (
        {"b1": "abXY", "b2": "abcde"},
        "abcde",
        [("b1", 2, NO_MAJORITY), ("b1", 3, NO_MAJORITY)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_copies_in_any_order(copy, after, case):
    texts, records, reasons = CASES[case]
    files = [copy(broker, each) for broker, each in texts.items()]

    orders = [files, files[::-1], files[1:] + files[:1]]
    for place, order in enumerate(orders[: len(files)]):
        lakes = [after(f"{place}", order), after(f"{place}-each", *([file] for file in order))]
        for lake in lakes:
            assert kept(lake) == records
            assert quarantined(lake) == [
                (broker, offset, reason.format(offset)) for broker, offset, reason in reasons
            ]


def test_two_copies_of_the_same_length_are_kept_in_any_order(copy, after):
    files = [copy("b1", "abXY"), copy("b2", "abcd")]

    lakes = [after("1", files), after("2", files[::-1]), after("3", *zip(files[::-1]))]
    kept_of_lakes = {(kept(lake), len(quarantined(lake))) for lake in lakes}

    assert len(kept_of_lakes) == 1
    assert kept_of_lakes < {("abXY", 2), ("abcd", 2)}


@pytest.mark.parametrize("place", [17, -3], ids=["checksum", "payload"])
def test_a_damaged_batch_of_a_longer_copy_has_no_vote(copy, after, place):
    files = [copy("b1", "abcdef"), copy("b2", "abcd")]
    data = Path(files[0]).read_bytes()
    third = data.index((DAY_MS + 2).to_bytes(8, "big")) - 27
    fourth = data.index((DAY_MS + 3).to_bytes(8, "big")) - 27
    at = third + place if place > 0 else fourth + place
    Path(files[0]).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])

    lake = after("lake", files)

    assert kept(lake) == "abcdef"
    [(broker, offset, reason)] = quarantined(lake)
    assert (broker, offset) == ("b1", -1)
    assert "diverged" not in reason


def test_a_copy_whose_last_batch_is_incomplete(copy, after):
    files = [copy("b1", "abcd"), copy("b2", "abcd")]
    Path(files[0]).write_bytes(Path(files[0]).read_bytes()[:-5])

    lake = after("lake", files)

    assert kept(lake) == "abcd"
    assert [offset for _, offset, _ in quarantined(lake)] == [-1]


def read_live(name, texts):
    """As a run stores the records of the live topic."""
    lake = open_lake(embedded_session(), name, "c")
    [table, _] = record_tables(lake, KAFKA)
    rows = [
        ("c", "__consumer_offsets-3", offset, date(2026, 11, 20),
         datetime.fromtimestamp((DAY_MS + offset) / 1000, UTC), KEY, value(text), 1, -1, False,
         -1, None, KAFKA, "__consumer_offsets", -1)
        for offset, text in enumerate(texts)
    ]  # fmt: skip
    new = lake.frame("offsets_records", [list(row) for row in rows])
    lake.insert_new("offsets_records", new, replaces=table.replaces, timed_by=table.timed_by)


BY_LIVE = "diverged replica: offset {}, the live topic has other records from offset 2 on"


@pytest.mark.parametrize("is_live_first", [True, False])
def test_the_live_topic_is_right(copy, after, is_live_first):
    """Also against most copies.  Read later, it corrects the table; the segments, read again, go
    into quarantine."""
    files = [copy("b1", "abXY"), copy("b2", "abXY"), copy("b3", "abcd")]
    lake = after("lake", *([] if is_live_first else [files[:2]]))

    read_live(lake, "abcd")
    assert kept(lake) == "abcd"
    after("lake", files)

    assert kept(lake) == "abcd"
    assert quarantined(lake) == [
        (broker, offset, BY_LIVE.format(offset)) for broker in ("b1", "b2") for offset in (2, 3)
    ]
