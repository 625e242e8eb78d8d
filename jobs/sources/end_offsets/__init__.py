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

Text without times gets the time of the last line with a date above it, such as `date -u` prints.
Nothing else is taken as a time: the time of the file is that of its last copy.

Of successive sightings of one offset, only the first and the last of a date become rows.  The
others say nothing new and count as skipped.

    sightings    a sighting; values of topics, partitions, offsets and times
    documents    sightings in a JSON value
    lines        sightings in a line of text
    reader       a file's lines and JSON documents, one after the other
    source       rows of the source end_offsets
"""
