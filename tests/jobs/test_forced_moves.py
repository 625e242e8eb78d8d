"""forced_moves: a batch gives the same figures as its generations alone, null lists included."""

import pyarrow as pa

from jobs.assignors.forced_moves import AT_ONCE, forced_moves

PARTITIONS = pa.list_(
    pa.struct(
        {"process": pa.string(), "topic": pa.string(), "partition": pa.int32(),
         "last_owner": pa.string()}
    )
)  # fmt: skip
SUBSCRIPTIONS = pa.list_(
    pa.struct({"process": pa.string(), "subscribed_topics": pa.list_(pa.string())})
)


def partition(number, process, last_owner):
    return {"process": process, "topic": "t", "partition": number, "last_owner": last_owner}


# Each row: partitions with their owners, and the number of forced moves.
GENERATIONS = [
    (None, 0),
    ([partition(0, "a", "gone"), partition(1, "b", "b")], 1),
    ([], 0),
    ([partition(0, "b", "a"), partition(1, "a", "b")], 0),
    ([partition(0, "a", None), partition(1, "b", "a")], 0),
    ([partition(n, "ab"[n % 2], "a") for n in range(6)], 3),
]


def test_every_generation_of_a_large_batch_has_its_own_figure():
    batch = GENERATIONS * AT_ONCE
    members = [
        {"process": "a", "subscribed_topics": ["t"]},
        {"process": "b", "subscribed_topics": None},
    ]
    forced = forced_moves(
        pa.array([partitions for partitions, _ in batch], PARTITIONS),
        pa.array([None if tps is None else members for tps, _ in batch], SUBSCRIPTIONS),
    )
    assert list(forced) == [expected for _, expected in batch]


def test_a_sliced_batch_is_read_from_its_offset():
    partitions = pa.array([tps for tps, _ in GENERATIONS], PARTITIONS).slice(1, 1)
    members = [{"process": p, "subscribed_topics": ["t"]} for p in "ab"]
    assert list(forced_moves(partitions, pa.array([members], SUBSCRIPTIONS))) == [1]


def test_members_that_name_no_topics_share_the_topics_that_they_have():
    """Regular expressions and topologies name none.  c has joined: a and b each lose one partition
    of t.  Topic u moves to d, which alone subscribes to it."""
    named = {"a": [], "b": [], "c": [], "d": ["u"]}
    members = [{"process": p, "subscribed_topics": topics} for p, topics in named.items()]
    owned = [partition(n, "aabbcc"[n], "aaabbb"[n]) for n in range(6)]
    owned.append({"process": "d", "topic": "u", "partition": 0, "last_owner": "a"})

    forced = forced_moves(pa.array([owned], PARTITIONS), pa.array([members], SUBSCRIPTIONS))

    assert list(forced) == [3]
