"""Sends stimuli to the engine, and collects what it logs and writes.

The engine's timers decide when a member is removed.  Sessions would need every heartbeat, which no
evidence shows, so a session ends where the evidence has its end.  Other timers fire by themselves,
at the latest when the evidence goes on without their effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig, Era
from coordinator_core.coordinator.group_types import MODERN_TYPES
from coordinator_core.coordinator.modern.settings import modern_settings
from coordinator_core.incident.comparison import EARLY_MS, TIMER_LATE_MS
from coordinator_core.incident.modern.stimuli import PRESENT, ModernStimulus, ModernStimulusKind
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    ConsumerGroupHeartbeat,
    Effect,
    Event,
    JoinResponse,
    Record,
    Request,
    Respond,
    ShareGroupHeartbeat,
    StreamsGroupHeartbeat,
    SyncGroup,
)

_NEVER_MS = 1 << 43  # slightly below the largest time of the timing wheel
_HEARTBEATS = ConsumerGroupHeartbeat, ShareGroupHeartbeat, StreamsGroupHeartbeat
_TIMERS = (ModernStimulusKind.SESSION_EXPIRED, ModernStimulusKind.TIMEOUT)


class Output(NamedTuple):
    """An event that the engine logged, a record that it wrote, or an error that it answered."""

    at_ms: int
    event: Event | None = None
    record: Record | None = None
    error: Errors | None = None


def engine_config(settings: dict[str, str]) -> CoordinatorConfig:
    """``settings`` are settings of the broker, by Kafka's names; sessions do not end by
    themselves.
    """
    never = str(_NEVER_MS >> 1)
    sessions = {f"{each.broker_prefix}session.timeout.ms": never for each in MODERN_TYPES}
    return replace(
        CoordinatorConfig(offsets_topic_partitions=1),
        modern=modern_settings({**settings, **sessions}),
    )


class ModernDriver:
    def __init__(self, group_id: str, era: Era, config: CoordinatorConfig) -> None:
        self.group_id, self.era, self.config = group_id, era, config
        self.outputs: list[Output] = []
        self.now_ms = 0
        self._next_id = ""
        self._requests = 0
        self.coordinator = Coordinator(config, era, self._make_id)

    def _make_id(self, group_id: str, prefix: str) -> str:
        return self._next_id

    def load(self, records: Iterable[Record], at_ms: int) -> None:
        """Continue from production's records, like a coordinator that takes over the group."""
        self.now_ms = max(self.now_ms, at_ms)
        self.coordinator.unload(self.now_ms)
        self.coordinator.load(records, self.now_ms)
        self._hold_sessions()

    def apply(self, stimulus: ModernStimulus) -> bool:
        """Returns whether the stimulus was needed."""
        if stimulus.asks and self.coordinator.has_background:
            return False
        self._pass_time(stimulus.at_ms)
        if stimulus.kind is ModernStimulusKind.TOPICS:
            effects = self.coordinator.change_topics(stimulus.topics, stimulus.deleted, self.now_ms)
            self._perform(effects)
        elif stimulus.kind is ModernStimulusKind.CONFIG:
            self.coordinator.configure_group(self.group_id, dict(stimulus.configs))
        elif stimulus.kind is ModernStimulusKind.BACKGROUND:
            self._perform(self.coordinator.run_background(self.now_ms) or [])
        elif stimulus.kind in _TIMERS:
            self._expire(stimulus)
        elif stimulus.request is not None:
            self._send(stimulus, stimulus.request)
        self._hold_sessions()
        return True

    def _pass_time(self, at_ms: int) -> None:
        """Fire the timers that are overdue: the broker's would have fired, too."""
        self._fire(at_ms - TIMER_LATE_MS)
        self.now_ms = max(self.now_ms, at_ms)

    def _fire(self, until_ms: int) -> None:
        while (due_ms := self.coordinator.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self._perform(self.coordinator.fire_next(until_ms) or [])

    def _expire(self, stimulus: ModernStimulus) -> None:
        if stimulus.kind is ModernStimulusKind.SESSION_EXPIRED:
            self.coordinator.end_session_at(self.group_id, stimulus.member_id, self.now_ms)
            self._fire(self.now_ms)
        else:
            self._fire(self.now_ms + EARLY_MS)

    def _send(self, stimulus: ModernStimulus, request: Request) -> None:
        self._next_id = stimulus.member_id
        request = request._replace(request_id=self._request_id())
        if isinstance(request, _HEARTBEATS) and request.member_epoch == PRESENT:
            epoch = self._epoch_of(stimulus.member_id)
            request = request._replace(member_epoch=epoch)
        self._perform(self.coordinator.handle(request, self.now_ms))

    def _epoch_of(self, member_id: str) -> int:
        group = self.coordinator.modern_groups.get(self.group_id)
        return 0 if group is None else group.epoch_of(member_id) or 0

    def _request_id(self) -> str:
        self._requests += 1
        return str(self._requests)

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Append):
                self.outputs += [Output(self.now_ms, record=each) for each in effect.records]
                self._perform(self.coordinator.appended(effect, Errors.NONE, self.now_ms))
            elif isinstance(effect, Event):
                self.outputs.append(Output(self.now_ms, event=effect))
            elif isinstance(effect, Respond):
                self._receive(effect)

    def _receive(self, effect: Respond) -> None:
        response = effect.response
        error = getattr(response, "error", Errors.NONE)
        if error is not Errors.NONE:
            self.outputs.append(Output(self.now_ms, error=error))
        elif isinstance(response, JoinResponse):
            self._sync(response)

    def _sync(self, response: JoinResponse) -> None:
        """A classic member syncs once its join is answered; nothing shows when."""
        if self.group_id not in self.coordinator.modern_groups:
            return
        request = SyncGroup(
            request_id=self._request_id(),
            group_id=self.group_id,
            member_id=response.member_id,
            generation=response.generation,
        )
        self._perform(self.coordinator.handle(request, self.now_ms))

    def _hold_sessions(self) -> None:
        """Classic members have their own session timeouts."""
        group = self.coordinator.modern_groups.get(self.group_id)
        for member_id in [] if group is None else group.classic_members():
            self.coordinator.end_session_at(self.group_id, member_id, _NEVER_MS)
