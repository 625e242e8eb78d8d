"""Why a change helps a group, what it costs or risks, and what its prediction assumes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coordinator_core.figures import counted
from coordinator_core.whatif.baseline import Baseline
from coordinator_core.whatif.broker_limits import widened_limits
from coordinator_core.whatif.client_libraries import kinds_under
from coordinator_core.whatif.client_settings import is_online
from coordinator_core.whatif.figures import Prediction
from coordinator_core.whatif.kafka_names import INSTANCE_ID, POLL, seconds
from coordinator_core.whatif.predict import instance_ids_of, other_instance_ids
from coordinator_core.whatif.settings import (
    CONSUMER_PROTOCOL,
    COOPERATIVE,
    ORDINAL,
    PROCESS,
    SettingsChange,
)

_SOURCES = {
    PROCESS: "the process's own name",
    ORDINAL: "a name that a process keeps (a StatefulSet's pod)",
}


def session_ms_of(baseline: Baseline, change: SettingsChange) -> int:
    if change.protocol_of(baseline.group_protocol) == CONSUMER_PROTOCOL:
        own = baseline.consumer
        default_ms = baseline.configured.limit_ms("group.consumer.session.timeout.ms")
        present_ms = default_ms if own is None else own.session_timeout_ms
        return change.consumer_session_timeout_ms or present_ms
    return change.session_timeout_ms or _present_session_ms(baseline)


# -- reasons ---------------------------------------------------------------------------------------


def reasons_of(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    if change.membership == "static":
        yield _restarts(baseline, change)
    if COOPERATIVE in (change.assignors or ()) or _becomes_consumer(baseline, change):
        yield "members revoke only the partitions that move to another member"
    if change.rebalance_timeout_ms is not None:
        yield "applications may take longer between polls before they leave the group"
    if change.initial_rebalance_delay_ms is not None:
        yield "the broker waits longer for members before the first generation"
    if change.commit_interval_ms is not None:
        yield "a process that does not commit when it stops leaves up to" + (
            f" {seconds(change.commit_interval_ms)} of records to handle again"
        )
    is_longer = (change.consumer_session_timeout_ms or 0) > _present_session_ms(baseline)
    if (change.session_timeout_ms is not None or is_longer) and change.membership is None:
        yield "members may send no heartbeat for longer before their session expires"


def _becomes_consumer(baseline: Baseline, change: SettingsChange) -> bool:
    protocol = change.protocol_of(baseline.group_protocol)
    return CONSUMER_PROTOCOL == protocol != baseline.group_protocol


def _present_session_ms(baseline: Baseline) -> int:
    return max(
        life.member.session_timeout_ms for process in baseline.processes for life in process.lives
    )


def _restarts(baseline: Baseline, change: SettingsChange) -> str:
    downtimes_ms = [
        life.started.at_ms - previous.ended.at_ms
        for process in baseline.processes
        for previous, life in zip(process.lives, process.lives[1:], strict=False)
        if previous.ended is not None
    ]
    session_ms = session_ms_of(baseline, change)
    within = sum(each < session_ms for each in downtimes_ms)
    return (
        f"{within} of {counted(len(downtimes_ms), 'restart')} took less than the session timeout of"
        f" {seconds(session_ms)}: static members then keep their partitions without a rebalance"
    )


# -- risks -----------------------------------------------------------------------------------------


def risks_of(baseline: Baseline, change: SettingsChange) -> str | None:
    """What the change costs or risks, or None for no change."""
    return "; ".join(_risks(baseline, change)) or None


def _risks(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    session = seconds(session_ms_of(baseline, change))
    if change.membership == "static":
        yield (
            "the partitions of a stopped process wait until it returns or its session of "
            f"{session} expires, also at a scale-in (Admin.removeMembersFromConsumerGroup is "
            f"faster); two processes with the same {INSTANCE_ID} fence each other"
        )
    elif change.session_timeout_ms is not None or _sets_consumer_session(baseline, change):
        yield f"the partitions of a killed or frozen process wait {session}"
    yield from _consumer_risks(baseline, change)
    if change.rebalance_timeout_ms is not None:
        poll = seconds(change.rebalance_timeout_ms)
        yield f"a hung application ({POLL}) and a member that does not rejoin cost up to {poll}"
    if change.commit_interval_ms is not None:
        yield f"members commit every {seconds(change.commit_interval_ms)}: more requests to brokers"
    yield from _assignor_risks(baseline, change)
    if change.initial_rebalance_delay_ms is not None:
        delay = seconds(change.initial_rebalance_delay_ms)
        yield f"every start of an empty group of these brokers waits {delay} or longer"
    if change.era is not None:
        yield "another broker version"


def _sets_consumer_session(baseline: Baseline, change: SettingsChange) -> bool:
    return change.consumer_session_timeout_ms is not None or _becomes_consumer(baseline, change)


def _consumer_risks(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    if change.protocol_of(baseline.group_protocol) != CONSUMER_PROTOCOL:
        if change.group_protocol is not None:
            yield "one rolling deployment; clients configure sessions and assignor again"
        return
    if _becomes_consumer(baseline, change):
        yield "one rolling deployment; applications cannot configure sessions or assignors"
    is_static = any(process.instance_id for process in baseline.processes)
    if change.membership == "static" or (is_static and _becomes_consumer(baseline, change)):
        yield (
            "a killed static member that returns before its session expires is refused "
            "(UNRELEASED_INSTANCE_ID, fatal for the client)"
        )
    limits = widened_limits(baseline, change)
    if limits:
        yield f"brokers need {', '.join(limits)}, with a restart"


def _assignor_risks(baseline: Baseline, change: SettingsChange) -> Iterator[str]:
    after, before = change.assignors, baseline.assignors
    if after is None or after == before:
        return
    kinds = kinds_under(baseline, change)
    stopped = [kind for kind in kinds if not is_online(kind, after, before)]
    if before and stopped:
        yield f"{', '.join(stopped)} consumers must all be stopped for the change"
    elif before:
        yield "two rolling deployments"
    if COOPERATIVE in after:
        yield "moved partitions take two rebalances in a row"


# -- assumptions -----------------------------------------------------------------------------------


def assumption_of(
    baseline: Baseline, prediction: Prediction, predictions: Sequence[Prediction]
) -> str | None:
    """Where the prediction takes instance ids from, with the figures of the other source if they
    are among ``predictions``; None: it assumes no instance ids.
    """
    source = instance_ids_of(baseline, prediction.change)
    if source is None:
        return None
    text = f"assumes {INSTANCE_ID} = {_SOURCES[source]}"
    change = other_instance_ids(baseline, prediction.change)
    if change is None:
        return f"{text}; every process kept its name, so stable names predict the same"
    other = next((each for each in predictions if each.change == change), None)
    if other is None:
        return text
    figures = other.median
    return (
        f"{text}; with {_SOURCES[ORDINAL if source == PROCESS else PROCESS]}:"
        f" {counted(figures.rebalances, 'rebalance')}, partition downtime"
        f" {seconds(figures.unavailable_partition_ms)}"
    )
