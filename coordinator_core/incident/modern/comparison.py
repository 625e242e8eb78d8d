"""The records of a write in production compared with the engine's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coordinator_core.incident.comparison import EARLY_MS, TIMER_LATE_MS, Divergence
from coordinator_core.incident.modern.driver import Output
from coordinator_core.incident.modern.evidence import Entry, entry
from coordinator_core.modern_history.evidence import SAME_REQUEST_MS, RecordKind

# Fields that do not depend on a stimulus: the version of the metadata image, and times.
_LEFT_OUT = ("assignment_timestamp", "version", "timestamp", "current_state_timestamp")


def compare(
    written: Sequence[Entry], outputs: Sequence[Output], *, hash_is_known: bool
) -> Divergence | None:
    """The first difference, or None if the engine wrote the same."""
    ours = [entry(each.at_ms, "", *each.record) for each in outputs if each.record is not None]
    for theirs, mine in zip(_sorted(written), _sorted(ours), strict=False):
        difference = _difference(theirs, mine, hash_is_known=hash_is_known)
        if difference is not None:
            return difference
    return _missing(written, ours, outputs)


def is_exact(written: Sequence[Entry], outputs: Sequence[Output]) -> bool:
    """Returns whether all bytes are equal."""
    ours = [entry(each.at_ms, "", *each.record) for each in outputs if each.record is not None]
    return [each.record for each in _sorted(ours)] == [each.record for each in _sorted(written)]


def _missing(
    written: Sequence[Entry], ours: Sequence[Entry], outputs: Sequence[Output]
) -> Divergence | None:
    if len(written) > len(ours):
        error = next((each.error for each in outputs if each.error is not None), None)
        first = _sorted(written)[len(ours)]
        replay = "no record" if error is None else f"refused: {error.name}"
        return Divergence(_what(first), _plain(first.value), replay, first.place)
    if len(ours) > len(written):
        first = _sorted(ours)[len(written)]
        place = written[-1].place if written else ""
        return Divergence(_what(first), "no record", _plain(first.value), place)
    return None


def _sorted(entries: Sequence[Entry]) -> list[Entry]:
    """Neighboring records of one kind, by member: Kafka writes them in the order of a hash map."""
    run = 0
    order: list[tuple[int, str]] = []
    for n, each in enumerate(entries):
        before = entries[n - 1] if n else each
        is_one_run = each.kind is before.kind and each.is_tombstone == before.is_tombstone
        run += not is_one_run
        order.append((run, str(sorted(each.key.items(), key=str))))
    return [each for _, each in sorted(zip(order, entries, strict=True), key=lambda pair: pair[0])]


def _difference(theirs: Entry, mine: Entry, *, hash_is_known: bool) -> Divergence | None:
    if (theirs.name, theirs.key) != (mine.name, mine.key):
        return Divergence("record", _what(theirs), _what(mine), theirs.place)
    if theirs.is_tombstone or mine.is_tombstone:
        if theirs.is_tombstone == mine.is_tombstone:
            return None
        return Divergence(_what(theirs), _plain(theirs.value), _plain(mine.value), theirs.place)
    assert theirs.value is not None
    assert mine.value is not None
    for name in theirs.value:
        if name in _LEFT_OUT or (name == "metadata_hash" and not hash_is_known):
            continue
        production, replay = _normal(theirs.value[name]), _normal(mine.value.get(name))
        if production != replay:
            what = f"{_what(theirs)}: {name}"
            return Divergence(what, _plain(production), _plain(replay), theirs.place)
    return _time_difference(theirs, mine)


def _time_difference(theirs: Entry, mine: Entry) -> Divergence | None:
    name = "assignment_timestamp"
    assert theirs.value is not None
    assert mine.value is not None
    production, replay = theirs.value.get(name) or 0, mine.value.get(name) or 0
    is_near = -EARLY_MS <= production - replay <= TIMER_LATE_MS
    # A request may write several targets: the first target is older than its record by the duration
    # of the request.
    is_of_request = all(
        0 <= entry.at_ms - computed_ms <= SAME_REQUEST_MS
        for entry, computed_ms in ((theirs, production), (mine, replay))
    )
    if theirs.kind is not RecordKind.TARGET or is_near or is_of_request:
        return None
    return Divergence(f"{_what(theirs)}: {name}", production, replay, theirs.place)


def _normal(value: Any) -> Any:
    """Lists of topics, partitions and tasks as mappings, because their order is the order of hash
    maps.
    """
    if not isinstance(value, list) or not value or not isinstance(value[0], Mapping):
        return value
    if "subtopology_id" in value[0] and "source_topics" in value[0]:
        return [_subtopology(each) for each in value]
    if "num_partitions" in value[0]:
        return {row["topic_name"]: (row["topic_id"], row["num_partitions"]) for row in value}
    names = [name for name in ("topic_id", "subtopology_id") if name in value[0]]
    if not names or "partitions" not in value[0]:
        return value
    return {row[names[0]]: _partitions(row) for row in value}


def _subtopology(value: Mapping[str, Any]) -> dict[str, Any]:
    """The subtopology without the configurations of internal topics, which the coordinator only
    stores.
    """
    plain = dict(value)
    for name in ("state_changelog_topics", "repartition_source_topics"):
        plain[name] = [(each["name"], each["partitions"]) for each in value[name]]
    return plain


def _partitions(row: Mapping[str, Any]) -> list[Any]:
    epochs = row.get("assignment_epochs")
    if epochs and len(epochs) == len(row["partitions"]):
        return sorted(zip(row["partitions"], epochs, strict=True))
    return sorted(row["partitions"])


def _what(entry_: Entry) -> str:
    of_member = f" of {entry_.member_id}" if entry_.member_id else ""
    return f"{'tombstone of ' if entry_.is_tombstone else ''}{entry_.name}{of_member}"


def _plain(value: Any) -> Any:
    """The value without bytes, which JSON cannot represent."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
