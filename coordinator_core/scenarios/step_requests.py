"""The request of a step, for groups of all types.

A step has only the fields that its test is about; all other fields have the value that a client
sends.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from coordinator_core.coordinator.era import Era
from coordinator_core.protocol.messages import (
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    CopartitionGroup,
    DeleteGroup,
    DescribeGroup,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaver,
    ListGroups,
    OffsetCommit,
    OffsetFetch,
    Request,
    ShareGroupDescribe,
    ShareGroupHeartbeat,
    StreamsGroupDescribe,
    StreamsGroupHeartbeat,
    Subtopology,
    SyncGroup,
    Topology,
)
from coordinator_core.scenarios.references import References
from coordinator_core.scenarios.topics import ScenarioTopics

Json = Any
Step = Mapping[str, Json]


@lru_cache(maxsize=4096)
def _decoded(text: str) -> bytes:
    return a2b_base64(text)


class StepRequests:
    """``unknown``: by step id, rows of a commit whose topics the broker lacks."""

    def __init__(self, era: Era, references: References, topics: ScenarioTopics) -> None:
        self._era = era
        self._references = references
        self._topics = topics
        self.unknown: dict[str, list[Json]] = {}

    def request_of(self, step: Step) -> Request | None:
        """The step's request, or None for a commit that the broker answers without its
        coordinator.
        """
        return _REQUESTS[step["op"]](self, step)

    def consumer_heartbeat(self, step: Step) -> Request:
        epoch = self._references.epoch_of(step, "member_epoch", 0)
        is_brief = bool(step.get("brief"))
        full = step if not is_brief or epoch == 0 else {}
        owned = [] if is_brief and epoch == 0 else self._references.owned_rows(step)
        rows = None
        if owned is not None:
            rows = tuple([(self._topics.id_of(name), tuple(parts)) for name, parts in owned])
        return ConsumerGroupHeartbeat(
            request_id=step["id"],
            group_id=step["group"],
            member_id=self._references.member(step.get("member")),
            member_epoch=epoch,
            instance_id=step.get("instance_id"),
            rack_id=full.get("rack_id"),
            rebalance_timeout_ms=_int(full, "rebalance_timeout_ms", -1),
            client_id=step.get("client_id", "oracle"),
            client_host=step.get("client_host") or "/127.0.0.1",
            topics=_texts(full, "topics"),
            regex=full.get("regex"),
            assignor=full.get("assignor"),
            owned=rows,
            version=_int(step, "version", 1),
        )

    def share_heartbeat(self, step: Step) -> Request:
        epoch = self._references.epoch_of(step, "member_epoch", 0)
        full = step if not step.get("brief") or epoch == 0 else {}
        return ShareGroupHeartbeat(
            request_id=step["id"],
            group_id=step["group"],
            member_id=self._references.member(step.get("member")),
            member_epoch=epoch,
            rack_id=full.get("rack_id"),
            client_id=step.get("client_id", "oracle"),
            client_host=step.get("client_host") or "/127.0.0.1",
            topics=_texts(full, "topics"),
        )

    def streams_heartbeat(self, step: Step) -> Request:
        epoch = self._references.epoch_of(step, "member_epoch", 0)
        is_brief = bool(step.get("brief"))
        full = step if not is_brief or epoch == 0 else {}
        owned = [] if is_brief and epoch == 0 else self._references.owned_rows(step)
        tags, endpoint = full.get("client_tags"), full.get("endpoint")
        return StreamsGroupHeartbeat(
            request_id=step["id"],
            group_id=step["group"],
            member_id=self._references.member(step.get("member")),
            member_epoch=epoch,
            instance_id=step.get("instance_id"),
            rack_id=full.get("rack_id"),
            rebalance_timeout_ms=_int(full, "rebalance_timeout_ms", -1),
            client_id=step.get("client_id", "oracle"),
            client_host=step.get("client_host") or "/127.0.0.1",
            process_id=full.get("process_id"),
            topology=_topology(full["topology"]) if full.get("topology") else None,
            client_tags=None if tags is None else tuple([(key, value) for key, value in tags]),
            endpoint=None if endpoint is None else (endpoint[0], endpoint[1]),
            endpoint_epoch=_int(step, "endpoint_epoch", 0),
            shutdown=bool(step.get("shutdown")),
            owned=None
            if owned is None
            else tuple([(row[0], row[1], tuple(row[2])) for row in owned]),
            version=_int(step, "version", 0),
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
            request_id=step["id"],
            group_id=step["group"],
            member_id=self._references.member(step.get("member")),
            instance_id=step.get("instance_id"),
            client_id=step.get("client_id", "oracle"),
            client_host=step.get("client_host") or "/127.0.0.1",
            session_timeout_ms=_int(step, "session_timeout_ms", 10000),
            rebalance_timeout_ms=_int(step, "rebalance_timeout_ms", 60000),
            protocol_type=step.get("protocol_type") or "",
            protocols=tuple([(name, _decoded(metadata)) for name, metadata in protocols]),
            requires_known_member_id=skips or bool(step.get("requires_known_member_id")),
            supports_skipping_assignment=skips,
            reason=step.get("reason"),
        )

    def sync(self, step: Step) -> Request:
        rows = step.get("assignments") or []
        return SyncGroup(
            request_id=step["id"],
            group_id=step["group"],
            member_id=self._references.member(step.get("member")),
            generation=self._references.epoch_of(step, "generation", -1),
            instance_id=step.get("instance_id"),
            protocol_type=step.get("protocol_type"),
            protocol_name=step.get("protocol_name"),
            assignments={self._references.member(who): _decoded(data) for who, data in rows},
        )

    def heartbeat(self, step: Step) -> Request:
        return Heartbeat(
            step["id"],
            step["group"],
            self._references.member(step.get("member")),
            self._references.epoch_of(step, "generation", -1),
            step.get("instance_id"),
        )

    def leave(self, step: Step) -> Request:
        members = [
            Leaver(self._references.member(who), instance) for who, instance in step["members"]
        ]
        return LeaveGroup(step["id"], step["group"], tuple(members))

    def commit(self, step: Step) -> Request | None:
        """Returns None if the broker knows none of the topics; it adds topic ids, in 4.1 in version
        10.
        """
        version = _int(step, "version", 9)
        rules = self._era.modern
        adds_ids = rules is not None and rules.broker_adds_topic_ids
        rows = _by_topic(step.get("offsets") or [])
        if adds_ids:
            offsets = step.get("offsets") or []
            self.unknown[step["id"]] = [row for row in offsets if row[0] not in self._topics.images]
            rows = [row for row in rows if row[0] in self._topics.images]
            if not rows and self.unknown[step["id"]]:
                return None
        has_ids = adds_ids or version >= 10
        return OffsetCommit(
            request_id=step["id"],
            group_id=step["group"],
            member_id=self._references.member(step.get("member")),
            generation=self._references.epoch_of(step, "generation", -1),
            offsets=tuple([(row[0], row[1], row[2], row[3]) for row in rows]),
            instance_id=step.get("instance_id"),
            version=version,
            topic_ids={row[0]: self._topics.id_of(row[0]) for row in rows} if has_ids else {},
        )

    def fetch(self, step: Step) -> Request:
        offsets = step.get("offsets")
        rows = None if offsets is None else [(row[0], row[1]) for row in _by_topic(offsets)]
        return OffsetFetch(
            step["id"],
            step["group"],
            None if rows is None else tuple(rows),
            self._references.member(step["member"]) if step.get("member") is not None else None,
            self._references.epoch_of(step, "member_epoch", -1),
        )

    def describe(self, step: Step) -> Request:
        return DescribeGroup(step["id"], step["group"], _int(step, "version", 6))

    def delete(self, step: Step) -> Request:
        return DeleteGroup(step["id"], step["group"])


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


_REQUESTS: Mapping[str, Callable[[StepRequests, Step], Request | None]] = {
    op: getattr(StepRequests, op)
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
