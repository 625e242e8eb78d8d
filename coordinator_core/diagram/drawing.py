"""A recording as rows: arrows between participants, notes, and pauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.diagram import modern_words
from coordinator_core.diagram.names import COORDINATOR, LOG, Names
from coordinator_core.diagram.notes import Notes
from coordinator_core.diagram.recording import (
    DelayedJoinStatus,
    Entry,
    GroupEvent,
    RecordedEvent,
    Recording,
    RequestArrived,
    TimerFired,
    TraceEntry,
)
from coordinator_core.diagram.words import Requests, answer, op_name, record, seconds
from coordinator_core.protocol.messages import Event

LONG_MS = 1000  # shortest pause that gets its own row
# Requests that change nothing unless their response writes records.
_FOLDED = frozenset({"Heartbeat", "DescribeGroups", "OffsetFetch", *modern_words.REQUESTS.values()})
_MERGED = frozenset({"target assignment", "tombstones", "regular expression"})


@dataclass(frozen=True, slots=True)
class Arrow:
    """``is_answer``: drawn dashed. ``is_both_ways`` puts request and answer in one row."""

    at_ms: int
    source: str
    target: str
    text: str
    is_answer: bool = False
    is_both_ways: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """``over``: its column."""

    at_ms: int
    text: str
    over: str = COORDINATOR


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing happens for ``ms``."""

    ms: int


Row = Arrow | Note | Pause


@dataclass(frozen=True, slots=True)
class Diagram:
    """``columns`` are participants, the coordinator, the log.  ``settings`` is one
    line, or empty.
    """

    title: str
    settings: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def draw(recording: Recording) -> Diagram:
    names = Names(recording)
    rows = _Drawing(recording, names).rows()
    return Diagram(
        recording.title,
        _settings(recording),
        names.columns,
        tuple(_with_pauses(_folded(_merged(rows)))),
    )


def _settings(recording: Recording) -> str:
    """The timeouts that are the same for all members."""
    joins = [step for step in recording.steps.values() if step["op"] == "join"]
    texts = []
    for kind in recording.timeouts:
        timeouts_ms = {step[f"{kind}_timeout_ms"] for step in joins}
        if len(timeouts_ms) == 1:
            texts.append(f"{kind} timeout {seconds(timeouts_ms.pop())}")
    return ", ".join(texts)


class _Drawing:
    def __init__(self, recording: Recording, names: Names) -> None:
        self.recording = recording
        self.names = names
        self.requests = Requests(names)
        self.notes = Notes(recording, names)
        self.unanswered: dict[str, int] = {}
        groups = {step["group"] for step in recording.steps.values() if "group" in step}
        self.has_groups = len(groups) > 1

    def rows(self) -> list[Row]:
        rows: list[Row] = []
        entries = self.recording.entries
        state = ""
        for entry, following in zip(entries, (*entries, None)[1:], strict=True):
            if isinstance(entry, GroupEvent) and entry.event.kind == "STATE":
                state = self._state(entry.event) or state
                if state and not (following and self.notes.is_continued_by(following)):
                    rows.append(Note(entry.at_ms, self._with_group(entry.event.group_id, state)))
                    state = ""
                continue
            row = self._row(entry, state)
            if row is not None:
                rows.append(row)
                state = ""
        return [*rows, *self._unanswered_notes()]

    def _state(self, event: Event) -> str | None:
        return self.notes.state(event.group_id, event.state, event.generation)

    def _row(self, entry: Entry, state: str) -> Arrow | Note | None:
        """``state`` is a state that goes into the same note as the entry."""
        if isinstance(entry, RequestArrived):
            self.notes.turn(entry)
            return self._request(entry)
        if isinstance(entry, TimerFired):
            self.notes.turn(entry)
            return None
        if isinstance(entry, TraceEntry):
            return self._trace_row(entry)
        if isinstance(entry, RecordedEvent):
            return Note(entry.at_ms, entry.text, entry.participant)
        text = self.notes.text(entry)
        if text is None:
            return None
        group_id = entry.group_id if isinstance(entry, DelayedJoinStatus) else entry.event.group_id
        return Note(entry.at_ms, self._with_group(group_id, f"{state}: {text}" if state else text))

    def _request(self, entry: RequestArrived) -> Arrow | Note:
        step = self.recording.steps[entry.step_id]
        if step["op"] == "fault":
            return Note(entry.at_ms, f"the next append will fail: {step['append_error']}")
        if step["op"] in modern_words.CHANGES:
            return Note(entry.at_ms, modern_words.change(step, self.names))
        self.unanswered[entry.step_id] = entry.at_ms
        source = self.names.of_step(entry.step_id)
        text = self._with_group(step.get("group", ""), self.requests.text(step))
        return Arrow(entry.at_ms, source, COORDINATOR, text)

    def _with_group(self, group_id: str, text: str) -> str:
        return f"{group_id}: {text}" if self.has_groups else text

    def _trace_row(self, entry: TraceEntry) -> Arrow | Note | None:
        line, at_ms = entry.line, entry.at_ms
        if line["event"] == "record":
            return Arrow(at_ms, COORDINATOR, LOG, record(line, self.names))
        if line["event"] == "state" and _has_epochs(line):
            text = modern_words.state(line, self.names)
            return Note(at_ms, self._with_group(line["group"], text))
        if line["event"] == "state":
            return None if self.recording.has_engine_events else self._state_note(at_ms, line)
        self.requests.note_answer(line)
        self.unanswered.pop(line["to"], None)
        target = self.names.of_step(line["to"])
        return Arrow(at_ms, COORDINATOR, target, answer(line, self.names), is_answer=True)

    def _state_note(self, at_ms: int, line: Mapping[str, Any]) -> Note | None:
        text = self.notes.state(line["group"], line["state"], line["generation"])
        return None if text is None else Note(at_ms, text)

    def _unanswered_notes(self) -> Iterator[Note]:
        end_ms = max((entry.at_ms for entry in self.recording.entries), default=0)
        end_ms = max([end_ms, *(step["at_ms"] for step in self.recording.steps.values())])
        for step_id, at_ms in self.unanswered.items():
            op, who = self.recording.steps[step_id]["op"], self.names.of_step(step_id)
            outcome = "never answered" if self._is_repeated(step_id) else "not answered yet"
            yield Note(end_ms, f"{outcome}: {who}'s {op_name(op)} at {seconds(at_ms)}")

    def _is_repeated(self, step_id: str) -> bool:
        """Returns whether a later request of the same kind replaced it."""
        op, who = self.recording.steps[step_id]["op"], self.names.of_step(step_id)
        ids = list(self.recording.steps)
        later = ids[ids.index(step_id) + 1 :]
        return any(
            self.recording.steps[each]["op"] == op and self.names.of_step(each) == who
            for each in later
        )


def _merged(rows: list[Row]) -> list[Row]:
    """Combine consecutive records of one kind into one row."""
    merged: list[Row] = []
    for row in rows:
        last = merged[-1] if merged else None
        if _continues(last, row):
            assert isinstance(last, Arrow)
            assert isinstance(row, Arrow)
            merged[-1] = replace(last, text=f"{last.text}, {row.text.partition(': ')[2]}")
        else:
            merged.append(row)
    return merged


def _continues(last: Row | None, row: Row) -> bool:
    return (
        isinstance(last, Arrow)
        and isinstance(row, Arrow)
        and last.target == row.target == LOG
        and last.at_ms == row.at_ms
        and last.text.partition(": ")[0] == row.text.partition(": ")[0]
        and row.text.partition(": ")[0] in _MERGED
    )


def _folded(rows: list[Row]) -> Iterator[Row]:
    """Put a request and its immediate answer into one row, and a run of heartbeats into one."""
    folded: list[Row] = []
    for row in rows:
        last = folded[-1] if folded else None
        if _answers_at_once(last, row):
            assert isinstance(last, Arrow)
            assert isinstance(row, Arrow)
            outcome = row.text.partition(": ")[2]
            folded[-1] = replace(last, text=f"{last.text}: {outcome}", is_both_ways=True)
        else:
            folded.append(row)
    yield from _runs(folded)


def _answers_at_once(last: Row | None, row: Row) -> bool:
    return (
        isinstance(last, Arrow)
        and isinstance(row, Arrow)
        and row.is_answer
        and last.source == row.target
        and not last.is_both_ways
        and row.text.partition(":")[0] in _FOLDED
        and last.text.startswith(row.text.partition(":")[0])
    )


def _runs(rows: list[Row]) -> Iterator[Row]:
    """Show equal heartbeats of a member once if no other row comes between them."""
    run: dict[tuple[str, str], list[Arrow]] = {}
    for row in [*rows, None]:
        if isinstance(row, Arrow) and row.is_both_ways:
            run.setdefault((row.source, row.text), []).append(row)
            continue
        shown = [each for arrows in run.values() for each in _as_rows(arrows, row)]
        yield from sorted(shown, key=lambda each: each.at_ms)
        run.clear()
        if row is not None:
            yield row


def _as_rows(arrows: list[Arrow], following: Row | None) -> list[Arrow]:
    """One row for all arrows, but two rows if the last heartbeat is the cause of the record that
    follows.
    """
    last = arrows[-1]
    if len(arrows) > 1 and isinstance(following, Arrow) and following.target == LOG:
        cause = [last] if following.at_ms == last.at_ms else []
        return [_as_one(arrows[: len(arrows) - len(cause)]), *cause]
    return [_as_one(arrows)]


def _as_one(arrows: list[Arrow]) -> Arrow:
    first, last = arrows[0], arrows[-1]
    if first is last:
        return first
    return replace(first, text=f"{first.text} ({len(arrows)} times until {seconds(last.at_ms)})")


def _with_pauses(rows: Iterator[Row]) -> Iterator[Row]:
    now_ms = 0
    for row in rows:
        if not isinstance(row, Pause):
            if row.at_ms - now_ms >= LONG_MS:
                yield Pause(row.at_ms - now_ms)
            now_ms = max(now_ms, row.at_ms)
        yield row


def _has_epochs(state: Mapping[str, Any]) -> bool:
    """Returns whether the state belongs to a consumer, share or streams group."""
    return GROUP_TYPES[state.get("type", CLASSIC.name)].has_epochs
