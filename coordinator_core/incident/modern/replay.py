"""Replays the history of a consumer, share or streams group, write by write."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.comparison import Divergence
from coordinator_core.incident.modern.comparison import compare, is_exact
from coordinator_core.incident.modern.driver import ModernDriver, Output, engine_config
from coordinator_core.incident.modern.evidence import Entry, GroupLine, ModernIncarnation
from coordinator_core.incident.modern.inference import Inference
from coordinator_core.incident.modern.lines import (
    EARLY_LINE_MS,
    EARLY_LINES,
    NEAR_MS,
    compare_lines,
)
from coordinator_core.incident.modern.settings import ASSIGNORS, engine_settings
from coordinator_core.incident.modern.stimuli import ModernStimulus, ModernStimulusKind
from coordinator_core.incident.modern.stored import Ids, Stored
from coordinator_core.incident.modern.topics import TopicsSeen
from coordinator_core.incident.modern.writes import Write, Wrote, writes
from coordinator_core.incident.replay import ReplayVerdict
from coordinator_core.incident.stimuli import Basis
from coordinator_core.incident.stretches import Eras
from coordinator_core.incident.takeover import Takeover
from coordinator_core.modern_history.evidence import RecordKind


@dataclass(frozen=True)
class ReplayedWrite:
    """``divergence`` is None if the engine wrote the same records."""

    write: Write
    stimuli: Sequence[ModernStimulus]
    outputs: Sequence[Output]
    divergence: Divergence | None
    exact: bool


@dataclass(kw_only=True)
class ModernGeneration:
    """A target assignment. ``number`` is its epoch, and ``era`` the era of the coordinator that
    wrote it.
    """

    incarnation: int
    number: int
    group_type: str
    era: str
    writes: list[ReplayedWrite] = field(default_factory=list)
    line_divergence: Divergence | None = None
    has_log: bool = False

    @property
    def begins_ms(self) -> int:
        return self.writes[0].write.at_ms

    @property
    def ends_ms(self) -> int:
        return self.writes[-1].write.entries[-1].at_ms

    @property
    def divergence(self) -> Divergence | None:
        of_writes = (each.divergence for each in self.writes if each.divergence is not None)
        return next(of_writes, self.line_divergence)

    @property
    def verdict(self) -> ReplayVerdict:
        return ReplayVerdict.REPRODUCED if self.divergence is None else ReplayVerdict.DIVERGED

    @property
    def stimuli(self) -> list[ModernStimulus]:
        return [stimulus for each in self.writes for stimulus in each.stimuli]

    @property
    def exact(self) -> bool:
        return self.divergence is None and all(each.exact for each in self.writes)

    @property
    def evidence(self) -> str:
        return "both" if self.has_log else "records"


class IncarnationReplay:
    """``names`` are names of topics by id; ``assignor`` is the first of
    group.consumer.assignors.
    """

    def __init__(
        self,
        incarnation: ModernIncarnation,
        eras: Eras,
        names: Mapping[str, str],
        assignor: str = ASSIGNORS[0],
    ) -> None:
        self.incarnation, self.eras = incarnation, eras
        self._stretch = eras.stretches[0]
        self.resumed_from: list[tuple[int, int]] = []
        entries = incarnation.entries
        self.config = engine_config(engine_settings(entries, assignor))
        self.driver = ModernDriver(incarnation.group_id, self._era, self.config)
        self.takeovers: dict[str, Takeover] = {}  # position of a downgrade's record -> takeover
        self._stored = Stored()
        self._topics = TopicsSeen(names)
        self._inference = Inference(
            incarnation.group_id, self._stored, self._topics, incarnation.lines
        )
        self._targets = _targets(entries)
        self._inference.validates_topologies = self._validates_topologies
        self._inference.ready_hash = _ready_hash(entries)
        self._is_running = False
        # periods for which the engine has the group's state
        self._spans_ms: list[tuple[int, int]] = []

    def replay(self) -> list[ModernGeneration]:
        replayed = []
        at = 0
        for write in writes(self.incarnation.entries, self._stored):
            replayed.append(self._replay(write, at))
            at += len(write.entries)
        generations = list(self._generations(replayed))
        self._compare_lines(generations)
        return generations

    def _compare_lines(self, generations: Sequence[ModernGeneration]) -> None:
        """A line belongs to the last generation that begins before its records may."""
        if not generations:
            return
        begins_ms = [each.begins_ms for each in generations]
        outputs = [
            output for each in generations for done in each.writes for output in done.outputs
        ]
        events = {
            (output.event.kind, output.event.fields.get("member_id"))
            for output in outputs
            if output.event is not None and output.event.kind in EARLY_LINES
        }
        lines = [line for line in self.incarnation.lines if self._is_of_engine(line, events)]
        times_ms = [line.at_ms for line in lines]
        for each in generations:
            first = bisect_left(times_ms, each.begins_ms - NEAR_MS)
            each.has_log = first < len(lines) and times_ms[first] <= each.ends_ms + NEAR_MS
        for unmatched in compare_lines(lines, outputs):
            generation = generations[_place(begins_ms, unmatched.at_ms)]
            generation.line_divergence = generation.line_divergence or unmatched.divergence

    def _is_of_engine(self, line: GroupLine, events: Container[tuple[str, str | None]]) -> bool:
        """Returns whether the engine had the group's state at this line, or has the line's event
        later.
        """
        before_ms = EARLY_LINE_MS if (line.event, line.member_id) in events else NEAR_MS
        return any(
            begin - before_ms <= line.at_ms <= end + NEAR_MS for begin, end in self._spans_ms
        )

    def _replay(self, write: Write, at: int) -> ReplayedWrite | None:
        """Returns None for writes of a classic group, and before the engine has the group's
        state.
        """
        if write.what is Wrote.CLASSIC:
            self._is_running = False
            return None
        self._change_era(write.at_ms)
        if not self._is_running and not self._start(write):
            return None
        assigned = self._next_assigned(at)
        stimuli = self._inference.stimuli(write, assigned)
        stimuli = [*self._inference.refused_joins(write.at_ms), *stimuli]
        begin = len(self.driver.outputs)
        stimuli = [stimulus for stimulus in stimuli if self.driver.apply(stimulus)]
        outputs = self.driver.outputs[begin:]
        self._extend_span(write)
        divergence = compare(write.entries, outputs, hash_is_known=self._inference.hash_is_known)
        if divergence is not None:
            self._resume(write)
        if write.what is Wrote.DOWNGRADE and divergence is None and write.member_ids:
            self._hand_over(write, outputs)
        if write.what in (Wrote.DELETION, Wrote.DOWNGRADE):
            self._is_running = False
        return ReplayedWrite(write, stimuli, outputs, divergence, is_exact(write.entries, outputs))

    def _extend_span(self, write: Write) -> None:
        self._spans_ms[-1] = self._spans_ms[-1][0], write.entries[-1].at_ms

    def _hand_over(self, write: Write, outputs: Sequence[Output]) -> None:
        """The engine continues as the engine of the classic group, so this replay needs another
        engine.
        """
        classic = write.last(RecordKind.CLASSIC)
        assert classic is not None
        events = [
            (each.at_ms, each.event)
            for each in outputs
            if each.event is not None and each.event.kind == "REBALANCE_START"
        ]
        at_ms = self.driver.now_ms
        self.takeovers[classic.place] = Takeover(
            self.driver.coordinator, at_ms, classic.record, events
        )
        self._renew_driver(at_ms)

    def _change_era(self, at_ms: int) -> None:
        """Load the group's records if a coordinator of another era has taken over the group."""
        stretch, before = self.eras.stretch_at(at_ms), self._stretch
        self._stretch = stretch
        if stretch.era.name == before.era.name:
            return
        self._inference.validates_topologies = self._validates_topologies
        self._renew_driver(self.driver.now_ms)
        if self._is_running:
            self._load(stretch.from_ms)

    def _renew_driver(self, at_ms: int) -> None:
        """Continue with a new engine, which has the topics but no group."""
        outputs = self.driver.outputs
        self.driver = ModernDriver(self.incarnation.group_id, self._era, self.config)
        self.driver.now_ms = at_ms
        self.driver.outputs = outputs
        topics = ModernStimulus(
            at_ms=at_ms,
            kind=ModernStimulusKind.TOPICS,
            member_id="",
            basis=Basis.ASSUMED,
            evidence="",
        )
        self.driver.apply(topics._replace(topics=tuple(self._topics.image.topics.values())))

    @property
    def _era(self) -> Era:
        return ERAS[self._stretch.era.name]

    @property
    def _validates_topologies(self) -> bool:
        rules = self._era.modern
        return rules is not None and rules.streams.writes_validated_epoch

    @property
    def names(self) -> dict[str, str]:
        """Names of topics by id, as far as evidence shows them."""
        return self._topics.names

    @property
    def unnamed_topics(self) -> list[str]:
        """Ids of topics; a streams group has tasks of subtopologies instead."""
        has_topology = self._inference.group_type.has_topology
        return [] if has_topology else self._topics.unnamed(self._stored.assigned())

    # -- the state of the engine -----------------------------------------------------------------

    def _start(self, write: Write) -> bool:
        """Returns whether the engine can go on with this write: the group is new, or has been
        loaded.
        """
        is_new = not any(True for _ in self._stored.all_of(RecordKind.MEMBER)) and bool(
            write.of(RecordKind.MEMBER)
        )
        if write.converts:
            self._load(write.at_ms)
            self._is_running = True
        elif is_new and self._stored.epoch is None and self._begins(write):
            self._is_running = True
        elif self._stored.target_epoch is not None and not write.converts:
            self._load(write.at_ms)
            self._is_running = True
            epoch = self._stored.target_epoch
            self.resumed_from.append((self.incarnation.number, epoch))
        if self._is_running:
            self._spans_ms.append((write.at_ms, write.at_ms))
        return self._is_running

    def _begins(self, write: Write) -> bool:
        group = write.last(RecordKind.GROUP)
        rules = self._era.modern
        if group is None or group.value is None or rules is None:
            # The engine must resolve a regular expression first.
            return write.last(RecordKind.GROUP) is None
        return bool(group.value["epoch"] == rules.first_epoch + 1)

    def _resume(self, write: Write) -> None:
        """Load production's records: later generations are judged independently."""
        self._stored.apply(write.entries)
        self._load(write.entries[-1].at_ms)

    def _load(self, at_ms: int) -> None:
        names = self._stored.subscribed()
        group = self._stored.of(RecordKind.GROUP)
        written = None if group is None else group.get("metadata_hash")
        topics = self._stored.of(RecordKind.TOPICS)
        if topics is not None:
            changed, deleted = self._topics.changes_to(names, topics["topics"])
            is_known = True
        else:
            assigned = self._stored.assigned()
            changed, deleted, is_known = self._topics.changes(names, assigned, written)
        if changed or deleted:
            self.driver.apply(
                ModernStimulus(
                    at_ms=at_ms,
                    kind=ModernStimulusKind.TOPICS,
                    member_id="",
                    basis=Basis.ASSUMED,
                    evidence="",
                    request=None,
                    topics=tuple(changed),
                    deleted=tuple(deleted),
                )
            )
        own = None if is_known or written is None else self._topics.image.group_hash(names)
        self.driver.load(self._stored.records(own), at_ms)

    def _next_assigned(self, at: int) -> Ids:
        """The partitions of the next target from this entry on, else of the last."""
        place = bisect_left(self._targets, at, key=lambda each: each[0])
        if place < len(self._targets):
            return self._targets[place][1]
        return self._targets[-1][1] if self._targets else {}

    # -- generations -----------------------------------------------------------------------------

    def _generations(self, replayed: Sequence[ReplayedWrite | None]) -> Iterator[ModernGeneration]:
        """A write that changes the group leads to the next target, other writes to the last."""
        pending: list[ReplayedWrite] = []
        generation: ModernGeneration | None = None
        for each in replayed:
            if each is None:
                continue
            target = each.write.last(RecordKind.TARGET)
            if target is not None and target.value is not None:
                if generation is not None:
                    yield generation
                generation = ModernGeneration(
                    incarnation=self.incarnation.number,
                    number=target.value["assignment_epoch"],
                    group_type=target.group_type.name,
                    era=self.eras.inferred_at(each.write.at_ms).name,
                    writes=[*pending, each],
                )
                pending = []
            elif pending or _leads_on(each.write) or generation is None:
                pending.append(each)
            else:
                generation.writes.append(each)
        if generation is not None:
            generation.writes += pending
            yield generation


def _place(begins_ms: Sequence[int], at_ms: int) -> int:
    return max(bisect_left(begins_ms, at_ms + NEAR_MS) - 1, 0)


def _leads_on(write: Write) -> bool:
    return write.what is not Wrote.STATES and bool(write.of(RecordKind.GROUP))


def _targets(entries: Sequence[Entry]) -> list[tuple[int, Ids]]:
    """For each target: its position among the entries, and the partitions of all members."""
    stored, targets = Stored(), []
    for place, each in enumerate(entries):
        stored.apply([each])
        if each.kind is RecordKind.TARGET and each.value is not None and stored.members:
            targets.append((place, stored.assigned()))
    return targets


def _ready_hash(entries: Sequence[Entry]) -> int | None:
    """The hash of the topics at the first target that has tasks."""
    stored = Stored()
    for each in entries:
        stored.apply([each])
        if each.kind is RecordKind.TARGET and stored.assigned():
            group = stored.of(RecordKind.GROUP)
            return None if group is None else group.get("metadata_hash")
    return None
