"""A member of a coordinator group: eager, range assignor, no errors."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from coordinator_core.assignors import model
from coordinator_core.assignors.range import assign
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    BareError,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    Leaver,
    OffsetCommit,
    OffsetFetch,
    SyncGroup,
    SyncResponse,
)
from coordinator_core.records.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from coordinator_core.zookeeper.assignors import TopicPartition
from coordinator_core.zookeeper.consumer_state import FetchersStarted, FetchersStopped
from coordinator_core.zookeeper.messages import SendMessage

REBALANCE_TIMEOUT_MS = 300_000
_NOT_A_MEMBER = (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION)


class FindGroupCoordinator(NamedTuple):
    """FindCoordinator, answered by the coordinator itself."""

    group_id: str


class CoordinatorFound(NamedTuple):
    error: Errors


def is_error(response: Any) -> bool:
    return response.error is not Errors.NONE


class CoordinatorMember:
    """``partitions``: counts by topic.  A member consumes every partition that it owns.

    The heartbeat interval is 30% of the session timeout, as with the default settings.
    """

    def __init__(
        self,
        name: str,
        broker: str,
        group_id: str,
        partitions: Mapping[str, int],
        session_timeout_ms: int,
        knows_member_id_required: bool,
    ) -> None:
        self.fetching: tuple[TopicPartition, ...] = ()
        self._name, self._broker, self._group_id = name, broker, group_id
        self._topics = model.Topics(partitions)
        self._session_timeout_ms = session_timeout_ms
        self._knows_member_id_required = knows_member_id_required
        self._member_id, self._generation = "", -1
        self._assigned: tuple[TopicPartition, ...] = ()
        self._sent = 0
        self._heartbeat_ms: int | None = None
        self._is_leaving = False
        self._now_ms = 0
        self._effects: list[Any] = []

    def start(self) -> list[Any]:
        self._effects = []
        self._send(FindGroupCoordinator(self._group_id))
        return self._effects

    def leave(self) -> list[Any]:
        """Commit and leave; both requests at once, as one connection keeps their order."""
        self._effects = []
        self._is_leaving, self._heartbeat_ms = True, None
        self._stop()
        self._send(self._commit())
        leaver = Leaver(self._member_id)
        self._send(LeaveGroup(self._request_id(), self._group_id, (leaver,)))
        return self._effects

    def received(self, source: str, message: Any, now_ms: int) -> list[Any]:
        self._effects, self._now_ms = [], now_ms
        if not self._is_leaving:
            self._handle(*message)
        return self._effects

    def advance(self, now_ms: int) -> list[Any]:
        self._effects, self._now_ms = [], now_ms
        self._heartbeat_ms = None
        beat = Heartbeat(self._request_id(), self._group_id, self._member_id, self._generation)
        self._send(beat)
        return self._effects

    def next_deadline_ms(self) -> int | None:
        return self._heartbeat_ms

    def _handle(self, request: Any, response: Any) -> None:
        match request:
            case FindGroupCoordinator():
                self._join()
            case JoinGroup():
                self._joined(response)
            case SyncGroup():
                self._synced(response)
            case OffsetFetch():
                self.fetching = self._assigned
                self._effects.append(FetchersStarted(self.fetching))
                self._beat_later()
            case Heartbeat() if response.error is Errors.NONE:
                self._beat_later()
            case Heartbeat():
                self._rejoin_after(response.error)
            case OffsetCommit():
                self._join()

    def _rejoin_after(self, error: Errors) -> None:
        """A rebalance or a lost membership: stop, commit if still a member, and join."""
        self._stop()
        if error is Errors.REBALANCE_IN_PROGRESS:
            self._send(self._commit())
        elif error in _NOT_A_MEMBER:
            self._member_id = "" if error is Errors.UNKNOWN_MEMBER_ID else self._member_id
            self._join()
        else:
            raise RuntimeError(f"{self._name} got {error!r}, which this workload never causes")

    def _join(self) -> None:
        subscription = encode_subscription(Subscription(0, list(self._topics.names)))
        join = JoinGroup(
            request_id=self._request_id(),
            group_id=self._group_id,
            member_id=self._member_id,
            instance_id=None,
            client_id=self._name,
            client_host="/127.0.0.1",
            session_timeout_ms=self._session_timeout_ms,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            protocol_type="consumer",
            protocols=(("range", subscription),),
            requires_known_member_id=self._knows_member_id_required,
        )
        self._send(join)

    def _joined(self, response: JoinResponse | BareError) -> None:
        if isinstance(response, JoinResponse) and response.error is Errors.MEMBER_ID_REQUIRED:
            self._member_id = response.member_id
            self._join()
            return
        if not isinstance(response, JoinResponse) or response.error is not Errors.NONE:
            self._rejoin_after(response.error)
            return
        self._member_id, self._generation = response.member_id, response.generation
        sync = SyncGroup(
            request_id=self._request_id(),
            group_id=self._group_id,
            member_id=self._member_id,
            generation=self._generation,
            assignments=self._assign(response) if response.leader == self._member_id else {},
        )
        self._send(sync)

    def _assign(self, response: JoinResponse) -> dict[str, bytes]:
        members = [
            model.Member(member_id=member_id, topics=decode_subscription(metadata).topics)
            for member_id, _, metadata in response.members
        ]
        return {
            member_id: encode_assignment(Assignment(0, _by_topic(assigned_partitions)))
            for member_id, assigned_partitions in assign(self._topics, members).items()
        }

    def _synced(self, response: SyncResponse | BareError) -> None:
        if not isinstance(response, SyncResponse) or response.error is not Errors.NONE:
            if response.error is Errors.REBALANCE_IN_PROGRESS:
                self._join()
            else:
                self._rejoin_after(response.error)
            return
        assigned_partitions = decode_assignment(response.assignment).partitions
        self._assigned = tuple(
            (topic, p) for topic, numbers in assigned_partitions for p in numbers
        )
        self._send(OffsetFetch(self._request_id(), self._group_id, self._assigned))

    def _commit(self) -> OffsetCommit:
        offsets = tuple((topic, p, self._now_ms, "") for topic, p in self._assigned)
        return OffsetCommit(
            request_id=self._request_id(),
            group_id=self._group_id,
            member_id=self._member_id,
            generation=self._generation,
            offsets=offsets,
        )

    def _stop(self) -> None:
        if self.fetching:
            self._effects.append(FetchersStopped(self.fetching))
            self.fetching = ()

    def _beat_later(self) -> None:
        self._heartbeat_ms = self._now_ms + self._session_timeout_ms * 3 // 10

    def _send(self, request: Any) -> None:
        self._effects.append(SendMessage(self._broker, request))

    def _request_id(self) -> str:
        self._sent += 1
        return f"{self._name}:{self._sent}"


def _by_topic(assigned_partitions: list[TopicPartition]) -> list[tuple[str, list[int]]]:
    return [
        (topic, [p for _, p in pairs])
        for topic, pairs in groupby(assigned_partitions, itemgetter(0))
    ]
