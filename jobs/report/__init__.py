"""`regroup report`: a lake as one HTML page, as a trace, or one rebalance as a sequence diagram.

The page opens offline: findings, episodes (root causes) by cost, advice, an overview of all groups,
and a timeline per group.  A timeline has a lane per process, not per member: a restarted process
has a new member id, but the same instance id or client id and host.  Each lane shows the phases of
a rebalance for this process (join, sync, Stable), its partitions, and the causes of rebalances as
marks; episodes are spans above the lanes.  Members of consumer, share and streams groups take up a
target assignment one by one, so their lanes show what each member had and did at its own time.

Partition downtime is the sum of ``ownership_gaps``.

A page has at most 3 MB up to some 4,000 groups.  Groups with the longest time not Stable have their
timelines in the page; all other groups have them in data files beside it (``files``).  Names of
groups and clients are untrusted: they are escaped JSON and become text, never HTML (``page``).

reads   generations, generation_members, assignments, churn, rebalance_latency, rebalance_causes,
        ownership_gaps, timeline; findings, episodes, broker_episodes, what_if, advice,
        advice_outcomes, process_lives,
        unserved_times, handover_costs, committed_offsets, member_epochs and handovers if the lake
        has them
writes  the files of --out and --trace

command    options, and the output files
window     --from and --to
lake       DuckDB over the cluster's tables; queries has the SQL
data       the data of a page; findings; budgets; episodes, advice; timeline, lanes: of one group
epochs     what members of consumer, share and streams groups had and did, over time
files      the page and its data files
page       the HTML file; charts: its Vega-Lite charts; static/: its scripts
trace      timelines in the trace event format
sequence   one rebalance as a Mermaid diagram; heartbeats: one target assignment
"""
