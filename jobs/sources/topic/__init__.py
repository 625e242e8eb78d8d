"""The records of `__consumer_offsets`: from segment files of a broker's disk or a running cluster.

segments         `__consumer_offsets-N/*.log` files -> records, with the package jobs.segments
kafka            the topic of a running cluster: which offsets to read, and whether all arrived
opening          the topic, read by the client of the session's engine
kafka_spark      the topic, read by Spark's Kafka source
kafka_client     the topic, read by librdkafka
kafka_settings   settings of [kafka] for librdkafka
raw_records      records of `kafka` and dumps as rows of `segments`
live_groups      the groups of a running cluster, for snapshots, through the Admin API
broker_metadata  one BrokerMetadata request by librdkafka; why a broker gives no answer
"""
