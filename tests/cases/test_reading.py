# ruff: noqa: E501 - a row of the tables below stays on one line
"""What is read of files that people reported trouble with: each line, its event, time and fields.

tests/cases/inputs has the files; its README names their sources.  A table below has a row per event
or quarantined line: its time in UTC, its event, and its values in the columns that the table names.
Random parts of member ids are shortened to ~ and four digits.
"""

import re
from pathlib import Path

import pytest

from coordinator_core.records import decode, decode_assignment
from jobs.console.errors import UsageError
from jobs.lake.dates import DateRange
from jobs.sources.broker_logs.broker_log import log_rows
from jobs.sources.client_logs.client_log import client_rows
from jobs.sources.dumps.dump import Dump
from jobs.sources.logs.dates import since_ms_of_option

INPUTS = Path(__file__).parent / "inputs"
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{8}([0-9a-f]{4})")
BROKER, CLIENT = log_rows, client_rows


def shown(value):
    if value is None or value == []:
        return "-"
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return UUID.sub(r"~\1", text)


def read(source, file, timezone, columns, log_date=None):
    """A text per event and quarantined line in the order of the file; then the counts."""
    path = str(INPUTS / file)
    since_ms = since_ms_of_option(log_date)
    batches = source(path, timezone, DateRange(), since_ms=since_ms)
    *rows, counts = [row for batch in batches for row in batch.to_pylist()]
    rows.sort(key=lambda row: row["position"])
    return [_row(row, columns) for row in rows], counts


def _row(row, columns):
    if row["kind"] == "quarantined":
        return f"quarantined: {row['reason_unreadable']}"
    time = f"{row['event_time']:%Y-%m-%dT%H:%M:%S.%f}"[:-3]
    return " ".join([time, row["event"], *(shown(row[name]) for name in columns)])


MSK = """
2023-08-01T05:17:42.047 REBALANCE_START 2 CG-orders 0 consumer-CG-orders-1-~0001 MEMBER_NEW
2023-08-01T05:17:45.047 JOIN_COMPLETE 2 CG-orders 1 - -
2023-08-01T05:17:45.063 ASSIGNMENT_RECEIVED 2 CG-orders 1 - -
2023-08-01T05:27:45.090 HEARTBEAT_EXPIRED 2 CG-orders - consumer-CG-orders-1-~0001 -
2023-08-01T05:27:45.090 REBALANCE_START 2 CG-orders 1 consumer-CG-orders-1-~0001 SESSION_EXPIRY
2023-08-01T05:27:45.090 GROUP_EMPTY 2 CG-orders 2 - -
2023-08-01T07:15:50.724 GROUP_DEAD 2 CG-orders 4 - -
"""
EMBEDDED = """
2023-07-04T14:17:32.032 REBALANCE_START it-group 0 c-~0001 MEMBER_NEW
2023-07-04T14:17:35.040 JOIN_COMPLETE it-group 1 - -
2023-07-04T14:17:35.060 ASSIGNMENT_RECEIVED it-group 1 c-~0001 -
2023-07-04T14:18:20.100 HEARTBEAT_EXPIRED it-group - c-~0001 -
2023-07-04T14:18:20.101 REBALANCE_START it-group 1 c-~0001 SESSION_EXPIRY
2023-07-04T14:18:20.102 GROUP_EMPTY it-group 2 - -
"""
UNDATED = (
    "quarantined: neither the line nor a previous line has a date, only a time: give --log-date\n"
)
# Each row: reader, file, --log-timezone, --log-date, columns, lines, lines not understood, rows.
TABLES = [
    (BROKER, "broker-01/insights.csv", "UTC", None, "broker_id group_id generation member_id cause", 8, 0, MSK),
    (BROKER, "broker-01/notes.csv", "UTC", None, "broker_id group_id generation member_id cause", 7, 0, MSK),
    (BROKER, "broker-02/server.log", "UTC", None, "broker_id group_id generation topic_partition duration_ms instance_id member_id old_member_id", 6, 0, """
2020-07-16T14:04:00.281 PARTITION_LOAD 1001 - - __consumer_offsets-42 0 - - -
2020-07-16T14:04:00.281 PARTITION_LOAD 1001 - - __consumer_offsets-45 0 - - -
2020-07-16T14:04:00.385 LOADED 1001 0 1 - - - - -
2020-07-16T14:04:00.402 PARTITION_LOAD 1001 - - __consumer_offsets-48 121 - - -
2020-07-16T14:04:04.953 STATIC_FENCED 1001 - - - - 1 1-1594900000335 1-1594900000144
    """),
    (BROKER, "broker-04/server.log", "UTC", None, "group_id generation member_id cause", 6, 0, """
2024-02-03T22:34:30.433 MEMBER_JOIN test-consumer-group - test-consumer-group-0-~0002 -
2024-02-03T22:34:30.445 MEMBER_JOIN test-consumer-group - test-consumer-group-0-~0002 -
2024-02-03T22:34:30.445 REBALANCE_START test-consumer-group 1 test-consumer-group-0-~0002 MEMBER_NEW
2024-02-03T22:35:12.717 HEARTBEAT_EXPIRED test-consumer-group - test-consumer-group-0-~0001 -
2024-02-03T22:35:12.719 JOIN_COMPLETE test-consumer-group 2 - -
2024-02-03T22:35:12.730 ASSIGNMENT_RECEIVED test-consumer-group 2 test-consumer-group-0-~0002 -
    """),
    (BROKER, "broker-07/server-0.11.log", "UTC", None, "group_id generation member_id cause", 7, 0, """
2021-09-16T05:01:11.600 REBALANCE_START svc-envoy 655 - unknown
2021-09-16T05:01:15.050 JOIN_COMPLETE svc-envoy 656 - -
2021-09-16T05:01:15.057 ASSIGNMENT_RECEIVED svc-envoy 656 - -
2021-09-16T05:01:15.124 REBALANCE_START svc-envoy 656 - unknown
2021-09-16T05:01:18.560 JOIN_COMPLETE svc-envoy 657 - -
2021-09-16T05:01:18.604 ASSIGNMENT_RECEIVED svc-envoy 657 - -
2021-09-16T05:11:00.349 OFFSETS_EXPIRED - - - -
    """),
    (BROKER, "broker-07/server.log", "UTC", None, "group_id generation member_id cause", 8, 0, """
2016-08-02T05:38:14.000 PARTITION_LOAD - - - -
2016-08-02T05:38:14.000 PARTITION_LOAD - - - -
2016-08-02T05:38:14.000 PARTITION_LOAD - - - -
2016-08-02T05:38:20.000 REBALANCE_START orders-in 0 - unknown
2016-08-02T05:38:23.000 JOIN_COMPLETE orders-in 1 - -
2016-08-02T05:38:23.000 ASSIGNMENT_RECEIVED orders-in 1 - -
2016-08-02T05:40:11.000 REBALANCE_START orders-in 1 - unknown
2016-08-02T05:40:11.000 GROUP_DEAD orders-in 1 - -
    """),
    (BROKER, "broker-11/server.log", "UTC", None, "group_id member_id instance_id old_member_id step cause duration_ms", 7, 0, """
2024-10-31T13:11:02.100 MEMBER_JOIN console-grp AAAA--2-T3iqwmYQIcJ-uQ console - direct - -
2024-10-31T13:11:02.110 EPOCH_BUMP console-grp - - - - - -
2024-10-31T13:11:02.112 TARGET console-grp - - - - - 1
2024-10-31T13:11:02.113 RECONCILE console-grp AAAA--2-T3iqwmYQIcJ-uQ - - - - -
2024-10-31T13:12:21.183 LEFT console-grp AAAA--2-T3iqwmYQIcJ-uQ console - temporarily - -
2024-10-31T13:14:20.616 STATIC_FENCED console-grp BBBB1dJmQcWimg8CS0ZRNw console CCCC-bmz9RnCDH3hQX_1U0w join STATIC_REFUSED -
2024-10-31T13:31:05.236 FENCED console-grp DDDDGU6MqTOSUYAlDFhCYJw - - - SESSION_EXPIRY -
    """),
    (BROKER, "broker-14/broker2.log", "Asia/Shanghai", None, "broker_id group_id generation topic_partition step duration_ms member_id cause", 10, 0, """
2021-05-17T16:10:16.644 PARTITION_UNLOAD 2 - - __consumer_offsets-11 scheduled - - -
2021-05-17T16:10:16.644 PARTITION_UNLOAD 2 - - __consumer_offsets-11 finished - - -
2021-05-17T16:10:33.900 PARTITION_LOAD 2 - - __consumer_offsets-47 scheduled - - -
2021-05-17T16:10:34.050 LOADED 2 sched_local 5101 - group - - -
2021-05-17T16:10:34.060 PARTITION_LOAD 2 - - __consumer_offsets-47 finished 160 - -
2021-05-17T16:10:44.200 HEARTBEAT_EXPIRED 2 sched_local - - - - ~0001-~0001 -
2021-05-17T16:10:44.201 REBALANCE_START 2 sched_local 5101 __consumer_offsets-47 - - ~0001-~0001 SESSION_EXPIRY
2021-05-17T16:10:46.301 JOIN_COMPLETE 2 sched_local 5102 __consumer_offsets-47 - - - -
2021-05-17T16:10:46.330 ASSIGNMENT_RECEIVED 2 sched_local 5102 - - - - -
    """),
    (BROKER, "broker-14/broker3.log", "Asia/Shanghai", None, "broker_id group_id generation topic_partition step duration_ms member_id cause", 3, 0, """
2021-05-17T16:10:33.700 PARTITION_UNLOAD 3 - - __consumer_offsets-47 scheduled - - -
2021-05-17T16:10:33.710 UNLOADED 3 sched_local 5101 - - - - -
2021-05-17T16:10:33.711 PARTITION_UNLOAD 3 - - __consumer_offsets-47 finished - - -
    """),
    (CLIENT, "broker-14/client.log", "Asia/Shanghai", None, "client_id group_id generation member_id reason count assignor", 6, 0, """
2021-05-17T16:10:34.147 HEARTBEAT_FAILED ~0002 sched_local - - Broker: Not coordinator 16 -
2021-05-17T16:10:44.401 REJOIN_REQUESTED ~0002 sched_local - - rebalance in progress 16 -
2021-05-17T16:10:44.500 STATE ~0002 sched_local - - - - -
2021-05-17T16:10:44.501 JOINING ~0002 sched_local - - - 1 -
2021-05-17T16:10:46.305 JOINED ~0002 sched_local 5102 ~0002-~0002 - - range
    """),
    (BROKER, "broker-15/server.log", "UTC", None, "group_id generation member_id cause member_count", 12, 0, """
2024-11-20T19:08:22.974 REBALANCE_START spans_group 233 rdkafka-~0001 LEAVE -
2024-11-20T19:08:22.974 LEFT spans_group - rdkafka-~0001 - -
2024-11-20T19:08:23.099 JOIN_COMPLETE spans_group 234 - - 1
2024-11-20T19:08:23.100 ASSIGNMENT_RECEIVED spans_group 234 rdkafka-~0002 - 1
2024-11-20T19:08:24.989 MEMBER_JOIN spans_group - rdkafka-~0003 - -
2024-11-20T19:08:24.989 REBALANCE_START spans_group 234 rdkafka-~0003 MEMBER_NEW -
2024-11-20T19:08:26.100 JOIN_COMPLETE spans_group 235 - - 2
2024-11-20T19:08:26.101 ASSIGNMENT_RECEIVED spans_group 235 rdkafka-~0002 - 2
2024-11-20T19:12:00.000 REBALANCE_START spans_group 235 rdkafka-~0002 LEAVE -
2024-11-20T19:12:00.000 LEFT spans_group - rdkafka-~0002 - -
2024-11-20T19:12:00.120 JOIN_COMPLETE spans_group 236 - - 1
2024-11-20T19:12:00.122 ASSIGNMENT_RECEIVED spans_group 236 rdkafka-~0003 - 1
    """),
    (BROKER, "broker-19/server.log", "UTC", None, "group_id generation member_id cause", 26, 0, """
2020-04-27T15:10:00.003 JOIN_COMPLETE ingest-a 41 - -
2020-04-27T15:10:00.008 ASSIGNMENT_RECEIVED ingest-a 41 - -
2020-04-27T15:10:00.019 JOIN_COMPLETE ingest-b 12 - -
2020-04-27T15:10:00.024 ASSIGNMENT_RECEIVED ingest-b 12 - -
2020-04-27T15:10:00.033 JOIN_COMPLETE ingest-c 7 - -
2020-04-27T15:10:00.038 ASSIGNMENT_RECEIVED ingest-c 7 - -
2020-04-27T15:24:50.492 HEARTBEAT_EXPIRED ingest-a - ~0001 -
2020-04-27T15:24:50.492 REBALANCE_START ingest-a 41 ~0001 SESSION_EXPIRY
2020-04-27T15:24:50.493 HEARTBEAT_EXPIRED ingest-a - ~0002 -
2020-04-27T15:24:50.494 HEARTBEAT_EXPIRED ingest-a - ~0003 -
2020-04-27T15:24:50.495 GROUP_EMPTY ingest-a 42 - -
2020-04-27T15:24:50.496 HEARTBEAT_EXPIRED ingest-b - ~0004 -
2020-04-27T15:24:50.496 REBALANCE_START ingest-b 12 ~0004 SESSION_EXPIRY
2020-04-27T15:24:50.497 HEARTBEAT_EXPIRED ingest-b - ~0005 -
2020-04-27T15:24:50.498 HEARTBEAT_EXPIRED ingest-b - ~0006 -
2020-04-27T15:24:50.499 GROUP_EMPTY ingest-b 13 - -
2020-04-27T15:24:50.500 HEARTBEAT_EXPIRED ingest-c - ~0007 -
2020-04-27T15:24:50.500 REBALANCE_START ingest-c 7 ~0007 SESSION_EXPIRY
2020-04-27T15:24:50.501 HEARTBEAT_EXPIRED ingest-c - ~0008 -
2020-04-27T15:24:50.502 HEARTBEAT_EXPIRED ingest-c - ~0009 -
2020-04-27T15:24:50.503 GROUP_EMPTY ingest-c 8 - -
2020-04-27T15:25:20.000 REBALANCE_START ingest-a 42 ~0091 MEMBER_NEW
2020-04-27T15:25:23.000 JOIN_COMPLETE ingest-a 43 - -
2020-04-27T15:25:23.010 ASSIGNMENT_RECEIVED ingest-a 43 - -
    """),
    (BROKER, "broker-21/embedded-first2.txt", "UTC", None, "group_id generation member_id cause", 7, 0, EMBEDDED),
    (BROKER, "broker-21/embedded-full.txt", "UTC", None, "group_id generation member_id cause", 7, 0, EMBEDDED),
    (BROKER, "broker-21/embedded-nofirst.txt", "UTC", None, "group_id generation member_id cause", 6, 0, UNDATED * 6),
    (BROKER, "broker-21/embedded-nofirst.txt", "UTC", "2023-07-04", "group_id generation member_id cause", 6, 0, EMBEDDED),
    (BROKER, "broker-21/embedded-nologger.txt", "UTC", None, "group_id generation member_id cause", 7, 0, EMBEDDED),
    (BROKER, "broker-21/embedded.txt", "UTC", None, "group_id generation member_id cause", 7, 0, EMBEDDED),
    (BROKER, "broker-21/mixed-cet.log", "UTC", None, "group_id generation member_id cause", 3, 0, """
2023-07-04T12:17:32.032 REBALANCE_START it-group 0 c-~0001 MEMBER_NEW
2023-07-04T12:17:35.040 JOIN_COMPLETE it-group 1 - -
    """),
    (BROKER, "broker-21/only-cet.log", "UTC", None, "group_id generation member_id cause", 2, 0, """
2023-07-04T12:17:32.032 REBALANCE_START it-group 0 c-~0001 MEMBER_NEW
2023-07-04T12:17:35.040 JOIN_COMPLETE it-group 1 - -
    """),
    (BROKER, "broker-24/server.log", "UTC", None, "group_id generation member_id cause member_count", 6, 0, """
2024-12-14T04:44:53.740 MEMBER_JOIN MS-API - consumer-MS-API-3-~0001 - -
2024-12-14T04:44:53.748 REBALANCE_START MS-API 0 consumer-MS-API-3-~0001 MEMBER_NEW -
2024-12-14T04:44:54.100 MEMBER_JOIN MS-API - consumer-MS-API-4-~0002 - -
2024-12-14T04:44:54.300 MEMBER_JOIN MS-API - consumer-MS-API-5-~0003 - -
2024-12-14T04:44:59.750 JOIN_COMPLETE MS-API 1 - - 3
2024-12-14T04:44:59.770 ASSIGNMENT_RECEIVED MS-API 1 consumer-MS-API-3-~0001 - 3
    """),
    (CLIENT, "client-01/app.log", "Europe/Berlin", None, "group_id generation member_id reason partitions", 19, 0, """
2025-07-14T03:40:01.100 JOINING batch - - - -
2025-07-14T03:40:04.150 JOINED batch 41 consumer-batch-1-~0001 - -
2025-07-14T03:40:04.160 LEADER_ASSIGNED batch 41 - - -
2025-07-14T03:40:04.200 SYNCED batch 41 consumer-batch-1-~0001 - -
2025-07-14T03:40:04.201 ASSIGNED batch - - - compose-0,compose-1
2025-07-14T03:40:04.205 PARTITIONS_ADDED batch - - - compose-0,compose-1
2025-07-14T03:41:00.000 COMMIT_FAILED batch - - The request timed out. compose-0
2025-07-14T03:53:47.300 POLL_TIMEOUT batch - - - -
2025-07-14T03:53:47.301 LEAVING batch - consumer-batch-1-~0001 consumer poll timeout has expired. -
2025-07-14T03:53:47.302 MEMBER_RESET batch - - consumer pro-actively leaving the group -
2025-07-14T03:56:47.442 COMMIT_FAILED batch - - the consumer is not part of an active group -
2025-07-14T03:56:47.900 PARTITIONS_LOST batch - - generation/memberID has been reset -
2025-07-14T03:56:47.901 PARTITIONS_LOST batch - - - compose-0,compose-1
2025-07-14T03:56:47.905 JOINING batch - - - -
2025-07-14T03:56:50.960 JOINED batch 43 consumer-batch-1-~0002 - -
2025-07-14T03:56:50.990 SYNCED batch 43 consumer-batch-1-~0002 - -
2025-07-14T03:56:50.995 PARTITIONS_ADDED batch - - - compose-0,compose-1
    """),
    (CLIENT, "client-01/stale.log", "Europe/Berlin", None, "instance_id group_id generation member_id", 3, 0, """
2025-07-14T05:00:00.000 JOIN_FAILED p-1 g - -
2025-07-14T05:40:01.100 JOINING p-1 g - -
2025-07-14T05:40:04.100 JOINED p-1 g 41 p-1-~0001
    """),
    (CLIENT, "client-02/connect-worker.log", "UTC", None, "client_id group_id generation reason", 25, 0, """
2020-07-09T08:51:25.731 REJOIN_REQUESTED connect-1 lake-connect - -
2020-07-09T08:51:25.731 JOINING connect-1 lake-connect - -
2020-07-09T08:51:25.733 ASSIGNMENT_FAILED connect-1 lake-connect - do not have latest config
2020-07-09T08:51:25.735 JOINED connect-1 lake-connect 305655831 -
2020-07-09T08:51:25.735 TASKS_ASSIGNED connect-1 lake-connect 305655831 error=1, leader='connect-1-~0011', leaderUrl='http://10.0.0.7:8083/', offset=-1, connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], delay=0
2020-07-09T08:51:26.631 REJOIN_REQUESTED connect-1 lake-connect - -
2020-07-09T08:51:26.631 JOINING connect-1 lake-connect - -
2020-07-09T08:51:26.633 ASSIGNMENT_FAILED connect-1 lake-connect - do not have latest config
2020-07-09T08:51:26.635 JOINED connect-1 lake-connect 305655832 -
2020-07-09T08:51:26.635 TASKS_ASSIGNED connect-1 lake-connect 305655832 error=1, leader='connect-1-~0011', leaderUrl='http://10.0.0.7:8083/', offset=-1, connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], delay=0
2020-07-09T08:51:27.531 REJOIN_REQUESTED connect-1 lake-connect - -
2020-07-09T08:51:27.531 JOINING connect-1 lake-connect - -
2020-07-09T08:51:27.533 ASSIGNMENT_FAILED connect-1 lake-connect - do not have latest config
2020-07-09T08:51:27.535 JOINED connect-1 lake-connect 305655833 -
2020-07-09T08:51:27.535 TASKS_ASSIGNED connect-1 lake-connect 305655833 error=1, leader='connect-1-~0011', leaderUrl='http://10.0.0.7:8083/', offset=-1, connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], delay=0
2020-07-09T08:51:28.431 REJOIN_REQUESTED connect-1 lake-connect - -
2020-07-09T08:51:28.431 JOINING connect-1 lake-connect - -
2020-07-09T08:51:28.433 ASSIGNMENT_FAILED connect-1 lake-connect - do not have latest config
2020-07-09T08:51:28.435 JOINED connect-1 lake-connect 305655834 -
2020-07-09T08:51:28.435 TASKS_ASSIGNED connect-1 lake-connect 305655834 error=1, leader='connect-1-~0011', leaderUrl='http://10.0.0.7:8083/', offset=-1, connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], delay=0
2020-07-09T08:51:35.631 REJOIN_REQUESTED connect-1 lake-connect - -
2020-07-09T08:51:35.631 JOINING connect-1 lake-connect - -
2020-07-09T08:51:35.633 ASSIGNMENT_FAILED connect-1 lake-connect - do not have latest config
2020-07-09T08:51:35.635 JOINED connect-1 lake-connect 305655842 -
2020-07-09T08:51:35.635 TASKS_ASSIGNED connect-1 lake-connect 305655842 error=1, leader='connect-1-~0011', leaderUrl='http://10.0.0.7:8083/', offset=-1, connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], delay=0
    """),
    (CLIENT, "client-04/pod-a.log", "UTC", None, "group_id generation member_id reason partitions", 5, 0, """
2022-05-16T12:13:43.700 JOINING pay - - - -
2022-05-16T12:13:43.734 JOINED pay - svc-~0041 - t-1
2022-05-16T12:22:16.484 REJOIN_REQUESTED pay - svc-~0041 The group is rebalancing, so a rejoin is needed -
2022-05-16T12:22:16.517 JOINED pay - svc-~0041 - t-0,t-1,t-2
    """),
    (CLIENT, "client-04/pod-d.log", "UTC", None, "group_id generation member_id reason partitions", 1, 0, """
2022-05-16T12:13:43.733 JOINED pay - svc-~0044 - -
    """),
    (BROKER, "client-04/server.log", "UTC", None, "group_id generation member_id cause", 6, 0, """
2022-05-16T12:13:43.730 JOIN_COMPLETE pay 7 - -
2022-05-16T12:13:43.732 ASSIGNMENT_RECEIVED pay 7 svc-~0042 -
2022-05-16T12:14:13.800 HEARTBEAT_EXPIRED pay - svc-~0044 -
2022-05-16T12:14:13.801 REBALANCE_START pay 7 svc-~0044 SESSION_EXPIRY
2022-05-16T12:14:14.900 JOIN_COMPLETE pay 8 - -
2022-05-16T12:14:14.903 ASSIGNMENT_RECEIVED pay 8 svc-~0042 -
    """),
    (CLIENT, "client-06/consumer.log", "UTC", None, "group_id generation member_id reason partitions", 15, 0, """
2019-09-03T14:35:40.100 JOINING group1 - - - -
2019-09-03T14:35:43.230 JOINED group1 1 - - -
2019-09-03T14:35:43.231 ASSIGNED group1 - - - debug-0
2019-09-03T14:46:45.363 SESSION_EXPIRED group1 - - - -
2019-09-03T14:46:45.365 COORDINATOR_LOST group1 - - Heartbeat session expired -
2019-09-03T14:46:45.869 COORDINATOR_FOUND group1 - - - -
2019-09-03T14:46:48.000 HEARTBEAT_FAILED group1 - - it is rebalancing -
2019-09-03T14:46:49.495 HEARTBEAT_FAILED group1 - - local member_id was not recognized -
2019-09-03T14:46:49.495 PARTITIONS_REVOKED group1 - - - debug-0
2019-09-03T14:46:49.496 JOINING group1 - - - -
2019-09-03T14:46:49.520 JOINED group1 3 - - -
2019-09-03T14:46:49.521 ASSIGNED group1 - - - debug-0
    """),
    (CLIENT, "client-08/other-bindings.log", "UTC", None, "client_id group_id generation member_id duration_ms reason", 4, 0, """
2024-04-19T03:34:52.103 POLL_TIMEOUT rdkafka - - - 399 -
2024-04-19T03:34:52.103 SESSION_EXPIRED rdkafka - - - 45100 revoking assignment and rejoining group
2024-04-19T03:34:52.103 POLL_TIMEOUT - - - - 399 -
2024-04-19T15:03:53.000 POLL_TIMEOUT rdkafka - - - 399 -
    """),
    (CLIENT, "client-08/service.log", "UTC", None, "client_id group_id generation member_id duration_ms reason", 4, 0, """
2022-01-18T00:41:00.000 JOINING - my-group - - - -
2022-01-18T00:41:03.112 JOINED - my-group 12 rdkafka-~0081 - -
2022-01-18T00:41:03.116 PARTITIONS_ASSIGNED - my-group - - - -
2022-01-18T00:47:06.807 POLL_TIMEOUT - my-group - - 399 -
    """),
    (CLIENT, "client-09/consumer.err", "UTC", None, "group_id generation member_id reason", 7, 0, """
2020-07-16T14:00:01.000 JOINING g0 - - -
2020-07-16T14:00:04.000 JOINED g0 3 1-~0092 -
2020-07-16T14:00:04.010 SYNCED g0 - - -
2020-07-16T14:04:04.958 HEARTBEAT_FAILED g0 - - Broker: Static consumer fenced by other consumer with same group.instance.id
2020-07-16T14:04:04.958 FENCED g0 - - Fatal consumer error: Broker: Static consumer fenced by other consumer with same group.instance.id
2020-07-16T14:04:04.959 REJOIN_REQUESTED g0 - - consumer fenced by newer instance
2020-07-16T14:04:04.960 STATE g0 - - -
    """),
    (BROKER, "client-09/server-2.5.log", "UTC", None, "group_id generation instance_id member_id old_member_id cause", 12, 0, """
2020-07-16T13:50:00.000 MEMBER_JOIN g0 - - 1-~0091 - -
2020-07-16T13:50:00.001 REBALANCE_START g0 2 1 1-~0091 - MEMBER_NEW
2020-07-16T13:50:03.002 JOIN_COMPLETE g0 3 - - - -
2020-07-16T13:50:03.010 ASSIGNMENT_RECEIVED g0 3 - - - -
2020-07-16T14:00:01.000 STATIC_REPLACED g0 - 1 1-~0092 1-~0091 -
2020-07-16T14:00:01.001 STATIC_NO_REBALANCE - - - - - -
2020-07-16T14:03:40.000 LOADED g0 3 - - - -
2020-07-16T14:03:40.001 LOADED g0 3 - 1-~0091 - -
2020-07-16T14:04:04.950 STATIC_FENCED - - 1 1-~0092 1-~0091 -
2020-07-16T14:04:40.010 HEARTBEAT_EXPIRED g0 - - 1-~0091 - -
2020-07-16T14:04:40.011 REBALANCE_START g0 3 - 1-~0091 - SESSION_EXPIRY
2020-07-16T14:04:40.012 GROUP_EMPTY g0 4 - - - -
    """),
    (BROKER, "client-09/server.log", "UTC", None, "group_id generation instance_id member_id old_member_id cause", 8, 0, """
2020-07-16T14:00:01.000 STATIC_REPLACED - - 1 1-~0092 1-~0091 -
2020-07-16T14:03:40.000 LOADED g0 3 - - - -
2020-07-16T14:03:40.001 LOADED g0 3 - 1-~0091 - -
2020-07-16T14:03:40.002 PARTITION_LOAD - - - - - -
2020-07-16T14:04:04.950 STATIC_FENCED - - 1 1-~0092 1-~0091 -
2020-07-16T14:04:40.010 HEARTBEAT_EXPIRED g0 - - 1-~0091 - -
2020-07-16T14:04:40.011 REBALANCE_START g0 3 - 1-~0091 - SESSION_EXPIRY
2020-07-16T14:04:40.012 GROUP_EMPTY g0 4 - - - -
    """),
    (CLIENT, "client-10/sinker.log", "UTC", None, "group_id generation member_id reason partitions", 13, 0, """
2025-10-15T08:42:24.100 JOINING sinker-01 - - - -
2025-10-15T08:42:24.110 MEMBER_ID sinker-01 - kgo-~00a1 - -
2025-10-15T08:42:27.200 JOINED sinker-01 17 kgo-~00a1 - -
2025-10-15T08:42:27.270 SYNCED sinker-01 - - - kafka_table-2
2025-10-15T08:42:27.271 PARTITIONS_ADDED sinker-01 - - - kafka_table-2
2025-10-15T09:20:39.395 HEARTBEAT_FAILED sinker-01 - - REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed. -
2025-10-15T09:21:39.500 COMMIT_FAILED sinker-01 - - UNKNOWN_MEMBER_ID: The coordinator is not aware of this member. -
2025-10-15T09:21:40.001 JOINING sinker-01 - - - -
2025-10-15T09:21:40.050 JOIN_FAILED sinker-01 - - UNKNOWN_MEMBER_ID: The coordinator is not aware of this member. -
    """),
    (CLIENT, "client-11/pod-a.log", "UTC", None, "instance_id group_id reason partitions", 10, 0, UNDATED * 10),
    (CLIENT, "client-11/pod-a.log", "UTC", "2024-02-26", "instance_id group_id reason partitions", 10, 0, """
2024-02-26T22:33:44.055 REJOIN_REQUESTED pod-a orders group is already rebalancing -
2024-02-26T22:33:44.055 PARTITIONS_REVOKED pod-a orders - orders-12,orders-13,orders-14
2024-02-26T22:33:47.160 REJOIN_REQUESTED pod-a orders group is already rebalancing -
2024-02-26T22:34:47.160 REJOIN_REQUESTED pod-a orders group is already rebalancing -
2024-02-26T22:35:47.160 REJOIN_REQUESTED pod-a orders group is already rebalancing -
2024-02-26T22:36:47.160 REJOIN_REQUESTED pod-a orders group is already rebalancing -
2024-02-26T22:37:47.160 REJOIN_REQUESTED pod-a orders group is already rebalancing -
2024-02-26T22:38:47.160 REJOIN_REQUESTED pod-a orders group is already rebalancing -
2024-02-26T22:38:44.300 HEARTBEAT_FAILED pod-a orders UNKNOWN_MEMBER_ID -
2024-02-26T22:38:44.301 MEMBER_RESET pod-a orders encountered UNKNOWN_MEMBER_ID from HEARTBEAT response -
    """),
    (CLIENT, "client-12/dispatcher.log", "UTC", None, "group_id generation member_id reason partitions", 11, 0, """
2024-12-10T21:02:00.000 JOINED trigger-bbt 55 consumer-trigger-bbt-19-~00c1 - -
2024-12-10T21:02:00.020 SYNCED trigger-bbt 55 consumer-trigger-bbt-19-~00c1 - -
2024-12-10T21:02:00.021 PARTITIONS_ADDED trigger-bbt - - - bbt-3,bbt-4
2024-12-10T21:07:56.588 REJOIN_REQUESTED trigger-bbt - - group is already rebalancing -
2024-12-10T21:07:59.591 REJOIN_REQUESTED trigger-bbt - - group is already rebalancing -
2024-12-10T21:08:02.594 REJOIN_REQUESTED trigger-bbt - - group is already rebalancing -
2024-12-10T21:12:17.849 REJOIN_REQUESTED trigger-bbt - - group is already rebalancing -
2024-12-10T21:12:20.852 REJOIN_REQUESTED trigger-bbt - - group is already rebalancing -
2024-12-10T21:12:23.855 REJOIN_REQUESTED trigger-bbt - - group is already rebalancing -
2024-12-10T21:12:57.000 POLL_TIMEOUT trigger-bbt - - - -
2024-12-10T21:12:57.001 LEAVING trigger-bbt - consumer-trigger-bbt-19-~00c1 consumer poll timeout has expired. -
    """),
    (CLIENT, "client-15/app.log", "UTC", None, "group_id generation member_id reason partitions", 10, 0, """
2026-07-17T13:50:20.000 JOINING ord - - - -
2026-07-17T13:50:23.000 JOINED ord 1 consumer-ord-1-~00f1 - -
2026-07-17T13:50:29.000 COORDINATOR_LOST ord - - error response NOT_COORDINATOR -
2026-07-17T13:50:29.000 REJOIN_REQUESTED ord - - rebalance failed due to 'This is not the correct coordinator.' (NotCoordinatorException) -
2026-07-17T13:50:29.000 JOINING ord - - - -
    """),
    (CLIENT, "client-16/platform.log", "UTC", None, "group_id generation member_id reason partitions", 6, 0, """
2022-11-29T15:00:01.000 JOINED ~1601 1 consumer-~1601-1-~0001 - -
2022-11-29T15:00:02.000 JOINED ~1602 1 consumer-~1602-2-~0002 - -
2022-11-29T16:17:50.491 COMMIT_FAILED ~1601 - - Offset commit cannot be completed since the consumer is not part of an active group for auto partition assignment; it is likely that the consumer was kicked out of the group. cohort-0
2022-11-29T16:17:50.601 HEARTBEAT_FAILED ~1601 1 consumer-~1601-1-~0001 UNKNOWN_MEMBER_ID -
2022-11-29T16:17:50.492 COMMIT_FAILED ~1602 - - Offset commit cannot be completed since the consumer is not part of an active group for auto partition assignment; it is likely that the consumer was kicked out of the group. cohort-0
2022-11-29T16:17:50.602 HEARTBEAT_FAILED ~1602 1 consumer-~1602-2-~0002 UNKNOWN_MEMBER_ID -
    """),
    (CLIENT, "client-17/app-plus2h.log", "UTC", None, "group_id generation member_id reason partitions", 7, 0, """
2019-06-03T13:47:30.480 JOINING rb - - - -
2019-06-03T13:47:30.499 JOINED rb 13 - - -
2019-06-03T13:47:30.505 PARTITIONS_ADDED rb - - - users-0
2019-06-03T13:49:06.100 HEARTBEAT_FAILED rb - - member id source-~0172 is not valid. -
2019-06-03T13:49:06.200 JOINING rb - - - -
2019-06-03T13:49:15.556 JOINED rb 14 - - -
    """),
    (CLIENT, "client-17/app.log", "UTC", None, "group_id generation member_id reason partitions", 7, 0, """
2019-06-03T11:47:30.480 JOINING rb - - - -
2019-06-03T11:47:30.499 JOINED rb 13 - - -
2019-06-03T11:47:30.505 PARTITIONS_ADDED rb - - - users-0
2019-06-03T11:49:06.100 HEARTBEAT_FAILED rb - - member id source-~0172 is not valid. -
2019-06-03T11:49:06.200 JOINING rb - - - -
2019-06-03T11:49:15.556 JOINED rb 14 - - -
    """),
    (BROKER, "client-17/server.log", "UTC", None, "group_id generation member_id cause", 7, 0, """
2019-06-03T11:47:30.495 REBALANCE_START rb 12 source-~0171 MEMBER_NEW
2019-06-03T11:47:30.498 JOIN_COMPLETE rb 13 - -
2019-06-03T11:47:30.501 ASSIGNMENT_RECEIVED rb 13 - -
2019-06-03T11:49:05.758 HEARTBEAT_EXPIRED rb - source-~0172 -
2019-06-03T11:49:05.759 REBALANCE_START rb 13 source-~0172 SESSION_EXPIRY
2019-06-03T11:49:15.555 JOIN_COMPLETE rb 14 - -
2019-06-03T11:49:15.558 ASSIGNMENT_RECEIVED rb 14 - -
    """),
    (CLIENT, "client-19/taskmanager.log", "UTC", None, "group_id reason partitions", 6, 0, """
2020-02-26T10:00:00.123 SELF_ASSIGNED clicks - clicks-0,clicks-1
2020-02-26T10:01:00.500 COORDINATOR_FOUND clicks - -
2020-02-26T10:01:00.901 COMMIT_FAILED clicks The coordinator is not aware of this member. clicks-0
2020-02-26T10:05:00.000 COORDINATOR_LOST clicks coordinator unavailable -
    """),
    (CLIENT, "client-21/consumer-a.log", "UTC", None, "group_id generation member_id partitions", 8, 0, """
2020-11-09T11:37:36.322 JOINING g2 - - -
2020-11-09T11:37:36.344 JOINED g2 28 - -
2020-11-09T11:37:36.344 PARTITIONS_ADDED g2 - - p3-2
2020-11-09T11:38:15.376 HEARTBEAT_FAILED g2 - - -
2020-11-09T11:38:15.377 PARTITIONS_REVOKED g2 - - p3-2
2020-11-09T11:38:15.377 JOINING g2 - - -
2020-11-09T11:38:15.393 JOINED g2 29 - -
2020-11-09T11:38:15.393 PARTITIONS_ADDED g2 - - p3-2
    """),
    (CLIENT, "client-21/consumer-b.log", "UTC", None, "group_id generation member_id partitions", 10, 0, """
2020-11-09T11:37:36.328 JOINING g2 - - -
2020-11-09T11:37:36.335 LEADER_ASSIGNED g2 28 - -
2020-11-09T11:37:36.344 JOINED g2 28 - -
2020-11-09T11:37:36.344 PARTITIONS_ADDED g2 - - p3-0
2020-11-09T11:38:15.372 HEARTBEAT_FAILED g2 - - -
2020-11-09T11:38:15.372 PARTITIONS_REVOKED g2 - - p3-0
2020-11-09T11:38:15.372 JOINING g2 - - -
2020-11-09T11:38:15.383 LEADER_ASSIGNED g2 29 - -
2020-11-09T11:38:15.393 JOINED g2 29 - -
2020-11-09T11:38:15.393 PARTITIONS_ADDED g2 - - p3-0,p3-1
    """),
    (CLIENT, "client-21/consumer-c.log", "UTC", None, "group_id generation member_id partitions", 7, 0, """
2020-11-09T11:37:34.681 COORDINATOR_FOUND g2 - - -
2020-11-09T11:37:34.684 JOINING g2 - - -
2020-11-09T11:37:34.701 JOIN_FAILED g2 - - -
2020-11-09T11:37:34.701 JOINING g2 - - -
2020-11-09T11:37:36.344 JOINED g2 28 - -
2020-11-09T11:37:36.347 PARTITIONS_ADDED g2 - - p3-1
2020-11-09T11:38:14.037 LEAVING g2 - consumer-g2-1-~0213 -
    """),
]  # fmt: skip


def id_of(table):
    return f"{table[1]} {table[3] or ''}".strip()


@pytest.mark.parametrize("table", TABLES, ids=map(id_of, TABLES))
def test_rows_of_a_log(table):
    source, file, timezone, log_date, columns, lines, not_understood, expected = table

    rows, counts = read(source, file, timezone, columns.split(), log_date)

    assert rows == expected.strip().splitlines()
    assert (counts["inputs"], counts["not_understood"]) == (lines, not_understood)


def test_every_log_has_a_table():
    logs = {str(path.relative_to(INPUTS)) for path in INPUTS.glob("*/*")}

    assert {table[1] for table in TABLES} == {name for name in logs if "broker-08" not in name}


MEMBER = "consumer-1-00000000-0000-4000-8000-000000000001"


def records_of(file):
    rows = [row for batch in Dump(str(INPUTS / file)).batches() for row in batch.to_pylist()]
    return [(row, decode(row["key"], row["value"])) for row in rows]


def test_text_of_kafka_dump_log():
    (group_row, group), (share_row, share) = records_of("broker-08/dump-log-3.x.txt")

    assert [
        (row["partition"], row["log_offset"], row["time_ms"]) for row in (group_row, share_row)
    ] == [
        (0, 0, 1727354207209),  # 2024-09-26 12:36:47.209 UTC
        (0, 1, 1727354267209),
    ]
    assert group.key == {"group": "orders"}
    assert (group.value["generation"], group.value["protocol"]) == (1, "range")
    (member,) = group.value["members"]
    assert (member["member_id"], member["client_host"]) == (MEMBER, "/127.0.0.1")
    assert decode_assignment(member["assignment"]).partitions == [("foo", [0])]
    assert share.key == {
        "group_id": "console-share-consumer",
        "member_id": "AAAAR8MZRt27WL47QhcKVA",
    }
    assert share.value["subscribed_topic_names"] == ["T1"]


def test_json_of_a_formatter():
    ((row, group),) = records_of("broker-08/console-4.x.json")

    assert (row["partition"], row["time_ms"]) == (-1, 1727354207208)
    assert (group.key, group.value["generation"]) == ({"group": "orders"}, 1)
    (member,) = group.value["members"]
    assert decode_assignment(member["assignment"]).partitions == [("foo", [0])]


def test_text_of_the_groups_formatter_is_refused():
    with pytest.raises(
        UsageError, match=r"GroupMetadataMessageFormatter .* kafka-dump-log --offsets-decoder"
    ):
        Dump(str(INPUTS / "broker-08" / "group_metadata.txt"))
