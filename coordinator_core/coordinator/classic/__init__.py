"""Classic groups: the members join, one of the members assigns, and all members sync.

A rebalance has two phases.  In the join phase (PreparingRebalance) the coordinator waits until all
members have sent a JoinGroup with their protocols (assignors, each with metadata such as a
subscription), at most for the longest rebalance timeout.  Members that do not join in time are
removed.  Then the generation is incremented, a protocol that all members support is chosen by vote,
one member is the leader, and all joins are answered; only the leader receives the list of members.
In the sync phase (CompletingRebalance) every member sends a SyncGroup and waits.  The leader's
SyncGroup has the assignment of each member; the coordinator appends it to the log, answers every
sync with the member's part, and the group is Stable.

A rebalance starts when a member joins, leaves or changes its protocols, when the leader rejoins, or
when a member's session expires: it sent no heartbeat, commit, join or sync within its session
timeout.  Members learn of a rebalance from the answer to their next heartbeat.

    Empty --> PreparingRebalance --> CompletingRebalance --> Stable
      ^          |        ^                  |                 |
      +----------+        +------------------+-----------------+      any state --> Dead

Later versions added: the initial delay, in which an Empty group waits for more members (KIP-134);
static members, which keep their place when they restart with the same group.instance.id (KIP-345);
pending members, which have been given a member id and must join again with it (KIP-394); the sync
timeout (KAFKA-12890).

A request goes through four steps.  The handler checks the request itself, then classifies it as an
``Input``, the grid names the reaction to this input in the group's state, and the reaction does the
work.

group_type          what code elsewhere asks the type
automaton           the grids: input x state -> reaction, per era
states              states, inputs, legal moves
reactions           ``react`` looks up the grid; ``move`` changes the state
group               a group and its members
handlers/           one module per request: checks, classification, reactions
rebalance           the course of a rebalance, shared by handlers and timers
subscriptions       the topics that members subscribe to
group_records       the group's record         loading  a group from its record
timers              the waits of a group: sessions, joins, syncs; implemented by
delayed_operations    delayed operations in purgatories (to 3.9), with purgatory.py, and
scheduled_timers      keyed timers (4.x)
"""
