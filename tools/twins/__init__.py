"""Play one script of process lives with real clients on a real broker, once per variant.

    make -C tools twins SCRIPT=surge-and-autoscale KAFKA=4.4.0 OUT=folder

Variants are groups side by side on one broker that differ in their protocol and settings.  OUT gets
timeline.jsonl (what was done when), clients.jsonl (the clients' callbacks), server.log, segments/
and truth.json: the inputs and the judge of predictions (bench.twins).

- scripts: scripts and variants
- client:  one consumer process (librdkafka)
- play:    starts, stops, kills, freezes and slows processes at their times
- admin:   topics, configurations of groups, and the producer
- truth:   the figures of each group, from callbacks, records and log lines
- reduce:  an archive for tests, with the groups that the variants are predicted from
"""
