"""Plays the requests of a real broker's trace with the engine, and reports differences.

    python tools/compare_broker_traces.py SCENARIOS TRACES

A broker's trace has the time at which each request was sent, and its answer; the engine gets the
same requests at the same times.  Answers, their order, records and log lines must be equal; times
may differ by 300 ms, because of the network, a busy machine and millisecond timers.
"""

from __future__ import annotations

import json
import re
import sys
from binascii import a2b_base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.eras import era_of_version, of_0_9_0, of_scala_2_12
from coordinator_core.coordinator.turn import MemberIds
from coordinator_core.coordinator.written_lines import line_of
from coordinator_core.log_lines import holds_in
from coordinator_core.protocol.messages import Event as EngineEvent
from coordinator_core.records import decode
from coordinator_core.scenarios.scenario import derived_ids, play

Json = Any
JsonLine = Mapping[str, Json]

TOLERANCE_MS = 300
MESSAGE_MAX_BYTES = 1_000_000  # approximately the brokers' default minus the overhead of a batch
BROKER_ERRORS = frozenset(
    {"UNKNOWN_TOPIC_OR_PARTITION"}
)  # The broker answers this itself, without its coordinator.
OFFSETS_PARTITIONS = 5
FAILED_REQUEST = "ERROR [KafkaApi"
# Sessions and syncs with the same deadline expire in two threads, in either order.
SYNC_EXPIRY, TWO_REAPERS = re.compile("sync( request)? expiration"), "2.8.1-3.9"
# 0.9.0 had its own exception for records that are too large.
RENAMED = "kafka.common.MessageSizeTooLargeException"
RENAMED_TO = "org.apache.kafka.common.errors.RecordTooLargeException"


class BrokerDifference(NamedTuple):
    scenario: str
    where: str
    broker: Json
    engine: Json


def era_of(start: JsonLine) -> Era:
    """The era of a trace's broker, by its version and the Scala that it was built with.

    Its lines are those of the version.
    """
    era = replace(era_of_version(start["era"]), kafka=start["era"])
    if start["era"].startswith("0.9."):
        return of_0_9_0(era)
    return era if "kafka_2.13" in start["runner"] else of_scala_2_12(era)


def differences(scenario: JsonLine, trace: list[JsonLine]) -> Iterator[BrokerDifference]:
    """The differences between the engine and the broker."""
    start = trace[0]
    shift_ms = _clean_up_phase(scenario, trace)
    sent = _as_sent(scenario, trace, shift_ms)
    events: list[EngineEvent] = []
    member_ids = _member_ids(sent, trace)
    played = play(sent, era_of(start), member_ids, "", lambda at_ms, e: events.append(e))
    name = scenario["name"]
    yield from _answers(name, trace, played, shift_ms)
    yield from _records(name, trace, played, shift_ms)
    yield from _lines(name, trace, events)


def _member_ids(sent: JsonLine, trace: list[JsonLine]) -> MemberIds:
    """The broker's ids, by client or instance id in the order of the joins that created them.

    A join without an answer, or with a failure, has its id only in other answers and records.
    """
    answered_ids = trace[0]["member_ids_by_step"]
    failed = "UNKNOWN_SERVER_ERROR"
    answered = {event["to"] for event in trace if event.get("error", failed) != failed}
    unknown = _ids_in(trace) - set(answered_ids.values())
    queues: dict[str, list[str]] = {}
    for step in sent["steps"]:
        if step["op"] != "join" or step["member"]:
            continue
        prefix = step["client_id"] if step["instance_id"] is None else step["instance_id"]
        queue = queues.setdefault(prefix, [])
        if step["id"] in answered_ids:
            queue.append(answered_ids[step["id"]])
        elif step["id"] not in answered:
            queue += sorted(each for each in unknown if each.startswith(prefix + "-"))
    derived_id = derived_ids()

    def next_id(group_id: str, prefix: str) -> str:
        queue = queues.get(prefix)
        return queue.pop(0) if queue else derived_id(group_id, prefix)

    return next_id


def _ids_in(trace: list[JsonLine]) -> set[str]:
    """The member ids in answers and records."""
    member_ids = set()
    for event in trace:
        if event.get("op") == "describe" and "members" in event:
            member_ids.update(member[0] for member in event["members"])
        if event["event"] == "record":
            record = _record(event, 0, 0)
            member_ids.update(member["member_id"] for member in record.value.get("members", ()))
    return member_ids


def _clean_up_phase(scenario: JsonLine, trace: list[JsonLine]) -> int:
    """Milliseconds between the last clean-up and the scenario's start, derived from tombstones."""
    interval_ms = scenario["config"].get("offsets_retention_check_interval_ms")
    if interval_ms is None:
        return 0
    at_ms = [e["at_ms"] for e in trace if e["event"] == "record" and e["value"] is None]
    return -at_ms[-1] % interval_ms if at_ms else 0


def _as_sent(scenario: JsonLine, trace: list[JsonLine], shift_ms: int) -> dict[str, Json]:
    """The scenario with the steps that were sent, at their times, and a wait up to the end."""
    sent = {e["to"]: e for e in trace if e.get("sent_at_ms") is not None}
    steps = []
    for step in scenario["steps"]:
        if step["id"] in sent:
            answer = sent[step["id"]]
            steps.append(_sent_step(step, answer) | {"at_ms": answer["sent_at_ms"] + shift_ms})
    steps.sort(key=lambda step: step["at_ms"])
    end_ms = trace[0]["captured_until_ms"] + shift_ms
    wait = {"at_ms": end_ms, "id": "captured", "op": "wait", "group": steps[0]["group"]}
    config = scenario["config"] | {
        "message_max_bytes": MESSAGE_MAX_BYTES,
        "offsets_topic_partitions": OFFSETS_PARTITIONS,
    }
    return {**scenario, "config": config, "steps": [*steps, wait]}


def _sent_step(step: JsonLine, answer: JsonLine) -> dict[str, Json]:
    """The step as the coordinator saw it, in the request version that was used."""
    sent_step = {**step, "version": answer["version"] or 0}
    if step["op"] == "commit" and "partitions" in answer:
        refused = {(t, p) for t, p, error in answer["partitions"] if error in BROKER_ERRORS}
        sent_step["offsets"] = [row for row in step["offsets"] if (row[0], row[1]) not in refused]
    if step["op"] == "join":
        sent_step["requires_known_member_id"] = sent_step["version"] >= 4
        sent_step["supports_skipping_assignment"] = sent_step["version"] >= 9
    if step["op"] == "fetch" and sent_step["version"] < 2 and not step["offsets"]:
        sent_step["offsets"] = None  # all partitions
    if step["op"] == "sync" and sent_step["version"] < 5:
        sent_step["protocol_type"] = sent_step["protocol_name"] = None
    if step["op"] == "leave" and sent_step["version"] < 3:
        sent_step["members"] = [[member_id, None] for member_id, _ in step["members"]]
    return sent_step


# -- answers -------------------------------------------------------------------------------------


def _answers(
    name: str, trace: list[JsonLine], played: list[dict[str, Json]], shift_ms: int
) -> Iterator[BrokerDifference]:
    engine = {e["to"]: e for e in played if e["event"] == "response"}
    for event in trace:
        if event["event"] not in ("response", "no_response") or event["sent_at_ms"] is None:
            continue
        answer = engine.get(event["to"])
        if event["event"] == "no_response":
            if answer is not None and answer["at_ms"] - shift_ms < event["at_ms"] - TOLERANCE_MS:
                yield BrokerDifference(name, event["to"], "no response", answer)
        elif answer is None:
            yield BrokerDifference(name, event["to"], event, "no response")
        else:
            ours, theirs = _comparable(answer, event), _comparable(event, event)
            late_ms = abs(answer["at_ms"] - shift_ms - event["at_ms"])
            if ours != theirs or late_ms > TOLERANCE_MS:
                ours["at_ms"], theirs["at_ms"] = answer["at_ms"] - shift_ms, event["at_ms"]
                yield BrokerDifference(name, event["to"], theirs, ours)


def _comparable(event: JsonLine, as_sent: JsonLine) -> dict[str, Json]:
    """The fields of an answer that exist in the version that was used."""
    skipped = {"at_ms", "event", "version", "sent_at_ms", "to", "error_message", "skip_assignment"}
    op, version = as_sent["op"], as_sent["version"]
    if op == "leave" and version < 3:
        skipped.add("members")
    if op in ("join", "sync") and as_sent.get("protocol_type") is None:
        skipped.add("protocol_type")  # KIP-559: older answers lack this field.
    if op == "sync" and version < 5:
        skipped |= {"protocol_type", "protocol_name"}
    fields = {key: value for key, value in event.items() if key not in skipped}
    if op == "describe" and version < 4:  # no instance ids
        fields["members"] = [[row[0], None, *row[2:]] for row in fields["members"]]
    if op == "join":
        fields["skip_assignment"] = event.get("skip_assignment") or False
        fields["protocol_name"] = event["protocol_name"] or None
    if "partitions" in fields:
        rows = [row for row in fields["partitions"] if row[-1] not in BROKER_ERRORS]
        fields["partitions"] = sorted(rows)
        if op == "commit":
            errors = {row[-1] for row in rows}
            fields["error"] = errors.pop() if len(errors) == 1 else "NONE"
    return fields


# -- records -------------------------------------------------------------------------------------


def _records(
    name: str, trace: list[JsonLine], played: list[dict[str, Json]], shift_ms: int
) -> Iterator[BrokerDifference]:
    origin_ms = trace[0]["started_wall_ms"]
    broker = [_record(e, origin_ms, 0) for e in trace if e["event"] == "record"]
    engine = [_record(e, 0, shift_ms) for e in played if e["event"] == "record"]
    if not era_of(trace[0]).has_empty_state:
        broker, engine = _in_any_order(broker), _in_any_order(engine)
    for index in range(max(len(broker), len(engine))):
        theirs = broker[index] if index < len(broker) else None
        ours = engine[index] if index < len(engine) else None
        if theirs is None or ours is None or not _same(theirs, ours):
            yield BrokerDifference(name, f"record {index}", theirs, ours)
            return


class _Record(NamedTuple):
    at_ms: int
    version: int | None
    key: Json
    value: Json
    times_ms: tuple[int, ...]


def _record(event: JsonLine, origin_ms: int, shift_ms: int) -> _Record:
    """A record; its times are separate, and relative to the scenario's start."""
    value = None if event["value"] is None else a2b_base64(event["value"])
    record = decode(a2b_base64(event["key"]), value)
    fields = dict(record.value or {})
    times = []
    for field in ("current_state_timestamp", "commit_timestamp", "expire_timestamp"):
        time_ms = fields.pop(field, None)
        if time_ms is not None and time_ms != -1:
            times.append(time_ms - origin_ms - shift_ms)
    at_ms = event["at_ms"] - shift_ms
    return _Record(at_ms, record.version, record.key, fields, tuple(times))


def _in_any_order(records: list[_Record]) -> list[_Record]:
    """The records with runs of expired offsets sorted: other groups affect their order."""

    def is_expiry(record: _Record) -> bool:
        return record.version is None and "topic" in record.key

    out: list[_Record] = []
    for expires, grouped in groupby(records, is_expiry):
        run = list(grouped)
        out += sorted(run, key=lambda record: repr(record.key)) if expires else run
    return out


def _same(broker: _Record, engine: _Record) -> bool:
    if broker[1:4] != engine[1:4] or len(broker.times_ms) != len(engine.times_ms):
        return False
    times = zip((broker.at_ms, *broker.times_ms), (engine.at_ms, *engine.times_ms), strict=True)
    return all(abs(theirs - ours) <= TOLERANCE_MS for theirs, ours in times)


# -- log lines -----------------------------------------------------------------------------------


def _lines(
    name: str, trace: list[JsonLine], events: list[EngineEvent]
) -> Iterator[BrokerDifference]:
    """Compare the lines that name the group, without their dates."""
    theirs = [_undated(e["line"]) for e in trace if e["event"] == "log"]
    theirs = [line for line in theirs if not line.startswith(FAILED_REQUEST)]
    if any(map(SYNC_EXPIRY.search, theirs)) and holds_in(TWO_REAPERS, trace[0]["era"]):
        return
    era, broker_id = era_of(trace[0]), trace[0]["find_coordinator"]["node_id"]
    printed = [
        line_of(event, era, local_ms=0, broker_id=broker_id, partitions=OFFSETS_PARTITIONS)
        for event in events
    ]
    ours = [_undated(line) for line in printed if line is not None and name in line]
    if ours != theirs:
        pairs = enumerate(zip_longest(theirs, ours))
        first = next(i for i, (their, our) in pairs if their != our)
        yield BrokerDifference(
            name, f"line {first}", theirs[first : first + 1], ours[first : first + 1]
        )


def _undated(line: str) -> str:
    """The first line of the text, without its date and the hash codes of Java objects."""
    text = line.partition("\n")[0].partition("] ")[2].replace(RENAMED, RENAMED_TO)
    return re.sub(r"\[B@\w+", "[B@0", text)


# -- the command ---------------------------------------------------------------------------------


def read_trace(path: Path) -> list[JsonLine]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def compared(scenarios: Path, traces: Path) -> Iterator[tuple[str, list[BrokerDifference]]]:
    """The name of each trace's scenario, with its differences."""
    for path in sorted(traces.glob("*.jsonl")):
        scenario = json.loads((scenarios / f"{path.stem}.json").read_bytes())
        yield path.stem, list(differences(scenario, read_trace(path)))


def main(arguments: Iterable[str]) -> int:
    scenarios, traces = map(Path, arguments)
    differing = total = 0
    for _, listed in compared(scenarios, traces):
        total += 1
        differing += bool(listed)
        for difference in listed:
            print(f"{difference.scenario} {difference.where}")
            print(f"    broker {json.dumps(difference.broker, default=repr)}")
            print(f"    engine {json.dumps(difference.engine, default=repr)}")
    print(f"{differing} of {total} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
