"""What kafka-dump-log, the console consumer's formatters and kcat print, as dumps.

tests/data/dumps has captures: of records of examples/mixed-clients-3.9.1 (2.8, and kafka-dump-log
4.1), and of a broker of 4.1."""

import time
from pathlib import Path

import pytest

from coordinator_core.records import decode, decode_assignment
from jobs.console.errors import UsageError
from jobs.group_metadata import _row as group_row
from jobs.sources.dumps import tool_output
from jobs.sources.dumps.dump import Dump

CAPTURES = Path(__file__).parents[1] / "data" / "dumps"
PYTHON_1 = "audit-1-394ce46f-2c5a-4e98-bfdf-c9031af8c961"
PYTHON_2 = "audit-2-02199995-d27a-4b4b-8ca5-fd1dd391db23"


def rows(path):
    return [row for batch in Dump(str(path)).batches() for row in batch.to_pylist()]


def reasons(path):
    return [row["reason"] for row in rows(path)]


def written(tmp_path, data, name="consumer_offsets-3.txt"):
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return tmp_path / name


@pytest.mark.parametrize("version", ["2.8", "4.1"])
def test_records_of_kafka_dump_log(version):
    read = rows(CAPTURES / f"kafka-dump-log-{version}.txt")

    assert [
        (r["topic"], r["partition"], r["log_offset"], r["time_ms"], r["reason"]) for r in read
    ] == [
        ("__consumer_offsets", 2, 0, 1795221996664, None),
        ("__consumer_offsets", 2, 409, 1795222089843, None),
        ("__consumer_offsets", 2, 1, 1795222001706, None),
        ("__consumer_offsets", 2, 2, 1795222001706, None),
    ]
    commit = decode(read[2]["key"], read[2]["value"])
    assert commit.key == {"group": "audit-python", "topic": "orders", "partition": 7}
    assert commit.value["offset"] == 36
    assert commit.value["commit_timestamp"] == (-1 if version == "2.8" else 1795222001706)
    members = decode(read[0]["key"], read[0]["value"]).value["members"]
    assert [m["member_id"] for m in members] == [PYTHON_2, PYTHON_1]
    assert decode_assignment(members[0]["assignment"]).partitions == [
        ("orders", [6, 7, 8, 9, 10, 11]), ("payments", [6, 7, 8, 9, 10, 11])
    ]  # fmt: skip


def test_json_of_kafka_dump_log_has_the_bytes_of_the_segment():
    read = rows(CAPTURES / "kafka-dump-log-4.1.txt")

    # These are the valueSize fields of the text.
    assert [len(row["value"]) for row in read] == [475, 326, 24, 24]
    assert [len(row["key"]) for row in read] == [16, 16, 28, 28]


def test_fields_that_text_lacks_are_null():
    row = rows(CAPTURES / "kafka-dump-log-2.8.txt")[0]
    group = group_row(row["key"], row["value"])

    assert (group["generation"], group["protocol"], group["leader"]) == (1, "range", None)
    assert group["state_timestamp_ms"] is None
    member = group["members"][0]
    assert {name for name, value in member.items() if value is None} == {
        "instance_id", "client_id", "client_host", "rebalance_timeout_ms", "session_timeout_ms",
        "subscription",
    }  # fmt: skip


def test_records_of_formatters_are_dated_by_their_values():
    read = rows(CAPTURES / "OffsetsMessageFormatter-4.1.json")

    no_time = "no time: the formatter prints none, and a tombstone has none"
    assert [(r["partition"], r["time_ms"], r["reason"]) for r in read] == [
        (-1, 1795740923840, None), (-1, 1795740923840, None), (None, None, no_time)
    ]  # fmt: skip
    assert len({r["log_offset"] for r in read[:2]}) == 2
    assert [r["log_offset"] >> 21 for r in read[:2]] == [1795740923840] * 2
    groups = rows(CAPTURES / "GroupMetadataMessageFormatter-4.1.json")
    assert [r["time_ms"] for r in groups[:2]] == [1795740953327, 1795740953330]
    assert decode(groups[1]["key"], groups[1]["value"]).value["current_state_timestamp"] == -1


def test_commits_that_the_formatter_before_3_8_printed():
    read = rows(CAPTURES / "OffsetsMessageFormatter-2.8.txt")

    commits = [decode(r["key"], r["value"]) for r in read]
    assert [c.key["topic"] for c in commits] == ["orders", "payments"]
    assert [c.value["commit_timestamp"] for c in commits] == [1795221992491, 1795221992571]
    assert [c.value["leader_epoch"] for c in commits] == [0, 0]


OLD_COMMITS = [
    # line -> group, topic, partition, offset, metadata, expiry
    ("[a,b,t,1]::[OffsetMetadata[5,NO_METADATA],CommitTime 7,ExpirationTime 9]",
     "a,b", "t", 1, 5, "NO_METADATA", 9),
    ("[g]::,t,1]::[OffsetMetadata[5,],CommitTime 7,ExpirationTime -1]",
     "g]::", "t", 1, 5, "", None),
    ("[g,t,0]::OffsetAndMetadata(offset=5, leaderEpoch=Optional.empty, metadata=x, y)z, "
     "commitTimestamp=7, expireTimestamp=Some(8))", "g", "t", 0, 5, "x, y)z", 8),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "group", "topic", "partition", "offset", "metadata", "expiry"), OLD_COMMITS
)
def test_a_commit_as_text(tmp_path, line, group, topic, partition, offset, metadata, expiry):
    [row] = rows(written(tmp_path, line))

    record = decode(row["key"], row["value"])
    assert record.key == {"group": group, "topic": topic, "partition": partition}
    assert (record.value["offset"], record.value["metadata"]) == (offset, metadata)
    assert record.value.get("expire_timestamp") == expiry


def test_records_of_one_key_and_millisecond_keep_their_order_and_count_once(tmp_path):
    lines = [
        f"[g,t,0]::OffsetAndMetadata(offset={n}, leaderEpoch=Optional.empty, metadata=, "
        f"commitTimestamp=7, expireTimestamp=None)"
        for n in (3, 1, 2, 1)
    ]
    offsets = [row["log_offset"] for row in rows(written(tmp_path, "\n".join(lines)))]

    assert offsets[0] < offsets[1] < offsets[2]
    assert offsets[3] == offsets[1]


def test_bytes_that_kcat_prints_as_they_are():
    read = rows(CAPTURES / "kcat.json")

    assert [(r["partition"], r["log_offset"], r["time_ms"], r["reason"]) for r in read] == [
        (0, 0, 1795740919897, None), (0, 1, 1795740919897, None), (0, 21, 1795740939453, None)
    ]  # fmt: skip
    first = decode(read[0]["key"], read[0]["value"])
    assert (first.name, first.value["rebalance_timeout_ms"]) == (
        "ConsumerGroupMemberMetadata",
        300000,
    )
    assert read[2]["value"] is None


def test_bytes_that_another_tool_replaced_are_quarantined(tmp_path):
    data = (CAPTURES / "kcat.json").read_bytes().decode("utf-8", "replace")

    lost = "value has lost bytes: jq and other tools replace bytes that are not UTF-8"
    assert reasons(written(tmp_path, data, "a.json")) == [lost, lost, None]


HEAD = "Dumping /d/__consumer_offsets-3/00.log\n"
COMMIT = 'key: {"type":"1","data":{"group":"g","topic":"t","partition":0}} payload: '
VALUE = '{"version":"3","data":{"offset":1,"leaderEpoch":0,"metadata":"","commitTimestamp":7}}'
UNREADABLE = [
    ("| offset: 1 CreateTime: 5 keySize: 1",
     "line without key and payload: print it with --offsets-decoder"),
    ("| offset: 1 CreateTime: 5 " + COMMIT + VALUE[:40], "truncated or damaged JSON"),
    ("| offset: 1 CreateTime: 5 " + COMMIT[:30], "a truncated line"),
    ("| offset: 1 " + COMMIT + VALUE, "a truncated line"),
    ("| offset: 1 CreateTime: 5 key: \\x00g payload: y",
     "the key is not in the format of --offsets-decoder"),
    ("| offset: 1 CreateTime: 5 key: group_metadata::group=g payload: "
     '{"protocolType":"consumer","protocol":"range","generationId":1,"assignment":"{m=[t-0, t"}',
     "payload is not a group: ValueError assignment is truncated"),
    ("Exception in thread main", "not a line of kafka-dump-log"),
    ("| offset: 1 CreateTime: 5 " + COMMIT + "[" * 100_000, "truncated or damaged JSON"),
    (b"| offset: 1 CreateTime: 5 key: \xff payload: y", "not UTF-8"),
    ("| offset: 1 CreateTime: 5 " + COMMIT.replace('"1"', '"99"') + VALUE,
     "not JSON of a coordinator's record: ValueError no record type 99 is known"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "reason"), UNREADABLE)
def test_a_line_that_is_no_record_is_quarantined_with_position_and_bytes(tmp_path, line, reason):
    data = line if isinstance(line, bytes) else line.encode()
    after = f"\n| offset: 9 CreateTime: 5 {COMMIT}{VALUE}\n".encode()

    bad, good = rows(written(tmp_path, HEAD.encode() + data + after))

    assert (bad["reason"], bad["position"]) == (reason, len(HEAD))
    assert bad["key"].rstrip() == data
    assert (good["log_offset"], good["reason"]) == (9, None)


def test_aborted_transactions_and_transactions_without_an_end(tmp_path):
    batch = "baseOffset: {} lastOffset: 0 count: 1 producerId: 7 producerEpoch: 0 "
    batch += "isTransactional: true isControl: {}\n"
    rest = f" CreateTime: 5 {COMMIT}{VALUE}\n"
    marker = (
        "| offset: {} CreateTime: 5 keySize: 4 valueSize: 6 endTxnMarker: {} coordinatorEpoch: 0\n"
    )
    text = HEAD
    for offset, end in ((0, "ABORT"), (2, "COMMIT"), (4, None)):
        text += batch.format(offset, "false") + f"| offset: {offset}{rest}"
        text += batch.format(offset + 1, "true") + marker.format(offset + 1, end) if end else ""

    read = rows(written(tmp_path, text))

    assert [(r["log_offset"], r["aborted"], r["reason"]) for r in read] == [
        (0, True, None), (2, False, None), (4, None, "the transaction has no end in this file")
    ]  # fmt: skip


def test_a_long_line_is_quarantined_in_linear_time(tmp_path, monkeypatch):
    monkeypatch.setattr(tool_output, "LINE_BYTES", 1 << 20)
    good = f"| offset: 9 CreateTime: 5 {COMMIT}{VALUE}\n"
    data = HEAD + "| offset: 1 " + "x" * (30 << 20) + "\n" + good
    started = time.process_time()

    bad, after = rows(written(tmp_path, data))

    assert bad["reason"] == "a line of 31457293 bytes, more than 16 MiB"
    assert (after["log_offset"], after["position"]) == (9, len(HEAD) + 31457293)
    assert time.process_time() - started < 5


def test_many_commits_of_one_key_and_millisecond_take_linear_time(tmp_path):
    line = "[g,t,0]::[OffsetMetadata[{},],CommitTime 7,ExpirationTime 9]\n"
    started = time.process_time()

    read = rows(written(tmp_path, "".join(line.format(n) for n in range(30_000))))

    assert len({row["log_offset"] for row in read}) == 30_000
    assert time.process_time() - started < 20


WRONG = [
    (b"\0" * 8 + b"\0\0\0\x50" + b"\0" * 4 + b"\x02" + b"\0" * 60,
     "it seems to be a binary segment of a topic: give it as --segments"),
    (b"\nGROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG\ng t 0 1 2 1\n",
     "it seems to be output of kafka-consumer-groups --describe, which has no rebalances: "
     "read it with regroup snapshot --describe"),
    (b"[2026-01-02 03:04:05,678] INFO [GroupCoordinator 1]: Stabilized group g generation 1",
     "it seems to be a broker's log: give it as --broker-log"),
    (b"INFO [Consumer clientId=c, groupId=g] Successfully joined group",
     "it seems to be an application's log: give it as --client-log"),
    ("Dumping".encode("utf-16"), "it seems to be UTF-16: convert it with iconv -f UTF-16 -t UTF-8"),
    (b"g::GroupMetadata(groupId=g, generation=1, protocolType=Some(consumer))",
     "it seems to be output of GroupMetadataMessageFormatter before Kafka 3.8, which prints no "
     "times and no assignments: use kafka-dump-log --offsets-decoder, or the formatter of Kafka 4, "
     "and give its output as --dump"),
    (b"Dumping ./000.log\n| offset: 1 CreateTime: 5 key: a payload: b",
     "no line `Dumping .../__consumer_offsets-N/...` names the partition: name the file "
     "consumer_offsets-N.txt"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), WRONG)
def test_a_file_of_another_kind_is_refused_in_one_line(tmp_path, data, message):
    path = written(tmp_path, data, "given")

    with pytest.raises(UsageError) as raised:
        Dump(str(path))

    assert str(raised.value) == f"--dump {path}: {message}"
