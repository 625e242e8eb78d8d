"""Questions that users ask of applications' logs: generations, times, members and failures.

The inputs were written for these tests, in the libraries' own wordings; times are UTC.
"""

import io
import json

import pytest

from coordinator_core.client_history import generations_of_clients
from jobs.client_evidence import line_of_row
from jobs.lake.dates import DateRange
from jobs.sources.client_logs.client_log import rows_of_stream

UUID = "1111-4222-8333-0000000000"


def events(*logs):
    """Of each log (name, text)."""
    rows = []
    for name, text in logs:
        stream = io.BytesIO(text.encode())
        for batch in rows_of_stream(stream, name, "UTC", DateRange(), name):
            rows += batch.to_pylist()
    assert sum(row["quarantined"] or 0 for row in rows) == 0
    return [row for row in rows if row["kind"] == "event"]


def seen(rows):
    """(time of day, event, generation, reason) of each."""
    return [(time_of(row), row["event"], row["generation"], row["reason"]) for row in rows]


def time_of(row):
    return row["event_time"].strftime("%H:%M:%S.%f")[:-3]


def generations(*logs):
    return generations_of_clients(map(line_of_row, events(*logs)))


def of_day(text):
    """A time of 2021-03-04 in ms."""
    hours, minutes, seconds = text.split(":")
    midnight = 1_614_816_000_000
    return midnight + (int(hours) * 60 + int(minutes)) * 60_000 + round(float(seconds) * 1000)


BOOT = (
    "2021-03-04 %s  INFO 7 --- [ntainer#0-0-C-1] o.a.k.c.c.internals.%s  : "
    "[Consumer clientId=consumer-mail-1, groupId=mail] %s\n"
)
A, B, C = (f"consumer-mail-1-000000{n}-{UUID}{n}" for n in ("a1", "b2", "c3"))
COORDINATOR, CONSUMER = "AbstractCoordinator", "ConsumerCoordinator"


def boot(*lines):
    return "".join(BOOT % line for line in lines)


def joins(joining, joined, generation, partitions):
    return (
        (joining, COORDINATOR, "(Re-)joining group"),
        (joined, COORDINATOR, f"Successfully joined group with generation {generation}"),
        (joined, CONSUMER, f"Adding newly assigned partitions: {partitions}"),
    )


def test_java_2_5_with_one_client_id_in_three_processes():
    """Joins are logged only after SyncGroup; the leader's plan shows each member's partitions."""
    plan = {A: "out-4", B: "out-0, out-1", C: "out-2, out-3"}
    listed = ", ".join(f"{member}=Assignment(partitions=[{own}])" for member, own in plan.items())
    leader = boot(
        ("09:00:01.500", COORDINATOR, "(Re-)joining group"),
        ("09:00:04.210", CONSUMER, f"Finished assignment for group at generation 7: {{{listed}}}"),
        ("09:00:04.300", COORDINATOR, "Successfully joined group with generation 7"),
        ("09:00:04.301", CONSUMER, "Adding newly assigned partitions: out-0, out-1"),
    )
    second = boot(*joins("09:00:02.000", "09:00:04.305", 7, "out-4"))
    third = boot(
        *joins("09:00:01.000", "09:00:04.310", 7, "out-2, out-3"),
        (
            "09:04:30.000",
            COORDINATOR,
            f"Member {C} sending LeaveGroup request to coordinator k1:9092 (id: 2147483646 rack: "
            "null) due to consumer poll timeout has expired. This means much.",
        ),
    )

    generation, without_third = generations(("b", leader), ("a", second), ("c", third))

    assert without_third.generation == 8
    assert without_third.preparing_ms == of_day("09:04:30.000")
    assert (without_third.joined_ms, without_third.members) == (None, [])
    assert (generation.generation, generation.outcome) == (7, "stable")
    assert (generation.leader, generation.member_count) == (B, 3)
    assert generation.joined_ms == of_day("09:00:04.210")
    assert generation.stable_ms == of_day("09:00:04.300")
    assert [(m.member_id, m.process, sorted(m.assigned)) for m in generation.members] == [
        (A, "consumer-mail-1@a", ["out-4"]),
        (B, "consumer-mail-1@b", ["out-0", "out-1"]),
        (C, "consumer-mail-1@c", ["out-2", "out-3"]),
    ]
    assert [m.left_ms for m in generation.members] == [None, None, of_day("09:04:30.000")]


def test_members_without_an_id_are_named_by_their_log():
    """Java 2.3 logs no member id, and a follower's log has no plan."""
    first, second = generations(
        (
            "pod-1",
            boot(
                *joins("09:00:00.000", "09:00:03.000", 1, "out-0"),
                (
                    "09:01:00.000",
                    COORDINATOR,
                    "Attempt to heartbeat failed since group is rebalancing",
                ),
                ("09:01:00.001", CONSUMER, "Revoking previously assigned partitions [out-0]"),
                *joins("09:01:00.002", "09:01:02.000", 2, "out-1"),
            ).replace("Adding", "Setting"),
        )
    )

    assert [(m.member_id, m.process) for m in first.members] == [
        ("consumer-mail-1@pod-1#1", "consumer-mail-1")
    ]
    assert [m.member_id for m in second.members] == ["consumer-mail-1@pod-1#1"]
    assert second.members[0].change == "retained"


def test_a_session_that_expired_under_a_sleeping_process():
    """The member id is no longer valid: the client joins again, as another member."""
    log = boot(
        *joins("11:00:00.000", "11:00:03.000", 13, "out-0"),
        (
            "11:01:20.000",
            COORDINATOR,
            f"Attempt to heartbeat failed for since member id {A} is not valid.",
        ),
        *joins("11:01:20.100", "11:01:29.500", 14, "out-0"),
    )

    before, after = generations(("pod-1", log))

    assert [m.member_id for m in before.members] == [A]
    assert [m.member_id for m in after.members] == ["consumer-mail-1@pod-1#2"]


WORKER = (
    "[2021-03-04 %s] INFO [Worker clientId=connect-2, groupId=copy] %s "
    "(org.apache.kafka.connect.runtime.distributed.%s:227)\n"
)


def test_workers_of_connect_that_never_agree():
    """A storm: the assignment's error 1 says that the leader lacks the newest configuration."""
    text = (
        "Joined group at generation %d with protocol version 2 and got assignment: "
        "Assignment{error=1, leader='connect-2-0000000a-1111-4222-8333-00000000000a', "
        "leaderUrl='http://w:8083/', "
        "offset=-1, connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], "
        "delay=0} with rebalance delay: 0"
    )
    log = "".join(
        WORKER % (f"10:00:0{n},100", "Rebalance started", "WorkerCoordinator")
        + WORKER % (f"10:00:0{n},101", "(Re-)joining group", "WorkerCoordinator")
        + WORKER
        % (f"10:00:0{n},105", f"Successfully joined group with generation {40 + n}", "Worker")
        + WORKER % (f"10:00:0{n},106", text % (40 + n), "DistributedHerder")
        for n in range(5)
    )

    rows = events(("worker", log))
    joined = [row for row in rows if row["event"] == "JOINED"]
    reasons = {row["reason"] for row in rows if row["event"] == "TASKS_ASSIGNED"}

    assert {(row["library"], row["client_id"], row["group_id"]) for row in rows} == {
        ("java", "connect-2", "copy")
    }
    assert [row["generation"] for row in joined] == [40, 41, 42, 43, 44]
    assert {reason.split(", ")[0] for reason in reasons} == {"error=1"}
    assert {reason.split(", ")[3] for reason in reasons} == {"offset=-1"}


def test_kafka_python_1_4_after_an_expired_session():
    head = "2021-03-04 %s kafka.coordinator%s %s %s\n"
    log = "".join(
        head % line
        for line in (
            ("08:00:00,100", "", "INFO", "(Re-)joining group audit"),
            ("08:00:03,200", "", "INFO", "Successfully joined group audit with generation 1"),
            (
                "08:00:03,201",
                ".consumer",
                "INFO",
                "Setting newly assigned partitions {TopicPartition(topic='log', partition=2)} for"
                " group audit",
            ),
            ("08:11:00,300", "", "WARNING", "Heartbeat session expired, marking coordinator dead"),
            (
                "08:11:03,000",
                "",
                "WARNING",
                "Heartbeat failed for group audit because it is rebalancing",
            ),
            (
                "08:11:04,400",
                "",
                "WARNING",
                "Heartbeat: local member_id was not recognized; this consumer needs to re-join",
            ),
            ("08:11:04,401", "", "INFO", "(Re-)joining group audit"),
            ("08:11:04,500", "", "INFO", "Successfully joined group audit with generation 3"),
        )
    )

    assert seen(events(("app", log))) == [
        ("08:00:00.100", "JOINING", None, None),
        ("08:00:03.200", "JOINED", 1, None),
        ("08:00:03.201", "ASSIGNED", None, None),
        ("08:11:00.300", "SESSION_EXPIRED", None, None),
        ("08:11:03.000", "HEARTBEAT_FAILED", None, "it is rebalancing"),
        ("08:11:04.400", "HEARTBEAT_FAILED", None, "local member_id was not recognized"),
        ("08:11:04.401", "JOINING", None, None),
        ("08:11:04.500", "JOINED", 3, None),
    ]
    made = generations(("app", log))
    assert [(each.generation, each.gap_before) for each in made] == [(1, None), (3, 1)]


def test_librdkafka_1_x():
    head = "%%7|1614816%s|%s|rdkafka#consumer-3| [thrd:main]: %s\n"
    log = "".join(
        head % line
        for line in (
            (
                "001.000",
                "JOINGROUP",
                f"JoinGroup response: GenerationId 5, Protocol range, LeaderId {A} (me), my "
                f"MemberId {B}, 3 members in group: (no error)",
            ),
            ("001.010", "SYNCGROUP", "SyncGroup response: Success (28 bytes of MemberState data)"),
            (
                "301.500",
                "HEARTBEAT",
                'Group "mail" heartbeat error response in state up (join state started, 1 partition'
                "(s) assigned): Broker: Group rebalance in progress",
            ),
            (
                "301.501",
                "REBALANCE",
                'Group "mail" is rebalancing in state up (join-state started) with assignment: '
                "rebalance in progress",
            ),
        )
    )

    rows = events(("app", log))

    assert seen(rows) == [
        ("00:00:01.000", "JOINED", 5, None),
        ("00:00:01.010", "SYNCED", None, None),
        ("00:05:01.500", "HEARTBEAT_FAILED", None, "Broker: Group rebalance in progress"),
        ("00:05:01.501", "REJOIN_REQUESTED", None, "rebalance in progress"),
    ]
    assert (rows[0]["member_id"], rows[2]["group_id"], rows[2]["count"]) == (B, "mail", 1)


FAILURES = [
    (
        "Asynchronous auto-commit of offsets {out-0=OffsetAndMetadata{offset=9, leaderEpoch=null, "
        "metadata=''}} failed: Offset commit cannot be completed since the consumer is not part of "
        "an active group for auto partition assignment; it is likely that the consumer was kicked "
        "out of the group.",
        "Offset commit cannot be completed since the consumer is not part of an active group for "
        "auto partition assignment; it is likely that the consumer was kicked out of the group.",
    ),
    (
        "Offset commit failed on partition out-0 at offset 9: The coordinator is not aware of this"
        " member.",
        "The coordinator is not aware of this member.",
    ),
    (
        "Failing OffsetCommit request since the consumer is not part of an active group",
        "the consumer is not part of an active group",
    ),
    ("OffsetCommit failed with UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"),
]


@pytest.mark.parametrize(("message", "reason"), FAILURES, ids=[row[0][:30] for row in FAILURES])
def test_failed_commits(message, reason):
    (row,) = events(("app", boot(("09:00:00.000", CONSUMER, message))))

    assert (row["event"], row["group_id"], row["reason"]) == ("COMMIT_FAILED", "mail", reason)


def test_a_consumer_that_assigns_its_partitions_itself():
    (row,) = events(
        ("app", boot(("09:00:00.000", CONSUMER, "Subscribed to partition(s): t-0, t-1")))
    )

    assert (row["event"], row["partitions"]) == ("SELF_ASSIGNED", ["t-0", "t-1"])


def test_a_generation_of_sarama_is_told_at_its_end():
    member = f"sarama-0000000a-{UUID}a1"
    log = "".join(
        f"[sarama] 2021/03/04 12:00:{seconds} {message}\n"
        for seconds, message in (
            ("01", "Successfully initialized new client"),
            ("01", "client/coordinator coordinator for mail is #2 (k2:9092)"),
            ("04", "client/coordinator coordinator for mail is #2 (k2:9092)"),
            ("04", "consumer/broker/1 added subscription to out/0"),
            ("05", "consumer/broker/2 added subscription to out/11"),
            ("50", "consumer/broker/1 closed dead subscription to out/0"),
            ("50", "consumer/broker/2 closed dead subscription to out/11"),
            ("51", f"consumergroup/session/{member}/9 heartbeat loop stopped"),
        )
    )
    noon = of_day("12:00:00")

    (generation,) = generations(("app", log))

    assert (generation.generation, generation.joined_ms) == (9, noon + 4000)
    assert [(m.member_id, sorted(m.assigned)) for m in generation.members] == [
        (member, ["out-0", "out-11"])
    ]


@pytest.mark.parametrize("prefix", ["", "2021-03-04T12:00:01.5Z stdout F "], ids=["plain", "CRI"])
def test_brod_prints_its_message_on_the_next_line(prefix):
    text = "".join(
        prefix + line + "\n"
        for line in (
            "2021-03-04 12:00:01.500 [info] Group member (mail,coor=<0.7>,cb=<0.9>,generation=4):",
            "elected=true",
            "2021-03-04 12:00:01.520 [info] Group member (mail,coor=<0.7>,cb=<0.9>,generation=4):",
            "assignments received:",
            "  out:",
            "    partition=3 begin_offset=undefined",
            "2021-03-04 12:00:02.000 [info] unrelated",
        )
    )

    rows = events(("app", text))

    assert seen(rows) == [
        ("12:00:01.500", "JOINED", 4, None),
        ("12:00:01.520", "SYNCED", 4, None),
    ]
    assert {row["group_id"] for row in rows} == {"mail"}


JOINED = {
    "groupId": "mail",
    "memberId": A,
    "memberAssignment": {"out": [0, 2]},
    "groupProtocol": "RoundRobinAssigner",
    "duration": 31,
}
JOINED_MESSAGE = "Consumer has joined the group"


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(
            {"level": "info", "message": JOINED_MESSAGE, "extra": JOINED, "timestamp": "%s"}
        ),
        json.dumps(
            {"level": 30, "time": "%s", "msg": f"[ConsumerGroup] {JOINED_MESSAGE}", **JOINED}
        ),
        f"%s INFO [ConsumerGroup] {JOINED_MESSAGE} {json.dumps(JOINED)}",
        f"%s [kafka] info: {JOINED_MESSAGE} {json.dumps(JOINED)}",
    ],
    ids=["winston", "pino", "console", "own"],
)
def test_kafkajs_in_the_loggers_of_applications(line):
    (row,) = events(("app", line.replace("%s", "2021-03-04T12:00:00.000Z") + "\n"))

    assert (row["library"], row["event"], row["group_id"]) == ("kafkajs", "JOINED", "mail")
    assert (row["member_id"], row["partitions"]) == (A, ["out-0", "out-2"])
    assert time_of(row) == "12:00:00.000"


@pytest.mark.parametrize("space", ["", " ", "\u202f"])
def test_minutes_with_am_and_pm_over_midnight(space):
    """As the console writer of zerolog prints them."""
    joining = "[Consumer clientId=c, groupId=g] (Re-)joining group"
    lines = [f"11:58{space}PM INF {joining}", f"12:01{space}AM INF idle"]
    text = "\n".join([*lines, f"12:02{space}AM INF {joining}", ""])
    jan_25 = 1_706_140_800_000

    batches = rows_of_stream(io.BytesIO(text.encode()), "app", "UTC", DateRange(), None, jan_25)
    rows = [row for batch in batches for row in batch.to_pylist() if row["kind"] == "event"]

    times = [f"{row['event_time']:%d %H:%M:%S}" for row in rows]
    assert times == ["25 23:58:00", "26 00:02:00"]


@pytest.mark.parametrize(
    ("number", "level"),
    [(10, "TRACE"), (20, "DEBUG"), (40, "WARN"), (50, "ERROR"), (60, "FATAL"), (6, "INFO")],
)
def test_levels_that_are_numbers(number, level):
    line = {"time": 1_614_859_200_000, "msg": "[Runner] The group is rebalancing, re-joining"}
    line |= {"groupId": "mail", "memberId": A, "error": "The group is rebalancing"}

    (row,) = events(("app", json.dumps({"level": number, **line}) + "\n"))

    assert (row["event"], row["group_id"], row["level"]) == ("REJOIN_REQUESTED", "mail", level)


@pytest.mark.parametrize(
    ("before", "state", "count", "reason"),
    [
        ("%7|1614859200.000|REBALANCE|app#consumer-1| ", "started", 3, "session timeout"),
        ("2021-03-04T12:00:00.000Z DEBUG librdkafka: REBALANCE ", "init", 0, "group rejoin"),
        ("2021/03/04 12:00:00 REBALANCE [app#consumer-1] ", "steady", 12, "Metadata change"),
    ],
)
def test_librdkafka_rebalances_without_its_protocol(before, state, count, reason):
    line = (
        f'{before}[thrd:main]: Group "mail" is rebalancing in state up (join-state {state})'
        f" with {count} assigned partition(s): {reason}\n"
    )

    (row,) = events(("app", line))

    assert (row["event"], row["group_id"]) == ("REJOIN_REQUESTED", "mail")
    assert (row["count"], row["reason"], time_of(row)) == (count, reason, "12:00:00.000")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "2021/03/04 12:00:00 Failed to join group mail: [25] Unknown Member ID: the member id"
            " is not in the current generation",
            "[25] Unknown Member ID: the member id is not in the current generation",
        ),
        (
            "2021-03-04 12:00:00,000 WARNING kafka.coordinator.consumer: Auto offset commit failed"
            " for group mail: NodeNotReadyError: coordinator-0",
            "NodeNotReadyError: coordinator-0",
        ),
        (
            "2021-03-04 12:00:00,000 INFO o.a.k.c.c.i.ConsumerCoordinator - Auto offset commit"
            " failed for group mail: Commit cannot be completed: rebalanced for group other",
            "Commit cannot be completed: rebalanced for group other",
        ),
    ],
    ids=["kafka-go", "kafka-python", "Java 0.10"],
)
def test_a_reason_is_not_of_the_groups_name(line, reason):
    (row,) = events(("app", line + "\n"))

    assert (row["group_id"], row["reason"]) == ("mail", reason)
