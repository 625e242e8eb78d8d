"""The answer in one sentence per group: how often it rebalanced, and mostly why."""

from __future__ import annotations

from collections import Counter

from coordinator_core.episodes.drafts import NOT_INCIDENTS, EpisodeKind
from coordinator_core.episodes.sentences import counted
from jobs.investigate.answer import Row

_MOST = 3
_UNKNOWN = EpisodeKind.UNKNOWN.value
_SURE = 0.7  # least confidence of a finding in the headline


def headlines(
    groups: list[Row], episodes: list[Row], findings: list[Row], files: list[Row]
) -> list[str]:
    """The surest findings, then the first groups; a last line counts the other groups.

    Without a group: the kinds of the files of which nothing is understood.
    """
    if not groups:
        others = [f"{each['file']}: {each['kind']}." for each in files if not each["understood"]]
        return ["The evidence names no group.", *others[:_MOST]]
    sure = [each for each in findings if each["confidence"] >= _SURE]
    lines = [f"{each['finding']}: {each['summary']}." for each in sure[:_MOST]]
    lines += [_headline(group, episodes) for group in groups[:_MOST]]
    more = len(groups) - _MOST
    return [*lines, *([f"{counted(more, 'more group')} below."] if more > 0 else [])]


def _headline(group: Row, episodes: list[Row]) -> str:
    name = group["group_id"]
    if "reason" in group:
        return f"{name}: no rebalance in the evidence ({group['reason']})."
    is_counted = group["rebalances"] is not None
    number = group["rebalances"] if is_counted else group["generations"]
    happened = counted(number, "rebalance" if is_counted else "generation")
    span = f"from {group['first_seen']:%Y-%m-%d %H:%M:%S} to {group['last_seen']:%H:%M:%S} UTC"
    return f"{name}: {happened} {span}{_why([e for e in episodes if e['group_id'] == name])}"


def _why(episodes: list[Row]) -> str:
    """The kind of episode with most rebalances, and the costliest episode."""
    incidents = [each for each in episodes if each["kind"] not in NOT_INCIDENTS]
    incidents = [each for each in incidents if each["kind"] != _UNKNOWN] or incidents
    if not incidents:
        return "; the group starts or ends." if episodes else "."
    by_kind: Counter[str] = Counter()
    for each in incidents:
        by_kind[each["kind"]] += each["rebalances"]
    kind, rebalances = by_kind.most_common(1)[0]
    worst = min(incidents, key=lambda each: each["place"])
    share = f", {rebalances:,} of them in episodes of kind {kind}" if rebalances else ""
    return f"{share}. Costliest episode: {worst['text']}."
