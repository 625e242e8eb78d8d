"""Codec of `__consumer_offsets` records, and of what members put into them, by layout files.

``decode(key, value)`` and ``encode_key`` / ``encode_value`` are each other's inverse on every
byte string that a broker writes.  What cannot be read raises a ``BadRecord``, which names the
record type, version, field and position.
"""

from coordinator_core.records.codec import (
    Record,
    RecordKey,
    decode,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    jsonable,
)
from coordinator_core.records.consumer_protocol import (
    Assignment,
    StickyUserData,
    Subscription,
    decode_assignment,
    decode_cooperative_sticky_user_data,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_cooperative_sticky_user_data,
    encode_sticky_user_data,
    encode_subscription,
)
from coordinator_core.records.errors import (
    BadRecord,
    NewerValueVersion,
    UnknownKeyType,
    UnwritableFields,
)

__all__ = [
    "Assignment",
    "BadRecord",
    "NewerValueVersion",
    "Record",
    "RecordKey",
    "StickyUserData",
    "Subscription",
    "UnknownKeyType",
    "UnwritableFields",
    "decode",
    "decode_assignment",
    "decode_cooperative_sticky_user_data",
    "decode_key",
    "decode_sticky_user_data",
    "decode_subscription",
    "decode_value",
    "encode_assignment",
    "encode_cooperative_sticky_user_data",
    "encode_key",
    "encode_sticky_user_data",
    "encode_subscription",
    "encode_value",
    "jsonable",
]
