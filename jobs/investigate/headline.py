"""The answer in one sentence per group: how often it rebalanced, and mostly why."""

from __future__ import annotations

from collections import Counter

from coordinator_core.episodes.episode_kind import NOT_INCIDENTS, EpisodeKind
from coordinator_core.episodes.grouping import ALIKE, alike, by, name_pattern
from coordinator_core.figures import counted
from jobs.investigate.answer import Row

_MOST = 3
_UNKNOWN = EpisodeKind.UNKNOWN.value
_SURE = 0.7  # minimum confidence of a finding that appears in the headline


def headlines(
    groups: list[Row], episodes: list[Row], findings: list[Row], files: list[Row]
) -> list[str]:
    """The findings of highest confidence, then the first groups; a last line counts all other
    groups.

    If the evidence has no group: the kinds of the files without any readable line or record.
    """
    if not groups:
        others = [f"{each['file']}: {each['kind']}." for each in files if not each["understood"]]
        return ["The evidence names no group.", *others[:_MOST]]
    sure = [each for each in findings if each["confidence"] >= _SURE]
    of_findings = alike(lambda each: each["finding"], sure)
    lines = [_of_findings(each) for each in of_findings[:_MOST]]
    of_group = by(lambda each: each["group_id"], episodes)
    of_groups = alike(lambda each: _likeness(each, of_group.get(each["group_id"], [])), groups)
    lines += [_of_groups(each, of_group) for each in of_groups[:_MOST]]
    more = len(groups) - sum(len(each) for each in of_groups[:_MOST])
    return [*lines, *([f"{counted(more, 'more group')} below."] if more > 0 else [])]


def _of_findings(rows: list[Row]) -> str:
    if len(rows) == 1:
        return f"{rows[0]['finding']}: {rows[0]['summary']}."
    groups = {row["group_id"] for row in rows}
    return (
        f"{rows[0]['finding']}: {counted(len(rows), 'finding')} in {counted(len(groups), 'group')}."
    )


def _of_groups(groups: list[Row], episodes: dict[str, list[Row]]) -> str:
    """The number of these similar groups, and the kind of episode with most rebalances."""
    first = groups[0]["group_id"]
    if len(groups) == 1:
        return _headline(groups[0], episodes.get(first, []))
    rebalances = sum(group.get("rebalances") or 0 for group in groups)
    incidents = [e for g in groups for e in _incidents(episodes.get(g["group_id"], []))]
    kind = f", mostly {_main_kind(incidents).replace('_', ' ')}" if incidents else ""
    return (
        f"{name_pattern(first)}: {counted(len(groups), 'group')},"
        f" {counted(rebalances, 'rebalance')}{kind}."
    )


def _likeness(group: Row, episodes: list[Row]) -> tuple[str, str | None]:
    """Equal for groups whose names differ only in numbers, with the same main kind of episode."""
    incidents = _incidents(episodes)
    why = group.get("reason") or (_main_kind(incidents) if incidents else None)
    return name_pattern(group["group_id"]), why


def _incidents(episodes: list[Row]) -> list[Row]:
    incidents = [each for each in episodes if each["kind"] not in NOT_INCIDENTS]
    return [each for each in incidents if each["kind"] != _UNKNOWN] or incidents


def _main_kind(incidents: list[Row]) -> str:
    """The kind of episode with most rebalances."""
    by_kind: Counter[str] = Counter()
    for each in incidents:
        by_kind[each["kind"]] += each["rebalances"]
    return by_kind.most_common(1)[0][0]


def _headline(group: Row, episodes: list[Row]) -> str:
    name = group["group_id"]
    if "reason" in group:
        return f"{name}: no rebalance in the evidence ({group['reason']})."
    is_counted = group["rebalances"] is not None
    number = group["rebalances"] if is_counted else group["generations"]
    happened = counted(number, "rebalance" if is_counted else "generation")
    span = f"from {group['first_seen']:%Y-%m-%d %H:%M:%S} to {group['last_seen']:%H:%M:%S} UTC"
    return f"{name}: {happened} {span}{_why(episodes)}"


def _why(episodes: list[Row]) -> str:
    """The kind of episode with most rebalances, and the costliest episode, or its kind."""
    incidents = _incidents(episodes)
    if not incidents:
        return "; the group starts or ends." if episodes else "."
    kind = _main_kind(incidents)
    rebalances = sum(each["rebalances"] for each in incidents if each["kind"] == kind)
    worst = min(incidents, key=lambda each: each["place"])
    like = [each for each in incidents if each["kind"] == worst["kind"]]
    share = f", {rebalances:,} of them in episodes of kind {kind}" if rebalances else ""
    if len(like) >= ALIKE:
        costliest = f"{worst['kind'].replace('_', ' ')}, {counted(len(like), 'episode')}"
        return f"{share}. Costliest kind: {costliest}."
    return f"{share}. Costliest episode: {worst['text']}."
