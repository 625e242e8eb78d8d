"""Whether a group should migrate to the consumer protocol: verdict, settings, what gets worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coordinator_core.client import LIBRARIES
from coordinator_core.figures import counted
from coordinator_core.whatif.advice import cheapest, figures_text, is_sure
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.broker_limits import widened_limits
from coordinator_core.whatif.candidates import session_of_members
from coordinator_core.whatif.client_libraries import slow_handlers
from coordinator_core.whatif.config_blocks import broker_properties, client_properties
from coordinator_core.whatif.currencies import better_and_worse
from coordinator_core.whatif.figures import Prediction
from coordinator_core.whatif.fit import not_explained
from coordinator_core.whatif.judgement import GroupJudgement
from coordinator_core.whatif.kafka_names import CONSUMER_SESSION, seconds
from coordinator_core.whatif.readiness import CHECK, OFFLINE, PREVENTS, Blocker, effects
from coordinator_core.whatif.settings import CONSUMER_PROTOCOL, SettingsChange

MIGRATE, STAY, NO_DIFFERENCE, BLOCKED, UNKNOWN = (
    "migrate", "stay", "no difference", "blocked", "unknown",
)  # fmt: skip
MIGRATED, NOT_APPLICABLE = "migrated", "not applicable"
# A downtime counts as worse if it is longer by at least this share and by this many ms.
_MIN_SHARE, _MIN_MS = 0.1, 5000


@dataclass(frozen=True, kw_only=True)
class MigrationVerdict:
    """``reason``: one sentence; ``chosen`` has the settings of the consumer protocol to migrate
    with, of which ``client_properties`` and ``broker_properties`` are the lines to paste;
    ``defaults`` are those of a broker where nothing is configured.  ``worse`` says what gets worse,
    one sentence each.
    """

    verdict: str
    reason: str
    blockers: Sequence[Blocker]
    chosen: Prediction | None = None
    defaults: Prediction | None = None
    worse: Sequence[str] = ()
    client_properties: str | None = None
    broker_properties: str | None = None


def not_predicted(verdict: str, reason: str, blockers: Sequence[Blocker]) -> MigrationVerdict:
    """Without a prediction: ``blocked`` if something prevents the migration."""
    prevented = effects(blockers)[PREVENTS]
    if prevented:
        return MigrationVerdict(
            verdict=BLOCKED, reason="; ".join(each.detail for each in prevented), blockers=blockers
        )
    return MigrationVerdict(verdict=verdict, reason=reason, blockers=blockers)


def verdict_of(
    baseline: Baseline, judged: GroupJudgement, blockers: Sequence[Blocker]
) -> MigrationVerdict:
    """The verdict on a classic group.  ``judged`` may have changes of both protocols.  Members stay
    static or dynamic as they are; table what_if also has changes of protocol and membership.
    """
    unchanged, predicted = judged.model, judged.predicted
    if judged.advice.misses:
        return not_predicted(UNKNOWN, not_explained(judged.advice.misses), blockers)
    tried = [each for each in predicted if _only_migrates(each.change)]
    if not tried:
        reason = (
            "no setting with the consumer protocol was simulated, or the group's clients "
            "accept none"
        )
        return not_predicted(UNKNOWN, reason, blockers)
    chosen = _chosen(baseline, unchanged, tried)
    verdict, reason = _verdict(baseline, unchanged, chosen, blockers)
    return MigrationVerdict(
        verdict=verdict,
        reason=reason,
        blockers=blockers,
        chosen=chosen,
        defaults=next((each for each in tried if _is_default(each.change)), None),
        worse=[*_worse(baseline, unchanged, chosen, tried), *_alternative(chosen, predicted)],
        client_properties=_client_lines(baseline, chosen.change, blockers),
        broker_properties=broker_properties(baseline, chosen.change),
    )


def _only_migrates(change: SettingsChange) -> bool:
    return change.group_protocol == CONSUMER_PROTOCOL and change.membership is None


def _chosen(baseline: Baseline, unchanged: Prediction, tried: Sequence[Prediction]) -> Prediction:
    """The cheapest settings that save most; if none saves surely, those with the least downtime."""
    saving = cheapest(baseline, unchanged, tried)
    if saving is not unchanged:
        return saving
    return min(tried, key=lambda each: (each.median.unavailable_partition_ms, each.change.cost))


def _verdict(
    baseline: Baseline, unchanged: Prediction, chosen: Prediction, blockers: Sequence[Blocker]
) -> tuple[str, str]:
    by_effect = effects(blockers)
    text = f"{chosen.change.in_kafka_names()}: {figures_text(unchanged.median, chosen.median)}"
    if by_effect[PREVENTS]:
        prevented = "; ".join(each.detail for each in by_effect[PREVENTS])
        return BLOCKED, f"{prevented}. Predicted: {text}"
    if is_sure(baseline, unchanged, chosen) and _share(unchanged, chosen) >= _MIN_SHARE:
        verdict = MIGRATE
    elif _is_longer(unchanged, chosen):
        verdict = STAY
    else:
        verdict, text = NO_DIFFERENCE, f"no clear difference; {text}"
    reasons = [text, *(each.detail for each in by_effect[OFFLINE])]
    if by_effect[CHECK] and verdict == MIGRATE:
        reasons.append(f"check first: {', '.join(each.blocker for each in by_effect[CHECK])}")
    return verdict, "; ".join(reasons)


def _share(unchanged: Prediction, chosen: Prediction) -> float:
    before_ms = unchanged.median.unavailable_partition_ms
    return (before_ms - chosen.median.unavailable_partition_ms) / before_ms if before_ms else 0.0


def _is_longer(unchanged: Prediction, other: Prediction) -> bool:
    """Returns whether the downtime is longer in every simulation, and by more than noise."""
    added_ms = other.median.unavailable_partition_ms - unchanged.median.unavailable_partition_ms
    is_sure_of_it = (
        other.minimum.unavailable_partition_ms > unchanged.maximum.unavailable_partition_ms
    )
    limit_ms = max(_MIN_SHARE * unchanged.median.unavailable_partition_ms, _MIN_MS)
    return is_sure_of_it and added_ms >= limit_ms


def _is_default(change: SettingsChange) -> bool:
    return change == SettingsChange(group_protocol=CONSUMER_PROTOCOL, era=change.era)


def _client_lines(
    baseline: Baseline, change: SettingsChange, blockers: Sequence[Blocker]
) -> str | None:
    lines = client_properties(baseline, change)
    if lines is None or not effects(blockers)[OFFLINE]:
        return lines
    first = "# brokers refuse to convert this group while it runs: stop all processes first"
    return f"{first}\n{lines}"


# -- what gets worse -------------------------------------------------------------------------------


def _worse(
    baseline: Baseline, unchanged: Prediction, chosen: Prediction, tried: Sequence[Prediction]
) -> Iterator[str]:
    now_ms = unchanged.median.unavailable_partition_ms
    default = next((each for each in tried if _is_default(each.change)), None)
    if default is not None and _is_longer(unchanged, default):
        default_ms = baseline.configured.limit_ms(f"group.{CONSUMER_SESSION}")
        yield (
            f"without {CONSUMER_SESSION} the broker's default applies"
            f" ({seconds(default_ms)}; today {seconds(session_of_members(baseline))}):"
            f" partition downtime {seconds(default.median.unavailable_partition_ms)} instead of"
            f" {seconds(now_ms)}"
        )
    limits = widened_limits(baseline, chosen.change)
    if limits:
        yield f"brokers need {', '.join(limits)} (server.properties, a restart, for all groups)"
    if any(process.instance_id for process in baseline.processes):
        yield (
            "Consumer protocol: a killed static member that returns before its session expires "
            "gets UNRELEASED_INSTANCE_ID (fatal); the classic protocol lets it replace the old "
            f"member. Refused in simulation: {_starts(chosen.median.static_refused)}. The "
            "evidence cannot tell such a kill from a restart."
        )
    yield from _of_applications(baseline, unchanged, chosen)
    yield from _of_range(chosen, tried)


def _alternative(chosen: Prediction, predicted: Sequence[Prediction]) -> Iterator[str]:
    """A change that keeps the classic protocol, and saves more."""
    others = [each for each in predicted if each.change.group_protocol is None]
    best = min(others, key=lambda each: each.median.unavailable_partition_ms, default=None)
    chosen_ms = chosen.median.unavailable_partition_ms
    if best is not None and best.median.unavailable_partition_ms < (1 - _MIN_SHARE) * chosen_ms:
        yield (
            f"the classic protocol with {best.change.in_kafka_names()} has a partition downtime of"
            f" {seconds(best.median.unavailable_partition_ms)} instead of {seconds(chosen_ms)}"
        )


def _starts(count: int) -> str:
    return "1 start" if count == 1 else f"{count} starts"


def _of_applications(
    baseline: Baseline, unchanged: Prediction, chosen: Prediction
) -> Iterator[str]:
    if any(
        life.slow_polls and LIBRARIES[baseline.libraries[process.name]].is_librdkafka
        for process in baseline.processes
        for life in process.lives
    ):
        yield (
            "a librdkafka consumer that exceeds max.poll.interval.ms leaves only when its"
            " application polls again, or its session expires: its partitions wait until then"
        )
    if (text := slow_handlers(baseline)) is not None:
        yield text
    _, worse = better_and_worse(unchanged, chosen, baseline.group_protocol)
    yield from worse


def _of_range(chosen: Prediction, tried: Sequence[Prediction]) -> Iterator[str]:
    """The server's range assignor beside uniform, at the same timeouts."""
    ranged = next((each for each in tried if each.change.remote_assignor == "range"), None)
    if ranged is not None and ranged is not chosen:
        yield (
            f"uniform does not keep equal partitions of several topics together; range does:"
            f" {counted(ranged.median.moved_partitions, 'partition')} moved instead of"
            f" {chosen.median.moved_partitions}, partition downtime"
            f" {seconds(ranged.median.unavailable_partition_ms)} instead of"
            f" {seconds(chosen.median.unavailable_partition_ms)}"
        )
