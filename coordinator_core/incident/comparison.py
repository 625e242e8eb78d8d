"""What the engine did beside what production left behind: the first difference, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.written_lines import line_of
from coordinator_core.incident.engine_driver import EngineOutput
from coordinator_core.incident.evidence import GroupRecord, LogEvent
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.stimuli import Stimulus
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Event
from coordinator_core.records import decode

# A timer of a broker fires late, by its wheel and its threads; a line is written late.
TIMER_LATE_MS = 500
EARLY_MS = 20

_FIELDS: dict[str, tuple[str, ...]] = {
    "REBALANCE_START": ("generation", "cause", "member_id"),
    "JOIN_COMPLETE": ("generation", "member_count"),
    "GROUP_EMPTY": ("generation",),
    "ASSIGNMENT_RECEIVED": ("generation", "member_id", "member_count"),
    "HEARTBEAT_EXPIRED": ("member_id",),
    "LEFT": ("member_id",),
    "STATIC_NEW": ("member_id",),
    "STATIC_REPLACED": ("old_member_id",),
}

_MEMBER_FIELDS = (
    ("member_id", "member_id"),
    ("instance_id", "group_instance_id"),
    ("client_id", "client_id"),
    ("client_host", "client_host"),
    ("rebalance_timeout_ms", "rebalance_timeout"),
    ("session_timeout_ms", "session_timeout"),
    ("subscription", "subscription"),
    ("assignment", "assignment"),
)


class Divergence(NamedTuple):
    """``evidence``: the line or record that has what production did."""

    what: str
    production: Any
    replay: Any
    evidence: str

    def __str__(self) -> str:
        return f"{self.what}: production {self.production}, replay {self.replay}"


class Comparison(NamedTuple):
    """What a chapter came to; the largest time difference is production's time minus the replay's.

    ``exact``: all records are the same to the last bit, timestamps included.
    """

    difference: Divergence | None
    late_ms: int
    exact: bool


def compare(
    chapter: GenerationEvidence,
    engine_outputs: Iterable[EngineOutput],
    era: Era,
    *,
    with_times: bool,
) -> Comparison:
    """``with_times``: the log says when things happened; records alone do not."""
    all_ = list(engine_outputs)
    differences = [_refusal(*each.refused) for each in all_ if each.refused is not None]
    late = [0]
    if chapter.start is not None:
        differences += _events(chapter, _told_of(chapter, all_, era), late)
    exact = True
    if chapter.generation > 0:
        records = [each for each in all_ if each.record is not None and _is_group(each)]
        own = [each for each in records if _value(each)["generation"] == chapter.generation]
        for difference in _records(chapter, own, late if with_times else []):
            differences.append(difference)
        exact = not differences and all(
            each.record is not None and each.record[1] == record.value(record.state_timestamp_ms)
            for each, record in zip(own, chapter.records, strict=True)
        )
    late_ms = max(late, key=abs)
    if not differences and with_times and not -EARLY_MS <= late_ms <= TIMER_LATE_MS:
        shown = f"{late_ms} ms later"
        differences.append(Divergence("time", shown, "on time", chapter.last_where))
    return Comparison(differences[0] if differences else None, late_ms, exact)


def _refusal(commit: Stimulus, error: Errors) -> Divergence:
    shown = f"a commit of {commit.member_id}"
    return Divergence("commit", f"{shown} stored", f"refused: {error.name}", commit.evidence)


# -- lines ---------------------------------------------------------------------------------------


def _told_of(
    chapter: GenerationEvidence, engine_outputs: list[EngineOutput], era: Era
) -> list[EngineOutput]:
    """What the broker would have logged: at INFO, or at all if the log has lines of DEBUG."""
    said = {each.event for each in chapter.events}
    return [
        each
        for each in engine_outputs
        if each.event is not None
        and each.event.kind in _FIELDS
        and (each.event.kind in said or line_of(each.event, era, local_ms=0) is not None)
    ]


def _events(
    chapter: GenerationEvidence, engine_outputs: list[EngineOutput], late: list[int]
) -> Iterator[Divergence]:
    said = [each for each in chapter.events if each.event in _FIELDS]
    for line, each in zip(said, engine_outputs, strict=False):
        assert each.event is not None
        theirs, ours = _told(line), _did(each.event)
        if line.event != each.event.kind or not _agree(theirs, ours):
            yield Divergence(
                "what happened",
                _shown(line.event, theirs),
                _shown(each.event.kind, ours),
                line.where,
            )
            return
        late.append(line.at_ms - each.at_ms)
    if len(said) > len(engine_outputs):
        line = said[len(engine_outputs)]
        yield Divergence("what happened", _shown(line.event, _told(line)), "nothing", line.where)
    elif len(engine_outputs) > len(said):
        event = engine_outputs[len(said)].event
        assert event is not None
        shown = _shown(event.kind, _did(event))
        yield Divergence("what happened", "nothing", shown, chapter.events[-1].where)


def _agree(theirs: tuple[Any, ...], ours: tuple[Any, ...]) -> bool:
    """In what the line says; older wordings say less."""
    return all(a is None or a == b for a, b in zip(theirs, ours, strict=True))


def _told(line: LogEvent) -> tuple[Any, ...]:
    values = [getattr(line, field) for field in _FIELDS[line.event]]
    if line.event == "REBALANCE_START" and line.members:
        values[2] = line.members
    return (line.event, *map(_unlisted, values))


def _did(event: Event) -> tuple[Any, ...]:
    fields = {"generation": event.generation} | dict(event.fields)
    values = [fields.get(field) for field in _FIELDS[event.kind]]
    if event.kind == "REBALANCE_START" and fields.get("members"):
        values[2] = fields["members"]
    return (event.kind, *map(_unlisted, values))


def _unlisted(value: Any) -> Any:
    """Of one member it is the same whether the line lists it; several are in no order."""
    if isinstance(value, (tuple, list)):
        return value[0] if len(value) == 1 else tuple(sorted(value))
    return value


def _shown(kind: str, values: tuple[Any, ...]) -> str:
    told = zip(_FIELDS[kind], values[1:], strict=False)
    return f"{kind}({', '.join(f'{name}={value}' for name, value in told if value is not None)})"


# -- records -------------------------------------------------------------------------------------


def _is_group(each: EngineOutput) -> bool:
    assert each.record is not None
    return each.record[1] is not None and each.record[0][:2] == b"\x00\x02"


def _value(each: EngineOutput) -> dict[str, Any]:
    assert each.record is not None
    return decode(*each.record).value or {}


def _records(
    chapter: GenerationEvidence, engine_outputs: list[EngineOutput], late: list[int]
) -> Iterator[Divergence]:
    for record, each in zip(chapter.records, engine_outputs, strict=False):
        yield from _record(record, each, late)
    if len(chapter.records) > len(engine_outputs):
        record = chapter.records[len(engine_outputs)]
        shown = f"a record of generation {record.generation} with {len(record.members)} members"
        yield Divergence("record", shown, "none", record.where)
    elif len(engine_outputs) > len(chapter.records):
        shown = f"one of generation {chapter.generation}"
        yield Divergence("record", "none", shown, chapter.last_where)


def _record(record: GroupRecord, each: EngineOutput, late: list[int]) -> Iterator[Divergence]:
    value = _value(each)
    for name in ("protocol_type", "generation", "protocol", "leader"):
        theirs = getattr(record, name)
        if theirs != value[name]:
            yield Divergence(name, theirs, value[name], record.where)
    yield from _members(record, value["members"])
    timestamp_ms = value.get("current_state_timestamp", -1)
    if each.record is None or each.record[1] != record.value(timestamp_ms):
        yield Divergence("bytes", f"version {record.version}", "others", record.where)
    if record.state_timestamp_ms > 0 and timestamp_ms > 0 and late:
        late.append(record.state_timestamp_ms - timestamp_ms)


def _members(record: GroupRecord, ours: list[dict[str, Any]]) -> Iterator[Divergence]:
    ids = [member["member_id"] for member in ours]
    theirs = [member.member_id for member in record.members]
    if ids != theirs:
        is_order = sorted(ids) == sorted(theirs)
        yield Divergence("order of members" if is_order else "members", theirs, ids, record.where)
        return
    for member, own in zip(record.members, ours, strict=True):
        for name, layout_name in _MEMBER_FIELDS:
            known = own.get(layout_name)
            value = getattr(member, name)
            if layout_name in own and value != known:
                yield Divergence(f"{name} of {member.member_id}", value, known, record.where)
