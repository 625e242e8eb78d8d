"""The column lists that identify a group, a generation and so on: joins and windows name them; and
the tables that name a run's groups."""

from __future__ import annotations

GROUP_KEY = ["cluster_id", "group_id"]
INCARNATION_KEY = [*GROUP_KEY, "incarnation"]
# Generation numbers start again in each incarnation.
GENERATION_KEY = [*INCARNATION_KEY, "generation"]
MEMBER_KEY = [*INCARNATION_KEY, "member_id"]
# Tables from which a run derives all other tables: a run for some dates covers the groups in these
# tables on those dates.
EVENT_TABLES = ("group_metadata", "group_records", "group_events")
# Bronze tables from which the tables above, and the commits, are decoded.
BRONZE_EVENTS = ("offsets_records", "broker_log_events", "trace_events")
# Key of a record about a group.
RECORD_KEY = [*GROUP_KEY, "topic_partition", "log_offset"]
# Key of a partition of a consumed topic, within a cluster.
PARTITION_KEY = ["topic", "partition"]
