"""The topics that the coordinator saw: names, ids and partition counts, as far as evidence shows
them.

A server assignor gives every partition of the subscribed topics to a member, so the next target
shows their counts.  The hash in the group's record tells whether these are the counts of that
moment: it is computed over ids, names and counts (and racks, which no record has).
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from itertools import islice, permutations, product
from typing import Any

from coordinator_core.coordinator.metadata_image import MetadataImage, TopicImage
from coordinator_core.jvm.hash_codes import string_hash

_NO_ID = "A" * 22  # topic id in a commit of a client that does not know topic ids
_MOST_COUNTS = 1000  # largest number of partition counts tried for a topic that no target contains
_MOST_COMBINATIONS = 4096


class TopicsSeen:
    """The topics as last inferred.  ``names`` are names of topics by id."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = {each: name for each, name in names.items() if each != _NO_ID}
        self._hopeless: set[int | None] = set()  # hashes that no partition counts explain
        self.image = MetadataImage({})

    def name_ids(
        self, assigned: Mapping[str, set[int]], names: Iterable[str], metadata_hash: int | None
    ) -> None:
        """Name ids without a name by the subscribed topics that they can be.

        A single one by exclusion; several in the order by which the group's hash agrees.  A topic
        that was created again has a new id.
        """
        unnamed = [each for each in assigned if each not in self.names and assigned[each]]
        named = {self.names[each]: each for each in assigned if each in self.names}
        free = sorted(name for name in names if name not in named)
        if not unnamed or len(unnamed) > len(free):
            return
        for chosen in islice(permutations(free, len(unnamed)), _MOST_COMBINATIONS):
            ids = named | dict(zip(chosen, unnamed, strict=True))
            images = {
                name: TopicImage(name, each, max(assigned[each]) + 1)
                for name, each in ids.items()
                if assigned[each]
            }
            if _hash(images) == metadata_hash:
                self.names.update({each: name for name, each in ids.items()})
                return
        if len(unnamed) == len(free) == 1:
            self.names[unnamed[0]] = free[0]

    def learn(self, names: Mapping[str, str]) -> None:
        self.names.update(names)

    def unnamed(self, ids: Iterable[str]) -> list[str]:
        return [each for each in ids if each not in self.names]

    def changes(
        self,
        names: set[str],
        assigned: Mapping[str, set[int]],
        metadata_hash: int | None,
        present: Iterable[str] = (),
    ) -> tuple[list[TopicImage], list[str], bool]:
        """The changes that make the subscribed topics equal to the topics of this moment.

        ``assigned`` has the partitions of the next target, by topic id; ``present`` has topics that
        exist by other evidence.  Returns topics that are new or changed, names of deleted topics,
        and whether the hash matches.
        """
        ids = {self.names[each]: each for each in assigned if each in self.names}
        next_ = {
            name: TopicImage(name, ids[name], max(assigned[ids[name]]) + 1)
            for name in names
            if name in ids and assigned[ids[name]]
        }
        before = self.image.topics
        candidates: dict[str, list[TopicImage | None]] = {}
        for name in sorted(names):
            options = [next_.get(name), before.get(name)]
            existing: list[TopicImage | None] = [each for each in options if each is not None]
            if name not in present:
                existing.append(None)
            elif not existing:  # The topic exists, but no target contains it.
                existing.append(TopicImage(name, _made_up(name), 1))
            candidates[name] = list(dict.fromkeys(existing))
        chosen = self._matching(candidates, metadata_hash)
        agrees = chosen is not None
        if chosen is None:
            chosen = self._with_counted(candidates, metadata_hash)
            agrees = chosen is not None
        if chosen is None:
            chosen = {name: options[0] for name, options in candidates.items()}
        return *self._take(chosen), agrees

    def changes_to(
        self, names: Iterable[str], written: Iterable[Mapping[str, Any]]
    ) -> tuple[list[TopicImage], list[str]]:
        """It computes changes like ``changes``, but for topics that a record contains; all other
        topics in ``names`` do not exist.
        """
        chosen: dict[str, TopicImage | None] = dict.fromkeys(sorted(names))
        for row in written:
            name, topic_id = row["topic_name"], row["topic_id"]
            self.names[topic_id] = name
            chosen[name] = TopicImage(name, topic_id, row["num_partitions"])
        return self._take(chosen)

    def changes_for_topology(
        self,
        topology: Mapping[str, Any],
        tasks: Mapping[str, set[int]],
        metadata_hash: int | None,
        *,
        is_ready: bool,
    ) -> tuple[list[TopicImage], list[str], bool]:
        """It computes changes like ``changes``, but for the topics of a topology, in which a
        subtopology has a task per partition.

        ``tasks`` are the tasks of the next target, by subtopology; ``is_ready`` says whether all
        topics exist; otherwise internal topics are missing.  Records have no ids of these topics:
        an unknown one is made up, so that the hash cannot agree.
        """
        by_name = {name: topic_id for topic_id, name in self.names.items()}
        chosen: dict[str, TopicImage | None] = {}
        for each in topology["subtopologies"]:
            numbers = tasks.get(each["subtopology_id"]) or {0}
            sources = each["source_topics"]
            internal = [*each["repartition_source_topics"], *each["state_changelog_topics"]]
            for name in [*sources, *[topic["name"] for topic in internal]]:
                topic = TopicImage(name, by_name.get(name) or _made_up(name), max(numbers) + 1)
                chosen[name] = topic if is_ready or name in sources else None
        agrees = _hash(chosen) == metadata_hash
        return *self._take(chosen), agrees

    def _matching(
        self, candidates: Mapping[str, list[TopicImage | None]], metadata_hash: int | None
    ) -> dict[str, TopicImage | None] | None:
        """The first combination with this hash."""
        if metadata_hash is None:
            return None
        for options in islice(product(*candidates.values()), _MOST_COMBINATIONS):
            chosen = dict(zip(candidates, options, strict=True))
            if _hash(chosen) == metadata_hash:
                return chosen
        return None

    def _with_counted(
        self, candidates: Mapping[str, list[TopicImage | None]], metadata_hash: int | None
    ) -> dict[str, TopicImage | None] | None:
        """If one topic has a count that no target shows, it is the count with which the hash
        matches.
        """
        if metadata_hash in self._hopeless:
            return None
        self._hopeless.add(metadata_hash)
        by_name = {name: topic_id for topic_id, name in self.names.items()}
        for name in candidates:
            if name not in by_name:
                continue
            for count in range(1, _MOST_COUNTS + 1):
                topic = TopicImage(name, by_name[name], count)
                chosen = {each: options[0] for each, options in candidates.items()} | {name: topic}
                if _hash(chosen) == metadata_hash:
                    return chosen
        return None

    def _take(self, chosen: Mapping[str, TopicImage | None]) -> tuple[list[TopicImage], list[str]]:
        before = self.image.topics
        changed = [
            topic
            for name, topic in chosen.items()
            if topic is not None and topic != before.get(name)
        ]
        deleted = [name for name, topic in chosen.items() if topic is None and name in before]
        if changed or deleted:
            self.image = self.image.changed(changed, deleted)
        return changed, deleted


def _made_up(name: str) -> str:
    """An id for a topic whose id no record has."""
    number = string_hash(name) & 0xFFFFFFFF
    return urlsafe_b64encode(b"\x01" * 12 + number.to_bytes(4, "big"))[:22].decode()


def _hash(chosen: Mapping[str, TopicImage | None]) -> int:
    topics = {name: topic for name, topic in chosen.items() if topic is not None}
    return MetadataImage(topics).group_hash(topics)
