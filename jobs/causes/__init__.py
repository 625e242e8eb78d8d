"""Collects the causes of each rebalance and infers what the processes did, for rebalance_causes.

A rebalance begins because of one event, its trigger, and goes on until all members have joined.
Whatever else happens until then is a further cause: its members get their new assignment from the
same rebalance.  A log line names the trigger and the members that left or joined; without a line,
the difference between the members of two generations shows them.  docs/causes.md lists the causes.

First, each kind of evidence becomes rows of the same columns:

    rows            these columns, and keys that the modules share
    departures      members that left or were removed: lines
    arrivals        new members and replaced static members: records, with the times of lines
    triggers        triggers that are neither, such as rejoins: the start of a rebalance names them
    administrators  deleted groups and changed configurations: lines, without a rebalance
    modern_groups   all causes in consumer, share and streams groups: epochs and departures

A cause says what the coordinator noticed; further evidence shows what the process behind the member
did:

    processes       the process of each cause, its arrivals, and whether it was still running
    slow_polls      members that were slow to poll: they committed nothing for too long
    stories         what each process did, by all of this evidence
    roles           which of a rebalance's causes is its trigger
    clients         what the logs of clients add to all of this
"""
