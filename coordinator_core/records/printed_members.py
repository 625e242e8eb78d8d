"""Members of a GroupMetadata record that Kafka's tools print as text, without most of their fields.

Before 3.8, kafka-dump-log prints only a member's id and its assigned partitions.  Such a member is
written as bytes with a session timeout that no broker stores; the decoders return null for the
fields in ``NOT_IN_TEXT``.
"""

from __future__ import annotations

from typing import Any

_NOT_PRINTED_MS = -1
NOT_IN_TEXT = (
    "client_id",
    "client_host",
    "rebalance_timeout_ms",
    "session_timeout_ms",
    "subscription",
)


def member_of_text(member_id: str, assignment: bytes) -> dict[str, Any]:
    """The member in the form that `encode_value` takes; ``assignment``:

    ConsumerProtocolAssignment.
    """
    return {
        "member_id": member_id,
        "client_id": "",
        "client_host": "",
        "session_timeout": _NOT_PRINTED_MS,
        "subscription": b"",
        "assignment": assignment,
    }


def is_of_text(session_timeout_ms: Any) -> Any:
    """Returns whether the member was printed as text: a bool of a number, a NumPy array of an
    array.
    """
    return session_timeout_ms == _NOT_PRINTED_MS
