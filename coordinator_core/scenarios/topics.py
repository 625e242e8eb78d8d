"""The topics of a scenario, as its ``metadata`` steps change them.

Steps and traces name topics; requests and assignments have their ids.  A topic that was deleted
and created again has another id.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.jvm.hash_codes import string_hash

Json = Any


class ScenarioTopics:
    """``images`` has topics that exist, by name; ``names`` has topics that are or were, by id."""

    def __init__(self) -> None:
        self.images: dict[str, TopicImage] = {}
        self.names: dict[str, str] = {}

    def id_of(self, name: str) -> str:
        """The topic's id; one that no topic has if it never was."""
        topic = self.images.get(name)
        if topic is not None:
            return topic.topic_id
        former = [topic_id for topic_id, each in self.names.items() if each == name]
        if former:
            return former[-1]
        return _uuid_text((0xDEAD << 64) | string_hash(name) & (1 << 64) - 1)

    def change(self, rows: list[Json], deleted: list[str]) -> list[TopicImage]:
        """Create, enlarge and delete topics; returns the topics that changed."""
        for name in deleted:
            del self.images[name]
        topics = [self._grown(row) for row in rows]
        changed = [topic for topic in topics if self.images.get(topic.name) != topic]
        for topic in changed:
            self.images[topic.name] = topic
            self.names.pop(topic.topic_id, None)
            self.names[topic.topic_id] = topic.name
        return changed

    def _grown(self, row: Json) -> TopicImage:
        """The topic with new partitions; its existing partitions keep their replicas."""
        topic_id = _uuid_text(int(row["id"].replace("-", ""), 16))
        before = self.images.get(row["name"]) or TopicImage(row["name"], topic_id, 0)
        count = max(row["partitions"], before.partitions)
        racks = [list(each) for each in before.racks] + [[]] * (
            before.partitions - len(before.racks)
        )
        new_racks = row.get("racks") or []
        racks += [
            new_racks[p] if p < len(new_racks) else [] for p in range(before.partitions, count)
        ]
        kept = tuple([tuple([rack for rack in each if rack]) for each in racks])
        return TopicImage(row["name"], before.topic_id, count, kept if any(kept) else ())


def _uuid_text(number: int) -> str:
    return urlsafe_b64encode(number.to_bytes(16, "big"))[:22].decode()
