"""Control records: the markers that transaction coordinators and KRaft leaders put into a log."""

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
    """What a control batch says: its only record's key is a version and a type, two bytes each.

    UNKNOWN for a type that is not Kafka's, and when the cleaner has removed the record.
    """
    if not keys or keys[0] is None or len(keys[0]) < 4:
        return UNKNOWN
    return CONTROL_TYPES.get(int.from_bytes(keys[0][2:4], "big", signed=True), UNKNOWN)
