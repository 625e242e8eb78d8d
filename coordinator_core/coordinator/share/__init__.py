"""Share groups (KIP-932): consumers that take records of the same partitions in turns.

A share group's members never revoke: a partition may have several members, so each takes its part
of the target assignment with its next heartbeat.  A group is Empty or Stable.

Who has taken which record of a partition is the share partition's state, which another coordinator
stores.  It must be initialised before the partition is assigned: a heartbeat that subscribes to a
topic for the first time writes the topic as initializing; when the state exists, the topic is
written as initialized; the next heartbeat bumps the epoch and assigns it.  A deleted group's topics
are written as deleting first.  Regroup initialises and deletes such states at once.

group           ShareGroup and its members, immutable
records         the records that a share group writes
loading         the reaction to each record
initialisation  which topics' states are initialised
target          the target assignment
heartbeat       ShareGroupHeartbeat: join, stay, leave
sessions        the sessions of members; their removal
rules           what differs between eras
requests        the other requests
"""
