"""Plays a scenario of groups of all types with the engine."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig, Era
from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.coordinator.modern.settings import modern_settings
from coordinator_core.coordinator.turn import MemberIds
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    CommitResponse,
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    CopartitionGroup,
    DeleteGroup,
    DescribeGroup,
    Effect,
    Event,
    FetchResponse,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    Leaver,
    ListGroups,
    MemberHeartbeatResponse,
    OffsetCommit,
    OffsetFetch,
    Request,
    Respond,
    Response,
    ShareGroupDescribe,
    ShareGroupHeartbeat,
    StreamsGroupDescribe,
    StreamsGroupHeartbeat,
    StreamsHeartbeatResponse,
    Subtopology,
    SyncGroup,
    Topology,
)
from coordinator_core.scenarios.scenario import config_of, play
from coordinator_core.scenarios.trace_events import (
    modern_response_event,
    record_event,
)

Json = Any
Step = Mapping[str, Json]
Trace = list[dict[str, Json]]

OPS = frozenset(
    {
        "consumer_heartbeat",
        "share_heartbeat",
        "streams_heartbeat",
        "consumer_describe",
        "share_describe",
        "streams_describe",
        "list",
        "metadata",
        "group_config",
        "reload",
    }
)
"""The steps that only scenarios of all group types have."""

# A configured group of 4.1 has Kafka's defaults for the rest: the runner around its classes gives
# them none of the broker's.
_GROUP_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "4.1": {
        "consumer.session.timeout.ms": "45000",
        "consumer.heartbeat.interval.ms": "5000",
        "share.session.timeout.ms": "45000",
        "share.heartbeat.interval.ms": "5000",
        "streams.session.timeout.ms": "45000",
        "streams.heartbeat.interval.ms": "5000",
        "streams.num.standby.replicas": "0",
    }
}
_LAST = "last"
_FORGOTTEN = (Errors.NONE, Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID)
_ROLES = ("active", "standby", "warmup")


def has_modern_steps(scenario: Mapping[str, Json]) -> bool:
    return any(step["op"] in OPS for step in scenario["steps"])


@lru_cache(maxsize=4096)
def _decoded(text: str) -> bytes:
    return a2b_base64(text)


class Answer:
    """What an answer says of a member; ``assignment`` None: unchanged."""

    __slots__ = ("assignment", "epoch", "member_id")

    def __init__(self, member_id: str, epoch: int, assignment: list[Json] | None) -> None:
        self.member_id = member_id
        self.epoch = epoch
        self.assignment = assignment


class AllTypesPlayer:
    """Plays one scenario once."""

    def __init__(
        self,
        scenario: Mapping[str, Json],
        era: Era,
        member_ids: MemberIds,
        on_event: Callable[[int, Event], None] | None = None,
    ) -> None:
        self.on_event = on_event
        self.steps = scenario["steps"]
        self.era = era
        self.made_ids: list[str] = []
        self.config = _config(scenario.get("config", {}))
        self.coordinator = Coordinator(self.config, era, self._recording_ids(member_ids))
        self.trace: Trace = []
        self.by_id: dict[str, Step] = {step["id"]: step for step in self.steps}
        self.answers: dict[str, Answer] = {}  # "@id"
        self.last: dict[tuple[str, str], Answer] = {}  # by group and member
        self.fault: Errors | None = None
        self.written: list[tuple[bytes, bytes | None]] = []
        self.topics: dict[str, TopicImage] = {}
        self.names: dict[str, str] = {}  # of topics that are or were, by id
        self.unknown: dict[str, list[Json]] = {}  # step -> rows of topics that the broker lacks
        self.shown: dict[str, dict[str, Json]] = {}
        self.groups = list(dict.fromkeys(step["group"] for step in self.steps if "group" in step))

    def _recording_ids(self, member_ids: MemberIds) -> MemberIds:
        def made(group_id: str, prefix: str) -> str:
            self.made_ids.append(member_ids(group_id, prefix))
            return self.made_ids[-1]

        return made

    def play(self, runner: str) -> Trace:
        for step in self.steps:
            at_ms = step["at_ms"]
            self._advance(at_ms)
            self._take(step, at_ms)
            self._settle(at_ms)
            self._advance(at_ms)
        start = {"event": "start", "runner": runner, "member_ids": self.made_ids}
        return [start, *self.trace]

    def _advance(self, to_ms: int) -> None:
        """Fire timers up to and including this time, each with its consequences."""
        while True:
            due_ms = self.coordinator.next_deadline_ms()
            if due_ms is None or due_ms > to_ms:
                return
            self._perform(self.coordinator.fire_next(to_ms) or [], due_ms)
            self._settle(due_ms)

    def _settle(self, at_ms: int) -> None:
        while (effects := self.coordinator.run_background(at_ms)) is not None:
            self._perform(effects, at_ms)
        for group_id in self.groups:
            self._show_state(group_id, at_ms)

    def _take(self, step: Step, at_ms: int) -> None:
        op = step["op"]
        if op == "fault":
            self.fault = Errors[step["append_error"]]
        elif op == "metadata":
            deleted = step.get("deleted") or []
            topics = self.change_topics(step.get("topics") or [], deleted)
            self._perform(self.coordinator.change_topics(topics, deleted, at_ms), at_ms)
        elif op == "group_config":
            values = {name: str(value) for name, value in step["configs"].items()}
            values = {**_GROUP_DEFAULTS.get(self.era.name, {}), **values}
            self.coordinator.configure_group(step["group"], values)
        elif op == "reload":
            self._perform(self.coordinator.unload(at_ms), at_ms)
            self._perform(self.coordinator.load(self.written, at_ms), at_ms)
        elif op != "wait":
            request = self.request_of(step)
            if request is not None:
                self._perform(self.coordinator.handle(request, at_ms), at_ms)
            else:  # the broker answers by itself
                self.respond(Respond(step["id"], CommitResponse(())), at_ms)

    def _perform(self, effects: list[Effect], at_ms: int) -> None:
        for effect in effects:
            if type(effect) is Respond:
                self.respond(effect, at_ms)
            elif type(effect) is Append:
                error = self._write(effect, at_ms)
                self._perform(self.coordinator.appended(effect, error, at_ms), at_ms)
            elif self.on_event is not None:
                assert type(effect) is Event
                self.on_event(at_ms, effect)

    def _write(self, append: Append, at_ms: int) -> Errors:
        if self.fault is not None:
            error, self.fault = self.fault, None
            return error
        for key, value in append.records:
            self.trace.append(record_event(at_ms, key, value))
        self.written += append.records
        return Errors.NONE

    # -- answers

    def respond(self, effect: Respond, at_ms: int) -> None:
        request_id, response = effect
        step = self.by_id[request_id]
        if isinstance(response, FetchResponse) and response.error is not Errors.NONE:
            return  # traces have no answer to a refused fetch: their runner lost it
        self._keep(step, response)
        if isinstance(response, CommitResponse):
            response = self._with_unknown(request_id, response)
        event = modern_response_event(at_ms, request_id, step["op"], response, self.names)
        self.trace.append(event)

    def _with_unknown(self, request_id: str, response: CommitResponse) -> CommitResponse:
        error = Errors.UNKNOWN_TOPIC_OR_PARTITION
        rows = tuple([(row[0], row[1], error) for row in self.unknown.get(request_id, ())])
        return CommitResponse(rows + response.partitions)

    def _keep(self, step: Step, response: Response) -> None:
        """Keep what "@id" and "last" stand for."""
        if isinstance(response, JoinResponse):
            if response.error in (Errors.NONE, Errors.MEMBER_ID_REQUIRED):
                self._told(step, Answer(response.member_id, response.generation, None))
        elif isinstance(response, MemberHeartbeatResponse | StreamsHeartbeatResponse):
            epoch = self._epoch_of(step, "member_epoch", 0)
            if response.error is Errors.NONE and epoch >= 0:
                rows = response.assignment
                shown = None if rows is None else _rows_by_name(rows, self.names)
                answer = Answer(response.member_id or "", response.member_epoch, shown)
                self._told(step, answer)
            elif response.error in _FORGOTTEN:
                self.last.pop((step["group"], self.member(step["member"])), None)

    def _told(self, step: Step, answer: Answer) -> None:
        self.answers["@" + step["id"]] = answer
        key = step["group"], answer.member_id
        before = self.last.get(key)
        if answer.assignment is None and before is not None:
            answer = Answer(answer.member_id, answer.epoch, before.assignment)
        self.last[key] = answer

    # -- states

    def _show_state(self, group_id: str, at_ms: int) -> None:
        view, last = self._view(group_id), self.shown.get(group_id)
        if view is None:
            if last is None or last["state"] == "Dead":
                return
            view = {"type": last["type"], "state": "Dead"}
        if last is not None and _is_same(view, last):
            return
        self.shown[group_id] = view
        self.trace.append({"at_ms": at_ms, "event": "state", "group": group_id, **view})

    def _view(self, group_id: str) -> dict[str, Json] | None:
        modern = self.coordinator.modern_groups.get(group_id)
        if modern is not None:
            return {
                "type": modern.group_type,
                "state": modern.state_name(),
                "epoch": modern.epoch,
                "assignment_epoch": modern.assignment_epoch,
                "members": [list(row) for row in modern.member_rows()],
            }
        group = self.coordinator.groups.get(group_id)
        if group is None:
            return None
        return {
            "type": "classic",
            "state": group.state.value,
            "generation": group.generation,
            "leader": group.leader,
            "members": [member.member_id for member in group.in_order()],
        }

    # -- references

    def member(self, text: str | None) -> str:
        answer = self.answers.get(text or "")
        return text or "" if answer is None else answer.member_id

    def _epoch_of(self, step: Step, name: str, otherwise: int) -> int:
        value = step.get(name)
        if value is None:
            return otherwise
        if not isinstance(value, str):
            return int(value)
        if value == _LAST:
            last = self._last(step)
            return 0 if last is None else last.epoch
        answer = self.answers.get(value)
        return -1 if answer is None else answer.epoch

    def _last(self, step: Step) -> Answer | None:
        return self.last.get((step["group"], self.member(step.get("member"))))

    def _owned_rows(self, step: Step) -> list[Json] | None:
        value = step.get("owned")
        if not isinstance(value, str):
            return value
        answer = self._last(step) if value == _LAST else self.answers.get(value)
        return [] if answer is None or answer.assignment is None else answer.assignment

    def _topic_id(self, name: str) -> str:
        topic = self.topics.get(name)
        if topic is not None:
            return topic.topic_id
        former = [topic_id for topic_id, each in self.names.items() if each == name]
        if former:
            return former[-1]
        return _uuid_text((0xDEAD << 64) | string_hash(name) & (1 << 64) - 1)

    def change_topics(self, rows: list[Json], deleted: list[str]) -> list[TopicImage]:
        for name in deleted:
            del self.topics[name]
        topics = [self._grown(row) for row in rows]
        changed = [topic for topic in topics if self.topics.get(topic.name) != topic]
        for topic in changed:
            self.topics[topic.name] = topic
            self.names.pop(topic.topic_id, None)
            self.names[topic.topic_id] = topic.name
        return changed

    def _grown(self, row: Json) -> TopicImage:
        """The topic with new partitions; those that it has keep their replicas."""
        topic_id = _uuid_text(int(row["id"].replace("-", ""), 16))
        before = self.topics.get(row["name"]) or TopicImage(row["name"], topic_id, 0)
        count = max(row["partitions"], before.partitions)
        racks = [list(each) for each in before.racks] + [[]] * (
            before.partitions - len(before.racks)
        )
        new_racks = row.get("racks") or []
        racks += [
            new_racks[p] if p < len(new_racks) else [] for p in range(before.partitions, count)
        ]
        kept = tuple([tuple([rack for rack in each if rack]) for each in racks])
        return TopicImage(row["name"], before.topic_id, count, kept if any(kept) else ())

    # -- requests

    def request_of(self, step: Step) -> Request | None:
        """The step's request; None for a commit that the broker answers without its coordinator."""
        return _REQUESTS[step["op"]](self, step)

    def consumer_heartbeat(self, step: Step) -> Request:
        epoch = self._epoch_of(step, "member_epoch", 0)
        is_brief = bool(step.get("brief"))
        full = step if not is_brief or epoch == 0 else {}
        owned = [] if is_brief and epoch == 0 else self._owned_rows(step)
        rows = None
        if owned is not None:
            rows = tuple([(self._topic_id(name), tuple(parts)) for name, parts in owned])
        return ConsumerGroupHeartbeat(
            step["id"],
            step["group"],
            self.member(step.get("member")),
            epoch,
            step.get("instance_id"),
            full.get("rack_id"),
            _int(full, "rebalance_timeout_ms", -1),
            step.get("client_id") or "oracle",
            step.get("client_host") or "/127.0.0.1",
            _texts(full, "topics"),
            full.get("regex"),
            full.get("assignor"),
            rows,
            _int(step, "version", 1),
        )

    def share_heartbeat(self, step: Step) -> Request:
        epoch = self._epoch_of(step, "member_epoch", 0)
        full = step if not step.get("brief") or epoch == 0 else {}
        return ShareGroupHeartbeat(
            step["id"],
            step["group"],
            self.member(step.get("member")),
            epoch,
            full.get("rack_id"),
            step.get("client_id") or "oracle",
            step.get("client_host") or "/127.0.0.1",
            _texts(full, "topics"),
        )

    def streams_heartbeat(self, step: Step) -> Request:
        epoch = self._epoch_of(step, "member_epoch", 0)
        is_brief = bool(step.get("brief"))
        full = step if not is_brief or epoch == 0 else {}
        owned = [] if is_brief and epoch == 0 else self._owned_rows(step)
        tags, endpoint = full.get("client_tags"), full.get("endpoint")
        return StreamsGroupHeartbeat(
            step["id"],
            step["group"],
            self.member(step.get("member")),
            epoch,
            step.get("instance_id"),
            full.get("rack_id"),
            _int(full, "rebalance_timeout_ms", -1),
            step.get("client_id") or "oracle",
            step.get("client_host") or "/127.0.0.1",
            full.get("process_id"),
            _topology(full["topology"]) if full.get("topology") else None,
            None if tags is None else tuple([(key, value) for key, value in tags]),
            None if endpoint is None else (endpoint[0], endpoint[1]),
            _int(step, "endpoint_epoch", 0),
            bool(step.get("shutdown")),
            None if owned is None else tuple([(row[0], row[1], tuple(row[2])) for row in owned]),
            _int(step, "version", 0),
        )

    def consumer_describe(self, step: Step) -> Request:
        return ConsumerGroupDescribe(step["id"], step["group"])

    def share_describe(self, step: Step) -> Request:
        return ShareGroupDescribe(step["id"], step["group"])

    def streams_describe(self, step: Step) -> Request:
        return StreamsGroupDescribe(step["id"], step["group"])

    def list(self, step: Step) -> Request:
        return ListGroups(step["id"])

    def join(self, step: Step) -> Request:
        skips = bool(step.get("supports_skipping_assignment"))
        protocols = step.get("protocols") or []
        return JoinGroup(
            step["id"],
            step["group"],
            self.member(step.get("member")),
            step.get("instance_id"),
            step.get("client_id") or "oracle",
            step.get("client_host") or "/127.0.0.1",
            _int(step, "session_timeout_ms", 10000),
            _int(step, "rebalance_timeout_ms", 60000),
            step.get("protocol_type") or "",
            tuple([(name, _decoded(metadata)) for name, metadata in protocols]),
            skips or bool(step.get("requires_known_member_id")),
            skips,
            step.get("reason"),
        )

    def sync(self, step: Step) -> Request:
        rows = step.get("assignments") or []
        return SyncGroup(
            step["id"],
            step["group"],
            self.member(step.get("member")),
            self._epoch_of(step, "generation", -1),
            step.get("instance_id"),
            step.get("protocol_type"),
            step.get("protocol_name"),
            {self.member(who): _decoded(data) for who, data in rows},
        )

    def heartbeat(self, step: Step) -> Request:
        return Heartbeat(
            step["id"],
            step["group"],
            self.member(step.get("member")),
            self._epoch_of(step, "generation", -1),
            step.get("instance_id"),
        )

    def leave(self, step: Step) -> Request:
        members = [Leaver(self.member(who), instance) for who, instance in step["members"]]
        return LeaveGroup(step["id"], step["group"], tuple(members))

    def commit(self, step: Step) -> Request | None:
        """None if the broker knows none of the topics; it adds topic ids, in 4.1 in version 10."""
        version = _int(step, "version", 9)
        rules = self.era.modern
        adds_ids = rules is not None and rules.broker_adds_topic_ids
        rows = _by_topic(step.get("offsets") or [])
        if adds_ids:
            self.unknown[step["id"]] = [row for row in rows if row[0] not in self.topics]
            rows = [row for row in rows if row[0] in self.topics]
            if not rows and self.unknown[step["id"]]:
                return None
        has_ids = adds_ids or version >= 10
        return OffsetCommit(
            step["id"],
            step["group"],
            self.member(step.get("member")),
            self._epoch_of(step, "generation", -1),
            tuple([(row[0], row[1], row[2], row[3]) for row in rows]),
            step.get("instance_id"),
            version,
            topic_ids={row[0]: self._topic_id(row[0]) for row in rows} if has_ids else {},
        )

    def fetch(self, step: Step) -> Request:
        offsets = step.get("offsets")
        rows = None if offsets is None else [(row[0], row[1]) for row in _by_topic(offsets)]
        return OffsetFetch(
            step["id"],
            step["group"],
            None if rows is None else tuple(rows),
            self.member(step["member"]) if step.get("member") is not None else None,
            self._epoch_of(step, "member_epoch", -1),
        )

    def describe(self, step: Step) -> Request:
        return DescribeGroup(step["id"], step["group"], _int(step, "version", 6))

    def delete(self, step: Step) -> Request:
        return DeleteGroup(step["id"], step["group"])


def _config(values: Mapping[str, Json]) -> CoordinatorConfig:
    kafka = values.get("kafka") or {}
    plain = {
        name.replace(".", "_"): int(value)
        for name, value in kafka.items()
        if not name.startswith(("group.consumer.", "group.share.", "group.streams."))
    }
    return replace(config_of({**values, **plain}), modern=modern_settings(kafka))


def _is_same(view: Mapping[str, Json], last: Mapping[str, Json]) -> bool:
    """Of a classic group only state and generation count."""
    if view["type"] == "classic" and last["type"] == "classic":
        return view["state"] == last["state"] and view.get("generation") == last.get("generation")
    return view == last


def _int(step: Step, name: str, otherwise: int) -> int:
    value = step.get(name)
    return otherwise if value is None else int(value)


def _texts(step: Step, name: str) -> tuple[str, ...] | None:
    values = step.get(name)
    return None if values is None else tuple(values)


def _by_topic(rows: Iterable[Json]) -> list[Json]:
    """Rows grouped by topic, topics in order of their first row, as in a request."""
    topics: dict[str, list[Json]] = {}
    for row in rows:
        topics.setdefault(row[0], []).append(row)
    return [row for rows_ in topics.values() for row in rows_]


def _uuid_text(number: int) -> str:
    return urlsafe_b64encode(number.to_bytes(16, "big"))[:22].decode()


def _rows_by_name(rows: Iterable[Any], names: Mapping[str, str]) -> list[Json]:
    """Rows of topics with names for ids, or rows of tasks; sorted."""
    out = [[names.get(row[0], row[0]), *row[1:-1], sorted(row[-1])] for row in rows]
    return sorted(out, key=_row_order)


def _row_order(row: list[Json]) -> list[Json]:
    return [_ROLES.index(row[0]), *row[1:]] if len(row) == 3 else row


def _topology(json: Json) -> Topology:
    return Topology(
        _int(json, "epoch", 0), tuple([_subtopology(sub) for sub in json.get("subtopologies", ())])
    )


def _subtopology(json: Json) -> Subtopology:
    return Subtopology(
        json["id"],
        tuple(json.get("source_topics") or ()),
        tuple(json.get("repartition_sink_topics") or ()),
        tuple([(row[0], row[1]) for row in json.get("repartition_source_topics") or ()]),
        tuple([(row[0], row[1]) for row in json.get("changelog_topics") or ()]),
        tuple([_copartition_group(each) for each in json.get("copartition_groups") or ()]),
    )


def _copartition_group(json: Json) -> CopartitionGroup:
    return CopartitionGroup(
        tuple(json.get("source_topics") or ()), tuple(json.get("repartition_source_topics") or ())
    )


_REQUESTS: Mapping[str, Callable[[AllTypesPlayer, Step], Request | None]] = {
    op: getattr(AllTypesPlayer, op)
    for op in (
        "consumer_heartbeat",
        "share_heartbeat",
        "streams_heartbeat",
        "consumer_describe",
        "share_describe",
        "streams_describe",
        "list",
        "join",
        "sync",
        "heartbeat",
        "leave",
        "commit",
        "fetch",
        "describe",
        "delete",
    )
}


def play_scenario(
    scenario: Mapping[str, Json], era: Era, member_ids: MemberIds, runner: str
) -> Trace:
    """Play a scenario of either format; returns its trace in the same format, start line first."""
    if has_modern_steps(scenario):
        return AllTypesPlayer(scenario, era, member_ids).play(runner)
    return play(scenario, era, member_ids, runner)
