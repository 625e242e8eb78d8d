"""A story as rows: arrows between participants, notes, and the time that passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from coordinator_core.diagram.entries import Asked, Entry, Felt, Fired, Said, Story, Told, Waits
from coordinator_core.diagram.names import COORDINATOR, LOG, Names
from coordinator_core.diagram.notes import Notes
from coordinator_core.diagram.words import Requests, answer, op_name, record, seconds
from coordinator_core.protocol.messages import Event

LONG_MS = 1000  # a wait that is worth a row
_FOLDED = frozenset({"Heartbeat", "DescribeGroups", "OffsetFetch"})  # change nothing


@dataclass(frozen=True, slots=True)
class Arrow:
    """``is_answer`` is drawn dashed; ``is_both_ways``: asked and answered in one row."""

    at_ms: int
    source: str
    target: str
    text: str
    is_answer: bool = False
    is_both_ways: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """``over``: the column that it is of."""

    at_ms: int
    text: str
    over: str = COORDINATOR


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing happens for so long."""

    ms: int


Row = Arrow | Note | Pause


@dataclass(frozen=True, slots=True)
class Diagram:
    """``columns``: participants, the coordinator, the log.  ``settings`` a line or none."""

    title: str
    settings: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def draw(story: Story) -> Diagram:
    names = Names(story)
    rows = _Drawing(story, names).rows()
    return Diagram(story.title, _settings(story), names.columns, tuple(_with_pauses(_folded(rows))))


def _settings(story: Story) -> str:
    """Timeouts, where all members have the same."""
    joins = [step for step in story.steps.values() if step["op"] == "join"]
    said = []
    for kind in story.timeouts:
        found = {step[f"{kind}_timeout_ms"] for step in joins}
        if len(found) == 1:
            said.append(f"{kind} timeout {seconds(found.pop())}")
    return ", ".join(said)


class _Drawing:
    def __init__(self, story: Story, names: Names) -> None:
        self.story = story
        self.names = names
        self.requests = Requests(names)
        self.notes = Notes(story, names)
        self.unanswered: dict[str, int] = {}
        self.has_groups = len({step.get("group", "") for step in story.steps.values()}) > 1

    def rows(self) -> list[Row]:
        found: list[Row] = []
        entries = self.story.entries
        state = ""
        for entry, following in zip(entries, (*entries, None)[1:], strict=True):
            if isinstance(entry, Told) and entry.event.kind == "STATE":
                state = self._state(entry.event) or state
                if state and not (following and self.notes.is_continued_by(following)):
                    found.append(Note(entry.at_ms, self._of_group(entry.event.group_id, state)))
                    state = ""
                continue
            row = self._row(entry, state)
            if row is not None:
                found.append(row)
                state = ""
        return [*found, *self._left_over()]

    def _state(self, event: Event) -> str | None:
        return self.notes.state(event.group_id, event.state, event.generation)

    def _row(self, entry: Entry, state: str) -> Arrow | Note | None:
        """``state``: which is said with what the entry tells."""
        if isinstance(entry, Asked):
            self.notes.turn(entry)
            return self._asked(entry)
        if isinstance(entry, Fired):
            self.notes.turn(entry)
            return None
        if isinstance(entry, Said):
            return self._said(entry)
        if isinstance(entry, Felt):
            return Note(entry.at_ms, entry.text, entry.who)
        text = self.notes.text(entry)
        if text is None:
            return None
        group_id = entry.group_id if isinstance(entry, Waits) else entry.event.group_id
        return Note(entry.at_ms, self._of_group(group_id, f"{state}: {text}" if state else text))

    def _asked(self, entry: Asked) -> Arrow | Note:
        step = self.story.steps[entry.step_id]
        if step["op"] == "fault":
            return Note(entry.at_ms, f"the next append will fail: {step['append_error']}")
        self.unanswered[entry.step_id] = entry.at_ms
        source = self.names.of_step(entry.step_id)
        text = self._of_group(step["group"], self.requests.text(step))
        return Arrow(entry.at_ms, source, COORDINATOR, text)

    def _of_group(self, group_id: str, text: str) -> str:
        return f"{group_id}: {text}" if self.has_groups else text

    def _said(self, entry: Said) -> Arrow | Note | None:
        line, at_ms = entry.line, entry.at_ms
        if line["event"] == "record":
            return Arrow(at_ms, COORDINATOR, LOG, record(line, self.names))
        if line["event"] == "state":
            return None if self.story.is_seen_inside else self._told_state(at_ms, line)
        self.requests.hear(line)
        self.unanswered.pop(line["to"], None)
        target = self.names.of_step(line["to"])
        return Arrow(at_ms, COORDINATOR, target, answer(line, self.names), is_answer=True)

    def _told_state(self, at_ms: int, line: Mapping[str, Any]) -> Note | None:
        text = self.notes.state(line["group"], line["state"], line["generation"])
        return None if text is None else Note(at_ms, text)

    def _left_over(self) -> Iterator[Note]:
        end_ms = max((entry.at_ms for entry in self.story.entries), default=0)
        end_ms = max([end_ms, *(step["at_ms"] for step in self.story.steps.values())])
        for step_id, at_ms in self.unanswered.items():
            op, who = self.story.steps[step_id]["op"], self.names.of_step(step_id)
            known = "never answered" if self._is_repeated(step_id) else "not answered so far"
            yield Note(end_ms, f"{known}: {who}'s {op_name(op)} of {seconds(at_ms)}")

    def _is_repeated(self, step_id: str) -> bool:
        """Whether a later request of the same kind took its place."""
        op, who = self.story.steps[step_id]["op"], self.names.of_step(step_id)
        ids = list(self.story.steps)
        later = ids[ids.index(step_id) + 1 :]
        return any(
            self.story.steps[each]["op"] == op and self.names.of_step(each) == who for each in later
        )


def _folded(rows: list[Row]) -> Iterator[Row]:
    """What is answered at once takes one row, and a member's heartbeats in a row one for all."""
    folded: list[Row] = []
    for row in rows:
        last = folded[-1] if folded else None
        if _answers_at_once(last, row):
            assert isinstance(last, Arrow)
            assert isinstance(row, Arrow)
            said = row.text.partition(": ")[2]
            folded[-1] = replace(last, text=f"{last.text}: {said}", is_both_ways=True)
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
    """Of heartbeats that nothing comes between, a member's equal ones are said once."""
    run: dict[tuple[str, str], list[Arrow]] = {}
    for row in [*rows, None]:
        if isinstance(row, Arrow) and row.is_both_ways:
            run.setdefault((row.source, row.text), []).append(row)
            continue
        for arrows in sorted(run.values(), key=lambda each: each[0].at_ms):
            yield _as_one(arrows)
        run.clear()
        if row is not None:
            yield row


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
