"""Deploy real groups by each strategy, and compare `regroup plan` with the captured figures.

    make -C tools deployments OUT=folder

Eight groups of six processes, with librdkafka and Kafka's Java client, go through the same
deployments side by side on one broker: one by one at two paces, batches of two, surge, recreate,
each three times.  OUT gets segments/, server.log, end_offsets.jsonl, timeline.jsonl (actions with
times), clients.jsonl (callbacks), handled/ (each handled record) and truth.json (the figures of
each deployment, from callbacks, records and log lines).

With SCRIPT=changes, groups change their settings between deployments, as advised or otherwise.
OUT then also gets night/: the segments and the log before the change.

- script:  groups, strategies and the times of all actions
- changes: groups that change their settings
- play:    starts and stops the processes at their times
- truth:   the figures of each deployment
- compare: the truth beside the plans of a lake from the same evidence
"""
