"""Requests to a classic group: one module per request.

`coordinator_core.coordinator.coordinator` passes each request to the ``handle`` of its module,
which works in the same order everywhere:

1. Check the request alone: the group id, the member id, the instance id, the generation.  A failed
   check is answered with its error, and the group does not change.
2. Classify it: conditions such as "the member is known and its subscription changed" become one
   `Input`.
3. Look up the reaction in the era's grid, by the input and the group's state (``automaton``), and
   call it.  Therefore a reaction never asks for the state.  Differences between eras are cells of
   the grid, or else fields of the era (``turn.era``), and never depend on the era's name.

A reaction is a verb of the group: it changes the group, starts or ends timers, appends records, and
answers the request, now or when the join, the sync or the append completes.

    checks      what can be wrong with a request, in each era's order
    join        JoinGroup: new members, rejoins, static members that return
    sync        SyncGroup: the leader's assignment is stored, the others wait for it
    heartbeat   Heartbeat: renews the session, announces a rebalance
    leave       LeaveGroup: of the member itself, or of static members by an administrator
    commit      OffsetCommit of members and of consumers that manage their partitions themselves
    describe    DescribeGroups and ListGroups
    delete      DeleteGroups
"""
