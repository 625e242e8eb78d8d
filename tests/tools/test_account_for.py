"""Accounting for a folder: every input is counted once, and damage is reported."""

import shutil

import pytest

from tools.account_for import account

pytestmark = pytest.mark.slow


def test_the_examples_are_accounted_for(pytestconfig):
    rows, wrong = account(pytestconfig.rootpath / "examples")

    assert wrong == []
    assert rows == [
        ["mixed-clients-3.9.1/segments: segments", 5, 7003, 7003, 0, 0, 0],
        ["mixed-clients-3.9.1: server.log", 1, 1189, 235, 0, 954, 0],
        ["mixed-clients-4.1.2/segments: segments", 5, 6994, 6994, 0, 0, 0],
        ["mixed-clients-4.1.2: server.log", 1, 1965, 278, 0, 1687, 0],
    ]


def test_a_damaged_batch_counts_as_unreadable_bytes_and_nothing_else_is_lost(
    pytestconfig, tmp_path
):
    name = "__consumer_offsets-2/00000000000000000000.log"
    source = pytestconfig.rootpath / "examples" / "mixed-clients-4.1.2" / "segments" / name
    damaged = tmp_path / name
    damaged.parent.mkdir()
    shutil.copy(source, damaged)
    data = bytearray(damaged.read_bytes())
    data[100] ^= 1  # The byte is inside the first batch, whose checksum no longer matches.
    damaged.write_bytes(data)

    [[_, files, inputs, kept, quarantined, skipped, unreadable_bytes]], wrong = account(tmp_path)

    first_batch = 12 + int.from_bytes(data[8:12], "big")
    assert (files, quarantined, skipped, wrong) == (1, 0, 0, [])
    assert inputs == kept
    assert unreadable_bytes == first_batch
