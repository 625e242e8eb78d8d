"""A group's incident played again: every generation reproduced, or diverged and why."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from coordinator_core.coordinator.era import Config, Era
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.incident.broker_settings import (
    InferredDelay,
    InferredEra,
    infer_era,
    infer_initial_delay,
)
from coordinator_core.incident.commits import commit_stimuli, commits
from coordinator_core.incident.comparison import Comparison, compare
from coordinator_core.incident.engine_driver import EngineDriver, EngineOutput
from coordinator_core.incident.evidence import GroupRecord, Incarnation, Row
from coordinator_core.incident.generation_evidence import GenerationEvidence, chapters
from coordinator_core.incident.later_evidence import later
from coordinator_core.incident.log_inference import LogInference
from coordinator_core.incident.members import MemberDirectory
from coordinator_core.incident.record_inference import RecordInference, before_first_start
from coordinator_core.incident.stimuli import ExpiredSession, Stimulus, StimulusKind
from coordinator_core.protocol.messages import Record
from coordinator_core.records import encode_key

_FOREVER_MS = 1 << 62


@dataclass(frozen=True)
class ExplainedGeneration:
    """A chapter, what was inferred from it, and the next one's beginning."""

    chapter: GenerationEvidence
    stimuli: Sequence[Stimulus]
    expired_sessions: Sequence[ExpiredSession]
    ends_ms: int

    @property
    def is_logged(self) -> bool:
        return self.chapter.start is not None


@dataclass(frozen=True)
class ReplayedGeneration:
    """One generation's verdict.  ``happened``: what the engine said and wrote."""

    incarnation: int
    explained: ExplainedGeneration
    outcome: Comparison
    engine_outputs: Sequence[EngineOutput]

    @property
    def number(self) -> int:
        return self.explained.chapter.generation

    @property
    def is_reproduced(self) -> bool:
        return self.outcome.difference is None

    @property
    def inferred(self) -> Sequence[Stimulus]:
        return self.explained.stimuli

    @property
    def evidence(self) -> str:
        """As in the table generations: records, log, both."""
        chapter = self.explained.chapter
        if chapter.start is None:
            return "records"
        return "both" if chapter.records else "log"


@dataclass(frozen=True)
class GroupReplay:
    """``taken_up``: (incarnation, generation) that the evidence begins with, not judged: the
    replay goes on from them.  ``members``: of each incarnation.
    """

    group_id: str
    era: InferredEra
    config: Config
    generations: Sequence[ReplayedGeneration]
    resumed_from: Sequence[tuple[int, int]]
    members: Mapping[int, MemberDirectory]
    delay: InferredDelay


def replay(
    lives: Sequence[Incarnation],
    *,
    era: str | None = None,
    from_ms: int = 0,
    to_ms: int = _FOREVER_MS,
    offset_versions: Iterable[int] = (),
    committed: Iterable[Row] = (),
) -> GroupReplay:
    """Play all lives of a group; judge the generations that end in from_ms .. to_ms.

    Without ``era`` it is told from what the broker wrote.  ``committed``: rows of
    committed_offsets with ``at_ms``, their commit_time; their commits are played, too.
    """
    found = _era(lives, era, offset_versions)
    rules = ERAS[found.name]
    told = [(life, chapters(life), MemberDirectory(life)) for life in lives]
    delay = infer_initial_delay((parts, members) for _, parts, members in told)
    config = Config(group_initial_rebalance_delay_ms=delay.delay_ms, offsets_topic_partitions=1)
    taken = commits(committed)
    judged: list[ReplayedGeneration] = []
    resumed_from: list[tuple[int, int]] = []
    for life, parts, members in told:
        baseline = _IncarnationReplay(life, members, rules, config, commit_stimuli(life, taken))
        for generation in baseline.play(parts, from_ms, to_ms):
            judged.append(generation)
        resumed_from += baseline.resumed_from
    known = {life.incarnation: members for life, _, members in told}
    group_id = lives[0].group_id if lives else ""
    return GroupReplay(group_id, found, config, judged, resumed_from, known, delay)


@dataclass(frozen=True)
class ExplainedIncarnation:
    """What reached the coordinator in one life of a group, chapter by chapter."""

    life: Incarnation
    members: MemberDirectory
    chapters: Sequence[ExplainedGeneration]


@dataclass(frozen=True)
class ExplainedGroup:
    """All lives of a group explained, and what the evidence tells of its broker."""

    group_id: str
    era: InferredEra
    delay: InferredDelay
    lives: Sequence[ExplainedIncarnation]


def explain(
    lives: Sequence[Incarnation], *, era: str | None = None, offset_versions: Iterable[int] = ()
) -> ExplainedGroup:
    """As ``replay`` does, with nothing played."""
    found = _era(lives, era, offset_versions)
    told = [(life, chapters(life), MemberDirectory(life)) for life in lives]
    delay = infer_initial_delay((parts, members) for _, parts, members in told)
    config = Config(group_initial_rebalance_delay_ms=delay.delay_ms)
    explained = [
        ExplainedIncarnation(
            life,
            members,
            _IncarnationReplay(life, members, ERAS[found.name], config, []).explain(p),
        )
        for life, p, members in told
    ]
    return ExplainedGroup(lives[0].group_id if lives else "", found, delay, explained)


def _era(
    lives: Sequence[Incarnation], era: str | None, offset_versions: Iterable[int]
) -> InferredEra:
    return infer_era(lives, offset_versions) if era is None else InferredEra(era, "as asked for")


class _IncarnationReplay:
    def __init__(
        self,
        life: Incarnation,
        members: MemberDirectory,
        era: Era,
        config: Config,
        committed: list[Stimulus],
    ) -> None:
        self.committed = committed
        self.life, self.members, self.era, self.config = life, members, era, config
        self.resumed_from: list[tuple[int, int]] = []

    def play(
        self, parts: list[GenerationEvidence], from_ms: int, to_ms: int
    ) -> list[ReplayedGeneration]:
        wanted = [each for each in parts if each.begins_ms <= to_ms]
        first = next((n for n, each in enumerate(wanted) if each.ends_ms >= from_ms), len(wanted))
        while 0 < first < len(wanted) and not wanted[first - 1].records:
            first -= 1
        explained = self.explain(wanted[max(first - 1, 0) :])
        if not explained:
            return []
        last_contacts = {
            silence.member_id: silence.last_contact_ms
            for each in explained
            for silence in each.expired_sessions
        }
        player = EngineDriver(
            self.life.group_id, self.era, self.config, self.members, last_contacts
        )
        judged = []
        is_unseen = first > 0 or _begins_in_the_middle(wanted)
        for each in explained:
            if not is_unseen:
                judged += self._judge(player, each)
            elif each.chapter.generation > 0 and self._go_on_from(player, each.chapter):
                self.resumed_from.append((self.life.incarnation, each.chapter.generation))
                is_unseen = False
        return [each for each in judged if each.explained.chapter.ends_ms >= from_ms]

    def _go_on_from(self, player: EngineDriver, chapter: GenerationEvidence) -> bool:
        """As a coordinator that takes the group over with the chapter's last record, if it can."""
        sound = [record for record in chapter.records if record.is_sound]
        if sound:
            player.take_up(self._as_written(sound[-1]), sound[-1].at_ms)
        return bool(sound)

    def _judge(self, player: EngineDriver, each: ExplainedGeneration) -> list[ReplayedGeneration]:
        begin = len(player.engine_outputs)
        for stimulus in each.stimuli:
            player.play(stimulus)
        player.pass_to(each.ends_ms)
        engine_outputs = player.engine_outputs[begin:]
        if each.chapter.generation == 0:
            return []
        outcome = compare(each.chapter, engine_outputs, self.era, with_times=each.is_logged)
        if outcome.difference is not None:
            self._go_on_from(player, each.chapter)  # what follows is judged on its own
        return [ReplayedGeneration(self.life.incarnation, each, outcome, engine_outputs)]

    def _as_written(self, record: GroupRecord) -> Record:
        key = encode_key("GroupMetadata", {"group": self.life.group_id})
        return key, record.value(record.state_timestamp_ms)

    # -- explaining ------------------------------------------------------------------------------

    def explain(self, parts: list[GenerationEvidence]) -> list[ExplainedGeneration]:
        delay_ms = self.config.group_initial_rebalance_delay_ms
        later_ = later(parts, self.members)
        asked: dict[str, int] = {}
        before: tuple[str, ...] = ()
        generation, since_ms = 0, 0
        found: list[ExplainedGeneration] = []
        for chapter in parts:
            stimuli: list[Stimulus] = []
            expired_sessions: list[ExpiredSession] = []
            if chapter.start is not None:
                read = LogInference(chapter, before, asked, self.members, later_, delay_ms).read()
                stimuli, expired_sessions, before = read
            elif chapter.generation > 0 and chapter.records:
                reader = RecordInference(
                    chapter, before, generation, since_ms, self.members, self.era, delay_ms
                )
                stimuli, expired_sessions, before = reader.read()
                stimuli = stimuli + before_first_start(chapter, asked)
            else:
                stimuli = before_first_start(chapter, asked)
            generation, since_ms = chapter.generation, chapter.ends_ms
            found.append(ExplainedGeneration(chapter, stimuli, expired_sessions, chapter.ends_ms))
        return _until_next(self._with_commits(found))

    def _with_commits(self, found: list[ExplainedGeneration]) -> list[ExplainedGeneration]:
        """Each where it was made; of one millisecond the commit comes before what ends a phase."""
        begins = [_begins_ms(each) for each in found]
        mine: dict[int, list[Stimulus]] = {}
        for commit in self.committed:
            place = bisect_left(begins, commit.at_ms) - 1
            mine.setdefault(max(place, 0), []).append(commit)
        return [
            replace(each, stimuli=_in_order(mine.get(place, []), each.stimuli))
            for place, each in enumerate(found)
        ]


def _begins_in_the_middle(parts: list[GenerationEvidence]) -> bool:
    """What is left of a life, by compaction or by a log that was rolled away."""
    return next((each.generation for each in parts if each.generation > 0), 1) > 1


def _begins_ms(each: ExplainedGeneration) -> int:
    lines = [line.at_ms for line in each.chapter.events[:1]] if each.is_logged else []
    return min([*lines, *(stimulus.at_ms for stimulus in each.stimuli)], default=0)


def _in_order(commits_: list[Stimulus], stimuli: Sequence[Stimulus]) -> list[Stimulus]:
    """A commit behind a generation's record in the log comes after the sync that made it."""
    synced = max((s.at_ms for s in stimuli if s.kind is StimulusKind.SYNC), default=None)

    def place(stimulus: Stimulus) -> tuple[int, int]:
        if stimulus.kind is not StimulusKind.COMMIT:
            return stimulus.at_ms, 1
        return stimulus.at_ms, 2 if stimulus.at_ms == synced else 0

    return sorted([*commits_, *stimuli], key=place)


def _until_next(found: list[ExplainedGeneration]) -> list[ExplainedGeneration]:
    """A chapter lasts at most until the next one's first stimulus."""
    ends = []
    for each, following in zip(found, [*found[1:], None], strict=True):
        end_ms = each.chapter.ends_ms
        if following is not None and following.stimuli:
            end_ms = min(end_ms, min(s.at_ms for s in following.stimuli) - 1)
        ends.append(ExplainedGeneration(each.chapter, each.stimuli, each.expired_sessions, end_ms))
    return ends
