"""Where segments lie: the partition is in a folder's name, the first offset in the file's."""

from __future__ import annotations

import re
from pathlib import PurePath

TOPIC = "__consumer_offsets"

_PARTITION = re.compile(rf"(?<![A-Za-z0-9]){TOPIC}-(\d+)(?!\d)")


def partition_of(path: str | PurePath) -> int:
    """The partition of the nearest ``__consumer_offsets-N`` in a segment's path.

    Also with what brokers and archives add to the name: ``-3.1f2e-delete``, ``-3.tar``,
    ``kafka1-__consumer_offsets-3_00000000000000000000.log``. Raises ValueError without one.
    """
    for part in reversed(PurePath(path).parts):
        if found := _PARTITION.search(part):
            return int(found[1])
    raise ValueError(f"{path}: no folder is named {TOPIC}-N, so the partition is not known")
