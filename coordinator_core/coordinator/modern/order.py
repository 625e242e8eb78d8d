"""Orders of the Java coordinator's hash maps that records show."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from coordinator_core.coordinator.metadata_image import uuid_hash
from coordinator_core.jvm.hash_codes import spread
from coordinator_core.jvm.java_maps import table_capacity


@lru_cache(maxsize=1 << 16)
def _spread(topic_id: str) -> int:
    return spread(uuid_hash(topic_id))


def in_order_of_ids(topic_ids: Collection[str]) -> list[str]:
    """Topic ids as a HashMap of them iterates."""
    if len(topic_ids) < 2:
        return list(topic_ids)
    mask = table_capacity(len(topic_ids)) - 1
    return sorted(topic_ids, key=lambda topic_id: _spread(topic_id) & mask)
