"""committed_offsets: decoded commits, and the outcome of transactional ones."""

import pytest

from coordinator_core.records import encode_key, encode_value
from jobs.committed_offsets import committed_offsets
from jobs.lake.tables import conform
from tests.jobs.comparison import assert_rows

VALUE = {"offset": 42, "leader_epoch": -1, "metadata": "", "commit_timestamp": 5}


def commit(producer_id=-1):
    transactional = producer_id >= 0
    return {"producer_id": producer_id, "is_transactional": transactional, "key_type": 1}


def marker(control, producer_id):
    return {"producer_id": producer_id, "is_transactional": True, "control": control}


# rule -> records in the order of their log, and the outcome of each commit
OUTCOMES = {
    "a plain commit": ([commit()], ["plain"]),
    "committed by the producer's next marker": (
        [commit(7), commit(7), marker("COMMIT", 7)],
        ["committed", "committed"],
    ),
    "aborted by the producer's next marker": ([commit(7), marker("ABORT", 7)], ["aborted"]),
    "open without a marker": ([commit(7)], ["open"]),
    "the marker of another producer does not apply": (
        [commit(7), marker("COMMIT", 8), marker("ABORT", 7)],
        ["aborted"],
    ),
    "a marker does not apply to later commits": (
        [commit(7), marker("COMMIT", 7), commit(7)],
        ["committed", "open"],
    ),
    "each transaction has its own marker": (
        [commit(7), marker("ABORT", 7), commit(7), marker("COMMIT", 7)],
        ["aborted", "committed"],
    ),
    "a plain commit between those of a transaction": (
        [commit(7), commit(), marker("ABORT", 7)],
        ["aborted", "plain"],
    ),
}
LEGACY = b"\x00\x00" + (41).to_bytes(8, "big") + b"\x00\x01x" + (1700).to_bytes(8, "big")

# rule -> key type, value, and (tombstone, version, offset, leader epoch, metadata, committed,
# expires)
VALUES = {
    "version 3 has the leader epoch": (
        1,
        encode_value(1, 3, VALUE | {"leader_epoch": 6, "metadata": "m"}),
        (False, 3, 42, 6, "m", 5, None),
    ),
    "version 1 has the time of expiry": (
        1,
        encode_value(1, 1, {"offset": 42, "metadata": "", "commit_timestamp": 5,
                            "expire_timestamp": 9}),
        (False, 1, 42, None, "", 5, 9),
    ),
    "version 1 without a time of expiry": (
        1,
        encode_value(1, 1, {"offset": 42, "metadata": "", "commit_timestamp": 5,
                            "expire_timestamp": -1}),
        (False, 1, 42, None, "", 5, None),
    ),
    "a commit of 0.8.2's key type": (0, LEGACY, (False, 0, 41, None, "x", 1700, None)),
    "a tombstone: the offset was removed": (1, None, (True, None, None, None, None, None, None)),
}  # fmt: skip


@pytest.fixture(scope="module")
def commits(frame):
    records = []
    for log, (rule, (rows, _)) in enumerate(OUTCOMES.items()):
        key = encode_key(1, {"group": rule, "topic": "t", "partition": 3})
        # Each rule has a log of its own, and producer 7 writes to all of them.
        place = {"topic_partition": f"__consumer_offsets-{log}"}
        for offset, row in enumerate(rows):
            data = {} if "control" in row else {"key": key, "value": encode_value(1, 3, VALUE)}
            records.append(place | {"log_offset": offset} | data | row)
    for offset, (rule, (key_type, value, _)) in enumerate(VALUES.items(), start=100):
        key = encode_key(key_type, {"group": rule, "topic": "t", "partition": 3})
        records.append(
            {"log_offset": offset, "append_time": 6, "key": key, "key_type": key_type}
            | ({} if value is None else {"value": value})
        )
    group = {"log_offset": 200, "key": encode_key(2, {"group": "a group"}), "key_type": 2}
    decoded = committed_offsets(frame("offsets_records", [*records, group]))
    return conform(decoded, "committed_offsets").persist()


@pytest.fixture(scope="module")
def outcomes(commits, by_group):
    return by_group(commits, ["log_offset"], ["outcome"])


@pytest.mark.parametrize("rule", OUTCOMES)
def test_outcome(outcomes, rule):
    assert_rows(outcomes[rule], [(outcome,) for outcome in OUTCOMES[rule][-1]])


def test_group_records_and_markers_are_not_commits(outcomes):
    assert set(outcomes) == {*OUTCOMES, *VALUES}


@pytest.fixture(scope="module")
def values(commits, by_group):
    columns = ["tombstone", "value_version", "committed_offset", "leader_epoch", "metadata",
               "commit_time", "expire_time"]  # fmt: skip
    return by_group(commits, ["log_offset"], columns)


@pytest.mark.parametrize("rule", VALUES)
def test_value(values, rule):
    assert_rows(values[rule], [VALUES[rule][-1]])


def test_a_commit_has_its_position(commits):
    row = commits.where("group_id = 'version 3 has the leader epoch'").first()

    assert (row.topic_partition, row.log_offset) == ("__consumer_offsets-0", 100)
    assert (row.topic, row.partition, row.append_time.microsecond) == ("t", 3, 6000)
