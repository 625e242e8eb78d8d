"""Play a script with real brokers and Kafka's Java client: an upgrade, a large group.

    make -C tools cluster-play SCRIPT=upgrade OUT=folder

Consumers run in two JVMs; `kill host` ends the second one with all its processes.  OUT gets b1/,
b2/, b3/ (segments of `__consumer_offsets`, server.log), timeline.jsonl (actions with times),
clients.jsonl (callbacks), handled/ (each handled record) and truth.json.

- script:  groups, and the phases with their actions
- members: the members of a group that is too large for Kafka's client
- play:    carries the actions out at their times
- truth:   figures of each group, from callbacks and records
- judge:   the figures of a lake from the same evidence beside the truth
"""
