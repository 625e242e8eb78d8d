"""Play a script of process lives with real clients that log every record that they handle.

    make -C tools data-costs-play PLAY=B OUT=folder

All groups of a play go through the same starts, stops, kills, slow polls and freezes on one broker.
OUT gets the evidence: segments/, server.log, logs/ (of the clients, by client) and
end_offsets.jsonl (ListOffsets every few seconds).  It also gets the records of the judge:
timeline.jsonl (what was done when), clients.jsonl (callbacks and failed commits),
clients/GROUP.PROCESS.PID.handled.gz (wall_ms, partition and offset after each handled record) and
produced.csv.gz.  truth.json has what the rebalances cost the data, from the records of the judge
alone.  One clock: all times are those of one machine.

- plays:    topics with rates, groups, and scripts
- play:     starts, stops, kills and freezes processes at their times
- producer: records at their rates, end offsets, load of the machine
- handler:  what each Python consumer does with a record; and the clients confluent_client,
            kafka_python_client and aiokafka_client; go, java and kafkajs do the same
- evidence: reads a play
- lag:      lag as a function of time
- truth:    duplicates, pauses, lag, handovers, stuck partitions and poison pills
- tables:   the truth as tables of Markdown
- reduce:   an archive for tests
"""
