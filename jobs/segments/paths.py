"""Paths of segments: a folder's name has the partition, the file's name the first offset."""

from __future__ import annotations

import re
from pathlib import PurePath

TOPIC = "__consumer_offsets"

_PARTITION = re.compile(rf"(?<![A-Za-z0-9]){TOPIC}-(\d+)(?!\d)")


def partition_of(path: str | PurePath) -> int:
    """The partition of the nearest ``__consumer_offsets-N`` in a segment's path.

    Brokers and archives may add to the name: ``-3.1f2e-delete``, ``-3.tar``,
    ``kafka1-__consumer_offsets-3_00000000000000000000.log``. ValueError if no part has it.
    """
    for part in reversed(PurePath(path).parts):
        if match := _PARTITION.search(part):
            return int(match[1])
    raise ValueError(f"{path}: cannot determine the partition: no folder is named {TOPIC}-N")
