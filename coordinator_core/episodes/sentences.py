"""Episodes as sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from coordinator_core.episodes.episode_kind import EpisodeKind
from coordinator_core.episodes.evidence import (
    ABSORBED,
    ASSIGNMENT_FAILED,
    CLIENTS,
    CONFIG_CHANGE,
    EMPTY,
    MEMBER_NEW,
    NOT_REJOINED,
    SCHEDULED_CAUSES,
    SLOW_REVOKE,
    STOP_OR_SESSION_EXPIRED,
)
from coordinator_core.episodes.failover import is_after_load
from coordinator_core.episodes.inference import Episode
from coordinator_core.episodes.process_changes import (
    LONGEST_SESSION_MS,
    ProcessChange,
    What,
    at,
)
from coordinator_core.figures import Downtime, counted, partition_seconds, seconds


def summary(episode: Episode, downtime: Downtime | None) -> str:
    """What happened, and its cost. ``downtime`` is None if unknown."""
    return f"{_happened(episode)}: {_cost(episode, downtime)}"


def _cost(episode: Episode, downtime: Downtime | None) -> str:
    """Figures of 0 are words or left out. A rebalance that emptied the group is not counted."""
    parts = []
    if episode.counted_rebalances:
        parts.append(counted(episode.counted_rebalances, "rebalance"))
    elif not episode.generations:
        is_part = any(each.role != ABSORBED for each in episode.causes)
        parts.append("triggered no rebalance of its own" if is_part else "no rebalance")
    if episode.not_stable_ms:
        parts.append(f"{seconds(episode.not_stable_ms)} not stable")
    open_ms = max(
        (each.open_ms for each in episode.rebalances if each.open_ms is not None), default=None
    )
    if open_ms is not None:
        after = f" unfinished after {seconds(open_ms)}" if open_ms else " not finished"
        parts.append(f"a rebalance{after} when the log ends")
    parts.append(_unowned(episode, downtime))
    if downtime is None and episode.leaves_empty and episode.kind is not EpisodeKind.SHUTDOWN:
        parts.append("group left empty")
    if episode.partitions_moved:
        parts.append(f"{counted(episode.partitions_moved, 'partition')} moved")
    return ", ".join(parts)


def _unowned(episode: Episode, downtime: Downtime | None) -> str:
    if downtime is None:
        return "partition downtime unknown without records"
    if without_begin := episode.rebalances_without_begin:
        share = f"{without_begin} of {counted(episode.counted_rebalances, 'rebalance')}"
        if not downtime.unowned_ms:
            return f"partition downtime unknown ({share} without a logged begin)"
        return f"at least {partition_seconds(downtime)} ({share} without a logged begin)"
    return partition_seconds(downtime) if downtime.unowned_ms else "no partition downtime"


def _happened(episode: Episode) -> str:
    happened = _SENTENCES[episode.kind](episode)
    is_part = episode.is_interrupted and episode.kind is not EpisodeKind.COORDINATOR_FAILOVER
    return f"{happened} during a coordinator failover" if is_part else happened


def _of_processes(text: str, of_lines: str | None = None) -> Callable[[Episode], str]:
    """``of_lines`` is the sentence if lines alone are known, which do not name processes."""

    def sentence(episode: Episode) -> str:
        is_known = of_lines is None or all(each.is_identified for each in episode.changes)
        return (text if is_known else of_lines or text).format(_processes(episode.changes))

    return sentence


def _processes(changes: Sequence[ProcessChange]) -> str:
    """The name of one process, or the number of several processes; members if only lines name one
    of them.
    """
    names = {each.process for each in changes}
    return min(names) if len(names) == 1 else counted(len(names), _noun(changes))


def _noun(changes: Sequence[ProcessChange]) -> str:
    return "process" if all(each.is_identified for each in changes) else "member"


def _group_start(episode: Episode) -> str:
    """Lines may name fewer members than they count; lines of old versions do neither."""
    number, noun = len(episode.processes), _noun(episode.changes)
    if noun == "member" or not number:
        noun = "member"
        number = max([number, *(each.member_count for each in episode.rebalances)])
    return f"group starts with {counted(number, noun)}" if number else "group starts"


def _scale_out(episode: Episode) -> str:
    if episode.rebalances and all(each.open_ms is not None for each in episode.rebalances):
        return f"{_processes(episode.changes)} asked to join the group"
    return _of_processes("scale out by {}", "{} joined")(episode)


def _rolling_deployment(episode: Episode) -> str:
    replaced = [each for each in episode.changes if each.what is What.REPLACED]
    is_replaced = 2 * len(replaced) > len(episode.changes)
    # Processes that share a client id are known only by their member ids.
    has_names = not any(
        each.departure is not None and each.departure.member_id == each.process for each in replaced
    )
    how = " under new names" if is_replaced and has_names else ""
    if 2 * sum(each.is_surge for each in replaced) > len(episode.changes):
        how += ", new processes first"
    return f"rolling deployment of {_processes(episode.changes)}{how}"


def _restart(episode: Episode) -> str:
    first = episode.changes[0]
    if len(episode.changes) == 1 and first.arrival is not None and _is_unproven(first):
        return f"{first.process} left{_joined(first)}"
    what = f"{_processes(episode.changes)} {_restarted(episode.changes)}"
    if len(episode.processes) == 1 and len(episode.changes) > 1:
        what += f" {len(episode.changes)} times"
    by = next((each.by for each in episode.changes if each.by), None)
    if by and len(episode.processes) == 1:
        what += f" as {by}"
    is_logged = any(
        each.departure is not None or c.evidence == CLIENTS
        for each in episode.changes
        for c in each.causes
    )
    if is_logged:
        return what
    if all(c.cause == MEMBER_NEW for each in episode.changes for c in each.causes):
        return f"{_processes(episode.changes)} joined with new member ids, restarted or not"
    noun = "static member" if len(episode.processes) == 1 else "static members"
    return f"{what} ({noun})"


def _is_unproven(change: ProcessChange) -> bool:
    """Returns whether nothing but the time, or a client id of several members, relates the new
    member.
    """
    is_replaced = change.what is What.REPLACED and not change.is_identified
    return change.departure is not None and (is_replaced or not change.is_named)


def _restarted(changes: Iterable[ProcessChange]) -> str:
    """A consumer that polls too slowly leaves and joins again, too: without records, only the
    client's reason shows that it was closed.
    """
    return "restarted" if all(map(_is_closed, changes)) else "left and joined again"


def _is_closed(change: ProcessChange) -> bool:
    reason = change.departure.client_reason if change.departure else None
    return change.is_identified or (reason or "").endswith("being closed")


def _lost(episode: Episode) -> str:
    """Killed only if that is known."""
    killed = [each for each in episode.changes if each.what is What.KILLED]
    names = {each.process for each in killed}
    expired = [each for each in episode.changes if each.process not in names]
    parts = []
    if killed:
        is_of_client = all(c.evidence == CLIENTS for each in killed for c in each.causes)
        end = "ended without leaving" if is_of_client else "killed"
        parts.append(f"{_processes(killed)} {end}")
    if expired:
        what = "session" if len({each.process for each in expired}) == 1 else "sessions"
        parts.append(
            f"{what} of {_processes(expired)} expired{_after_load(expired, episode)}"
            f"{_fenced(expired)}"
            f"{_back(expired, episode)}{_details(episode)}"
        )
    return ", ".join(parts)


def _lost_or_frozen(episode: Episode) -> str:
    """The summary has each end that the evidence allows."""
    departures = [each.departure for each in episode.changes if each.departure is not None]
    ends = ["killed", "frozen"]
    if any(each.instance_id or each.story == STOP_OR_SESSION_EXPIRED for each in departures):
        ends.insert(0, "closed")
    if any(each.expires_when_slow for each in episode.rebalances):
        ends.append("slow to process a record")
    what = "session" if len(episode.processes) == 1 else "sessions"
    return (
        f"{_processes(episode.changes)} {', '.join(ends[:-1])} or {ends[-1]}, {what} expired"
        f"{_after_load(episode.changes, episode)}{_back(episode.changes, episode)}"
        f"{_details(episode)}"
    )


def _after_load(expired: Sequence[ProcessChange], episode: Episode) -> str:
    """Lines have no session timeout, so they do not show whether the session began with a load."""
    first = expired[0].departure
    if first is None or first.session_timeout_ms:
        return ""
    since_ms = (at(first) - each for each in episode.loads)
    nearest_ms = min((each for each in since_ms if 0 <= each <= LONGEST_SESSION_MS), default=None)
    return "" if nearest_ms is None else f" {seconds(nearest_ms)} after a broker loaded the group"


def _fenced(expired: Sequence[ProcessChange]) -> str:
    if not all(each.was_fenced for each in expired):
        return ", some of fenced clients" if any(each.was_fenced for each in expired) else ""
    whose = "its client was" if len(expired) == 1 else "their clients were"
    return f" after {whose} fenced"


def _back(expired: Sequence[ProcessChange], episode: Episode) -> str:
    """Lines alone do not show which process a new member is, nor who is in the group."""
    if not all(each.is_identified for each in expired):
        is_alone = len(expired) == 1 and expired[0].arrival is not None
        return _joined(expired[0]) if is_alone else ", not back" * episode.leaves_empty
    if all(each.arrival is None for each in expired):
        return ", not back"
    if any(each.arrival is None for each in expired):
        return ", some did not return"
    longest_ms = max(each.to_ms - each.from_ms for each in expired)
    return f", back after {seconds(longest_ms)}"


def _joined(change: ProcessChange) -> str:
    """Say when the new member joined, before or after the departure."""
    assert change.departure is not None
    assert change.arrival is not None
    since_ms = at(change.arrival) - at(change.departure)
    when = f"{seconds(abs(since_ms))} {'later' if since_ms > 0 else 'before'}"
    is_same = change.arrival.client == change.departure.client
    whose = " with its client id" if is_same else ""
    return f", {change.arrival.member_id}{whose} joined {when}"


def _host_lost(episode: Episode) -> str:
    return f"host {', '.join(episode.hosts)} lost with {_processes(episode.changes)}"


def _frozen(episode: Episode) -> str:
    if not all(each.is_identified for each in episode.changes):
        names = _processes(episode.changes)
        return f"{names} frozen, cut off or slow to poll, session expired{_frozen_for(episode)}"
    return f"{_processes(episode.changes)} frozen or cut off, session expired{_frozen_for(episode)}"


def _frozen_for(episode: Episode) -> str:
    departures = [each.departure for each in episode.changes if each.departure is not None]
    # A client logs the end of its session only after it runs again.
    if all(each.evidence == CLIENTS for each in departures):
        return _details(episode)
    if not any(each.session_timeout_ms for each in departures):
        away_ms = episode.to_ms - min(map(at, departures))
        return f", in the group again {seconds(away_ms)} later{_details(episode)}"
    longest_ms = max(each.to_ms - each.departed_ms for each in episode.changes)
    return f", back {seconds(longest_ms)} after its last heartbeat{_details(episode)}"


def _details(episode: Episode) -> str:
    """What the log of the only process shows about its departure."""
    departures = [each.departure for each in episode.changes if each.departure is not None]
    details = departures[0].client_details if len(departures) == 1 else []
    return "".join(f", {each}" for each in details)


def _slow_poll(episode: Episode) -> str:
    names = _processes(episode.changes)
    stories = {each.departure.story for each in episode.changes if each.departure is not None}
    if stories == {SLOW_REVOKE}:
        return f"{names} did not give up partitions within max.poll.interval.ms{_details(episode)}"
    if stories and stories <= set(NOT_REJOINED):
        verb = "rejoin" if stories == {NOT_REJOINED[0]} else "rejoin or sync"
        return f"{names} did not {verb} within max.poll.interval.ms{_details(episode)}"
    return f"{names} exceeded max.poll.interval.ms{_details(episode)}"


def _flapping(episode: Episode) -> str:
    verb = "departs" if len(episode.processes) == 1 else "depart"
    if all(each.what is What.SLOW_POLL for each in episode.changes):
        verb = "exceeded max.poll.interval.ms"
    if all(each.what is What.REPLACED for each in episode.changes):
        number = counted(len(episode.changes), "time")
        return f"crash loop: {episode.changes[0].process}, and then its successors, ended {number}"
    return f"flapping: {_processes(episode.changes)} {verb} {len(episode.changes)} times"


def _configuration(episode: Episode) -> str:
    is_of_connect = any(each.cause == CONFIG_CHANGE for each in episode.causes)
    rejoin = "connectors or tasks" if is_of_connect else "members rejoin"
    settings = "; ".join(episode.settings) or rejoin
    names = f" of {_processes(episode.changes)}" if episode.processes else ""
    return f"configuration change{names} ({settings})"


# Kafka Connect's short reasons, with an explanation of each.
_WHY = {
    "do not have latest config": "the worker does not have the latest config that other members "
    "know: it uses another config topic, or two Connect clusters "
    "share a group.id"
}


# Kafka Streams logs this text without its first word, "missing".
_MISSING = "source topics. [", "missing source topics ["


def _assignment_failed(episode: Episode) -> str:
    causes = [each for each in episode.causes if each.cause == ASSIGNMENT_FAILED]
    leaders = sorted({each.client for each in causes})
    texts = (each.client_reason for each in causes if each.client_reason)
    reasons = sorted({_WHY.get(text, text).replace(*_MISSING) for text in texts})
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return f"leader {', '.join(leaders)} could not assign{why}"


def _failover(episode: Episode) -> str:
    verbs = {What.TAKEOVER: "fenced", What.SESSION_LOST: "lost the session and joined again"}
    whats = {each.what for each in episode.changes}
    verb = verbs.get(next(iter(whats)), "joined again") if len(whats) == 1 else "joined again"
    if episode.changes and all(each.was_fenced for each in episode.changes):
        verb = f"fenced and ended{_back(episode.changes, episode)}"
    names = f", {_processes(episode.changes)} {verb}" if episode.processes else ""
    is_outage = whats == {What.SESSION_LOST} and not is_after_load(episode.to_ms, episode.loads)
    return f"coordinator {'outage' if is_outage else 'failover'}{names}"


def _planned(changes: Sequence[ProcessChange]) -> str:
    """Say what a leader's assignments show of members without a log."""
    gone = [each for each in changes if each.departure is not None]
    joined = [each for each in changes if each.arrival is not None]
    texts = [f"{_processes(gone)} left or was removed"] if len(gone) == 1 else []
    texts += [f"{_processes(gone)} left or were removed"] if len(gone) > 1 else []
    texts += [f"{_processes(joined)} joined"] if joined else []
    return f"{', '.join(texts)} (known from the leader's assignments only)"


def _unknown(episode: Episode) -> str:
    if episode.changes:
        return _planned(episode.changes)
    if any(each.is_first_seen for each in episode.rebalances):
        return f"evidence begins with generation {episode.generation_span[0]}"
    if any(each.cause in SCHEDULED_CAUSES for each in episode.causes):
        return "members rejoin at the time that an earlier assignment set"
    if any(each.outcome == EMPTY for each in episode.rebalances):
        return "group lost all members, no root cause in the evidence"
    return "no root cause in the evidence"


_SENTENCES: Mapping[EpisodeKind, Callable[[Episode], str]] = {
    EpisodeKind.GROUP_START: _group_start,
    EpisodeKind.ROLLING_DEPLOYMENT: _rolling_deployment,
    EpisodeKind.RESTART: _restart,
    EpisodeKind.WHOLE_GROUP_RESTART: _of_processes("whole group restarted ({})"),
    EpisodeKind.SHUTDOWN: _of_processes("group shut down ({})"),
    EpisodeKind.SCALE_OUT: _scale_out,
    EpisodeKind.SCALE_IN: _of_processes("scale in by {}", "{} left"),
    EpisodeKind.PROCESS_LOST: _lost,
    EpisodeKind.HOST_LOST: _host_lost,
    EpisodeKind.PROCESS_FROZEN: _frozen,
    EpisodeKind.PROCESS_LOST_OR_FROZEN: _lost_or_frozen,
    EpisodeKind.SLOW_POLL: _slow_poll,
    EpisodeKind.FLAPPING_MEMBER: _flapping,
    EpisodeKind.INSTANCE_ID_CONFLICT: _of_processes("second process with the instance id of {}"),
    EpisodeKind.GROUP_FULL: _of_processes("{} could not join: the group has its maximum size"),
    EpisodeKind.ASSIGNMENT_FAILED: _assignment_failed,
    EpisodeKind.TOPIC_CHANGE: lambda _: "topics or partitions changed",
    EpisodeKind.CONFIGURATION_CHANGE: _configuration,
    EpisodeKind.COORDINATOR_FAILOVER: _failover,
    EpisodeKind.GROUP_DELETED: lambda _: "group deleted",
    EpisodeKind.UNKNOWN: _unknown,
}
