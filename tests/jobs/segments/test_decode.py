"""`regroup decode`: one line per record, marker and unreadable range, in order."""

import io
import json
import struct

import crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.decode.command import decode
from jobs.segments import pieces
from jobs.segments.columns import read_columns

CAPTURES = ["compacted", "transactions", "killed", "cut", "gzip", "snappy", "lz4", "zstd"]
NAME = "00000000000000000000.log"


def decoded(*paths):
    out = io.StringIO()
    assert decode([str(path) for path in paths], out) == 0
    return out.getvalue()


def lines_of(*paths):
    return [json.loads(line) for line in decoded(*paths).splitlines()]


def by_reference(monkeypatch, *paths):
    with monkeypatch.context() as patch:
        patch.setattr(pieces, "MIN_RUN", 1 << 60)
        return decoded(*paths)


@pytest.mark.parametrize("name", CAPTURES)
def test_records_equal_those_of_kafkas_reader_in_order(captured, told_by_kafka, name):
    lines = [line for line in lines_of(captured(name)) if "type" in line]
    expected = told_by_kafka(name, "records")

    assert [
        {
            "partition": line["partition"],
            "offset": line["offset"],
            "timestamp": line["timestamp"],
            "key": line["key"],
            "value": line["value"],
            "isTransactional": line.get("transactional", False),
            "committed": line.get("committed"),
        }
        for line in lines
    ] == [{k: v for k, v in record.items() if k != "producerId"} for record in expected]


def test_an_incidents_records_equal_byte_for_byte(captured, told_by_kafka):
    fields = ("partition", "offset", "timestamp", "key", "value")
    lines = lines_of(captured("incident"))

    assert [{f: line[f] for f in fields} for line in lines] == [
        {f: record[f] for f in fields} for record in told_by_kafka("incident", "records")
    ]


@pytest.mark.parametrize("name", [*CAPTURES, "incident", "magic0-broker", "magic1-broker"])
def test_bulk_lines_equal_the_references(captured, monkeypatch, name):
    assert decoded(captured(name)) == by_reference(monkeypatch, captured(name))


def test_control_batches_have_lines(captured, told_by_kafka):
    expected = [
        (batch["partition"], batch["baseOffset"], batch["control"], batch["producerId"])
        for batch in told_by_kafka("transactions", "batches")
        if batch["control"]
    ]
    lines = [line for line in lines_of(captured("transactions")) if "control" in line]

    assert [
        (line["partition"], line["offset"], line["control"], line["producer_id"]) for line in lines
    ] == expected
    assert len(expected) == 77


def test_the_lines_of_a_transaction_literally(captured):
    lines = decoded(captured("transactions")).splitlines()

    assert lines[1] == (
        '{"partition":1,"offset":1,"timestamp":1795225559240,"key":"AAEAA2V0bAAGb3JkZXJzAAAACg==",'
        '"value":"AAMAAAAAAAehNP////8ABnR4bi0xAAAAAaH7yCCw","type":"OffsetCommit","decoded":{"key":'
        '{"group":"etl","topic":"orders","partition":10},"version":3,"value":{"offset":500020,'
        '"leader_epoch":-1,"metadata":"txn-1\\u0000","commit_timestamp":1795225559216}},'
        '"transactional":true,"committed":false}'
    )
    assert lines[6] == (
        '{"partition":1,"offset":6,"timestamp":1795225559280,"control":"ABORT","producer_id":0,'
        '"producer_epoch":0}'
    )


def test_a_truncated_tail_is_a_quarantined_line_with_its_bytes(captured):
    path = captured("cut") / "__consumer_offsets-1" / NAME
    last = lines_of(path)[-1]

    assert last == {
        "quarantined": "truncated: 9 bytes are left, too few for a batch",
        "file": str(path),
        "position": 6144,
        "length": 9,
        "bytes": "AAAAAAAAAEkA",
    }


# Segments made by the tests -------------------------------------------------------------------


def varint(number):
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def record(index, key, value):
    body = b"\x00" + varint(index * 3) + varint(index)
    for data in (key, value):
        body += varint(-1) if data is None else varint(len(data)) + data
    return varint(len(body) + 1) + body + b"\x00"


def batch(offset, records, attributes=0, producer_id=-1):
    payload = b"".join(record(i, key, value) for i, (key, value) in enumerate(records))
    numbers = (attributes, len(records) - 1, 1000, 2000, producer_id, 0, -1, len(records))
    covered = struct.pack(">hiqqqhii", *numbers) + payload
    return struct.pack(">qiibI", offset, 9 + len(covered), 0, 2, crc32c.crc32c(covered)) + covered


def marker(offset, kind, producer_id):
    return batch(offset, [(bytes((0, 0, 0, kind)), bytes(6))], 0x30, producer_id)


def text(data):
    return struct.pack(">h", len(data)) + data


def commit_key(group, topic, partition):
    return b"\x00\x01" + text(group) + text(topic) + struct.pack(">i", partition)


def commit_value(version, offset, epoch, metadata, time, expiry=-1, tags=b"\x00"):
    head = struct.pack(">hq", version, offset)
    if version == 4:
        head += struct.pack(">i", epoch) + varint_unsigned(len(metadata) + 1) + metadata
        return head + struct.pack(">q", time) + tags
    if version == 3:
        head += struct.pack(">i", epoch)
    tail = struct.pack(">qq", time, expiry) if version == 1 else struct.pack(">q", time)
    return head + text(metadata) + tail


def varint_unsigned(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def segment(folder, *batches, partition=0, name=NAME):
    path = folder / f"__consumer_offsets-{partition}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(batches))
    return path


COMMIT = (commit_key(b"g", b"t", 0), commit_value(3, 5, -1, b"", 9))


def test_the_marker_may_be_in_a_later_segment(tmp_path):
    one = [batch(0, [COMMIT], 0x10, 7), batch(1, [COMMIT], 0x10, 8), batch(2, [COMMIT], 0x10, 9)]
    segment(tmp_path, *one)
    two = [marker(3, 1, 7), marker(4, 0, 8), batch(5, [COMMIT], 0x10, 7)]
    segment(tmp_path, *two, name="00000000000000000003.log")

    outcomes = [(line["offset"], line.get("committed", "-")) for line in lines_of(tmp_path)]

    assert outcomes == [(0, True), (1, False), (2, None), (3, "-"), (4, "-"), (5, None)]


def test_a_marker_of_another_partition_or_folder_is_ignored(tmp_path):
    segment(tmp_path / "a", batch(0, [COMMIT], 0x10, 7))
    segment(tmp_path / "a", marker(1, 1, 7), partition=1)
    segment(tmp_path / "b", marker(1, 1, 7))

    assert [line.get("committed", "-") for line in lines_of(tmp_path)] == [None, "-", "-"]


def test_folders_are_read_by_partition_and_offset_without_other_topics(tmp_path):
    for partition, first in [(10, 0), (2, 500), (2, 40), (0, 7)]:
        name = f"{first:020}.log"
        segment(tmp_path, batch(first, [COMMIT]), partition=partition, name=name)
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / NAME).write_bytes(b"not ours")
    (tmp_path / "__consumer_offsets-2" / "server.log").write_bytes(b"nor this")

    order = [(line["partition"], line["offset"]) for line in lines_of(tmp_path)]

    assert order == [(0, 7), (2, 40), (2, 500), (10, 0)]


def test_paths_are_read_in_their_order_and_may_be_globs(tmp_path):
    late = segment(tmp_path, batch(0, [COMMIT]), partition=9)
    segment(tmp_path, batch(0, [COMMIT]), partition=1)

    order = [line["partition"] for line in lines_of(late, tmp_path / "*-1" / "*.log")]

    assert order == [9, 1]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing", "no such file"),
        ("*.nothing", "no file matches"),
        ("empty", "no segment of __consumer_offsets"),
        ("0.log", "cannot determine the partition"),
    ],
)
def test_a_path_without_segments_is_one_line_and_exit_2(tmp_path, capsys, path, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "0.log").write_bytes(b"")
    out = io.StringIO()

    assert decode([str(tmp_path / path)], out) == 2

    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert out.getvalue() == ""


def test_a_record_that_the_codec_rejects_keeps_its_bytes(tmp_path):
    path = segment(tmp_path, batch(0, [COMMIT]), batch(1, [(b"\x7f\xff", b"v"), (None, None)]))

    fine, unknown, keyless = lines_of(path)

    assert fine["type"] == "OffsetCommit"
    assert "32767" in unknown.pop("quarantined")
    assert unknown == {
        "file": str(path),
        "position": 104,
        "partition": 0,
        "offset": 1,
        "timestamp": 1000,
        "key": "f/8=",
        "value": "dg==",
    }
    assert (keyless["offset"], keyless["key"], keyless["value"]) == (2, None, None)
    assert "quarantined" in keyless


def test_a_binary_stream_gets_the_same_lines(captured, tmp_path):
    target = tmp_path / "out.jsonl"
    with open(target, "w", encoding="utf-8") as out:
        out.write("before\n")
        decode([str(captured("transactions"))], out)
        out.write("after\n")

    assert target.read_text() == "before\n" + decoded(captured("transactions")) + "after\n"


texts = st.sampled_from(
    [b"", b"g", b"txn-1\x00", b'say "hi"\\', "übergroß ☃".encode(), b"\xff\xfe", b"x" * 200]
)
numbers = st.sampled_from([0, -1, 7, 1_700_000_000_000, 2**63 - 1, -(2**63)])
keys = st.builds(commit_key, texts, texts, st.sampled_from([0, 11, -1]))
values = st.builds(
    commit_value,
    st.sampled_from([0, 1, 2, 3, 4, 5]),
    numbers,
    st.sampled_from([-1, 0, 12]),
    texts,
    numbers,
    numbers,
    st.sampled_from([b"\x00", b"\x01\x00\x10" + bytes(16), b"\x01\x05\x02ab", b"\x00\x00"]),
)
odd = st.sampled_from([None, b"", b"\x00\x01", b"\x00\x02\x00\x01g", b"\x00\x03" + bytes(30)])
records = st.tuples(keys | odd, values | odd | st.none())
kinds = st.sampled_from([(0, -1), (0, -1), (0x08, -1), (0x10, 7), (0x10, 8), (0x30, 7), (0x04, 9)])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.tuples(st.lists(records, min_size=1, max_size=5), kinds), max_size=12))
def test_bulk_lines_equal_the_references_for_any_records(tmp_path_factory, batches):
    folder = tmp_path_factory.mktemp("any")
    made = [batch(10 * i, given_, *kind) for i, (given_, kind) in enumerate(batches)]
    segment(folder, *made)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MIN_RUN", 2)
        assert decoded(folder) == by_reference(patch, folder)


@pytest.mark.parametrize(
    "key",
    [
        commit_key(b"g", b"t", -7),
        commit_key(b"", b"", 0),
        commit_key(b'"', b"t", 0),
        commit_key(b"g", b"\xc3\xbc", 0),
        commit_key(b"g", b"t", 0)[:-4] + b"t" * 70_000,
        commit_key(b"g", b"t", 0)[:-1],
        commit_key(b"g", b"t", 0)[:-5],
        commit_key(b"g", b"t", 0) + b"\x00",
        b"\x00\x01\xff\xff" + commit_key(b"", b"t", 0)[4:],
        b"\x00\x01\x00\x02gg\x00\x00\x00",
    ],
    ids=lambda key: key[:20].hex(),
)
def test_lines_of_any_key_equal_the_references(tmp_path, monkeypatch, key):
    path = segment(tmp_path, *(batch(i, [(key, COMMIT[1])]) for i in range(pieces.MIN_RUN)))

    assert decoded(path) == by_reference(monkeypatch, path)


def test_concatenated_segments_are_decoded_in_long_runs(captured, tmp_path, monkeypatch):
    """Offsets start again at each seam, which ends a run of frames but not a run of columns."""
    one = (captured("cut") / "__consumer_offsets-2" / NAME).read_bytes()[:6806]
    folder = tmp_path / "__consumer_offsets-2"
    folder.mkdir()
    (folder / NAME).write_bytes(one * 6)
    once = decoded(captured("cut") / "__consumer_offsets-2" / NAME).splitlines()
    records = [line for line in once if "quarantined" not in line]
    runs = []
    monkeypatch.setattr(
        pieces,
        "read_columns",
        lambda view, run, limit: runs.append(len(run)) or read_columns(view, run, limit),
    )

    assert decoded(folder / NAME).splitlines() == records * 6
    assert runs == [36]
