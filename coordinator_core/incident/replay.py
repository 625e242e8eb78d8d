"""Replay a group's incident through the engine: each generation is reproduced, or diverged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.era_evidence import NO_EVIDENCE, EraEvidence, InferredEra
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.broker_settings import InferredDelay
from coordinator_core.incident.commits import commit_stimuli, commits
from coordinator_core.incident.comparison import Comparison, compare
from coordinator_core.incident.engine_driver import EngineDriver, EngineOutput
from coordinator_core.incident.evidence import Incarnation, MetadataRecord, Row
from coordinator_core.incident.explanation import (
    ExplainedGeneration,
    PreparedIncarnation,
    delay_of,
    explain_generations,
    prepare,
)
from coordinator_core.incident.generation_evidence import GenerationEvidence
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.stimuli import Stimulus
from coordinator_core.incident.stretches import Eras, infer_eras, one_era
from coordinator_core.incident.takeover import Takeover
from coordinator_core.protocol.messages import Record
from coordinator_core.records import encode_key

NEVER_MS = 1 << 62


class ReplayVerdict(Enum):
    """UNDECIDED: no record of the incarnation remains, and its log lines alone are not enough."""

    REPRODUCED = "reproduced"
    DIVERGED = "diverged"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ReplayedGeneration:
    """``engine_outputs`` say what the engine logged and wrote; ``era`` is the era of the group's
    coordinator.
    """

    incarnation: int
    era: InferredEra
    explained: ExplainedGeneration
    comparison: Comparison
    engine_outputs: Sequence[EngineOutput]
    verdict: ReplayVerdict

    @property
    def number(self) -> int:
        return self.explained.evidence.generation

    @property
    def is_reproduced(self) -> bool:
        return self.verdict is ReplayVerdict.REPRODUCED

    @property
    def stimuli(self) -> Sequence[Stimulus]:
        return self.explained.stimuli

    @property
    def evidence(self) -> str:
        """The evidence as in the table generations: records, log or both."""
        evidence = self.explained.evidence
        if evidence.start is None:
            return "records"
        return "both" if evidence.records else "log"


@dataclass(frozen=True, kw_only=True)
class GroupReplay:
    """``resumed_from`` is the (incarnation, generation) whose record the engine was loaded with at
    the beginning; these generations have no verdict.  ``members``: by incarnation.  ``eras`` are
    the eras of the group's coordinators in order of time; ``era`` is the era of the last
    incarnation.
    """

    group_id: str
    eras: Eras
    config: CoordinatorConfig
    generations: Sequence[ReplayedGeneration]
    resumed_from: Sequence[tuple[int, int]]
    members: Mapping[int, MemberDirectory]
    delay: InferredDelay

    @property
    def era(self) -> InferredEra:
        return self.eras.last


def replay(
    incarnations: Sequence[Incarnation],
    *,
    era: str | None = None,
    from_ms: int = 0,
    to_ms: int = NEVER_MS,
    offset_versions: Iterable[int] = (),
    cluster: EraEvidence = NO_EVIDENCE,
    committed: Iterable[Row] = (),
    takeovers: Sequence[Takeover | None] = (),
) -> GroupReplay:
    """Replay all incarnations of a group; verdicts of generations that end in from_ms .. to_ms.

    Without ``era``, the eras are inferred. ``cluster``: see `infer_era`.  ``committed`` has rows of
    committed_offsets with ``at_ms``, their commit_time; these commits are replayed, too.
    ``takeovers`` has, per incarnation, the engine that has the group at the incarnation's
    beginning, if the group had another type before.  A time in which a group was classic counts as
    an incarnation.
    """
    eras = (
        infer_eras(incarnations, offset_versions, cluster)
        if era is None
        else one_era(InferredEra(era, "as requested"))
    )
    prepared = prepare(incarnations)
    delay = delay_of(prepared)
    config = CoordinatorConfig(
        group_initial_rebalance_delay_ms=delay.delay_ms, offsets_topic_partitions=1
    )
    offsets = commits(committed)
    generations: list[ReplayedGeneration] = []
    resumed_from: list[tuple[int, int]] = []
    for place, each in enumerate(prepared):
        commits_of_incarnation = [
            commit
            for commit in commit_stimuli(each.incarnation, offsets)
            if each.incarnation.begins_ms <= commit.at_ms < each.incarnation.ends_ms
        ]
        run = _IncarnationReplay(each, eras, config, commits_of_incarnation)
        run.takeover = takeovers[place] if place < len(takeovers) else None
        generations += run.replay(from_ms, to_ms)
        resumed_from += run.resumed_from
    members = _members(incarnations)
    group_id = incarnations[0].group_id if incarnations else ""
    return GroupReplay(
        group_id=group_id,
        eras=eras,
        config=config,
        generations=generations,
        resumed_from=resumed_from,
        members=members,
        delay=delay,
    )


def _members(incarnations: Iterable[Incarnation]) -> dict[int, MemberDirectory]:
    """Members by incarnation number, of all parts of the incarnation."""
    whole: dict[int, Incarnation] = {}
    for each in incarnations:
        first = whole.get(each.number, each._replace(events=(), records=()))
        whole[each.number] = first._replace(
            events=first.events + each.events, records=first.records + each.records
        )
    return {number: MemberDirectory(each) for number, each in whole.items()}


class _IncarnationReplay:
    takeover: Takeover | None = None

    def __init__(
        self,
        prepared: PreparedIncarnation,
        eras: Eras,
        config: CoordinatorConfig,
        commits: list[Stimulus],
    ) -> None:
        self.incarnation, self.members = prepared.incarnation, prepared.members
        self.generations = prepared.generations
        self.eras, self.config, self.commits = eras, config, commits
        self.resumed_from: list[tuple[int, int]] = []
        self._events_before: list[EngineOutput] = []  # of the conversion

    def replay(self, from_ms: int, to_ms: int) -> list[ReplayedGeneration]:
        selected = [each for each in self.generations if each.begins_ms <= to_ms]
        first = self._first_to_judge(selected, from_ms)
        explained = explain_generations(
            selected[max(first - 1, 0) :],
            self.members,
            self.eras.at,
            self.config.group_initial_rebalance_delay_ms,
            self.commits,
        )
        if not explained:
            return []
        last_contacts = {
            expired.member_id: expired.last_contact_ms
            for each in explained
            for expired in each.expired_sessions
        }
        driver = EngineDriver(
            self.incarnation.group_id, self.eras.at, self.config, self.members, last_contacts
        )
        replayed = []
        needs_state = first > 0 or _misses_earlier_generations(selected)
        for each in explained:
            if not needs_state:
                replayed += self._replay_generation(driver, each)
            elif each.evidence.generation > 0 and self._begin(driver, each.evidence):
                self.resumed_from.append((self.incarnation.number, each.evidence.generation))
                needs_state = False
        return [each for each in replayed if each.explained.evidence.ends_ms >= from_ms]

    def _first_to_judge(self, selected: list[GenerationEvidence], from_ms: int) -> int:
        """The first generation that ends in the window, or an earlier generation if the previous
        generation has no record from which the engine could resume.
        """
        first = next((n for n, each in enumerate(selected) if each.ends_ms >= from_ms), None)
        if first is None:
            return len(selected)
        while first > 0 and not selected[first - 1].records:
            first -= 1
        return first

    def _begin(self, driver: EngineDriver, evidence: GenerationEvidence) -> bool:
        """Take over the engine that converted the group, or load the generation's record."""
        takeover = self.takeover
        if takeover is None:
            return self._load_state(driver, evidence)
        self._events_before = driver.take_over(takeover)
        return True

    def _load_state(self, driver: EngineDriver, evidence: GenerationEvidence) -> bool:
        """Load the generation's last valid record, like a coordinator that takes over the group."""
        valid = [record for record in evidence.records if record.is_valid]
        if valid:
            driver.load_record(self._as_written(valid[-1]), valid[-1].at_ms)
        return bool(valid)

    def _replay_generation(
        self, driver: EngineDriver, each: ExplainedGeneration
    ) -> list[ReplayedGeneration]:
        begin = len(driver.outputs)
        for stimulus in each.stimuli:
            driver.apply(stimulus)
        driver.advance_to(each.ends_ms)
        outputs = self._events_before + driver.outputs[begin:]
        self._events_before = []
        if each.evidence.generation == 0:
            return []
        has_records = bool(self.incarnation.records)
        era = self.eras.inferred_at(each.evidence.begins_ms)
        comparison = compare(
            each.evidence,
            outputs,
            ERAS[era.name],
            with_times=each.is_logged,
            with_records=has_records,
        )
        if comparison.divergence is not None:
            # Later generations are judged independently of this generation.
            self._load_state(driver, each.evidence)
        verdict = _verdict(comparison, has_records=has_records)
        number = self.incarnation.number
        return [ReplayedGeneration(number, era, each, comparison, outputs, verdict)]

    def _as_written(self, record: MetadataRecord) -> Record:
        key = encode_key("GroupMetadata", {"group": self.incarnation.group_id})
        return key, record.value(record.state_timestamp_ms)


def _verdict(comparison: Comparison, *, has_records: bool) -> ReplayVerdict:
    if comparison.divergence is None:
        return ReplayVerdict.REPRODUCED
    return ReplayVerdict.DIVERGED if has_records else ReplayVerdict.UNDECIDED


def _misses_earlier_generations(generations: list[GenerationEvidence]) -> bool:
    """Returns whether earlier generations are missing, because of compaction or a deleted log."""
    return next((each.generation for each in generations if each.generation > 0), 1) > 1
