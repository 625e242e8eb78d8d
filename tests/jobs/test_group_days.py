"""What a date leaves to later ones."""

from datetime import UTC, date, datetime

from jobs.group_days import group_days
from jobs.group_events import SEQ_PER_MS

PLACE = {"group_id": "g", "incarnation": 1}


def day(number):
    return date(2026, 10, number)


def event(number, kind="RECORD", of=1):
    """At noon of the date."""
    at_ms = int(datetime(2026, 10, number, 12, tzinfo=UTC).timestamp() * 1000)
    return PLACE | {
        "event_date": day(number), "event_time": at_ms, "seq": at_ms * SEQ_PER_MS, "event": kind,
        "event_generation": of,
    }  # fmt: skip


def generation(number, on):
    return PLACE | {"generation": number, "event_date": day(on)}


def member(number, process, on):
    return generation(number, on) | {"member_id": process, "process": process}


def row_of(frame, *, last_event, assignments=()):
    rows = {
        "timeline": [
            event(1, of=1), event(5, of=2), event(6, of=3),
            event(last_event, "MEMBER_JOIN", of=None),
        ],
        "generations": [generation(1, on=1), generation(2, on=5), generation(3, on=6)],
        "generation_members": [
            member(1, "away", on=1), member(1, "there", on=1), member(2, "there", on=5),
            member(3, "there", on=6),
        ],
        "assignments": assignments,
    }  # fmt: skip
    days = group_days(*(frame(table, of) for table, of in rows.items()))
    [row] = days.where(f"event_date = DATE'{day(last_event)}'").collect()
    assert (row.context_generation, row.context_date) == (2, day(5))
    return row


def gone(frame, *, last_event):
    row = row_of(frame, last_event=last_event)
    return [(each.process, each.until) for each in row.gone_processes]


def test_who_went_is_remembered_as_long_as_the_context_generation_is(frame):
    """Generation 3 may be told of again by a run for a date long after it."""
    assert gone(frame, last_event=7) == [("away", day(5))]
    assert gone(frame, last_event=30) == [("away", day(5))]


def test_of_several_owners_of_a_partition_that_nobody_has_now_the_last_is_remembered(frame):
    """As churn counts it: one partition, whoever else had it."""
    several = [member(1, name, on=1) | {"topic": "t", "partition": 0} for name in ("b", "c", "a")]
    kept = [member(number, "there", on=5) | {"topic": "t", "partition": 1} for number in (1, 2)]
    row = row_of(frame, last_event=7, assignments=several + kept)
    assert [(each.partition, each.member_id) for each in row.unowned_partitions] == [(0, "c")]
