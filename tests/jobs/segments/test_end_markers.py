"""The next end marker of a producer id in the partition decides its records."""

import pytest

from jobs.segments import EndMarkers, partition_of


@pytest.mark.parametrize(
    ("producer_id", "offset", "committed"),
    [
        (7,          0,       True),
        (7,          9,       True),
        (7,         11,       False),
        (7,         21,       None),
        (8,          0,       False),
        (8,         16,       None),
        (9,          0,       None),
    ],
)  # fmt: skip
def test_the_next_marker_of_the_producer_decides(producer_id, offset, committed):
    markers = EndMarkers()
    markers.add(7, 10, "COMMIT")
    markers.add(8, 15, "ABORT")
    markers.add(9, 16, "UNKNOWN")
    markers.add(7, 20, "ABORT")

    assert markers.committed(producer_id, offset) is committed


@pytest.mark.parametrize(
    ("path",                                                            "partition"),
    [
        ("/data/__consumer_offsets-0/00000000000000000000.log",                 0),
        ("__consumer_offsets-12/00000000000000000000.log",                     12),
        ("logs/__consumer_offsets-7.1f2e-delete/00000000000000000000.log",      7),
        ("logs/__consumer_offsets-7.1f2e-future/00000000000000000000.log",      7),
        ("backup/__consumer_offsets-3.tar.gz",                                  3),
        ("backup/kafka1-__consumer_offsets-41_00000000000000000000.log",       41),
        ("__consumer_offsets-1/old/00000000000000000000.log",                   1),
        ("__consumer_offsets-1/__consumer_offsets-2/00000000000000000000.log",  2),
    ],
)  # fmt: skip
def test_the_partition_is_in_the_folders_name(path, partition):
    assert partition_of(path) == partition


@pytest.mark.parametrize(
    "path",
    [
        "orders-0/00000000000000000000.log",
        "my__consumer_offsets-1/0.log",
        "0.log",
        "data/source.__consumer_offsets-1/0.log",
        "__consumer_offsets-1/eu-west.__consumer_offsets-1/0.log",
    ],
)
def test_a_path_without_partition_is_an_error_that_names_it(path):
    with pytest.raises(ValueError, match=f"^{path}: "):
        partition_of(path)
