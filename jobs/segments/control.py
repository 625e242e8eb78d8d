"""Control records: the markers that transaction coordinators and KRaft leaders write."""

from __future__ import annotations

CONTROL_TYPES = {
    0: "ABORT",
    1: "COMMIT",
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}
UNKNOWN = "UNKNOWN"


def control_type(keys: list[bytes | None]) -> str:
    """The type of a control batch: its only record's key is a version and a type, two bytes each.

    UNKNOWN for a type that Kafka does not define, or if the cleaner has removed the record.
    """
    if not keys or keys[0] is None or len(keys[0]) < 4:
        return UNKNOWN
    return CONTROL_TYPES.get(int.from_bytes(keys[0][2:4], "big", signed=True), UNKNOWN)
