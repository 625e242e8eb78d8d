"""Codec of ``__consumer_offsets`` records and of the client data inside them.

The group coordinator keeps its state in the compacted topic ``__consumer_offsets``.  A key begins
with an int16, the record type (0 and 1 offset commit, 2 classic group, 3 and above the consumer,
share and streams groups), followed by the fields that name the group, member or partition.  A
value begins with an int16, its version, followed by the fields of that version.  A null value is
a tombstone: the state under that key is deleted.  A key has one layout per type; a value's
version grows when a release adds fields.

Layouts are data.  ``schemas/records/*.json`` has Kafka's own message files: fields with their
types and the versions that have them.  ``compiler`` turns a layout and a version into one reader
and one writer, so that no record type has code of its own.  jobs/bulk compiles the same files
for whole Arrow batches; this codec is its reference.

Flexible versions (KIP-482) differ in two ways.  Lengths of strings, bytes and arrays are unsigned
varints of length + 1 (0 is null) instead of int16 or int32 (-1 is null).  Every struct ends with
tagged fields: a count, then tag, size and bytes of each, in ascending order of tags.  A writer
omits a tagged field with its default value.  A reader keeps unknown tags, so that encoding a
decoded record gives the same bytes.

In a classic group's value, subscriptions and assignments are bytes that only the clients
interpret (``ConsumerProtocolSubscription`` and ``ConsumerProtocolAssignment``); the user data of
the sticky assignors, and of Kafka Streams, is nested in them once more.  Kafka Connect's workers
use layouts of their own (``ConnectWorkerState`` and ``ConnectAssignment``).

``decode`` and ``encode_key`` / ``encode_value`` are inverse on every byte string that a broker
writes.  Unreadable bytes raise ``BadRecord``, which names the record type, version, field and
position.

- codec:              keys and values of all record types; decode, encode, JSON
- consumer_protocol:  subscriptions, assignments, user data of the sticky assignors
- connect_protocol:   metadata and assignments of Kafka Connect's workers
- streams_metadata:   user data of Kafka Streams' members under the classic protocol
- task_members:       what each member of a Connect or Streams group has, by a group's record
- printed_members:    members that Kafka's tools print as text, as bytes
- compiler:           layout and version to reader and writer
- primitives:         numbers, uuids, strings, bytes, arrays; classic and compact lengths
- errors:             BadRecord and its kinds
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
