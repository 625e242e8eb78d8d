"""Records of one consumer group as its coordinator writes them, for histories in memory."""

from coordinator_core.modern_history import GroupRecord, RecordKind

# States of a current assignment.
STABLE, UNREVOKED, UNRELEASED = 0, 1, 2


def record(ms, kind, member=None, epoch=None, **fields):
    fields = {"group_type": "consumer", "is_tombstone": False} | fields
    return GroupRecord(time_ms=ms, position=ms, kind=kind, member_id=member, epoch=epoch, **fields)


def joined(ms, member, **fields):
    """The process is the client id at its host; the client id is by default the member id."""
    fields = {"client_id": member, "client_host": "/h"} | fields
    return record(ms, RecordKind.MEMBER, member, **fields)


def bump(ms, epoch, metadata_hash=1):
    return record(ms, RecordKind.GROUP, epoch=epoch, metadata_hash=metadata_hash)


def current(ms, member, epoch, state, owned=(), pending=(), **fields):
    return record(
        ms,
        RecordKind.CURRENT,
        member,
        epoch,
        state=state,
        assigned=frozenset(owned),
        pending=frozenset(pending),
        **fields,
    )


def target(ms, epoch, **owned):
    """A target, with the partitions of the members that it changes."""
    return [
        *(
            record(ms, RecordKind.TARGET_MEMBER, member, assigned=frozenset(partitions))
            for member, partitions in owned.items()
        ),
        record(ms, RecordKind.TARGET, epoch=epoch),
    ]


def removed(ms, member):
    kinds = (RecordKind.CURRENT, RecordKind.TARGET_MEMBER, RecordKind.MEMBER)
    return [record(ms, kind, member, is_tombstone=True) for kind in kinds]
