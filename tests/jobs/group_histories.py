"""Rows of tables that tell the history of a group; times in seconds since the epoch."""

from jobs.ownership.of_run import tenures_by_member
from jobs.ownership.rebalances import rebalances

S = 1000


def tenures_of(frames):
    """The rebalances and the tenures by member, of tables by name."""
    tables = {name: rows for name, rows in frames.items() if name != "generations"}
    of_run = rebalances(frames["generations"], tables["timeline"], tables["generation_members"])
    return of_run, tenures_by_member(**tables, classic_rebalances=of_run)


def gen(number, preparing, joined, assigned, protocol="range", **more):
    """Times in seconds."""
    return {
        "generation": number,
        "preparing_time": preparing if preparing is None else int(preparing * S),
        "joined_time": int(joined * S),
        "stable_time": assigned if assigned is None else int(assigned * S),
        "protocol": protocol,
        **more,
    }


def empty(number, preparing, at, cause="LEAVE"):
    return gen(number, preparing, at, None, None, outcome="empty", cause=cause)


def coop(number, preparing, joined, assigned):
    return gen(number, preparing, joined, assigned, "cooperative-sticky")


def member(generation, member_id, change="retained", how=None, at=None, **more):
    return {
        "generation": generation,
        "member_id": member_id,
        "process": more.get("instance_id", member_id[0]),
        "client_id": member_id[0],
        "client_host": "/h",
        "session_timeout_ms": 10 * S,
        "rebalance_timeout_ms": 30 * S,
        "change": change,
        "left_how": how,
        "left_time": at if at is None else int(at * S),
        "gone": how is not None,
        **more,
    }


def static(generation, member_id, change="retained", how=None, at=None):
    return member(generation, member_id, change, how, at, instance_id=member_id[0])


def event(name, at, forming, **more):
    return {"event": name, "event_time": int(at * S), "forming_generation": forming, **more}


def commits(*times, partition=0):
    return [{"partition": partition, "append_time": int(at * S)} for at in times]
