"""forced_moves: whole batches give what each generation gives alone, null lists included."""

import pyarrow as pa

from jobs.assignors.forced_moves import AT_ONCE, forced_in

GIVEN = pa.list_(
    pa.struct(
        {"process": pa.string(), "topic": pa.string(), "partition": pa.int32(),
         "last_owner": pa.string()}
    )
)  # fmt: skip
THERE = pa.list_(pa.struct({"process": pa.string(), "subscribed_topics": pa.list_(pa.string())}))


def partition(number, process, last_owner):
    return {"process": process, "topic": "t", "partition": number, "last_owner": last_owner}


# what was given, and how many of its moves were forced
GENERATIONS = [
    (None, 0),
    ([partition(0, "a", "gone"), partition(1, "b", "b")], 1),
    ([], 0),
    ([partition(0, "b", "a"), partition(1, "a", "b")], 0),
    ([partition(0, "a", None), partition(1, "b", "a")], 0),
    ([partition(n, "ab"[n % 2], "a") for n in range(6)], 3),
]


def test_every_generation_of_a_large_batch_has_its_own_number():
    whole = GENERATIONS * AT_ONCE
    there = [
        {"process": "a", "subscribed_topics": ["t"]},
        {"process": "b", "subscribed_topics": None},
    ]
    found = forced_in(
        pa.array([given for given, _ in whole], GIVEN),
        pa.array([None if given is None else there for given, _ in whole], THERE),
    )
    assert list(found) == [forced for _, forced in whole]


def test_a_slice_of_a_batch_begins_where_it_begins():
    given = pa.array([given for given, _ in GENERATIONS], GIVEN).slice(1, 1)
    there = pa.array([[{"process": p, "subscribed_topics": ["t"]} for p in "ab"]], THERE)
    assert list(forced_in(given, there)) == [1]
