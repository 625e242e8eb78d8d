"""`regroup alerts`: checks whether groups have problems now; a scheduler runs it.

"Now" is the last time in the lake (of an event, a record or a commit), not the clock: a lake that
is filled once a night is judged as of that night.  The checks look back over a window, one hour by
default.  An alert belongs to the window if its problem lasted into the window, even if it began
earlier (at most 7 days before).

storm          many generations in a row, with short pauses between them
stuck          a group that stays in PreparingRebalance or CompletingRebalance
unowned        partitions without an owner
no_members     a group whose members were all removed
flapping       a process that rejoins again and again
moved_nothing  many rebalances that changed no partition's owner
over_budget    more rebalances within 24 hours than the group's budget
stuck_partition, poison_pill, finding   what the table findings has

Each check is a SELECT over the lake's tables, run by DuckDB without a JVM.  Thresholds come from
[alerts] of the configuration, with own values for groups by pattern.

checks      the SELECTs, and the message of each
alerting    the window of each cluster; runs the checks
metrics     names, help texts and units of the exported metrics
prometheus  alerts for the textfile collector
webhooks    the requests that receivers of alerts take
outbox      messages for webhooks, kept until they are sent
notify      send them
digest      `regroup digest`: a time span; similar items are one entry
formats     names of the formats of a digest
digest_formats  a digest as text, Markdown, HTML, mail and messages
command     the command line: exit 1 if there is an alert
monitoring  `regroup dashboard`: the same names for Grafana and Prometheus
"""
