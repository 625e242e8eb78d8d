"""Production compared with the engine: the first divergence of a generation, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.written_lines import line_of
from coordinator_core.incident.engine_driver import EngineOutput
from coordinator_core.incident.evidence import LogEvent, MetadataRecord
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.stimuli import Stimulus
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Event
from coordinator_core.records import decode

# Tolerances: a broker's timers fire late (timer wheel, threads), and its lines are logged late.
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
    """``evidence`` is the line or record of production."""

    what: str
    production: Any
    replay: Any
    evidence: str

    def __str__(self) -> str:
        return f"{self.what}: production {self.production}, replay {self.replay}"


class Comparison(NamedTuple):
    """``divergence``: the first; ``late_ms`` is the largest time difference, production's time
    minus the engine's; ``exact`` means that all records are equal byte for byte, state timestamps
    included.
    """

    divergence: Divergence | None
    late_ms: int
    exact: bool


def compare(
    evidence: GenerationEvidence,
    outputs: Iterable[EngineOutput],
    era: Era,
    *,
    with_times: bool,
    with_records: bool,
) -> Comparison:
    """``with_times`` compares times, which only a log has; ``with_records``: compare records."""
    outputs = list(outputs)
    divergences = [_refusal(*each.refused) for each in outputs if each.refused is not None]
    late = [0]
    if evidence.start is not None:
        divergences += _compare_lines(evidence, _logged(evidence, outputs, era), late)
    exact = with_records
    if with_records and evidence.generation > 0:
        records = [each for each in outputs if each.record is not None and _is_group(each)]
        own = [each for each in records if _value(each)["generation"] == evidence.generation]
        divergences += _compare_records(evidence, own, late if with_times else None)
        exact = not divergences and all(
            each.record is not None and each.record[1] == record.value(record.state_timestamp_ms)
            for each, record in zip(own, evidence.records, strict=True)
        )
    late_ms = max(late, key=abs)
    if not divergences and with_times and not -EARLY_MS <= late_ms <= TIMER_LATE_MS:
        divergences.append(
            Divergence("time", f"{late_ms} ms later", "on time", evidence.last_where)
        )
    return Comparison(divergences[0] if divergences else None, late_ms, exact)


def _refusal(commit: Stimulus, error: Errors) -> Divergence:
    production = f"a stored commit of {commit.member_id}"
    return Divergence("commit", production, f"refused: {error.name}", commit.evidence)


# -- lines ---------------------------------------------------------------------------------------


def _logged(
    evidence: GenerationEvidence, outputs: list[EngineOutput], era: Era
) -> list[EngineOutput]:
    """Events that the broker would log at INFO; at DEBUG, if its log has lines of that event."""
    logged_events = {each.event for each in evidence.events}
    return [
        each
        for each in outputs
        if each.event is not None
        and each.event.kind in _FIELDS
        and (each.event.kind in logged_events or line_of(each.event, era, local_ms=0) is not None)
    ]


def _compare_lines(
    evidence: GenerationEvidence, logged: list[EngineOutput], late: list[int]
) -> Iterator[Divergence]:
    """Adds the time difference of each line to ``late``."""
    lines = [each for each in evidence.events if each.event in _FIELDS]
    for line, each in zip(lines, logged, strict=False):
        assert each.event is not None
        production, engine = _values_of_line(line), _values_of_event(each.event)
        if line.event != each.event.kind or not _agree(production, engine):
            yield Divergence(
                "what happened",
                _shown(line.event, production),
                _shown(each.event.kind, engine),
                line.where,
            )
            return
        late.append(line.at_ms - each.at_ms)
    if len(lines) > len(logged):
        line = lines[len(logged)]
        shown = _shown(line.event, _values_of_line(line))
        yield Divergence("what happened", shown, "nothing", line.where)
    elif len(logged) > len(lines):
        event = logged[len(lines)].event
        assert event is not None
        shown = _shown(event.kind, _values_of_event(event))
        yield Divergence("what happened", "nothing", shown, evidence.events[-1].where)


def _agree(production: tuple[Any, ...], engine: tuple[Any, ...]) -> bool:
    """Returns whether the fields of the line are equal; older wordings have fewer fields."""
    return all(a is None or a == b for a, b in zip(production, engine, strict=True))


def _values_of_line(line: LogEvent) -> tuple[Any, ...]:
    values = [getattr(line, field) for field in _FIELDS[line.event]]
    if line.event == "REBALANCE_START" and line.members:
        values[2] = line.members
    return (line.event, *map(_unordered, values))


def _values_of_event(event: Event) -> tuple[Any, ...]:
    fields = {"generation": event.generation} | dict(event.fields)
    values = [fields.get(field) for field in _FIELDS[event.kind]]
    if event.kind == "REBALANCE_START" and fields.get("members"):
        values[2] = fields["members"]
    return (event.kind, *map(_unordered, values))


def _unordered(value: Any) -> Any:
    """A list of one member equals the member; the order of several does not matter."""
    if isinstance(value, (tuple, list)):
        return value[0] if len(value) == 1 else tuple(sorted(value))
    return value


def _shown(kind: str, values: tuple[Any, ...]) -> str:
    fields = zip(_FIELDS[kind], values[1:], strict=False)
    return f"{kind}({', '.join(f'{name}={value}' for name, value in fields if value is not None)})"


# -- records -------------------------------------------------------------------------------------


def _is_group(each: EngineOutput) -> bool:
    assert each.record is not None
    return each.record[1] is not None and each.record[0][:2] == b"\x00\x02"


def _value(each: EngineOutput) -> dict[str, Any]:
    assert each.record is not None
    return decode(*each.record).value or {}


def _compare_records(
    evidence: GenerationEvidence, written: list[EngineOutput], late: list[int] | None
) -> Iterator[Divergence]:
    """Adds the time difference of each record, if known, to ``late``."""
    for record, each in zip(evidence.records, written, strict=False):
        yield from _compare_record(record, each, late)
    if len(evidence.records) > len(written):
        record = evidence.records[len(written)]
        shown = f"a record of generation {record.generation} with {len(record.members)} members"
        yield Divergence("record", shown, "none", record.where)
    elif len(written) > len(evidence.records):
        shown = f"a record of generation {evidence.generation}"
        yield Divergence("record", "none", shown, evidence.last_where)


def _compare_record(
    record: MetadataRecord, each: EngineOutput, late: list[int] | None
) -> Iterator[Divergence]:
    value = _value(each)
    for name in ("protocol_type", "generation", "protocol", "leader"):
        production = getattr(record, name)
        if production != value[name]:
            yield Divergence(name, production, value[name], record.where)
    yield from _compare_members(record, value["members"])
    timestamp_ms = value.get("current_state_timestamp", -1)
    if each.record is None or each.record[1] != record.value(timestamp_ms):
        yield Divergence("bytes", f"version {record.version}", "others", record.where)
    if record.state_timestamp_ms > 0 and timestamp_ms > 0 and late is not None:
        late.append(record.state_timestamp_ms - timestamp_ms)


def _compare_members(record: MetadataRecord, engine: list[dict[str, Any]]) -> Iterator[Divergence]:
    ids = [member["member_id"] for member in engine]
    production_ids = [member.member_id for member in record.members]
    if ids != production_ids:
        is_order = sorted(ids) == sorted(production_ids)
        what = "order of members" if is_order else "members"
        yield Divergence(what, production_ids, ids, record.where)
        return
    for member, engine_member in zip(record.members, engine, strict=True):
        for name, layout_name in _MEMBER_FIELDS:
            value, engine_value = getattr(member, name), engine_member.get(layout_name)
            if layout_name in engine_member and value != engine_value:
                what = f"{name} of {member.member_id}"
                yield Divergence(what, value, engine_value, record.where)
