"""The cost of the end of a tenure for the data: records handled again, the pause, and lag.

A tenure is the uninterrupted ownership of a partition by one process.  When it ends, the next owner
begins at the committed offset, some time later:

    owner      ... handles records ...  commits .......... stops
    position   ------------------------ C --------------- P
    next owner                                                 assigned, fetches, begins at C

The records from C to P are handled again.  The pause lasts from the stop to the next owner's first
record: nobody handles records of the partition.  Meanwhile the lag grows, and then shrinks until
the partition has caught up.  `ownership_gaps` says how long nobody owned the partition.  These
costs also include the time in which an owner did not consume (a slow poll), and the progress that
it lost.

The evidence shows positions only in commits, and a commit names no member.  Therefore a commit
belongs to the tenure of its partition at that time, P comes from the rate of the partition's
commits, and the time of the stop from the events of the owner.  Each figure has bounds.  The
evidence does not show which records a process itself handles again because its commit failed.

Rows of dates that are settled must not depend on later dates (`jobs.lake`).  Therefore commits are
searched up to a day before the end of a tenure, and lag is followed up to five minutes after the
next assignment.

All rules take arrays with one element per tenure, because a date has millions of commits.

    of_run     the tables of a run -> rows of both tables, by one pass over the commits
    evidence   assignments, commits and log ends of all groups as one frame
    arrays     the evidence of some groups as arrays
    rows       the evidence of some groups -> rows of the table
    series     values of partitions in the order of time
    tenures    assignments -> tenures, and their next owners
    habits     how often the clients of a group commit
    rules      records handled again
    failed_commits  positions that clients logged
    pauses     from the stop to the next owner's first record
    lag        peak lag, catch-up and record-seconds, with log end offsets
    unserved   owned partitions that had records, but whose position stood still
    unserved_rows  the evidence of some groups -> rows of unserved_times
"""
