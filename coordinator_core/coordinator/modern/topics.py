"""Changes of the cluster's topics: groups see them with their next heartbeat, offsets at once."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.coordinator.modern.group import ModernGroup
from coordinator_core.coordinator.modern.offsets import offset_tombstones
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.modern.writing import write
from coordinator_core.coordinator.turn import Turn


def change_topics(turn: Turn, topics: list[TopicImage], deleted: list[str]) -> None:
    """Replace the image; groups that subscribe to a changed topic compute its hash again."""
    before, modern = turn.image, turn.era.modern
    if modern is not None and modern.writes_topics:
        topics = [topic._replace(racks=()) for topic in topics]
    turn.image = before.changed(topics, deleted)
    is_first = turn.version_with_new_topics == -1
    if is_first or any(topic.topic_id not in before.by_id for topic in topics):
        turn.version_with_new_topics = turn.image.version
    changed = [topic.name for topic in topics] + deleted
    for group in turn.groups.modern.values():
        if any(group.depends_on(name) for name in changed):
            group.request_refresh()
    ids = {name: before.topics[name].topic_id for name in deleted if name in before.topics}
    if modern is not None and modern.deletes_offsets_of_topics:
        _delete_offsets(turn, ids)
    for handlers in turn.handlers.of.values():
        if handlers.forget_topics is not None:
            handlers.forget_topics(turn, ids.values())


def _delete_offsets(turn: Turn, deleted: Mapping[str, str]) -> None:
    """Delete the offsets of deleted topics in groups of all types, with one append per shard.

    ``deleted`` has topic ids by name.  Offsets of an earlier topic with the same name stay.
    """
    by_shard: dict[int, list[ModernRecord]] = {}
    last: dict[int, str] = {}
    groups: list[ClassicGroup | ModernGroup] = [
        *turn.groups.classic.values(),
        *turn.groups.modern.values(),
    ]
    for group in groups:
        partitions = [
            each
            for each, committed in group.offsets.in_order()
            if each[0] in deleted and committed.topic_id in (None, deleted[each[0]])
        ]
        records = offset_tombstones(group.group_id, group.offsets, partitions)
        if records:
            by_shard.setdefault(group.partition, []).extend(records)
            last[group.partition] = group.group_id
    for partition in sorted(by_shard):
        write(turn, last[partition], by_shard[partition])
