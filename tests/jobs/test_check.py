"""The laws of a lake: a sound lake violates none, and every violation is found."""

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from coordinator_core.records import encode_key, encode_value
from jobs.checks.check import broken_laws
from jobs.checks.laws import LAWS
from jobs.console.errors import UsageError
from schemas import table_names

pytestmark = pytest.mark.slow

EVE, DAY, NEXT, NO_TIME = (
    date(2026, 11, 20), date(2026, 11, 21), date(2026, 11, 22), date(1970, 1, 1)
)  # fmt: skip
VERSIONS = [("offsets_records", 0), ("broker_log_events", 0), ("client_events", 0),
            ("end_offsets", 0)]  # fmt: skip
LOG = {"source": "broker_log", "file": "f", "topic_partition": None}
DUMP = {"source": "dump", "path": "d"}
TRACE = {"source": "trace", "topic_partition": None}
CLIENT_LOG = {"source": "client_log", "file": "k", "topic_partition": None}
ENDS = {"source": "end_offsets", "file": "e", "topic_partition": None}
DUMP_ROW = {"source": "dump", "file": "d", "reason": "bad"}
KAFKA = {"source": "kafka", "file": "__consumer_offsets-0"}
T = 1_795_219_200_000  # 2026-11-21T00:00Z
FIRST_GENERATION = {"group_id": "g", "generation": 1}
OWNED = FIRST_GENERATION | {"member_id": "m", "process": "m", "partition": 0}
TIMES = {"preparing_time": T + 1000, "joined_time": T + 2000, "stable_time": T + 2001}
# Log lines, each with position (which is also the order), ms, event, generation.
LINES = [
    (1, T + 1000, "REBALANCE_START", 0),
    (2, T + 2000, "JOIN_COMPLETE", 1),
    (4, T + 9000, "REBALANCE_START", 1),
    (5, T + 9500, "JOIN_COMPLETE", 2),
]
TIMED = [{"event_time": ms, "event": event, "generation": n} for _, ms, event, n in LINES]
SUBSCRIPTION = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"
ASSIGNMENT = b"\0\0\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
KEY_OF_GROUP = encode_key(2, {"group": "g"})
COMMIT = encode_key(1, {"group": "g", "topic": "t", "partition": 0})
STORED = encode_value(2, 3, {
    "protocol_type": "consumer", "generation": 1, "protocol": "range", "leader": "m",
    "current_state_timestamp": T + 2000, "members": [{
        "member_id": "m", "group_instance_id": None, "client_id": "a", "client_host": "/h",
        "rebalance_timeout": 5, "session_timeout": 4, "subscription": SUBSCRIPTION,
        "assignment": ASSIGNMENT}]})  # fmt: skip
CLIENT = {"client_id": "a", "client_host": "/h", "rebalance_timeout_ms": 5, "session_timeout_ms": 4,
          "subscribed_topics": ["t"]}  # fmt: skip
MEMBER = CLIENT | {"member_id": "m", "owned": [], "subscription": SUBSCRIPTION,
    "assigned": [{"topic": "t", "partitions": [0]}], "assignment": ASSIGNMENT}  # fmt: skip
RECORD = {"group_id": "g", "append_time": T + 2001, "leader": "m", "protocol": "range",
          "state_timestamp_ms": T + 2000, "value_version": 3,
          "protocol_type": "consumer"}  # fmt: skip

# The lake has two readable records and four lines, one more of each that is unreadable, and the
# derived tables.
GAP = {"group_id": "g", "topic": "t", "partition": 0, "from_process": "m", "from_generation": 1,
       "why": "rebalance", "evidence": "log", "estimated": True}  # fmt: skip
COMPARED = {"figure": "rebalances", "low": 0, "high": 2, "after": 1, "verdict": "as predicted"}
OUTCOME = {"group_id": "g", "setting": "membership=static", "settings": "group.instance.id",
           "first_advised_time": T, "advised_time": T, "sentence": "static", "carried_out": "yes",
           "evidence": "all 6 members", "carried_out_time": T, "deployments_before": 1,
           "deployments_after": 1, "figures": [COMPARED], "verdict": "as predicted",
           "reason": "as predicted"}  # fmt: skip
SOUND = {
    "ingested_files": [
        {"file": "0.log", "path": "0.log", "inputs": 3, "kept_by_date": {DAY: 2},
         "quarantined": 1, "first_offset": 0, "last_offset": 2},
        LOG | {"path": "server.log", "inputs": 8, "kept_by_date": {DAY: 4}, "quarantined": 1,
               "skipped": 3},
        DUMP | {"file": "d#__consumer_offsets-0", "inputs": 4, "kept_by_date": {DAY: 2},
                "quarantined": 1, "skipped": 1, "first_offset": 0, "last_offset": 2},
        DUMP | {"file": "d", "topic_partition": None, "inputs": 2, "kept_by_date": {},
                "quarantined": 1, "skipped": 1},
        KAFKA | {"path": "__consumer_offsets-0", "inputs": 3, "kept_by_date": {DAY: 2},
                 "quarantined": 1, "first_offset": 0, "last_offset": 2},
        TRACE | {"file": "t", "path": "t.jsonl", "inputs": 1, "kept_by_date": {NO_TIME: 1}},
        CLIENT_LOG | {"path": "app.log", "inputs": 2, "kept_by_date": {DAY: 1}, "skipped": 1},
        ENDS | {"path": "ends.jsonl", "inputs": 3, "kept_by_date": {DAY: 2}, "skipped": 1},
    ],
    # The second row was the last sighting before the file grew.
    "end_offsets": [
        {"topic": "t", "partition": 0, "seen_time": T + seconds * 1000, "log_end_offset": 5,
         "source": "end_offsets", "format": "json", "file_id": "e", "position": seconds,
         "file": "ends.jsonl"}
        for seconds in (1, 2, 3)
    ],
    "client_events": [{"file_id": "k", "position": 0, "event_time": T, "event": "JOINING",
                       "library": "java", "client_id": "a", "line": "l", "file": "app.log"}],
    "trace_events": [{"trace_id": "t", "position": 0, "event": "start", "line": "{}",
                      "file": "t.jsonl"}],
    "offsets_records": [
        {"log_offset": 0, "key": KEY_OF_GROUP, "value": STORED, "key_type": 2,
         "append_time": T + 2001},
        {"log_offset": 1, "key": COMMIT, "key_type": 1, "append_time": T + 3000},
        {"log_offset": 3, "key": encode_key(3, {"group_id": "n"}), "key_type": 3,
         "value": encode_value(3, 0, {"epoch": 2, "metadata_hash": 8}), "append_time": T + 3000},
    ],
    "broker_log_events": [
        line | {"group_id": "g", "position": position, "line": f"line {position}"}
        for (position, *_), line in zip(LINES, TIMED, strict=True)
    ],
    "quarantine": [
        {"file": "0.log", "log_offset": 2, "reason": "bad"},
        LOG | {"position": 80, "log_offset": -1, "reason": "bad"},
        DUMP_ROW | {"position": 3, "log_offset": 2, "topic_partition": "__consumer_offsets-0"},
        DUMP_ROW | {"position": 5, "log_offset": -1},
        KAFKA | {"position": -1, "log_offset": 2, "reason": "bad"},
    ],
    "incident_replay": [
        FIRST_GENERATION | {"verdict": "reproduced", "evidence": "both", "exact": True,
                            "stimuli": 1, "assumed": 0, "era": "3.9"}
    ],
    "process_lives": [{"group_id": "g", "process": "a", "name": "a", "life": 1, "incarnation": 1,
                       "member_ids": ["m"], "from_time": T, "started_how": "start",
                       "ended_how": "running", "slow_polls": [], "flapping": False,
                       "first_generation": 1, "last_generation": 1, "confidence": 1.0,
                       "evidence": "log"}],
    "what_if": [{"group_id": "g", "setting": "unchanged", "basis": "observed", "seeds": 0,
                 "era": "3.9", "from_time": T, "to_time": T + 9500,
                 **{f"{figure}{end}": 1 for end in ("", "_min", "_max") for figure in (
                     "rebalances", "not_stable_ms", "moved_partitions",
                     "unowned_partition_ms")}}],
    "advice": [{"group_id": "g", "saved_unowned_partition_ms": 0, "saved_not_stable_ms": 0,
                "saved_rebalances": 0, "share_saved": 0.0, "sentence": "nothing to gain"}],
    "advice_outcomes": [OUTCOME],
    "migration_advice": [{"group_id": "g", "rank": 1, "verdict": "unknown", "reason": "no members",
                          "group_type": "classic", "blockers": []}],
    "group_metadata": [RECORD | {"log_offset": 0, "generation": 1, "members": [MEMBER]}],
    "group_records": [{"group_id": "n", "log_offset": 3, "append_time": T + 3000, "epoch": 2,
                       "value_version": 0, "metadata_hash": 8}],
    "committed_offsets": [
        {"group_id": "g", "log_offset": 1, "partition": 0, "append_time": T + 3000,
         "tombstone": True}
    ],
    "group_events": [
        line | {"group_id": "g", "event_seq": position, "position": position}
        for (position, *_), line in zip(LINES, TIMED, strict=True)
    ],
    "group_days": [{"group_id": "g"}, {"group_id": "n"}],
    "member_epochs": [{"group_id": "n", "member_id": "m", "process": "m", "epoch": 2, "time": T,
                       "state": "STABLE", "log_offset": 4}],
    "handovers": [{"group_id": "n", "generation": 2, "topic": "t", "partition": 0,
                   "from_process": "a", "to_process": "b", "released_time": T, "assigned_time": T,
                   "unowned_ms": 0, "waited_for": "heartbeat", "evidence": "records",
                   "estimated": False}],
    "topic_ids": [{"topic_id": "i", "topic": "t", "evidence": "commits"}],
    "group_epochs": [{"group_id": "n", "epoch": 2, "time": T + 3000, "cause": "TOPIC_CHANGE",
                      "log_offset": 3, "evidence": "records"}],
    "timeline": [
        {"group_id": "g", "seq": position, "event_time": ms, "event": event,
         "event_generation": generation}
        for position, ms, event, generation in LINES
    ] + [
        {"group_id": "g", "seq": 3, "event_time": T + 2001, "event": "RECORD",
         "event_generation": 1, "member_id": "m", "members": ["m"], "protocol": "range",
         "log_offset": 0, "state_timestamp_ms": T + 2000,
         "topic_partition": "__consumer_offsets-0"},
        {"group_id": "n", "seq": 1, "event_time": T + 3000, "event": "EPOCH_RECORD",
         "log_offset": 3, "topic_partition": "__consumer_offsets-0"},
    ],
    "generations": [
        FIRST_GENERATION | TIMES | {"ended_time": T + 9000, "protocol": "range", "leader": "m",
                         "first_offset": 0, "last_offset": 0, "cause": "MEMBER_NEW"},
        FIRST_GENERATION | {"generation": 2, "preparing_time": T + 9000, "joined_time": T + 9500,
                 "outcome": "unknown", "evidence": "log"},
    ],
    "generation_members": [
        FIRST_GENERATION | CLIENT | {"member_id": "m", "process": "m", "is_leader": True,
                                     "change": "joined"}
    ],
    "assignments": [OWNED],
    "assignor_reruns": [OWNED],
    "churn": [
        FIRST_GENERATION | {"members_joined": 1, "members_retained": 0, "partitions_assigned": 1},
        FIRST_GENERATION | {"generation": 2},
    ],
    "rebalance_latency": [
        FIRST_GENERATION | {"preparing_time": T + 1000, "to_time": T + 2001, "join_ms": 1000,
                 "cause": "MEMBER_NEW", "logical_rebalance": 1, "round": 1},
        FIRST_GENERATION | {"generation": 2, "preparing_time": T + 9000, "join_ms": 500,
                 "outcome": "unknown", "evidence": "log", "logical_rebalance": 2, "round": 1},
    ],
    "rebalance_causes": [FIRST_GENERATION | {"cause_seq": 1, "cause": "MEMBER_NEW"}],
    "ownership_gaps": [
        GAP | {"from_time": T + 3000, "to_time": T + 3200, "unowned_ms": 200, "to_process": "m",
               "generation": 1},
        GAP | {"from_time": T + 9333, "unowned_ms": 167},
    ],
    "handover_costs": [
        {"group_id": "g", "topic": "t", "partition": 0, "process": "m", "member_id": "m",
         "from_time": T + 3000, "to_time": T + 9333, "to_time_low": T + 9333,
         "to_time_high": T + 9333, "how_ended": "revoked", "last_commit_offset": 10,
         "last_commit_time": T + 9000, "records_reprocessed": 2.0, "records_reprocessed_low": 0.0,
         "records_reprocessed_high": 3.0, "bounded": True, "commit_interval_ms": 5000,
         "from_generation": 1, "evidence": "log", "estimated": True},
    ],
    "unserved_times": [
        {"group_id": "g", "generation": 1, "topic": "t", "partition": 0, "process": "m",
         "member_id": "m", "from_time": T + 9000, "to_time": T + 9333, "unserved_ms": 333,
         "reason": "stuck", "commit_interval_ms": 5000, "evidence": "commits", "estimated": True},
    ],
    "findings": [
        {"finding": "rejoin_loop", "group_id": "g", "from_time": T + 1000},
    ],
    "episodes": [
        {"group_id": "g", "incarnation": 1, "activity_time": T + 1000, "episode": 1,
         "kind": "group_start", "from_time": T + 1000, "to_time": T + 9500, "processes": ["m"],
         "hosts": [], "first_generation": 1, "last_generation": 2, "generations": [1, 2],
         "rebalances": 1, "unowned_partition_ms": 0, "summary": "", "evidence": "log",
         "confidence": 1.0, "activity_last_generation": 2}
    ],
    "assignor_quality": [
        FIRST_GENERATION | {"assignor": assignor, "mode": mode, "partitions_assigned": 1}
        for assignor, mode in (("actual", "step"), ("range", "step"), ("range", "chain"))
    ],
    "broker_episodes": [
        {"from_time": T + 1000, "first_broker_id": 1, "to_time": T + 9500,
         "kind": "broker_restart",
         "brokers": [{"broker_id": 1, "stopped_time": datetime.fromtimestamp(T // 1000 + 1, UTC),
                      "killed": False}],
         "groups": [{"group_id": "g", "moves": 1, "rebalances": 1, "not_stable_ms": 8500,
                     "unowned_partition_ms": 0}],
         "moves": 1, "rebalances": 1, "not_stable_ms": 8500, "unowned_partition_ms": 0,
         "summary": "", "confidence": 0.95}
    ],
    "runs": [{"run_id": "r", "step": "nightly", "from_time": T, "seconds": 1.0,
              "outcome": "done", "bronze_versions": VERSIONS}],
    "seen_partitions": [{"topic": "t", "partitions": 1, "since": 5}],
    "topic_partitions": [{"topic": "t", "partitions": 3}],
    "configurations": [{"entity_type": "broker", "entity": "1", "name": "group.max.size",
                        "value": "5", "is_default": False, "source": "f", "seen_time": T}],
    "group_snapshots": [{"group_id": "g", "snapshot_time": T, "requested_time": T,
                         "described_time": T}],
}  # fmt: skip


def changed(table, number, **change):
    return {table: [row | change if n == number else row for n, row in enumerate(SOUND[table])]}


def lost(table, number):
    return {table: [row for n, row in enumerate(SOUND[table]) if n != number]}


def added(table, row):
    return {table: [*SOUND[table], row]}


def without(table):
    return {table: []}


KEPT = "each input of a file is kept, quarantined or skipped"
ALL_LINES = "every readable line of an ingested date is in broker_log_events"
RECORDS = "every readable record of an ingested date is in offsets_records"
CLIENT_LINES = "every readable line of an ingested date is in client_events"
SIGHTINGS = "every readable line of an ingested date is in end_offsets"
CLIENT_JOINS = "every generation that a client joined is in generations"
TRACES = "every readable line of a trace is in trace_events"
REPLICATED = "no record of a diverged replica is in offsets_records"
QUARANTINED = "every input counted as quarantined is in quarantine"
GROUPS = "every classic group's record is decoded once"
NEW_GROUPS = "every consumer, share and streams group's record is decoded once"
COMMITS = "every offset commit is decoded once"
TIMES_IN_ORDER = "times of a generation are in order: preparing, joined, stable, ended"
IN_AN_INCARNATION = "generations of an incarnation are in order of time"
EXISTING = "rows refer to an existing generation"
REQUESTED = "every requested date with input has rows"
DECODED = "every row equals its decoded record"
MEMBERS = "partitions are assigned to members of the generation"
DATED = "event_date is the UTC date of the row's time"
OF_FILE = "every record is from a file in ingested_files"
OF_LOG = "every log line is from a file in ingested_files"
SEEN = "every assigned partition is in seen_partitions"
ONE_ROW = "one row per key"

# change of the sound lake -> (invariant, cluster, where, expected, found)
BROKEN = {
    "an input neither kept, quarantined nor skipped": (
        changed("ingested_files", 1, inputs=9),
        [(KEPT, "c", "server.log", 9, 8)],
    ),
    "a file without kept inputs that counts more inputs": (
        changed("ingested_files", 0, inputs=2, kept_by_date={}),
        [(KEPT, "c", "0.log", 2, 1)],
    ),
    "an additional line": (
        added("broker_log_events", {"position": 40, "event_time": T + 5, "event": "LEFT"}),
        [(ALL_LINES, "c", "f 2026-11-21", 4, 5)],
    ),
    "a record lost": (
        changed("ingested_files", 0, inputs=4, kept_by_date={DAY: 3}),
        [(RECORDS, "c", "0.log 2026-11-21", "at least 3", 2)],
    ),
    "a quarantined record lost": (
        lost("quarantine", 0),
        [(QUARANTINED, "c", "0.log", 1, 0)],
    ),
    "a record of a diverged replica kept": (
        changed("quarantine", 0, log_offset=0, topic_partition="__consumer_offsets-0",
                reason="diverged replica: offset 0"),
        [(REPLICATED, "c", "0.log 0", "in quarantine only", "in both")],
    ),
    "a quarantined line lost": (
        lost("quarantine", 1),
        [(QUARANTINED, "c", "server.log", 1, 0)],
    ),
    "a quarantined record of a dump lost": (
        lost("quarantine", 2),
        [(QUARANTINED, "c", "d", 1, 0)],
    ),
    "a quarantined line of a dump lost": (
        lost("quarantine", 3),
        [(QUARANTINED, "c", "d", 1, 0)],
    ),
    "a quarantined record of Kafka lost": (
        lost("quarantine", 4),
        [(QUARANTINED, "c", "__consumer_offsets-0", 1, 0)],
    ),
    "a record of a dump lost": (
        changed("ingested_files", 2, inputs=5, kept_by_date={DAY: 3}),
        [(RECORDS, "c", "d#__consumer_offsets-0 2026-11-21", "at least 3", 2)],
    ),
    "a line of a trace lost": (
        without("trace_events"),
        [(TRACES, "c", "t", 1, 0)],
    ),
    "a line of a client lost": (
        changed("ingested_files", 6, inputs=3, kept_by_date={DAY: 2}),
        [(CLIENT_LINES, "c", "k 2026-11-21", 2, 1)],
    ),
    "a sighting of an end offset lost": (
        changed("ingested_files", 7, inputs=5, kept_by_date={DAY: 4}),
        [(SIGHTINGS, "c", "e 2026-11-21", 4, 3)],
    ),
    "a generation of a client lost": (
        changed("client_events", 0, event="JOINED", group_id="g", generation=9),
        [(CLIENT_JOINS, "c", "g generation 9", "a generation", "none")],
    ),
    "all records of a date read from Kafka lost": (
        changed("ingested_files", 4, inputs=6, kept_by_date={DAY: 2, NEXT: 3}),
        [(RECORDS, "c", "__consumer_offsets-0 2026-11-22", "at least 3", 0)],
    ),
    "quarantined bytes without an offset do not count as a record": (
        changed("quarantine", 0, log_offset=-1),
        [(QUARANTINED, "c", "0.log", 1, 0)],
    ),
    "a group record not decoded": (
        without("group_metadata"),
        [(GROUPS, "c", "group_metadata __consumer_offsets-0", 1, 0)],
    ),
    "a group record without its source record": (
        added("group_metadata", {"group_id": "g", "log_offset": 7}),
        [(GROUPS, "c", "group_metadata __consumer_offsets-0", 1, 2)],
    ),
    "a record of a consumer group not decoded": (
        without("group_records"),
        [(NEW_GROUPS, "c", "group_records __consumer_offsets-0", 1, 0)],
    ),
    "another group epoch than that of the record": (
        changed("group_records", 0, epoch=3),
        [(DECODED, "c", "epoch of __consumer_offsets-0 3", "2", "3")],
    ),
    "a target assignment without a generation": (
        added("timeline", {"group_id": "g", "seq": 6, "event": "TARGET_RECORD",
                           "event_time": T + 9500, "event_generation": 3}),
        [("every target assignment is a generation", "c", "g generation 3",
          "2026-11-21 00:00:09.5", "none")],
    ),
    "a commit not decoded": (
        without("committed_offsets"),
        [(COMMITS, "c", "committed_offsets __consumer_offsets-0", 1, 0)],
    ),
    "stable before it was joined": (
        changed("generations", 0, joined_time=T + 4000),
        [(TIMES_IN_ORDER, "c", "g generation 1", "times in order",
          "2026-11-21 00:00:01 > 2026-11-21 00:00:04 > 2026-11-21 00:00:02.001"
          " > 2026-11-21 00:00:09")],
    ),
    "a generation that joined before the previous one": (
        changed("generations", 1, joined_time=T + 900),
        [(IN_AN_INCARNATION, "c", "g generation 2", "after 2026-11-21 00:00:02",
          datetime(2026, 11, 21, 0, 0, 0, 900_000))],
    ),
    "a member of a missing generation": (
        changed("generation_members", 0, generation=8),
        [(EXISTING, "c", "g generation 8", "a generation", "none")],
    ),
    "an assignment of a missing generation": (
        changed("assignments", 0, incarnation=2),
        [(EXISTING, "c", "g generation 1", "a generation", "none")],
    ),
    "all records of a requested date lost": (
        changed("ingested_files", 0, inputs=6, kept_by_date={DAY: 2, NEXT: 3}),
        [(REQUESTED, "c", "offsets_records of 2026-11-22", 3, "nothing")],
    ),
    "all lines of a requested date lost": (
        changed("ingested_files", 1, inputs=10, kept_by_date={DAY: 4, NEXT: 2}),
        [(REQUESTED, "c", "broker_log_events of 2026-11-22", 2, "nothing")],
    ),
    "a cause of a missing generation": (
        changed("rebalance_causes", 0, generation=8),
        [(EXISTING, "c", "g generation 8", "a generation", "none")],
    ),
    "a rebalance in no episode": (
        changed("episodes", 0, generations=[1]),
        [("each rebalance is in exactly one episode", "c", "g generation 2", "1 episode",
          "0 episodes")],
    ),
    "a rebalance in two episodes": (
        added("episodes", SOUND["episodes"][0] | {"episode": 2, "generations": [1]}),
        [("each rebalance is in exactly one episode", "c", "g generation 1", "1 episode",
          "2 episodes")],
    ),
    "an episode of brokers that cost more than its groups": (
        changed("broker_episodes", 0, not_stable_ms=8501),
        [("the cost of a broker episode is the cost of its groups", "c",
          "2026-11-21 00:00:01 broker 1", "1, 1, 8500, 0", "1, 1, 8501, 0")],
    ),
    "a record under another date": (
        changed("offsets_records", 0, append_time=T - 1),
        [(DATED, "c", "offsets_records of 2026-11-21", EVE, "1 rows")],
    ),
    "a file missing in ingested_files": (
        lost("ingested_files", 0),
        [(OF_FILE, "c", "segments 0.log", "a row of ingested_files", "none")],
    ),
    "a log missing in ingested_files": (
        lost("ingested_files", 1),
        [(OF_LOG, "c", "server.log", "a row of ingested_files", "none")],
    ),
    "a figure of advice outside of its interval": (
        changed("advice_outcomes", 0, figures=[COMPARED | {"after": 3}]),
        [("the verdict on a predicted figure follows from its interval", "c",
          "g membership=static rebalances", "worse", "as predicted")],
    ),
    "compared advice that was not carried out": (
        changed("advice_outcomes", 0, carried_out="partly"),
        [("advice is compared only after it was carried out", "c", "g membership=static",
          "carried out, and compared figures", "partly, 1 figures")],
    ),
    "a topic missing in seen_partitions": (
        without("seen_partitions"),
        [(SEEN, "c", "t", 1, "not seen")],
    ),
    "an event of another member than its line": (
        changed("group_events", 0, member_id="m2"),
        [("group_events agrees with broker_log_events", "c", "f 1 g",
          "2026-11-21 00:00:01, REBALANCE_START, 0, -, -, -, -, -, -, -, -",
          "2026-11-21 00:00:01, REBALANCE_START, 0, m2, -, -, -, -, -, -, -")],
    ),
    "an event without its line": (
        lost("broker_log_events", 3),
        [("group_events agrees with broker_log_events", "c", "f 5 g", "no row",
          "2026-11-21 00:00:09.5, JOIN_COMPLETE, 2, -, -, -, -, -, -, -, -")],
    ),
    "an event lost": (
        lost("timeline", 0),
        [("timeline agrees with group_events and group_metadata and group_records", "c", "g 1",
          "2026-11-21 00:00:01, REBALANCE_START, -, -, -, -", "no row")],
    ),
    "a generation that ended at another time": (
        changed("generations", 0, ended_time=T + 9001),
        [("generations agrees with timeline", "c", "g 1/1",
          "2026-11-21 00:00:01, 2026-11-21 00:00:02, 2026-11-21 00:00:02.001, 2026-11-21 00:00:09,"
          " m, -, range, 0, 0",
          "2026-11-21 00:00:01, 2026-11-21 00:00:02, 2026-11-21 00:00:02.001,"
          " 2026-11-21 00:00:09.001, m, -, range, 0, 0")],
    ),
    "a member from another host": (
        changed("generation_members", 0, client_host="/10.0.0.1"),
        [("generation_members agrees with timeline and group_metadata and generations", "c",
          "g 1/1 m", "-, a, /h, 4, 5, [t], true", "-, a, /10.0.0.1, 4, 5, [t], true")],
    ),
    "a record with another protocol": (
        changed("offsets_records", 0, value=STORED.replace(b"range", b"other")),
        [(DECODED, "c", "protocol of __consumer_offsets-0 0", "other", "range")],
    ),
    "a record that is no longer readable": (
        changed("offsets_records", 0, value=STORED[:-1]),
        [(DECODED, "c", "group_id of __consumer_offsets-0 0",
          "unreadable: GroupMetadataValue version 3: members[0].as"
          "signment at byte 79: needs 21 bytes, 20 left", "g")],
    ),
    "a partition assigned to a process that is not a member": (
        changed("assignments", 0, process="p"),
        [(MEMBERS, "c", "g generation 1 actual", "a member and its process", "m p")],
    ),
    "a re-run that assigns a partition to a process that is not a member": (
        changed("assignor_reruns", 0, process="p"),
        [(MEMBERS, "c", "g generation 1 range", "a member and its process", "m p")],
    ),
    "a re-run among the assignments": (
        added("assignments", OWNED | {"assignor": "range"}),
        [("assignments has members' partitions and target assignments", "c", "range",
          "in assignor_reruns: run `regroup nightly` over all dates", "rows of a re-run: 1")],
    ),
    "an assigned partition lost": (
        without("assignments"),
        [("assignments agrees with timeline and group_metadata and generation_members and "
          "generations", "c", "g 1/1 m t 0", "m", "no row"),
         ("assignor_quality agrees with assignments and assignor_reruns and generation_members"
          " and generations", "c", "g 1/1 actual", "no row", "1, 1")],
    ),
    "a wrong count of members": (
        changed("churn", 0, members_joined=2),
        [("churn agrees with generations and generation_members and assignments", "c", "g 1/1",
          "2026-11-21, 1, 0, 1, true", "2026-11-21, 2, 0, 1, true")],
    ),
    "a wrong join time": (
        changed("rebalance_latency", 0, join_ms=1001),
        [("rebalance_latency agrees with generations", "c", "g 1/1",
          "2026-11-21 00:00:01, 2026-11-21 00:00:02.001, 1000, 2026-11-21, MEMBER_NEW, stable,"
          " both, true",
          "2026-11-21 00:00:01, 2026-11-21 00:00:02.001, 1001, 2026-11-21, MEMBER_NEW, stable,"
          " both, true")],
    ),
    "a gap of another length": (
        changed("ownership_gaps", 0, unowned_ms=201),
        [("an ownership gap lasts from from_time to to_time and ends with a generation", "c",
          "g t 0 2026-11-21 00:00:03", 200, 201)],
    ),
    "a gap whose range does not hold its length": (
        changed("ownership_gaps", 0, unowned_ms_low=201, unowned_ms_high=300),
        [("the length of an ownership gap lies within its range", "c",
          "g t 0 2026-11-21 00:00:03", "201 to 300", 200)],
    ),
    "two gaps at once": (
        changed("ownership_gaps", 0, to_time=T + 9334, unowned_ms=6334),
        [("ownership gaps of a partition do not overlap", "c",
          "g t 0 2026-11-21 00:00:03", "until 2026-11-21 00:00:09.333",
          "2026-11-21 00:00:09.334")],
    ),
    "a gap that ends without an assignment": (
        changed("ownership_gaps", 0, to_process="p"),
        [("an ownership gap ends with an assignment to the next owner", "c",
          "g t 0 2026-11-21 00:00:03", "assigned in generation 1", "p")],
    ),
    "unserved, although nobody owned the partition": (
        changed("unserved_times", 0, to_time=T + 9334, unserved_ms=334),
        [("unserved times of a partition do not overlap each other or its ownership gaps", "c",
          "g t 0 2026-11-21 00:00:09.333", "after 2026-11-21 00:00:09.334",
          "2026-11-21 00:00:09.333")],
    ),
    "more records handled again than at most": (
        changed("handover_costs", 0, records_reprocessed=3.5),
        [("the costs of a handover lie within their bounds", "c", "g t 0 2026-11-21 00:00:03",
          "0.0 to 3.0", 3.5)],
    ),
    "a row of group_days lost": (
        without("group_days"),
        [("group_days agrees with timeline", "c", "g 2026-11-21", "a row", "no row")],
    ),
    "a trigger that is not the generation's cause": (
        changed("rebalance_causes", 0, cause="LEAVE"),
        [("rebalance_causes agrees with generations", "c", "g 1/1", "MEMBER_NEW, true",
          "LEAVE, true")],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(write_lake, tmp_path_factory):
    return Path(write_lake(tmp_path_factory.mktemp("sound"), SOUND))


@pytest.fixture
def violations(sound, write_lake, tmp_path):
    """The violations of the sound lake with some tables changed."""

    def laws(change):
        for table in SOUND.keys() - change.keys():
            (tmp_path / table).symlink_to(sound / table)
        columns, rows = broken_laws(write_lake(tmp_path, change))
        assert columns == ["law", "cluster_id", "where", "expected", "found"]
        return rows

    return laws


def test_a_sound_lake_violates_no_law(violations):
    assert violations({}) == []


def left(logged, evidence):
    """A member left; ``logged``: why by the broker's log."""
    cause = {"cause": "LEAVE_POLL_TIMEOUT", "evidence": evidence}
    return changed("generations", 0, cause=logged) | changed("rebalance_causes", 0, **cause)


NOTHING = [(table, -1) for table, _ in VERSIONS]
OWN = {"first_date": DAY, "last_date": DAY, "own_versions": VERSIONS}
# The records came with version 0, which the last successful run did not cover.
PENDING = changed("runs", 0, bronze_versions=[("offsets_records", -1), *VERSIONS[1:]])
COVERED = changed("runs", 0, bronze_versions=NOTHING, **OWN)
LEFT = {
    "a consumer group: only the client says why": left("LEAVE", "clients+log"),
    "both logs say why": left("LEAVE_POLL_TIMEOUT", "clients+log"),
    "without the client's log": left("LEAVE", "log"),
    "another cause": left("MEMBER_NEW", "clients+log"),
}
SOUND_CHANGES = {
    "dates that retention deleted": changed(
        "ingested_files", 4, inputs=6, kept_by_date={DAY: 2, EVE: 3}
    ),
    "pending dates": PENDING | without("committed_offsets"),
}
CHANGES = {
    **{how: change for how, (change, _) in BROKEN.items()},
    **LEFT,
    **SOUND_CHANGES,
    "covered as its own": COVERED | without("committed_offsets"),
}


@pytest.fixture(scope="module")
def violations_of(write_lake, tmp_path_factory):
    """The violations per entry of CHANGES; a cluster of one lake has the sound lake with its
    change."""
    tables = {table: [] for table in SOUND}
    for how, change in CHANGES.items():
        for table, rows in (SOUND | change).items():
            tables[table] += [row | {"cluster_id": how} for row in rows]
    by_cluster = {how: [] for how in CHANGES}
    for law, how, *rest in broken_laws(write_lake(tmp_path_factory.mktemp("broken"), tables))[1]:
        by_cluster[how].append((law, "c", *rest))
    return by_cluster


@pytest.mark.parametrize("how", BROKEN)
def test_each_violation_is_found(violations_of, how):
    _, expected = BROKEN[how]

    assert set(expected) <= set(violations_of[how])


@pytest.mark.parametrize(
    ("how", "logged"),
    [*zip(LEFT, [None, None, "LEAVE", "MEMBER_NEW"], strict=True)],
)
def test_a_clients_log_may_refine_why_a_member_left(violations_of, how, logged):
    law = "rebalance_causes agrees with generations"

    broken = [(law, "c", "g 1/1", f"{logged}, true", "LEAVE_POLL_TIMEOUT, true")]
    of_law = [row for row in violations_of[how] if row[0] == law]
    assert of_law == (broken if logged else [])


@pytest.mark.parametrize("how", SOUND_CHANGES)
def test_what_a_later_run_or_retention_explains_violates_no_law(violations_of, how):
    assert violations_of[how] == []


def test_a_date_that_a_run_covered_as_its_own_is_not_pending(violations_of):
    assert COMMITS in {law for law, *_ in violations_of["covered as its own"]}


def test_duplicate_rows_are_found_in_every_table(violations):
    rows_found = violations({table: [*rows, rows[0]] for table, rows in SOUND.items()})

    twice = [row[1:] for row in rows_found if row[0] == ONE_ROW]
    assert [where.split(" c/")[0] for _, where, *_ in twice] == table_names()
    assert {(cluster, *counts) for cluster, _, *counts in twice} == {("c", "1 row", "2 rows")}


def test_every_law_has_a_violation_above():
    violated = {row[0] for _, rows in BROKEN.values() for row in rows}

    assert {DECODED, *(law.name for law in LAWS)} == {ONE_ROW, *violated}


def test_each_cluster_is_checked_by_itself(violations):
    twin = {table: [*rows, *({**row, "cluster_id": "d"} for row in rows)]
            for table, rows in SOUND.items()}  # fmt: skip

    assert violations(twin) == []


def test_bronze_tables_alone_violate_no_law(write_lake, tmp_path):
    bronze = [
        "offsets_records", "broker_log_events", "client_events", "end_offsets", "trace_events",
    ]  # fmt: skip
    others = ["ingested_files", "quarantine"]
    root = write_lake(tmp_path, {table: SOUND[table] for table in [*bronze, *others]})

    assert broken_laws(root)[1] == []


NOT_OF_A_RUN = {
    "topic_partitions", "runs", "incident_replay", "process_lives", "what_if", "advice",
    "advice_outcomes", "migration_advice", "group_snapshots", "configurations",
}  # fmt: skip
OF_RUN = [table for table in SOUND if table not in NOT_OF_A_RUN]
# ingested_files shows which bronze tables a run wrote; a row of one of the other tables shows that
# a run derived tables.
BRONZE, DERIVED = OF_RUN[1:7], OF_RUN[7:]


@pytest.mark.parametrize("dropped", [BRONZE, ["ingested_files", *DERIVED[::2]], DERIVED[1::2]])
def test_missing_tables_of_a_run_are_found(sound, tmp_path, dropped):
    for other in SOUND.keys() - set(dropped):
        (tmp_path / other).symlink_to(sound / other)

    rows = broken_laws(str(tmp_path))[1]

    missing = [row[1:] for row in rows if row[0] == "a run writes to every table"]
    assert missing == [(None, table, "a table", "none") for table in sorted(dropped)]


def test_a_column_unknown_to_this_version_is_found(sound, tmp_path):
    for table in SOUND.keys() - {"runs"}:
        (tmp_path / table).symlink_to(sound / table)
    rows = DeltaTable(str(sound / "runs")).to_pyarrow_table()
    added = rows.append_column("not_yet", pa.nulls(rows.num_rows, pa.int32()))
    write_deltalake(str(tmp_path / "runs"), added, partition_by=["cluster_id"])

    [(law, _, where, expected, actual)] = broken_laws(str(tmp_path))[1]

    assert (law, where, expected) == ("every table is intact", "runs.not_yet", "no such column")
    assert "runs: column not_yet is unknown to this version of Regroup" in actual


def test_a_table_that_was_replaced_outside_of_a_run_is_found(violations):
    """The run's commit into churn is not in the table's log."""
    change = changed("runs", 0, step="nightly", rows_written=[("churn", 3)])

    ((law, _, where, expected, actual),) = violations(change)

    assert (law, where) == ("a table has exactly the rows that the last run wrote", "churn")
    assert (expected[:7], actual) == ("3 rows ", "no such commit")


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no table ingested_files in it yet"):
        broken_laws(str(tmp_path))
