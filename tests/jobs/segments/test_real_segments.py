"""Segments of real brokers: batches and records equal those of Kafka's own reader."""

from base64 import b64encode

import pytest

from jobs.segments import Batch, Quarantined, partition_of, read_segment, transactions

CAPTURES = ["compacted", "transactions", "killed", "cut", "gzip", "snappy", "lz4", "zstd"]


def items_by_partition(folder):
    actual = {}
    for path in sorted(folder.rglob("*.log")):
        partition = partition_of(path)
        with open(path, "rb") as file:
            items = list(read_segment(file, partition=partition, file=path.name))
        actual.setdefault(partition, []).extend(items)
    return actual


def batches_by_partition(folder):
    return {
        partition: [item for item in items if isinstance(item, Batch)]
        for partition, items in items_by_partition(folder).items()
    }


def base64(data):
    return None if data is None else b64encode(data).decode()


@pytest.mark.parametrize("name", CAPTURES)
def test_records_and_transaction_outcomes_equal_those_of_kafkas_reader(
    captured, told_by_kafka, name
):
    records = [
        {
            "partition": partition,
            "offset": offset,
            "timestamp": timestamp,
            "key": base64(key),
            "value": base64(value),
            "isTransactional": batch.is_transactional,
            "producerId": batch.producer_id,
            "committed": committed,
        }
        for partition, batches in batches_by_partition(captured(name)).items()
        for batch, committed in zip(batches, transactions(batches), strict=True)
        if batch.control is None
        for offset, timestamp, key, value in zip(
            batch.offsets, batch.timestamps, batch.keys, batch.values, strict=True
        )
    ]

    assert records == told_by_kafka(name, "records")


@pytest.mark.parametrize("name", CAPTURES)
def test_batches_equal_those_of_kafkas_reader(captured, told_by_kafka, name):
    batches = [
        {
            "partition": partition,
            "segment": batch.file,
            "position": batch.position,
            "size": batch.size,
            "baseOffset": batch.base_offset,
            "lastOffset": batch.last_offset,
            "records": len(batch.offsets),
            "compression": batch.compression,
            "isTransactional": batch.is_transactional,
            "control": batch.control,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "baseSequence": batch.base_sequence,
            "leaderEpoch": batch.leader_epoch,
            "deleteHorizonMs": -1 if batch.delete_horizon_ms is None else batch.delete_horizon_ms,
        }
        for partition, batches in batches_by_partition(captured(name)).items()
        for batch in batches
    ]

    assert batches == told_by_kafka(name, "batches")


@pytest.mark.parametrize(
    ("name", "magic", "count"), [("magic0-broker", 0, 14), ("magic1-broker", 1, 16)]
)
def test_records_of_brokers_before_record_batches(captured, told_by_kafka, name, magic, count):
    actual = {
        (partition, batch.offsets[0]): {
            "partition": partition,
            "offset": batch.offsets[0],
            "timestamp": batch.timestamps[0],
            "magic": batch.magic,
            "key": base64(batch.keys[0]),
            "value": base64(batch.values[0]),
        }
        for partition, batches in batches_by_partition(captured(name)).items()
        for batch in batches
    }
    expected = told_by_kafka(name, "records")

    assert len(expected) == count
    assert {record["magic"] for record in expected} == {magic}
    assert [actual[record["partition"], record["offset"]] for record in expected] == expected


@pytest.mark.parametrize(
    ("name", "partition", "position", "length"),
    [
        ("killed", 1, 6264, 59272),
        ("cut", 1, 6144, 9),
        ("cut", 2, 6806, 840),
    ],
)
def test_a_truncated_tail_is_one_quarantined_range(captured, name, partition, position, length):
    items = items_by_partition(captured(name))[partition]
    (torn,) = [item for item in items if isinstance(item, Quarantined)]

    assert (torn.position, torn.length, len(torn.data)) == (position, length, length)
    assert torn.reason.startswith("truncated")
