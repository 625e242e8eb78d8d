"""A lake with a group of each new type, and a group that was converted; times in ms."""

from tests.jobs.report.planted import cause, events, gaps, generation, member, members, tables


def epoch(at, process, number, state, assigned=(), pending=(), *, group_id, generation, **more):
    """A row of member_epochs; ``assigned``: partitions of topic t, or rows of assigned."""
    return {
        "group_id": group_id, "member_id": f"{process}-id", "process": f"{process}@host",
        "epoch": number, "previous_epoch": more.pop("previous", number), "state": state,
        "assigned": _held(assigned), "pending_revocation": _held(pending), "time": at,
        "generation": generation, "topic_partition": "__consumer_offsets-0", "log_offset": at,
    } | more  # fmt: skip


def _held(partitions):
    if not partitions or isinstance(partitions[0], dict):
        return list(partitions)
    return [held("active", None, "t", *partitions)]


def held(role, subtopology, topic, *partitions):
    return {
        "role": role, "subtopology": subtopology, "topic": topic, "partitions": list(partitions)
    }  # fmt: skip


CONSUMER = {"group_id": "orders", "group_type": "consumer", "protocol": "uniform"}
SHARE = {"group_id": "jobs", "group_type": "share", "protocol": "simple"}
STREAMS = {"group_id": "clicks", "group_type": "streams", "protocol": "sticky"}
ORDERS, JOBS, CLICKS, MOVED = ({"group_id": name} for name in ("orders", "jobs", "clicks", "moved"))
TASKS = [
    held("active", "0", "clicks", 0, 1, 2),
    held("standby", "1", "counts", 4),
    held("warmup", "1", "counts", 5),
]


def lake_of_modern_groups():
    """orders: b joins at 10 s and takes two partitions of a, leaves at 20 s."""
    return tables(
        generation(2, 1000, 1000, 1000, 10_000, cause="MEMBER_NEW", member_count=1, **CONSUMER),
        generation(3, 10_000, 10_000, 13_000, 20_000, cause="MEMBER_NEW", member_count=2,
                   culprit_client_id="b", **CONSUMER),
        generation(4, 20_000, 20_500, 21_000, None, cause="LEAVE", member_count=1, **CONSUMER),
        generation(2, 2000, 2000, 3000, None, cause="MEMBER_NEW", **SHARE),
        generation(3, 2000, 2000, 3000, None, cause="MEMBER_NEW", **STREAMS),
        generation(1, 1000, 4000, 4100, 15_000, cause="MEMBER_NEW", **MOVED),
        generation(2, 15_000, 15_000, 16_000, None, cause="LEAVE", group_type="consumer", **MOVED),
        **members(
            member(2, "a", (0, 1, 2, 3), change="joined", **ORDERS),
            member(3, "a", (0, 1), **ORDERS),
            member(3, "b", (2, 3), change="joined", left_how="left", left_time=20_000, gone=True,
                   **ORDERS),
            member(4, "a", (0, 1, 2, 3), **ORDERS),
            member(2, "j1", (0,), **JOBS),
            member(2, "j2", (0,), **JOBS),
            member(3, "s", **CLICKS),
            member(1, "m", (0,), **MOVED),
            member(2, "m", (0,), **MOVED),
        ),
        rebalance_causes=[
            cause(2, 1000, "a", "MEMBER_NEW", "start", **ORDERS),
            cause(3, 10_000, "b", "MEMBER_NEW", "start", **ORDERS),
            cause(4, 20_000, "b", "LEAVE", "stop", **ORDERS),
            cause(2, 15_000, "m", "LEAVE", "restart", **MOVED),
        ],
        ownership_gaps=[*gaps(3, 11_500, 13_000, (2, 3), 2, "orders"),
                        *gaps(2, 15_000, 16_000, (0,), 1, "moved")],
        member_epochs=[
            epoch(1000, "a", 2, "STABLE", (0, 1, 2, 3), generation=2, **ORDERS),
            epoch(10_000, "b", 3, "UNRELEASED", generation=3, previous=0, **ORDERS),
            epoch(10_100, "b", 3, "UNRELEASED", generation=3, **ORDERS),
            epoch(11_000, "a", 2, "UNREVOKED", (0, 1), (2, 3), generation=3, **ORDERS),
            epoch(11_500, "a", 3, "STABLE", (0, 1), generation=3, previous=2, **ORDERS),
            epoch(13_000, "b", 3, "STABLE", (2, 3), generation=3, **ORDERS),
            epoch(21_000, "a", 4, "STABLE", (0, 1, 2, 3), generation=4, previous=3, **ORDERS),
            epoch(2000, "j1", 2, "STABLE", (0,), generation=2, **JOBS),
            epoch(3000, "j2", 2, "STABLE", (0,), generation=2, **JOBS),
            epoch(3000, "s", 3, "STABLE", TASKS, generation=3, **CLICKS),
            epoch(16_000, "m", 2, "STABLE", (0,), generation=2, **MOVED),
        ],
        group_epochs=[
            {"epoch": number, "time": at, "generation": number, "cause": why, "log_offset": at,
             "topic_partition": "__consumer_offsets-0", **ORDERS}
            for number, at, why in [(2, 1000, "MEMBER_NEW"), (3, 10_000, "MEMBER_NEW"),
                                    (4, 20_000, "LEAVE")]
        ],
        handovers=[
            {"generation": 3, "partition": partition, "from_process": "a@host",
             "to_process": "b@host", "requested_time": 10_000, "released_time": 11_500,
             "assigned_time": 13_000, "unowned_ms": 1500, "waited_for": "heartbeat",
             "estimated": False, **ORDERS}
            for partition in (2, 3)
        ],
        timeline=events(1000, 30_000, **ORDERS),
    )  # fmt: skip
