"""Log end offsets of partitions, as tools print or export them -> rows of end_offsets.

Commits show how far a group is; a log end offset shows how much there was to read.  The difference
is the lag.  A sighting is a partition's log end offset at a time.  Brokers log no end offsets, so
they come from a monitor that asked the brokers, in these formats; each line or JSON document of a
file is recognised by itself:

    json          objects with time, topic, partition and log end offset, under usual names
    burrow        Burrow's HTTP responses and notifications
    prometheus    series of kafka_exporter, kminion and kafka-lag-exporter: the text that they
                  expose, and Prometheus' responses to /api/v1/query and /api/v1/query_range
    describe      the tables of `kafka-consumer-groups --describe`
    get_offsets   topic:partition:offset, as kafka-get-offsets prints it

Text without times gets the time of the last line with a date above the text, such as a line that
`date -u` prints.  Nothing else counts as a time, because the time of a file is the time of its last
copy.

For successive sightings of one offset, only the first and the last sighting of a date become rows.
All other sightings add no information and count as skipped.

    sightings    a sighting; values of topics, partitions, offsets and times
    documents    sightings in a JSON value
    lines        sightings in a line of text
    reader       a file's lines and JSON documents, one after the other
    source       rows of the source end_offsets
"""
