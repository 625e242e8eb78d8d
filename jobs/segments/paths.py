"""Paths of segments: a folder's name has the partition, the file's name the first offset."""

from __future__ import annotations

import re
from pathlib import PurePath

TOPIC = "__consumer_offsets"

_PARTITION = re.compile(rf"(?<![A-Za-z0-9]){TOPIC}-(\d+)(?!\d)")
_COPIED = re.compile(rf"([\w.-]+\.{TOPIC})-\d+")


# Files that are stored beside the segments of a partition.
_OTHERS = {
    ".index": "the offset index of a segment",
    ".timeindex": "the time index of a segment",
    ".txnindex": "the transaction index of a segment",
    ".snapshot": "a snapshot of producer states",
}
_OTHER_NAMES = ("leader-epoch-checkpoint", "partition.metadata")


def not_a_segment(path: str | PurePath) -> str | None:
    """The kind of a file that a broker writes beside the segments, by its name."""
    name = PurePath(path).name
    suffix = PurePath(name.removesuffix(".deleted")).suffix
    if suffix in _OTHERS:
        return _OTHERS[suffix]
    return "metadata of a partition" if name in _OTHER_NAMES else None


def partition_of(path: str | PurePath) -> int:
    """The partition of the nearest ``__consumer_offsets-N`` in a segment's path.

    Brokers and archives may add to the name: ``-3.1f2e-delete``, ``-3.tar``,
    ``kafka1-__consumer_offsets-3_00000000000000000000.log``. Raises ValueError if no part has it,
    or if the nearest part is of a copied topic.
    """
    if topic := copied_topic(path):
        raise ValueError(f"{path}: topic {topic} is a copy of another cluster's {TOPIC}")
    for part in reversed(PurePath(path).parts):
        if match := _PARTITION.search(part):
            return int(match[1])
    raise ValueError(f"{path}: cannot determine the partition: no folder is named {TOPIC}-N")


def copied_topic(path: str | PurePath) -> str | None:
    """The topic of the nearest ``SOURCE.__consumer_offsets-N`` in a segment's path: MirrorMaker 2
    names the copy of another cluster's topic so.  Returns None if the path has no such part, or a
    ``__consumer_offsets-N`` below it.
    """
    for part in reversed(PurePath(path).parts):
        if _PARTITION.search(part):
            match = _COPIED.fullmatch(part)
            return match[1] if match else None
    return None
