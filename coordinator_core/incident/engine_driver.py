"""Plays stimuli through the engine, and notes what it did.

The engine decides all that a coordinator decides.  The player is the clients, who sync in the
generation they were answered and send heartbeats while they live, and the log, which takes every
record unless evidence says that it did not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from coordinator_core.coordinator.classic.group import Group
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import Config, Era
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.stimuli import Stimulus, StimulusKind
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

# A protocol in which a member's metadata differ that differ in none that a record has.
_LOGGED_EARLY_MS = 50  # a session renewed before it was logged ends before it should here
_UNSEEN_PROTOCOL = "(in no record)"


class EngineOutput(NamedTuple):
    """Something that the engine said or wrote; or a commit that it refused, and why."""

    at_ms: int
    event: Event | None = None
    record: Record | None = None
    refused: tuple[Stimulus, Errors] | None = None


class EngineDriver:
    """``last_heard``: members that fell silent, in the order in which they were put out, and when
    they were heard of last, in ms.
    """

    def __init__(
        self,
        group_id: str,
        era: Era,
        config: Config,
        members: MemberDirectory,
        last_contacts: Mapping[str, int],
    ) -> None:
        self.group_id, self.era, self.config = group_id, era, config
        self.members, self.last_contacts = members, last_contacts
        self._order = {member_id: place for place, member_id in enumerate(last_contacts)}
        self.engine_outputs: list[EngineOutput] = []
        self._log: list[Record] = []
        self._renew()

    def _renew(self) -> None:
        self._coordinator = Coordinator(self.config, self.era, self._make_id)
        self._next_id = ""
        self._has_id: set[str] = set()  # clients that were told to join again with this id
        self._generation: dict[str, int] = {}  # what a client was answered to its last join
        self._joining: dict[str, str] = {}  # request id -> member
        self._committing: dict[str, Stimulus] = {}
        self._changes: dict[str, int] = {}
        self._taken_up_generation = -1  # what members knew when the story began
        self._leader = ""  # the last that was told to lead
        self._append_error = Errors.NONE
        self._requests = 0

    @property
    def now_ms(self) -> int:
        return self._now_ms

    _now_ms = 0

    def group(self) -> Group | None:
        return self._coordinator.groups.get(self.group_id)

    def take_up(self, record: Record, at_ms: int) -> None:
        """Go on from what production wrote: a coordinator that takes the group over with it."""
        self._log = [record]
        self._renew()
        self._now_ms = max(self._now_ms, at_ms)
        self._coordinator.load(self._log, self._now_ms)
        group = self.group()
        self._taken_up_generation = -1 if group is None else group.generation

    def play(self, stimulus: Stimulus) -> None:
        self.pass_to(stimulus.at_ms)
        if stimulus.kind is StimulusKind.LOAD:
            self._load()
        elif stimulus.kind is StimulusKind.UNLOAD:
            self._perform(self._coordinator.unload(self._now_ms))
            self._renew()
        else:
            if stimulus.kind is StimulusKind.SYNC:
                self._wait_for_join(stimulus)
            self._append_error = stimulus.append_error
            self._next_id = stimulus.member_id
            request = _REQUESTS[stimulus.kind](self, stimulus)
            self._perform(self._coordinator.handle(request, self._now_ms))
            self._append_error = Errors.NONE

    def pass_to(self, at_ms: int) -> None:
        """Let time go by: timers fire, and whoever lives sends heartbeats."""
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
        # Up to 2.2 a heartbeat prolongs only what was set in another millisecond.
        at_ms = self._now_ms + 1
        due_ms = self._coordinator.next_deadline_ms()
        if group is None or until_ms <= at_ms or (due_ms is not None and due_ms <= at_ms):
            return
        heard = {}
        # Of two heard of within one millisecond, the first to be put out was the first.
        for member_id in sorted(group.members, key=lambda each: self._order.get(each, -1)):
            member = group.members[member_id]
            waits = member.awaiting_join is not None or member.awaiting_sync is not None
            last_ms = min(until_ms, self.last_contacts.get(member_id, until_ms))
            if not waits and not member.is_new and last_ms > at_ms:
                heard[member_id] = last_ms
        if heard:
            self._now_ms = at_ms
            self._coordinator.expect_heartbeats(self.group_id, heard, at_ms)

    def _wait_for_join(self, stimulus: Stimulus) -> None:
        """A client syncs once its join is answered, as long as evidence leaves time for it."""
        while stimulus.member_id in self._joining.values():
            due_ms = self._coordinator.next_deadline_ms()
            if due_ms is None or due_ms > stimulus.latest_ms + _LOGGED_EARLY_MS:
                return
            self.pass_to(due_ms)

    def _load(self) -> None:
        log, known = self._log, self._generation
        self._renew()
        self._generation = known  # clients forget nothing
        self._perform(self._coordinator.load(log, self._now_ms))

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Append):
                error, self._append_error = self._append_error, Errors.NONE
                if error is Errors.NONE:
                    self._log += effect.records
                    self.engine_outputs += [
                        EngineOutput(self._now_ms, None, r) for r in effect.records
                    ]
                self._perform(self._coordinator.appended(effect, error, self._now_ms))
            elif isinstance(effect, Event):
                self.engine_outputs.append(EngineOutput(self._now_ms, effect))
            elif isinstance(effect, Respond):
                self._answered(effect)

    def _answered(self, effect: Respond) -> None:
        member_id = self._joining.pop(effect.request_id, None)
        response = effect.response
        commit = self._committing.pop(effect.request_id, None)
        if commit is not None and isinstance(response, CommitResponse):
            error = next((e for _, _, e in response.partitions if e is not Errors.NONE), None)
            if error is not None:
                self.engine_outputs.append(EngineOutput(self._now_ms, refused=(commit, error)))
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
            request_id,
            self.group_id,
            member_id,
            stimulus.instance_id,
            member.client_id,
            member.client_host,
            member.session_timeout_ms,
            max(member.rebalance_timeout_ms, member.session_timeout_ms)
            if member.rebalance_timeout_ms < 0
            else member.rebalance_timeout_ms,
            self.members.protocol_type,
            protocols,
            requires_known_member_id,
            reason=stimulus.reason,
        )

    def sync(self, stimulus: Stimulus) -> Request:
        member_id = stimulus.member_id or self._leader  # a line before 2.4 does not name it
        return SyncGroup(
            self._request_id(),
            self.group_id,
            member_id,
            self._generation.get(member_id, -1),
            stimulus.instance_id,
            assignments=stimulus.assignments or {},
        )

    def leave(self, stimulus: Stimulus) -> Request:
        leavers = tuple([Leaver(each, None, stimulus.reason) for each in stimulus.leavers])
        return LeaveGroup(self._request_id(), self.group_id, leavers)

    def commit(self, stimulus: Stimulus) -> Request:
        request_id = self._request_id()
        self._committing[request_id] = stimulus
        return OffsetCommit(
            request_id,
            self.group_id,
            stimulus.member_id,
            self._generation.get(stimulus.member_id, self._taken_up_generation),
            tuple([(*offset, None) for offset in stimulus.offsets]),
            stimulus.instance_id,
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
