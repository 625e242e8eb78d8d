"""One target assignment of a consumer, share or streams group as a sequence diagram.

Members of these groups send heartbeats.  A heartbeat that joins, leaves or changes something bumps
the group epoch, and a later heartbeat computes the target assignment.  Each member then learns of
the target at its own heartbeat, gives up what it must, and takes what it gets.  Heartbeats that
change nothing leave no record, so the diagram has only heartbeats with a record or a log line.
Times are relative to the first bump of the group epoch.

reads   generations, generation_members, group_epochs, member_epochs, rebalance_causes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.diagram.drawing import Arrow, Diagram, Note
from coordinator_core.diagram.names import COORDINATOR, LOG
from jobs.lake.sql import open_lake
from jobs.report.lanes import assigned_text

Row = dict[str, Any]
Place = tuple[str, str, int, int]  # cluster, group, incarnation and generation of a heartbeat

# Epochs in requests: with 0 a member joins, with -1 it leaves, with -2 a static member leaves
# temporarily (KIP-848).
_SENT = {"MEMBER_NEW": "epoch 0: joins", "LEAVE": "epoch -1: leaves"} | {
    "LEAVE_POLL_TIMEOUT": "epoch -1: leaves (max.poll.interval.ms exceeded)",
    "STATIC_LEAVE": "epoch -2: a static member leaves temporarily",
    "STATIC_RETURN": "epoch 0: a static member returns",
    "SUBSCRIPTION_CHANGE": "with another subscription",
    "ASSIGNOR_CHANGE": "with another server assignor",
}
_CLASSIC_SENT = {"MEMBER_NEW": "JoinGroup, new member", "LEAVE": "LeaveGroup"}
_NOTED = {
    "SESSION_EXPIRY": "no heartbeat from {}: session expired, member removed",
    "REBALANCE_TIMEOUT": "{} did not give up partitions in time: member removed",
    "MEMBER_GONE": "{} ended its membership (the log does not show how)",
    "REGEX": "the regular expression matched other topics",
    "TOPIC_CHANGE": "topics or partitions changed",
    "CONVERSION": "the classic group is converted to a consumer group",
}
_ANSWERED = {"UNREVOKED": "must give up {}", "UNRELEASED": "waits for partitions of other members"}

_GENERATION = """
    SELECT group_type, protocol, member_count, outcome, EPOCH_MS(preparing_time) AS begin_ms,
        EPOCH_MS(joined_time) AS target_ms, EPOCH_MS(stable_time) AS stable_ms,
        EPOCH_MS(ended_time) AS ended_ms
    FROM generations WHERE {key}"""
_MEMBERS = """
    SELECT member_id, process, COALESCE(instance_id, client_id, member_id) AS name,
        session_timeout_ms IS NOT NULL AS is_classic
    FROM generation_members WHERE cluster_id = ? AND group_id = ? ORDER BY member_id"""
_CAUSES = """
    SELECT cause, story, member_id, EPOCH_MS(event_time) AS at_ms
    FROM rebalance_causes WHERE {key} ORDER BY cause_seq"""
_GROUP_EPOCHS = """
    SELECT epoch, cause, EPOCH_MS(time) AS at_ms
    FROM group_epochs WHERE {key} ORDER BY topic_partition, log_offset"""
_MEMBER_EPOCHS = """
    SELECT member_id, epoch, previous_epoch, state, assigned, pending_revocation AS pending,
        EPOCH_MS(time) AS at_ms
    FROM member_epochs WHERE {key} ORDER BY topic_partition, log_offset"""


def heartbeat_diagram(root: str, place: Place) -> Diagram:
    """The diagram of this target assignment, from its group epochs to the last member's record."""
    return _Target(root, place).diagram()


class _Target:
    def __init__(self, root: str, place: Place) -> None:
        self._place = place
        texts = (_GENERATION, _MEMBERS, _CAUSES, _GROUP_EPOCHS, _MEMBER_EPOCHS)
        self._lake = open_lake(root, " ".join(texts))
        (self._target,) = self._rows(_GENERATION)
        self._type = GROUP_TYPES[self._target["group_type"]]
        self._begin_ms: int = self._target["begin_ms"]
        self._members = {row["member_id"]: row for row in self._rows(_MEMBERS, self._place[:2])}
        names = dict.fromkeys((row["name"], row["process"]) for row in self._members.values())
        shared = Counter(name for name, _ in names)
        self._shared = {name for name, count in shared.items() if count > 1} | {COORDINATOR, LOG}

    def diagram(self) -> Diagram:
        rows = sorted(
            [*self._stimuli(), *self._records(), *self._answers(), *self._ends()],
            key=lambda row: row.at_ms,
        )
        arrows = [row for row in rows if isinstance(row, Arrow)]
        ends = dict.fromkeys(end for arrow in arrows for end in (arrow.source, arrow.target))
        members = [end for end in ends if end not in (COORDINATOR, LOG)]
        title = f"{self._place[1]}, target assignment {self._place[3]}"
        return Diagram(title, "", (*members, COORDINATOR, LOG), tuple(rows))

    def _rows(self, sql: str, values: tuple[Any, ...] | None = None) -> list[Row]:
        key = "cluster_id = ? AND group_id = ? AND incarnation = ? AND generation = ?"
        result = self._lake.execute(sql.format(key=key), list(values or self._place))
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def _name(self, member_id: str | None) -> str:
        member = self._members.get(member_id or "")
        if member is None:
            return member_id or "a member"
        name = str(member["name"])
        return f"{name} ({member['process']})" if name in self._shared else name

    def _is_classic(self, member_id: str | None) -> bool:
        return bool(self._members.get(member_id or "", {}).get("is_classic"))

    def _after(self, at_ms: int | None) -> int:
        return 0 if at_ms is None else at_ms - self._begin_ms

    def _stimuli(self) -> Iterator[Arrow | Note]:
        """The events that bumped the group epoch."""
        for row in self._rows(_CAUSES):
            cause, name = row["cause"], self._name(row["member_id"])
            # The line of a request is logged before its record is written.
            at_ms = max(self._after(row["at_ms"]), 0)
            if cause in _NOTED:
                yield Note(at_ms, _NOTED[cause].format(name))
            elif self._is_classic(row["member_id"]) and cause in _CLASSIC_SENT:
                yield Arrow(at_ms, name, COORDINATOR, _CLASSIC_SENT[cause])
            elif cause in _SENT and row["member_id"] is not None:
                text = f"{self._type.heartbeat.__name__}, {_SENT[cause]}"
                yield Arrow(at_ms, name, COORDINATOR, text)
            else:
                yield Note(at_ms, f"{name}: {cause}")

    def _records(self) -> Iterator[Arrow]:
        """Records of the group: its epochs and the target."""
        for row in self._rows(_GROUP_EPOCHS):
            text = f"{self._type.record_prefix}GroupMetadata: group epoch {row['epoch']}"
            yield Arrow(self._after(row["at_ms"]), COORDINATOR, LOG, text)
        count = self._target["member_count"]
        by = f" by {self._target['protocol']}" if self._target["protocol"] and count else ""
        text = f"target assignment {self._place[3]}{by}, {count} member{'s' * (count != 1)}"
        yield Arrow(self._after(self._target["target_ms"]), COORDINATOR, LOG, text)

    def _answers(self) -> Iterator[Arrow]:
        """Heartbeats whose answer gave or took partitions, by the members' records."""
        for row in self._rows(_MEMBER_EPOCHS):
            name, at_ms = self._name(row["member_id"]), self._after(row["at_ms"])
            if self._is_classic(row["member_id"]):
                yield Arrow(at_ms, name, COORDINATOR, "JoinGroup or SyncGroup")
            elif row["previous_epoch"]:
                text = f"{self._type.heartbeat.__name__}, epoch {row['previous_epoch']}"
                yield Arrow(at_ms, name, COORDINATOR, text)
            yield Arrow(at_ms, COORDINATOR, name, _answer(row), is_answer=True)

    def _ends(self) -> Iterator[Note]:
        target_ms = self._target["target_ms"]
        if target_ms is not None and target_ms > self._begin_ms:
            state = "" if self._type.is_stable_in_phases else f"{self._type.phases[0]}: "
            yield Note(0, f"{state}the target assignment is not computed yet")
        if self._target["stable_ms"] is not None:
            at_ms = self._after(self._target["stable_ms"])
            yield Note(at_ms, f"every member has reached target {self._place[3]}: Stable")
        elif self._target["outcome"] == "superseded":
            yield Note(self._after(self._target["ended_ms"]), "superseded by a newer group epoch")


def _answer(row: Row) -> str:
    held = assigned_text(row["assigned"] or []) or "nothing assigned"
    text = f"epoch {row['epoch']}: {held}"
    if row["state"] in _ANSWERED:
        pending = assigned_text(row["pending"] or []) or "partitions"
        text += f"; {_ANSWERED[row['state']].format(pending)}"
    return text
