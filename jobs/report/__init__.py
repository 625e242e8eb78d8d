"""`regroup report`: a lake as one HTML page, as a trace, or one rebalance as a sequence diagram.

The page opens offline, from one file: an overview of all groups (how often they rebalanced, how
long they were not Stable, why), and a timeline per group.  A timeline has a lane per process, not
per member: a restarted process has a new member id, but the same instance id or client id and host.
Each lane shows the phases of a rebalance for this process (join, sync, Stable),
its partitions, and the causes of rebalances as marks.

Partition downtime is summed over partitions: from the time when the owner gives a partition up
until the next owner gets it.  Under an eager protocol members give up all partitions when a
rebalance begins, under a cooperative protocol only those that change owner (``queries``).

A page has at most 3 MB.  Groups with the longest time not Stable get their timelines first, and a
single large group keeps its latest generations.  Names of groups and clients are untrusted: they
are in the page as escaped JSON and become text, never HTML (``page``).

reads   generations, generation_members, assignments, churn, rebalance_latency, rebalance_causes,
        timeline; what_if, advice and process_lives if the lake has them
writes  the files of --out and --trace

command    options, and the output files
window     --from and --to
lake       DuckDB over the cluster's tables; queries has the SQL
data       the data of a page; timeline, lanes: of one group
page       the HTML file; charts: its Vega-Lite charts; static/: its scripts
trace      timelines in the trace event format
sequence   one rebalance as a Mermaid diagram
"""
