"""Sends stimuli to the engine as requests, and collects what the engine logs and writes.

The engine makes all decisions of a coordinator.  The driver acts as the clients, which sync in the
generation of their JoinGroup response and send heartbeats until their last contact, and as the log,
which accepts every append unless the evidence shows that it failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig, Era
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.stimuli import Stimulus, StimulusKind
from coordinator_core.incident.takeover import Takeover
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    CommitResponse,
    DeleteGroup,
    Effect,
    Event,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    Leaver,
    OffsetCommit,
    Record,
    Request,
    Respond,
    SyncGroup,
)

# Tolerance of expiries: a session that was renewed before its line was logged would expire too
# early in the engine.
_LOGGED_EARLY_MS = 50
# Protocol that carries changed metadata of a member whose metadata are the same in all recorded
# protocols.
_UNSEEN_PROTOCOL = "(in no record)"


class EngineOutput(NamedTuple):
    """An event that the engine logged, a record that it wrote, or a commit that it refused."""

    at_ms: int
    event: Event | None = None
    record: Record | None = None
    refused: tuple[Stimulus, Errors] | None = None


class EngineDriver:
    """``last_contacts`` has the last contact in ms of each member whose session expired, in the
    order of the expiries.  ``era_at`` is the coordinator's era at a time in ms; a load may change
    it.
    """

    def __init__(
        self,
        group_id: str,
        era_at: Callable[[int], Era],
        config: CoordinatorConfig,
        members: MemberDirectory,
        last_contacts: Mapping[str, int],
    ) -> None:
        self.group_id, self._era_at, self.config = group_id, era_at, config
        self.members, self.last_contacts = members, last_contacts
        self._order = {member_id: place for place, member_id in enumerate(last_contacts)}
        self.outputs: list[EngineOutput] = []
        self._log: list[Record] = []
        self._renew()

    def _renew(self) -> None:
        self._coordinator = Coordinator(self.config, self._era_at(self._now_ms), self._make_id)
        self._next_id = ""
        self._has_id: set[str] = set()  # members that received their id with MEMBER_ID_REQUIRED
        # member id -> generation of the member's last JoinGroup response
        self._generation: dict[str, int] = {}
        self._joining: dict[str, str] = {}  # request id -> member id
        self._committing: dict[str, Stimulus] = {}  # by request id
        self._changes: dict[str, int] = {}
        self._loaded_generation = -1  # generation of members without a JoinGroup response
        self._leader = ""  # generation of the last JoinGroup response
        self._append_error = Errors.NONE
        self._requests = 0

    @property
    def now_ms(self) -> int:
        return self._now_ms

    _now_ms = 0

    def group(self) -> ClassicGroup | None:
        return self._coordinator.groups.get(self.group_id)

    def load_record(self, record: Record, at_ms: int) -> None:
        """Continue from production's record, like a coordinator that takes over the group."""
        self._log = [record]
        self._now_ms = max(self._now_ms, at_ms)
        self._renew()
        self._coordinator.load(self._log, self._now_ms)
        group = self.group()
        self._loaded_generation = -1 if group is None else group.generation

    def take_over(self, takeover: Takeover) -> list[EngineOutput]:
        """Continue with an engine that converted the group; returns what it logged then."""
        self._log = [takeover.record]
        self._renew()
        self._coordinator = takeover.coordinator
        self._coordinator.use_member_ids(self._make_id)
        self._now_ms = max(self._now_ms, takeover.at_ms)
        group = self.group()
        self._loaded_generation = -1 if group is None else group.generation
        return [EngineOutput(at_ms, event) for at_ms, event in takeover.events]

    def apply(self, stimulus: Stimulus) -> None:
        self.advance_to(stimulus.at_ms)
        if stimulus.kind is StimulusKind.LOAD:
            self._load()
        elif stimulus.kind is StimulusKind.UNLOAD:
            self._perform(self._coordinator.unload(self._now_ms))
            self._renew_coordinator()
        else:
            if stimulus.kind is StimulusKind.SYNC:
                self._wait_for_join(stimulus)
            self._append_error = stimulus.append_error
            self._next_id = stimulus.member_id
            request = _REQUESTS[stimulus.kind](self, stimulus)
            self._perform(self._coordinator.handle(request, self._now_ms))
            self._append_error = Errors.NONE

    def advance_to(self, at_ms: int) -> None:
        """Advance the time: timers fire, members send heartbeats until their last contact."""
        while True:
            self._send_heartbeats(at_ms)
            due_ms = self._coordinator.next_deadline_ms()
            if due_ms is None or due_ms > at_ms:
                break
            self._now_ms = max(self._now_ms, due_ms)
            self._perform(self._coordinator.fire_next(at_ms) or [])
        self._now_ms = max(self._now_ms, at_ms)

    def _send_heartbeats(self, until_ms: int) -> None:
        group = self.group()
        # Up to 2.2 a heartbeat in the same millisecond in which a session was set does not extend
        # the session.
        at_ms = self._now_ms + 1
        due_ms = self._coordinator.next_deadline_ms()
        if group is None or until_ms <= at_ms or (due_ms is not None and due_ms <= at_ms):
            return
        last_heartbeats = {}
        # If two members have the same last contact, the member that expired first had sent its
        # request first.
        for member_id in sorted(group.members, key=lambda each: self._order.get(each, -1)):
            member = group.members[member_id]
            is_waiting = member.awaiting_join is not None or member.awaiting_sync is not None
            last_ms = min(until_ms, self.last_contacts.get(member_id, until_ms))
            if not is_waiting and not member.is_new and last_ms > at_ms:
                last_heartbeats[member_id] = last_ms
        if last_heartbeats:
            self._now_ms = at_ms
            self._coordinator.expect_heartbeats(self.group_id, last_heartbeats, at_ms)

    def _wait_for_join(self, stimulus: Stimulus) -> None:
        """A client syncs after its JoinGroup response, so wait for the response up to the latest
        sync time.
        """
        while stimulus.member_id in self._joining.values():
            due_ms = self._coordinator.next_deadline_ms()
            if due_ms is None or due_ms > stimulus.latest_ms + _LOGGED_EARLY_MS:
                return
            self.advance_to(due_ms)

    def _load(self) -> None:
        self._renew_coordinator()
        self._perform(self._coordinator.load(self._log, self._now_ms))

    def _renew_coordinator(self) -> None:
        """Clients keep their generations when the coordinator moves."""
        generations, loaded = self._generation, self._loaded_generation
        self._renew()
        self._generation, self._loaded_generation = generations, loaded

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Append):
                error, self._append_error = self._append_error, Errors.NONE
                if error is Errors.NONE:
                    self._log += effect.records
                    self.outputs += [EngineOutput(self._now_ms, None, r) for r in effect.records]
                self._perform(self._coordinator.appended(effect, error, self._now_ms))
            elif isinstance(effect, Event):
                self.outputs.append(EngineOutput(self._now_ms, effect))
            elif isinstance(effect, Respond):
                self._receive(effect)

    def _receive(self, effect: Respond) -> None:
        member_id = self._joining.pop(effect.request_id, None)
        response = effect.response
        commit = self._committing.pop(effect.request_id, None)
        if commit is not None and isinstance(response, CommitResponse):
            error = next((e for _, _, e in response.partitions if e is not Errors.NONE), None)
            if error is not None:
                self.outputs.append(EngineOutput(self._now_ms, refused=(commit, error)))
        if member_id is not None and isinstance(response, JoinResponse):
            if response.error is Errors.MEMBER_ID_REQUIRED:
                self._has_id.add(response.member_id)
            elif response.error is Errors.NONE:
                self._generation[response.member_id] = response.generation
                if response.leader == response.member_id:
                    self._leader = response.member_id

    def _make_id(self, group_id: str, prefix: str) -> str:
        return self._next_id

    # -- stimuli to requests ---------------------------------------------------------------------

    def _request_id(self) -> str:
        self._requests += 1
        return str(self._requests)

    def ask_id(self, stimulus: Stimulus) -> Request:
        return self._join_group(stimulus, "", requires_known_member_id=True)

    def join(self, stimulus: Stimulus) -> Request:
        has_id = stimulus.member_id in self._has_id
        self._has_id.discard(stimulus.member_id)
        return self._join_group(stimulus, stimulus.member_id if has_id else "")

    def rejoin(self, stimulus: Stimulus) -> Request:
        if stimulus.changed:
            self._changes[stimulus.member_id] = self._changes.get(stimulus.member_id, 0) + 1
        return self._join_group(stimulus, stimulus.member_id)

    def _join_group(
        self, stimulus: Stimulus, member_id: str, *, requires_known_member_id: bool = False
    ) -> JoinGroup:
        member = self.members.at(stimulus.member_id, stimulus.generation)
        protocols = self.members.protocols(stimulus.member_id, stimulus.generation)
        changes = self._changes.get(stimulus.member_id, 0)
        if changes:
            protocols = (*protocols, (_UNSEEN_PROTOCOL, str(changes).encode()))
        request_id = self._request_id()
        self._joining[request_id] = stimulus.member_id
        return JoinGroup(
            request_id=request_id,
            group_id=self.group_id,
            member_id=member_id,
            instance_id=stimulus.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            session_timeout_ms=member.session_timeout_ms,
            rebalance_timeout_ms=max(member.rebalance_timeout_ms, member.session_timeout_ms)
            if member.rebalance_timeout_ms < 0
            else member.rebalance_timeout_ms,
            protocol_type=self.members.protocol_type,
            protocols=protocols,
            requires_known_member_id=requires_known_member_id,
            reason=stimulus.reason,
        )

    def sync(self, stimulus: Stimulus) -> Request:
        member_id = stimulus.member_id or self._leader  # Lines before 2.4 do not name the leader.
        return SyncGroup(
            request_id=self._request_id(),
            group_id=self.group_id,
            member_id=member_id,
            generation=self._generation.get(member_id, -1),
            instance_id=stimulus.instance_id,
            assignments=stimulus.assignments or {},
        )

    def leave(self, stimulus: Stimulus) -> Request:
        leavers = tuple([Leaver(each, None, stimulus.reason) for each in stimulus.leavers])
        return LeaveGroup(self._request_id(), self.group_id, leavers)

    def commit(self, stimulus: Stimulus) -> Request:
        request_id = self._request_id()
        self._committing[request_id] = stimulus
        return OffsetCommit(
            request_id=request_id,
            group_id=self.group_id,
            member_id=stimulus.member_id,
            generation=self._generation.get(stimulus.member_id, self._loaded_generation),
            offsets=tuple([(*offset, None) for offset in stimulus.offsets]),
            instance_id=stimulus.instance_id,
        )

    def delete(self, stimulus: Stimulus) -> Request:
        return DeleteGroup(self._request_id(), self.group_id)


_REQUESTS = {
    StimulusKind.ASK_ID: EngineDriver.ask_id,
    StimulusKind.JOIN: EngineDriver.join,
    StimulusKind.REJOIN: EngineDriver.rejoin,
    StimulusKind.SYNC: EngineDriver.sync,
    StimulusKind.LEAVE: EngineDriver.leave,
    StimulusKind.COMMIT: EngineDriver.commit,
    StimulusKind.DELETE: EngineDriver.delete,
}
