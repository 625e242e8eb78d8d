"""Episodes: the root causes of a group's rebalances.

A rebalance's trigger says which member joined, left or was removed.  People ask for more: was this
a deployment, a lost process, an application that polls too slowly?  An episode is a set of
rebalances with one root cause.  Each rebalance is in exactly one episode; an episode without
rebalances shows a restart that caused no rebalance, as static members do.  Four steps infer them:

    rebalances and causes (tables generations, rebalance_causes, ...)
      -> activities: cut at pauses of 15 minutes
      -> changes of processes: departures matched with arrivals
      -> drafts: each change is taken by the first rule that fits (the table RULES)
      -> episodes: each rebalance goes to the draft of its trigger

Activities.  Everything in an activity is inferred from the activity alone, so that recomputing some
dates gives the same episodes.  For this reason an activity also ends at midnight UTC if it began an
hour or more before.

Changes.  An arrival under the same instance id, else client id and host, ends the departure before
it.  The evidence rarely shows why a session expired: the process was killed, was frozen, or was cut
off.  The process was killed if its next process joined before the session expired.  The process was
frozen if it came back with its old state, and killed if it came back without the state that it
would have kept.  The subscriptions of Java's cooperative-sticky assignor show which is the case.
Otherwise all that is known is that the session expired.

- evidence:        the inputs
- activities:      `activities`
- process_changes: `process_changes`, what each process did
- episode_kind:    `EpisodeKind`
- drafts:          `EpisodeDraft` and what a rule looks at
- kinds:           the rules, and the kinds of rebalances that members' rejoins start
- failover, group_protocol: the rules for a new coordinator, and for another group protocol
- inference:       `infer_episodes`
- grouping:        items by a key, or cut at gaps
- downtime:        `downtimes`, the partition downtime of each episode
- sentences:       `summary`
- brokers:         episodes of the cluster's brokers, and what they cost the groups
"""
