"""The group coordinator: the part of a broker that manages consumer groups.

A group is a set of consumers that share the partitions of their topics.  Every group belongs to one
partition of the internal topic `__consumer_offsets` (by the hash of the group id), and the broker
that leads this partition is the group's coordinator.  The log of the partition is the coordinator's
only durable state: it appends the group's members with their assignments, and committed offsets,
and answers a request that depends on such a record only once the append has succeeded.  When
another broker takes over the partition, it loads the log and continues; state that no record
holds is lost, and clients have to join or send requests again.  A compacted log is enough: the last
record per key counts, and a record without a value (a tombstone) removes its key.

``Coordinator`` is such a coordinator without I/O.  It takes requests, the outcomes of its appends,
and time; it returns effects (answers, appends, events) for the caller to perform:

    coordinator = Coordinator(CoordinatorConfig(), ERAS["4.1"], member_ids)
    effects = coordinator.advance(now_ms) + coordinator.handle(request, now_ms)

Brokers of different versions answer differently.  An era is a range of versions that answer alike:
0.9 (also 0.10.0), 0.10 (0.10.1 to 0.11), 2.0, 2.5, 3.9 (the last Scala coordinator), and those of
the Java coordinator (KIP-848), 4.1 and later.  An ``Era`` is data, a row of the table in eras: its
versions, a grid of reactions, and fields for the differences beyond reactions.  Handlers read these
fields, never the era's name.

How groups work depends on their type.  Classic groups, where a consumer computes the assignment,
are in classic/.  This package has what all group types share:

coordinator     ``Coordinator``: the entry point
era, eras       what an era is; the table of eras
era_evidence    what records and log lines show of their era
turn            the state of a coordinator, and the effects of the present turn
timing_wheel    timers by deadline in virtual time
keyed_timers    timers by key, as the Java coordinator uses
offsets         committed offsets in the order of the era's hash maps
offset_commit   OffsetCommit: stores offsets       offset_fetch    OffsetFetch: reads them
offset_records  their records                      record_bytes    primitive types of records
expiry          removes expired offsets and empty groups
loading         loads a partition of the log, and unloads it
written_lines   the broker's log lines for events
"""
