"""The group coordinator: the part of a broker that manages groups of consumers.

A group is a set of members that share the partitions of their topics.  Every group belongs to one
partition of the internal topic `__consumer_offsets` (by the hash of the group id), and the broker
that leads this partition is the group's coordinator.  The log of the partition is the coordinator's
only durable state: it appends the group's members with their assignments, and committed offsets,
and answers a request that depends on such a record only once the append has succeeded.  When
another broker takes over the partition, it loads the log and continues.  State that no record holds
is lost, so clients have to join or send requests again.  A compacted log is enough: the last record
per key counts, and a record without a value (a tombstone) removes its key.

``Coordinator`` is such a coordinator without I/O.  It takes requests, the outcomes of its appends,
and time; it returns effects (answers, appends, events) for the caller to perform in their order.
Before each request the caller advances the time, so that timers fire first.

Group types
-----------
classic   the members join, one member assigns, all members sync: a barrier per generation
consumer  KIP-848: the coordinator assigns, and reconciles each member alone
share     KIP-932: several members take records of the same partition
streams   KIP-1071: the coordinator assigns the tasks of a Kafka Streams application

Consumer, share and streams groups are modern groups (Kafka's word for groups with epochs).  Each
type has a package that explains its theory. modern/ has what modern groups have in common.  A
``GroupType`` (group_type.py in each package, registered in group_types) says what the type has, and
other code asks it instead of comparing names.

Example: a failover
-------------------
Consumer a joins a classic group and receives its assignment.  ``play`` acts as the caller: it
advances the time, passes the request on, writes appends to ``log`` and reports their success, and
returns the answers.

>>> old = Coordinator(CoordinatorConfig(), ERAS["4.4"], lambda group, client: "a-1")
>>> join = JoinGroup("1", "g", "", None, "a", "/h", 45_000, 300_000, "consumer", PROTOCOLS)
>>> play(old, 0, join)
[]
>>> [joined] = play(old, 3_000)
>>> sync = SyncGroup("2", "g", "a-1", joined.generation, assignments={"a-1": ASSIGNMENT})
>>> [synced] = play(old, 3_010, sync)
>>> joined.generation, synced.error.name, len(log)
(1, 'NONE', 2)

The log has two records: the empty group, and generation 1 with its member and assignment.  Another
broker loads them.  The coordinator knows the member, and gives it a new session of 45 s:

>>> new = Coordinator(CoordinatorConfig(), ERAS["4.4"], lambda group, client: "b-1")
>>> answers(new.load(log, now_ms=9_000))
[]
>>> [alive] = play(new, 10_000, Heartbeat("3", "g", "a-1", 1))
>>> alive.error.name
'NONE'

If no heartbeat follows, the session ends 45 s later.  The coordinator removes the member, and
writes the next generation without members:

>>> play(new, 55_000)
[]
>>> new.groups["g"].state.name, new.groups["g"].generation, len(log)
('EMPTY', 2, 3)

Eras
----
Brokers of different versions answer differently.  An era is a range of versions that answer alike,
such as 0.9 (also 0.10.0) or 3.9 (3.5 to 3.9, the last Scala coordinator).  Eras from 4.0 on
describe the Java coordinator.  These versions added the following:

    0.11   the initial delay of a rebalance (KIP-134)
    2.2    member ids that the coordinator requires before the join (KIP-394), group.max.size
    2.3    static members (KIP-345)
    2.8.1  the sync timeout (KAFKA-12890)
    4.0    consumer groups, and online migration between classic and consumer groups (KIP-848)
    4.1    share and streams groups (KIP-932, KIP-1071)
    4.3    a time between target assignments (KIP-1263); commits with an earlier member epoch
           (KIP-1251)
    4.4    static members of streams groups (KAFKA-20169)

An ``Era`` is data, a row of the table in eras: its versions, a grid of reactions of classic groups,
rules of modern groups, and fields for further differences.  Handlers read these fields, never the
era's name.

The course of a request
-----------------------
A turn is the handling of one request, timer or finished append.  ``Coordinator`` finds the handler
by the request's type and the group that is there.  The handler gets the ``Turn``, whose parts do
the work: the registry of groups, the log, the effects.  A response to a client is a value
(``Errors``).  An exception is UnexpectedState, where Kafka's own coordinator throws, or a bug.

Where each part is
------------------
coordinator     ``Coordinator``: the entry point
turn            ``Turn``: what handlers work with, in three parts:
  group_registry  the groups of all types              log       shards, appends, waiting answers
  effects         the effects of the present turn
era, eras       what an era is; the eras               era_evidence  the era that evidence shows
group_type      what a type of group is                group_types   the types by name
group_handlers  how the handlers of a type are registered
classic/, consumer/, share/, streams/, modern/         the groups
timing_wheel    timers by deadline in virtual time     keyed_timers  timers by key, as in 4.x
metadata_image  the cluster's topics
offsets         committed offsets in the order of the era's hash maps
offset_commit   OffsetCommit: stores offsets           offset_fetch  OffsetFetch: reads them
offset_records  their records                          record_bytes  primitive types of records
expiry          removes expired offsets and empty groups
loading         loads a partition of the log, and unloads it
listing         ListGroups
written_lines   the broker's log lines for events      written_values  values in the lines
"""
