"""Settings of brokers and groups in force: configuration files, and the Admin API.

Only settings of group coordinators and of groups are read.  No other line of a file gets into a
lake, so neither passwords nor addresses do.

    files  server.properties, output of kafka-configs.sh --describe, KafkaConfig values in a log
    start_ups  KafkaConfig values in the logs of brokers, as they are read
    live   DescribeConfigs of a running cluster
"""
