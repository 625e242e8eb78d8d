"""Changes of the cluster's topics: groups see them with their next heartbeat, offsets at once."""

from __future__ import annotations

from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.coordinator.turn import Turn


def change_topics(turn: Turn, topics: list[TopicImage], deleted: list[str]) -> None:
    """Replace the image; groups that subscribe to a changed topic compute its hash again."""
    turn.image = turn.image.changed(topics, deleted)
    changed = [topic.name for topic in topics] + deleted
    for group in turn.modern.values():
        if any(group.subscribes_to(name) for name in changed):
            group.request_refresh()
