"""group_days: what a run for later dates needs of a date's groups."""

from datetime import UTC, date, datetime

from jobs.group_days import group_days
from jobs.group_events import SEQ_PER_MS

INCARNATION = {"group_id": "g", "incarnation": 1}


def day(number):
    return date(2026, 10, number)


def event(number, kind="RECORD", of=1):
    """A timeline row at noon of the date."""
    at_ms = int(datetime(2026, 10, number, 12, tzinfo=UTC).timestamp() * 1000)
    return INCARNATION | {
        "event_date": day(number), "event_time": at_ms, "seq": at_ms * SEQ_PER_MS, "event": kind,
        "event_generation": of,
    }  # fmt: skip


def generation(number, on):
    return INCARNATION | {"generation": number, "event_date": day(on)}


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
            member(1, "away", on=1), member(1, "stays", on=1), member(2, "stays", on=5),
            member(3, "stays", on=6),
        ],
        "assignments": assignments,
    }  # fmt: skip
    days = group_days(*(frame(table, of) for table, of in rows.items()))
    [row] = days.where(f"event_date = DATE'{day(last_event)}'").collect()
    assert (row.context_generation, row.context_date) == (2, day(5))
    return row


def gone_processes(frame, *, last_event):
    row = row_of(frame, last_event=last_event)
    return [(each.process, each.until) for each in row.gone_processes]


def test_processes_that_left_are_carried_over_as_long_as_the_context_generation(frame):
    """A run for a much later date may still change generation 3."""
    assert gone_processes(frame, last_event=7) == [("away", day(5))]
    assert gone_processes(frame, last_event=30) == [("away", day(5))]


def test_the_last_of_several_owners_of_an_unowned_partition_is_carried_over(frame):
    """As in churn: a partition with several owners counts once."""
    several = [member(1, name, on=1) | {"topic": "t", "partition": 0} for name in ("b", "c", "a")]
    kept = [member(number, "stays", on=5) | {"topic": "t", "partition": 1} for number in (1, 2)]
    row = row_of(frame, last_event=7, assignments=several + kept)
    assert [(each.partition, each.member_id) for each in row.unowned_partitions] == [(0, "c")]
