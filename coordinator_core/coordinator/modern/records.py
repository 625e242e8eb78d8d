"""Records of consumer, share and streams groups as fields, in the names of schemas/records."""

from __future__ import annotations

from typing import Any, NamedTuple

from coordinator_core.protocol.messages import Record
from coordinator_core.records import encode_key, encode_value

Fields = dict[str, Any]


class ModernRecord(NamedTuple):
    """``name``: the record type's, as in coordinator_core.records.  ``value`` None: a tombstone."""

    name: str
    key: Fields
    value: Fields | None
    version: int = 0

    def group_id(self) -> str:
        """The group id in the key, which types of records name differently."""
        return str(self.key.get("group_id", self.key.get("group")))

    def encoded(self) -> Record:
        """Key and value as Kafka writes them."""
        value = self.value
        if value is not None:
            return encode_key(self.name, self.key), encode_value(self.name, self.version, value)
        return encode_key(self.name, self.key), None


def classic_tombstone(group_id: str) -> ModernRecord:
    """The tombstone of a classic group that another type replaces."""
    return ModernRecord("GroupMetadata", {"group": group_id}, None)
