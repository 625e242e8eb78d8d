"""Episodes: the root causes that rebalances and their causes show."""

import sys

import pytest

from coordinator_core.episodes.activities import activities
from coordinator_core.episodes.downtime import Gap, downtimes
from coordinator_core.episodes.evidence import Cause, Rebalance
from coordinator_core.episodes.inference import infer_episodes
from coordinator_core.figures import Downtime

SECOND = 1000
MINUTE = 60 * SECOND
SESSION = 10 * SECOND
POLL = 30 * SECOND
MIDNIGHT = 20_000 * 86_400_000


def ms(second):
    return MIDNIGHT + 12 * 60 * MINUTE + round(second * SECOND)


def rebalance(generation, second, *, until=None, outcome="stable", size=6, **more):
    """A rebalance of one second; the group has ``size`` members after it."""
    to_ms = ms(second + 1 if until is None else until)
    empty = {"was_empty": True} if generation == 1 else {}
    return Rebalance(
        incarnation=1,
        generation=generation,
        from_ms=ms(second),
        to_ms=to_ms,
        outcome=outcome,
        member_count=size,
        **empty | more,
    )


def modern(generation, second):
    return rebalance(generation, second, group_type="consumer")


def cause(kind, story, generation, second, process, /, *, role="trigger", **more):
    """Member ids are numbered by ``process``, as in a: a1, a2, ...; ``process``: a or a2."""
    name = process.rstrip("0123456789")
    usual = {
        "client_id": name,
        "client_host": "/h1",
        "process": f"{name}@h1",
        "session_timeout_ms": SESSION,
        "rebalance_timeout_ms": POLL,
    }
    at_ms = None if second is None else ms(second)
    return Cause(
        incarnation=1,
        generation=generation,
        at_ms=at_ms,
        role=role,
        cause=kind,
        story=story,
        member_id=process,
        **usual | more,
    )


def joins(generation, second, process, /, story="start", **more):
    return cause("MEMBER_NEW", story, generation, second, process, **more)


def leaves(generation, second, process, /, story="stop", **more):
    return cause("LEAVE", story, generation, second, process, **more)


def expires(generation, second, process, /, story="session_expired", **more):
    return cause("SESSION_EXPIRY", story, generation, second, process, **more)


def stays(generation, second, process, story, life=1):
    """The session expires of a process that does not leave when it is closed; it is back."""
    return [
        (
            rebalance(generation, second, size=3),
            expires(generation, second, f"{process}{life}", story),
        ),
        (
            rebalance(generation + 1, second + 2, size=3),
            joins(generation + 1, second + 2, f"{process}{life + 1}", "return"),
        ),
    ]


def shared(member_id):
    """Of a member whose client id other processes have, too."""
    return {"process": member_id}


def replaced(generation, second, process, **more):
    """A static member's new process, without a rebalance."""
    name = process.rstrip("0123456789")
    static = {"instance_id": name, "role": "absorbed"} | more
    return cause("STATIC_REPLACED", "restart", generation, second, process, **static)


def also(each):
    return each._replace(role="contributing")


def restart(generation, second, name, life=1, **more):
    """Leaves and is back after two seconds: two rebalances."""
    left = leaves(generation, second, f"{name}{life}", "restart")
    back = joins(generation + 1, second + 2, f"{name}{life + 1}", "return")
    return [
        (rebalance(generation, second, **more), left),
        (rebalance(generation + 1, second + 2, **more), back),
    ]


def flapping(generation, times):
    """A process that leaves and is back within 10 ms, as often as this."""
    for n in range(times):
        left, back = generation + 2 * n, generation + 2 * n + 1
        at = n / 50
        yield rebalance(left, at, until=at), leaves(left, at, f"a{n}", "restart")
        yield rebalance(back, at, until=at), joins(back, at + 0.01, f"a{n + 1}", "return")


def shown(rebalances, causes, loads=()):
    """As ``kind processes generations``."""
    return [
        f"{each.kind} {','.join(each.processes)} {each.generations}"
        for each in infer_episodes(rebalances, causes, loads)
    ]


# rule -> rebalances with their causes, and the expected episodes
CASES = {
    "processes that start with the group within a minute are its start": (
        [
            (rebalance(1, 0), joins(1, 0, "a1"), also(joins(1, 1, "b1"))),
            (rebalance(2, 40), joins(2, 40, "c1")),
        ],
        ["group_start a,b,c [1, 2]"],
    ),
    "a group that was empty starts, even if no evidence names its members": (
        [(rebalance(1, 0),), (rebalance(2, 300, outcome="empty"),)],
        ["group_start  [1]", "unknown  [2]"],
    ),
    "only the first generation that the evidence has is unknown": (
        [(rebalance(8, -20, is_first_seen=True),), (rebalance(9, -10),), *flapping(10, 20)],
        ["unknown  [8]", "unknown  [9]", f"flapping_member a {list(range(10, 50))}"],
    ),
    "later processes scale it out": (
        [(rebalance(2, 100), joins(2, 100, "a1")), (rebalance(3, 130), joins(3, 130, "b1"))],
        ["scale_out a,b [2, 3]"],
    ),
    "processes that leave for good scale it in": (
        [(rebalance(2, 0), leaves(2, 0, "a1"), also(leaves(2, 0.5, "b1")))],
        ["scale_in a,b [2]"],
    ),
    "more than half of the processes restarted one after another are a deployment": (
        [*restart(2, 0, "a"), *restart(4, 10, "b"), *restart(6, 20, "c"), *restart(8, 30, "d")],
        ["rolling_deployment a,b,c,d [2, 3, 4, 5, 6, 7, 8, 9]"],
    ),
    "half of them are restarts": (
        [*restart(2, 0, "a"), *restart(4, 10, "b"), *restart(6, 20, "c")],
        ["restart a [2, 3]", "restart b [4, 5]", "restart c [6, 7]"],
    ),
    "a process that is restarted again is not part of the deployment": (
        [
            *restart(2, 0, "a", size=2),
            *restart(4, 10, "b", size=2),
            *restart(6, 90, "a", life=2, size=2),
        ],
        ["rolling_deployment a,b [2, 3, 4, 5]", "restart a [6, 7]"],
    ),
    "processes replaced by others with new names are a deployment": (
        [
            (rebalance(2, 100, size=3), joins(2, 100, "new-a1")),
            (rebalance(3, 102, size=2), leaves(3, 102, "a1")),
            (rebalance(4, 104, size=3), joins(4, 104, "new-b1")),
            (rebalance(5, 106, size=2), leaves(5, 106, "b1")),
        ],
        ["rolling_deployment a,b [2, 3, 4, 5]"],
    ),
    "processes that end as soon as they replaced the previous one are no deployment": (
        [
            (rebalance(2, 103, until=110), joins(2, 103, "v-a1"), also(expires(2, 110, "a1"))),
            (rebalance(3, 113, until=120), joins(3, 113, "w-a1"), also(expires(3, 120, "v-a1"))),
            (rebalance(4, 123, until=130), joins(4, 123, "x-a1"), also(expires(4, 130, "w-a1"))),
        ],
        ["flapping_member a,v-a,w-a [2, 3, 4]"],
    ),
    "processes that do not leave and are replaced one after another are a deployment": (
        [
            (
                rebalance(2, 103, until=110, size=3),
                joins(2, 103, "v-a1"),
                also(expires(2, 110, "a1")),
            ),
            (
                rebalance(3, 113, until=120, size=3),
                joins(3, 113, "v-b1"),
                also(expires(3, 120, "b1")),
            ),
            (
                rebalance(4, 123, until=130, size=3),
                joins(4, 123, "v-c1"),
                also(expires(4, 130, "c1")),
            ),
        ],
        ["rolling_deployment a,b,c [2, 3, 4]"],
    ),
    "a process that starts and stops again replaces none": (
        [
            (rebalance(2, 100), joins(2, 100, "a1"), also(joins(2, 101, "b1"))),
            (rebalance(3, 110), leaves(3, 110, "b1")),
            (rebalance(4, 112), leaves(4, 112, "a1")),
        ],
        ["scale_out a,b [2]", "scale_in a,b [3, 4]"],
    ),
    "static members that return one after another are a deployment if all of them do": (
        [
            (rebalance(1, -100, size=2),),
            (None, replaced(1, 0, "a2")),
            (None, replaced(1, 30, "b2")),
        ],
        ["group_start  [1]", "rolling_deployment a,b []"],
    ),
    "processes that all start before the old ones end replace them": (
        [
            (rebalance(1, -100, size=2), joins(1, -100, "a1"), also(joins(1, -99, "b1"))),
            (rebalance(2, 0, size=4), joins(2, 0, "new-a1"), also(joins(2, 0.1, "new-b1"))),
            (rebalance(3, 9, size=2), leaves(3, 9, "a1"), also(leaves(3, 9.1, "b1"))),
        ],
        ["group_start a,b [1]", "rolling_deployment a,b [2, 3]"],
    ),
    "also soon after the start of the group, and with one client id": (
        [
            (
                rebalance(1, 0, size=2),
                joins(1, 0, "a1", **shared("a1")),
                also(joins(1, 1, "a2", **shared("a2"))),
            ),
            (rebalance(2, 30, size=3), joins(2, 30, "a3", **shared("a3"))),
            (rebalance(3, 38, size=2), leaves(3, 38, "a1", **shared("a1"))),
            (rebalance(4, 46, size=3), joins(4, 46, "a4", **shared("a4"))),
            (rebalance(5, 54, size=2), leaves(5, 54, "a2", **shared("a2"))),
        ],
        ["group_start a1,a2 [1]", "rolling_deployment a1,a2 [2, 3, 4, 5]"],
    ),
    "some of them are restarts": (
        [
            (rebalance(1, -100, size=3),),
            (None, replaced(1, 0, "a2")),
            (None, replaced(1, 30, "b2")),
        ],
        ["group_start  [1]", "restart a []", "restart b []"],
    ),
    "static members that all return at once show a restart of the group": (
        [
            (rebalance(1, -100, size=2),),
            (None, replaced(1, 0, "a2")),
            (None, replaced(1, 1, "b2")),
        ],
        ["group_start  [1]", "whole_group_restart a,b []"],
    ),
    "a process that is back before its session expires was killed": (
        [(rebalance(2, 5, until=12), joins(2, 5, "a2", "return"), also(expires(2, 12, "a1")))],
        ["process_lost a [2]"],
    ),
    "a member that joined another rebalance than the one which waits for the session is another": (
        [
            (rebalance(2, 1), joins(2, 1, "a2")),
            (rebalance(3, 8), expires(3, 8, "a1")),
        ],
        ["scale_out a [2]", "process_lost a [3]"],
    ),
    "a member of a consumer group that joined beside another process is not its next life": (
        [
            (modern(2, 1), joins(2, 1, "a2")._replace(process="a2")),
            (
                modern(3, 8),
                expires(3, 8, "a1")._replace(process="a1"),
            ),
        ],
        ["scale_out a2 [2]", "process_lost a1 [3]"],
    ),
    "a member that is back under its id is one process, whichever client sent its requests": (
        [
            (
                modern(3, 8),
                expires(3, 8, "a1", client_id="b"),
            ),
            (modern(4, 9), joins(4, 9, "a1", "return")),
        ],
        ["process_frozen b [3, 4]"],
    ),
    "a client of a consumer group that is back under a new id was killed": (
        [
            (modern(3, 8), expires(3, 8, "a1")),
            (modern(4, 9), joins(4, 9, "a2", "return")),
        ],
        ["process_lost a [3, 4]"],
    ),
    "franz-go takes a new id when its member was removed": (
        [
            (modern(3, 8), expires(3, 8, "a1")),
            (
                modern(4, 9),
                joins(4, 9, "a2", "return")._replace(member_id="T2ybk8XrbhWoznt012Lkog=="),
            ),
        ],
        ["process_lost_or_frozen a [3, 4]"],
    ),
    "processes of which one is not back are lost together": (
        [
            (rebalance(2, 0), expires(2, 0, "a1"), also(expires(2, 2, "b1"))),
            (rebalance(3, 9), joins(3, 9, "a2", "return")),
        ],
        ["process_lost a,b [2, 3]"],
    ),
    "processes that expire at once are lost together": (
        [(rebalance(2, 0), expires(2, 0, "a1"), also(expires(2, 2, "b1")))],
        ["process_lost a,b [2]"],
    ),
    "the return of a lost process belongs to its loss": (
        [
            (rebalance(2, 0), expires(2, 0, "a1")),
            (rebalance(3, 90), joins(3, 90, "a2", "return")),
        ],
        ["process_lost_or_frozen a [2, 3]"],
    ),
    "all processes of one of several hosts are the host": (
        [
            (rebalance(1, -100, hosts=[("/h1", 2), ("/h2", 1)]),),
            (rebalance(2, 0), expires(2, 0, "a1"), also(expires(2, 2, "b1"))),
        ],
        ["group_start  [1]", "host_lost a,b [2]"],
    ),
    "some processes of a host are processes": (
        [
            (rebalance(1, -100, hosts=[("/h1", 3), ("/h2", 1)]),),
            (rebalance(2, 0), expires(2, 0, "a1"), also(expires(2, 2, "b1"))),
        ],
        ["group_start  [1]", "process_lost a,b [2]"],
    ),
    "a process that comes back with its old state was frozen": (
        [
            (rebalance(2, 0), expires(2, 0, "a1")),
            (rebalance(3, 7), joins(3, 7, "a2", "return", kept_state=True)),
        ],
        ["process_frozen a [2, 3]"],
    ),
    "a process that may have been killed is restarted between others that were": (
        [
            (rebalance(1, -100, size=3),),
            *stays(2, 10, "a", "restart"),
            *stays(4, 30, "b", "stop_or_session_expired"),
            *stays(6, 50, "c", "restart"),
            *stays(8, 70, "a", "stop_or_session_expired", life=2),
        ],
        [
            "group_start  [1]",
            "rolling_deployment a,b,c [2, 3, 4, 5, 6, 7]",
            "process_lost_or_frozen a [8, 9]",
        ],
    ),
    "members that do not leave when they are closed are shut down": (
        [
            (rebalance(1, -100, size=2),),
            (
                rebalance(2, 10, outcome="empty", size=0),
                expires(2, 10, "a1", story="stop"),
                also(expires(2, 10.5, "b1", story="stop")),
            ),
        ],
        ["group_start  [1]", "shutdown a,b [2]"],
    ),
    "static clients that were fenced were not shut down": (
        [
            (rebalance(1, -100, size=2),),
            (
                rebalance(2, 10, outcome="empty", size=0),
                expires(2, 10, "a1", story="client_fenced", instance_id="a"),
                also(expires(2, 10.5, "b1", story="client_fenced", instance_id="b")),
            ),
        ],
        ["group_start  [1]", "process_lost a,b [2]"],
    ),
    "of processes with one client id, the one that is back is the last one that departed": (
        [
            (rebalance(2, 0), leaves(2, 0, "a1", **shared("a1"))),
            (rebalance(3, 26), expires(3, 26, "a2", **shared("a2"))),
            (rebalance(4, 31), joins(4, 31, "a3", **shared("a3"))),
        ],
        ["scale_in a1 [2]", "process_lost_or_frozen a2 [3, 4]"],
    ),
    "a consumer that polls too slowly leaves and comes back": (
        [
            (rebalance(2, 0), leaves(2, 0, "a1", "slow_poll")),
            (rebalance(3, 100), joins(3, 100, "a2", "return")),
        ],
        ["slow_poll a [2, 3]"],
    ),
    "a process that departs three times soon after its return is flapping": (
        [*restart(2, 0, "a"), *restart(4, 30, "a", life=2), *restart(6, 60, "a", life=3)],
        ["flapping_member a [2, 3, 4, 5, 6, 7]"],
    ),
    "one that departs three times with longer pauses is lost each time": (
        [
            row
            for n in (1, 2, 3)
            for row in [
                (rebalance(2 * n, 300 * n), expires(2 * n, 300 * n, f"a{n}")),
                (
                    rebalance(2 * n + 1, 300 * n + 20),
                    joins(2 * n + 1, 300 * n + 20, f"a{n + 1}", "return"),
                ),
            ]
        ],
        [f"process_lost_or_frozen a [{n}, {n + 1}]" for n in (2, 4, 6)],
    ),
    "a fourth time makes it flapping": (
        [
            row
            for n in (1, 2, 3, 4)
            for row in [
                (rebalance(2 * n, 300 * n), expires(2 * n, 300 * n, f"a{n}")),
                (
                    rebalance(2 * n + 1, 300 * n + 20),
                    joins(2 * n + 1, 300 * n + 20, f"a{n + 1}", "return"),
                ),
            ]
        ],
        ["flapping_member a [2, 3, 4, 5, 6, 7, 8, 9]"],
    ),
    "restarts of a static member that cost no rebalance are not flapping": (
        [
            (rebalance(1, -100),),
            (None, replaced(1, 0, "a2")),
            (None, replaced(1, 20, "a3")),
            (None, replaced(1, 40, "a4")),
        ],
        ["group_start  [1]", "restart a []"],
    ),
    "a group that is empty and comes back was restarted": (
        [
            (
                rebalance(2, 0, outcome="empty"),
                leaves(2, 0, "a1", "restart"),
                also(leaves(2, 0.2, "b1", "restart")),
            ),
            (
                rebalance(3, 5, was_empty=True),
                joins(3, 5, "a2", "return"),
                also(joins(3, 5, "b2", "return")),
            ),
        ],
        ["whole_group_restart a,b [2, 3]"],
    ),
    "a group that stays empty was shut down": (
        [
            (rebalance(2, 0), leaves(2, 0, "a1")),
            (rebalance(3, 10, outcome="empty"), leaves(3, 10, "b1")),
        ],
        ["shutdown a,b [2, 3]"],
    ),
    "a process that leaves long before is not part of the shutdown": (
        [
            (rebalance(2, 0), leaves(2, 0, "a1")),
            (rebalance(3, 20, outcome="empty"), leaves(3, 20, "b1")),
        ],
        ["scale_in a [2]", "shutdown b [3]"],
    ),
    "a group whose dynamic members all expire was lost": (
        [(rebalance(2, 0, outcome="empty"), expires(2, 0, "a1"), also(expires(2, 1, "b1")))],
        ["process_lost a,b [2]"],
    ),
    "static members do not leave when they are shut down": (
        [
            (
                rebalance(2, 0, outcome="empty"),
                expires(2, 0, "a1", instance_id="a"),
                also(expires(2, 1, "b1", instance_id="b")),
            )
        ],
        ["shutdown a,b [2]"],
    ),
    "a follow-up belongs to the episode of the previous rebalance": (
        [
            (rebalance(2, 100), joins(2, 100, "a1")),
            (rebalance(3, 101), cause("LEADER_REJOIN", "follow_up", 3, 101, "b1")),
        ],
        ["scale_out a [2, 3]"],
    ),
    "a follow-up of an earlier member does not belong to its arrival": (
        [
            (rebalance(1, 0), joins(1, 0, "a1"), also(joins(1, 1, "b1"))),
            (rebalance(2, 100), joins(2, 100, "c1")),
            (rebalance(3, 101), cause("METADATA_CHANGE", "follow_up", 3, 101, "a1")),
            (rebalance(4, 102), cause("LEADER_REJOIN", "follow_up", 4, 102, "c1")),
            (rebalance(5, 200), leaves(5, 200, "b1")),
            (rebalance(6, 201), cause("METADATA_CHANGE", "follow_up", 6, 201, "c1")),
        ],
        ["group_start a,b [1]", "scale_out c [2, 3, 4]", "scale_in b [5, 6]"],
    ),
    "a rebalance belongs to its trigger, another cause keeps its episode": (
        [
            (
                rebalance(2, 0, until=30),
                joins(2, 0, "a2", "return"),
                also(expires(2, 5, "a1")),
                also(leaves(2, 30, "b1", "slow_poll")),
            ),
            (rebalance(3, 40), joins(3, 40, "b2", "return")),
        ],
        ["process_lost a [2]", "slow_poll b [3]"],
    ),
    "a member that rejoins for new partitions shows a topic change": (
        [(rebalance(2, 0), cause("LEADER_REJOIN", "topic_change", 2, 0, "a1"))],
        ["topic_change  [2]"],
    ),
    "the client's reason names a topic change": (
        [
            (
                rebalance(2, 0),
                cause(
                    "LEADER_REJOIN",
                    "rejoin",
                    2,
                    0,
                    "a1",
                    client_reason="cached metadata has changed from 1 to 2",
                ),
            )
        ],
        ["topic_change  [2]"],
    ),
    "a second process with an instance id in use is a conflict": (
        [
            (rebalance(1, -100),),
            (None, replaced(1, 0, "a2")._replace(story="takeover")),
        ],
        ["group_start  [1]", "instance_id_conflict a []"],
    ),
    "a deployment with other settings is a configuration change": (
        [
            (rebalance(2, 0, size=2), leaves(2, 0, "a1", "restart")),
            (
                rebalance(3, 2, size=2, settings=[(2, "session.timeout.ms 10000 -> 45000")]),
                joins(3, 2, "a2", "return"),
            ),
            (rebalance(4, 10, size=2), leaves(4, 10, "b1", "restart")),
            (rebalance(5, 12, size=2), joins(5, 12, "b2", "return")),
        ],
        ["configuration_change a,b [2, 3, 4, 5]"],
    ),
    "a change since a generation before the activity is not evidence": (
        [
            (rebalance(2, 0, size=2), leaves(2, 0, "a1", "restart")),
            (
                rebalance(3, 2, size=2, settings=[(1, "session.timeout.ms 10000 -> 45000")]),
                joins(3, 2, "a2", "return"),
            ),
        ],
        ["restart a [2, 3]"],
    ),
    "processes that come back as static members are a configuration change": (
        [
            (rebalance(2, 0, size=2), leaves(2, 0, "a1")),
            (rebalance(3, 2, size=2), joins(3, 2, "a2", instance_id="i1")),
            (rebalance(4, 10, size=2), leaves(4, 10, "b1")),
            (rebalance(5, 12, size=2), joins(5, 12, "b2", instance_id="i2")),
        ],
        ["configuration_change a,b [2, 3, 4, 5]"],
    ),
    "static members that come back as dynamic ones are a configuration change": (
        [
            (rebalance(2, 0, size=2), joins(2, 0, "a2")),
            (rebalance(3, 8, size=2), expires(3, 8, "a1", instance_id="i1")),
        ],
        ["configuration_change i1 [2, 3]"],
    ),
    "a group that is started again with static members has another configuration": (
        [
            (rebalance(2, 0, outcome="empty"), leaves(2, 0, "a1"), also(leaves(2, 0, "b1"))),
            (
                rebalance(3, 90, was_empty=True),
                joins(3, 90, "c1", instance_id="i1"),
                also(joins(3, 90, "d1", instance_id="i2")),
            ),
        ],
        ["configuration_change a,b,i1,i2 [2, 3]"],
    ),
    "a static member that replaces itself with other settings is a configuration change": (
        [
            (rebalance(1, -100, size=2),),
            (None, replaced(1, 0, "a2", settings=["session.timeout.ms 10000 -> 45000"])),
            (None, replaced(1, 30, "b2", settings=["session.timeout.ms 10000 -> 45000"])),
        ],
        ["group_start  [1]", "configuration_change a,b []"],
    ),
    "a member that left and then expires left once": (
        [
            (rebalance(2, 0, until=14), leaves(2, 0, "a1", "restart")),
            (None, joins(2, 4, "a2", "return", role="contributing")),
            (None, expires(2, 14, "a1", role="contributing")),
        ],
        ["restart a [2]"],
    ),
    "without a cause in the evidence the root cause is unknown": (
        [(rebalance(7, 0),)],
        ["unknown  [7]"],
    ),
    "after a quarter of an hour without events an episode is over": (
        [*restart(2, 0, "a"), *restart(4, 1000, "a", life=2)],
        ["restart a [2, 3]", "restart a [4, 5]"],
    ),
}


@pytest.mark.parametrize(("evidence", "expected"), CASES.values(), ids=CASES)
def test_episodes(evidence, expected):
    rebalances = [row[0] for row in evidence if row[0] is not None]
    causes = [each for row in evidence for each in row[1:]]

    assert shown(rebalances, causes) == expected


def unrecorded(*causes):
    return [each._replace(process=None) for each in causes]


LEFT, BACK = leaves(2, 0, "a1", "restart"), joins(3, 2, "a2", "return")
CLOSED = LEFT._replace(client_reason="the consumer is being closed")


@pytest.mark.parametrize(
    ("causes", "confidence"),
    [
        ([replaced(2, 0, "a2")], 0.7),
        (unrecorded(replaced(2, 0, "a2")), 0.5),
        (unrecorded(replaced(2, 0, "a2", evidence="clients")), 0.7),
        (unrecorded(LEFT, BACK), 0.5),
        (unrecorded(CLOSED, BACK), 0.7),
        ([LEFT, BACK], 0.9),
    ],
    ids=[
        "a static member with a record",
        "a static member in the broker's log alone",
        "a static member in the clients' logs",
        "a member in the broker's log alone",
        "a member that says that it is closed",
        "a member with records",
    ],
)
def test_the_confidence_of_a_restart(causes, confidence):
    triggers = [each for each in causes if each.role == "trigger"]
    rebalances = [rebalance(each.generation, 2 * each.generation - 4) for each in triggers]

    (each,) = infer_episodes(rebalances, causes)

    assert (each.kind, each.confidence) == ("restart", confidence)


# rule -> rebalances with their causes, after a broker loaded the group at second 0, and the
# expected episodes
AFTER_LOAD = {
    "a member that rejoins without a reason rejoins for the failover": (
        [(rebalance(2, 3), cause("LEADER_REJOIN", "rejoin", 2, 3, "a1"))],
        ["coordinator_failover  [2]"],
    ),
    "more than a minute later it does not": (
        [(rebalance(2, 61), cause("LEADER_REJOIN", "rejoin", 2, 61, "a1"))],
        ["unknown  [2]"],
    ),
    "processes that the coordinator does not know join again": (
        [
            (rebalance(2, -100),),
            (rebalance(3, 3), joins(3, 3, "a2", "return"), also(joins(3, 4, "b2", "return"))),
        ],
        ["unknown  [2]", "coordinator_failover a,b [3]"],
    ),
    "those of a group that was shut down start it": (
        [
            (rebalance(2, -100, outcome="empty", size=0),),
            (
                rebalance(3, 3, was_empty=True),
                joins(3, 3, "a2", "return"),
                also(joins(3, 4, "b2", "return")),
            ),
        ],
        ["unknown  [2]", "group_start a,b [3]"],
    ),
    "a process that is back after the session that began with the load did not find the broker": (
        [
            (rebalance(2, 10), expires(2, 10, "a1")),
            (rebalance(3, 15), joins(3, 15, "a2", "return")),
        ],
        ["coordinator_failover a [2, 3]"],
    ),
    "a session that began later expired by itself": (
        [
            (rebalance(2, 13), expires(2, 13, "a1")),
            (rebalance(3, 15), joins(3, 15, "a2", "return")),
        ],
        ["process_lost_or_frozen a [2, 3]"],
    ),
    "a process that is not back is lost": (
        [(rebalance(2, 10), expires(2, 10, "a1"))],
        ["process_lost a [2]"],
    ),
    "a join that the previous coordinator did not record is repeated": (
        [
            (rebalance(2, -10), leaves(2, -10, "a1", "restart")),
            (rebalance(3, -5), joins(3, -5, "a2", None)._replace(process=None)),
            (rebalance(4, 3), joins(4, 3, "a3", "return")),
        ],
        ["restart a [2, 3, 4]"],
    ),
    "one whose client lost its session while the group had no coordinator ran on": (
        [
            (
                rebalance(2, 5, until=10),
                joins(2, 5, "a2", "session_lost"),
                also(expires(2, 10, "a1")),
                also(joins(2, 6, "b2", "session_lost")),
                also(expires(2, 10, "b1")),
            )
        ],
        ["coordinator_failover a,b [2]"],
    ),
    "so did static members that took their own place then": (
        [(rebalance(2, -100), joins(2, 5, "a2", "session_lost", role="absorbed"))],
        ["unknown  [2]", "coordinator_failover a []"],
    ),
    "one that is back before the session ends may have left without a coordinator": (
        [(rebalance(2, 5, until=10), joins(2, 5, "a2", "return"), also(expires(2, 10, "a1")))],
        ["restart a [2]"],
    ),
}


@pytest.mark.parametrize(("evidence", "expected"), AFTER_LOAD.values(), ids=AFTER_LOAD)
def test_episodes_after_a_failover(evidence, expected):
    rebalances = [row[0] for row in evidence]
    causes = [each for row in evidence for each in row[1:]]

    assert shown(rebalances, causes, [ms(0)]) == expected


def of_type(group_type, each):
    return each._replace(group_type=group_type)


def test_a_leave_that_arrives_after_the_next_life_joined_is_of_a_restart():
    """A client that closes while its coordinator moves sends the leave to the next coordinator."""
    rebalances = [of_type("consumer", rebalance(n, n, size=6)) for n in (7, 8)]
    causes = [joins(7, 7, "a2", "crash_restart"), leaves(8, 7.6, "a1", "stop")]

    assert shown(rebalances, causes) == ["restart a [7, 8]"]


def test_processes_restarted_around_an_upgrade_changed_the_group_protocol():
    rebalances = [
        rebalance(2, -300, was_empty=True),
        rebalance(3, 0, size=2),
        *(of_type("consumer", rebalance(n, 2 * n - 4, size=2)) for n in (4, 5, 6)),
        of_type("consumer", rebalance(7, 300, size=2)),
    ]
    causes = [
        joins(2, -300, "a1"),
        also(joins(2, -300, "b1")),
        leaves(3, 0, "a1", "restart"),
        joins(4, 4, "a2", "return"),
        cause("CONVERSION", None, 4, 4, "", role="contributing"),
        leaves(5, 6, "b1", "restart"),
        joins(6, 8, "b2", "return"),
        leaves(7, 300, "a2"),
    ]

    assert shown(rebalances, causes) == [
        "group_start a,b [2]",
        "configuration_change a,b [3, 4, 5, 6]",
        "scale_in a [7]",
    ]
    change = infer_episodes(rebalances, causes)[1]
    assert change.settings == ["group.protocol classic -> consumer"]


def test_a_deployment_right_before_an_upgrade_is_not_part_of_it():
    rebalances = [
        rebalance(2, -300, was_empty=True, size=2),
        *(rebalance(n, 5 * n - 40, size=2) for n in (3, 4, 5, 6)),
        rebalance(7, 0, size=2),
        *(of_type("consumer", rebalance(n, 2 * n - 12, size=2)) for n in (8, 9, 10)),
    ]
    causes = [
        joins(2, -300, "a1"),
        also(joins(2, -300, "b1")),
        leaves(3, -25, "a1", "restart"),
        joins(4, -20, "a2", "return"),
        leaves(5, -15, "b1", "restart"),
        joins(6, -10, "b2", "return"),
        leaves(7, 0, "a2", "restart"),
        joins(8, 4, "a3", "return"),
        cause("CONVERSION", None, 8, 4, "", role="contributing"),
        leaves(9, 6, "b2", "restart"),
        joins(10, 8, "b3", "return"),
    ]

    assert shown(rebalances, causes) == [
        "group_start a,b [2]",
        "rolling_deployment a,b [3, 4, 5, 6]",
        "configuration_change a,b [7, 8, 9, 10]",
    ]


def test_the_broker_starts_the_rebalance_after_a_downgrade():
    (change,) = infer_episodes(
        [of_type("consumer", rebalance(8, 0)), rebalance(9, 6)],
        [
            leaves(8, 0, "a1", "restart"),
            also(joins(8, 2, "a2", "return")),
            cause("CONVERT", None, 9, 6, ""),
            also(leaves(9, 5, "b1", "restart")),
            also(joins(9, 7, "b2", "return")),
        ],
    )

    assert (change.kind, change.processes, change.generations) == (
        "configuration_change", ["a", "b"], [8, 9],
    )  # fmt: skip
    assert change.settings == ["group.protocol consumer -> classic"]


def test_an_empty_group_that_changes_its_type_starts_again():
    rebalances = [
        rebalance(3, 0, outcome="empty", size=0),
        of_type("consumer", rebalance(4, 800, was_empty=True)),
    ]

    assert shown(rebalances, [leaves(3, 0, "a1"), joins(4, 800, "b1")]) == [
        "shutdown a [3]",
        "group_start b [4]",
    ]


def test_a_member_of_the_consumer_protocol_comes_back_under_its_id():
    rebalances = [of_type("consumer", rebalance(n, 10 * n)) for n in (2, 3, 4, 5)]
    causes = [
        expires(2, 20, "a1"),
        joins(3, 30, "a1", "return"),
        expires(4, 40, "a1"),
        joins(5, 50, "a1", "return"),
    ]

    assert shown(rebalances, causes) == ["process_frozen a [2, 3]", "process_frozen a [4, 5]"]


def test_a_completion_belongs_to_what_its_member_began():
    rebalances = [of_type("consumer", rebalance(n, 300 * n)) for n in (3, 4, 5, 6, 7, 8)]
    causes = [
        joins(3, 900, "a1"),
        leaves(4, 1200, "b1"),
        cause("REGEX", "follow_up", 5, 1500, "a1"),
        cause("SUBSCRIPTION_CHANGE", None, 6, 1800, "a1"),
        leaves(7, 2100, "c1"),
        cause("REGEX", "follow_up", 8, 2400, "a1"),
    ]

    assert shown(rebalances, causes) == [
        "scale_out a [3, 5]",
        "scale_in b [4]",
        "configuration_change  [6, 8]",
        "scale_in c [7]",
    ]


def test_an_activity_ends_at_midnight_if_it_began_an_hour_before():
    day = 86_400_000
    times = {
        "began at 22:59, goes on": [-61 * MINUTE + n * 10 * MINUTE for n in range(9)],
        "began at 23:01, goes on": [-59 * MINUTE + n * 10 * MINUTE for n in range(9)],
    }
    cut = {
        name: [
            (each.from_ms - MIDNIGHT - day) // MINUTE
            for each in activities(
                [
                    Rebalance(
                        incarnation=1,
                        generation=n,
                        from_ms=MIDNIGHT + day + at,
                        to_ms=MIDNIGHT + day + at + SECOND,
                        outcome="stable",
                    )
                    for n, at in enumerate(at_ms, 1)
                ],
                [],
            )
        ]
        for name, at_ms in times.items()
    }

    assert cut == {"began at 22:59, goes on": [-61, 9], "began at 23:01, goes on": [-59]}


def test_a_lost_process_is_away_since_its_last_heartbeat():
    (episode,) = infer_episodes([rebalance(2, 30)], [expires(2, 30, "a1")])

    assert (episode.from_ms, episode.to_ms) == (ms(20), ms(31))


def test_an_episode_adds_up_its_rebalances():
    rebalances = [
        rebalance(2, 100, not_stable_ms=400, partitions_moved=3),
        rebalance(3, 101, outcome="superseded", not_stable_ms=100),
        rebalance(4, 102, not_stable_ms=500, partitions_moved=4, continues=True),
    ]
    (episode,) = infer_episodes(
        rebalances,
        [
            joins(2, 100, "a1"),
            joins(3, 101, "b1"),
            cause("LEADER_REJOIN", "rejoin", 4, 102, "a1"),
        ],
    )

    assert episode.generations == [2, 3, 4]
    assert (episode.counted_rebalances, episode.not_stable_ms) == (2, 1000)
    assert episode.partitions_moved == 7
    assert episode.generation_span == (2, 4)


def test_a_superseded_target_of_a_consumer_group_counts_as_a_rebalance():
    targets = [
        rebalance(2, 100, outcome="superseded", group_type="consumer"),
        rebalance(3, 101, outcome="stable", group_type="consumer"),
        rebalance(4, 102, outcome="unknown", group_type="consumer"),
    ]
    (episode,) = infer_episodes(
        targets, [joins(2, 100, "a1"), joins(3, 101, "b1"), joins(4, 102, "c1")]
    )

    assert episode.counted_rebalances == 3


def recorded(generation, second, **more):
    return rebalance(generation, second, partitions_moved=0, **more)


# rule -> rebalances, each in an episode of its own, and the downtime of these episodes
DOWNTIME = {
    "without any record the downtime is unknown": (
        [rebalance(2, 0), rebalance(3, 1000)],
        [None, None],
    ),
    "a rebalance whose record is missing has an unknown downtime": (
        [recorded(2, 0), rebalance(3, 1000)],
        [(700, 200, 800), None],
    ),
    "a rebalance that did not complete has no record": (
        [recorded(2, 0), rebalance(3, 1000, outcome="superseded")],
        [(700, 200, 800), (0, 0, 0)],
    ),
}


@pytest.mark.parametrize(("rebalances", "unowned"), DOWNTIME.values(), ids=DOWNTIME)
def test_downtime_is_known_by_records_only(rebalances, unowned):
    inferred = infer_episodes(rebalances, [])

    gaps = [
        Gap(1, 2, ms(0), ms(1), Downtime(500, 0, 500)),
        Gap(1, 2, ms(0), ms(1), Downtime(200, 200, 300)),
    ]
    assert downtimes(inferred, gaps) == unowned


def test_moved_partitions_are_unknown_if_one_record_is_missing():
    (episode,) = infer_episodes([recorded(2, 0), rebalance(3, 20)], [])

    assert episode.partitions_moved is None


def test_of_processes_with_one_client_id_each_replaces_the_next_that_leaves():
    steps = [
        (rebalance(2, 0, size=4), joins(2, 0, "a4", **shared("a4"))),
        (rebalance(3, 8, size=3), leaves(3, 8, "a1", "restart", **shared("a1"))),
        (rebalance(4, 14, size=4), joins(4, 14, "a5", "return", **shared("a5"))),
        (rebalance(5, 22, size=3), leaves(5, 22, "a2", "restart", **shared("a2"))),
        (rebalance(6, 28, size=4), joins(6, 28, "a6", "return", **shared("a6"))),
        (rebalance(7, 36, size=3), leaves(7, 36, "a3", **shared("a3"))),
    ]

    (episode,) = infer_episodes([each for each, _ in steps], [each for _, each in steps], ())

    assert episode.kind == "rolling_deployment"
    assert [(each.process, each.by) for each in episode.changes] == [
        ("a1", "a4"),
        ("a2", "a5"),
        ("a3", "a6"),
    ]


def test_a_restart_in_place_begins_with_a_leave():
    steps = [
        (rebalance(2, 0, size=2), leaves(2, 0, "a1", "restart", **shared("a1"))),
        (rebalance(3, 2, size=3), joins(3, 2, "a4", "return", **shared("a4"))),
        (rebalance(4, 20, size=2), leaves(4, 20, "a2", "restart", **shared("a2"))),
        (rebalance(5, 22, size=3), joins(5, 22, "a5", "return", **shared("a5"))),
    ]

    (episode,) = infer_episodes([each for each, _ in steps], [each for _, each in steps], ())

    assert [(each.process, each.by) for each in episode.changes] == [("a1", None), ("a2", None)]


def whole_group(count, departure, story, client, host, apart_ms, shared):
    """All processes depart, and as many start; ``client`` and ``host``: of a process, by number."""
    causes = []
    for number in range(2 * count):
        is_new = number >= count
        name, member = client(number), f"{client(number)}-{number:08x}-0000-0000-0000-000000000000"
        at_ms = ms(100) + number % count * apart_ms + 500 * is_new
        kind = ("MEMBER_NEW", "start") if is_new else (departure, story)
        causes.append(
            Cause(1, 2, at_ms, "joined", *kind, member, None, name, host(number),
                  member if shared else f"{name}@{host(number)}",
                  session_timeout_ms=SESSION, rebalance_timeout_ms=POLL)
        )  # fmt: skip
    return [rebalance(1, 0, size=count), rebalance(2, 99, size=count)], causes


def of_number(prefix):
    return lambda number: f"{prefix}{number}"


def one(name):
    return lambda _: name


# name -> departure, its story, clients, hosts, time between two processes, client shared
WHOLE_GROUPS = {
    "new hosts at once": ("LEAVE", "stop", one("c"), of_number("/h"), 0, False),
    "new hosts one by one": ("LEAVE", "stop", one("c"), of_number("/h"), 1000, False),
    "new hosts, expired": (
        "SESSION_EXPIRY", "session_expired", one("c"), of_number("/h"), 0, False,
    ),
    "new names": ("LEAVE", "stop", of_number("c"), of_number("/h"), 0, False),
    "one host": ("SESSION_EXPIRY", "session_expired", one("c"), one("/h"), 0, True),
    "one host, left": ("LEAVE", "stop", one("c"), one("/h"), 0, True),
}  # fmt: skip


@pytest.mark.parametrize("case", WHOLE_GROUPS.values(), ids=WHOLE_GROUPS)
def test_steps_are_linear_in_the_processes(case, monkeypatch):
    monkeypatch.setattr("coordinator_core.episodes.grouping.PAIRS_AT_MOST", 1_000)

    def calls(count):
        rebalances, causes = whole_group(count, *case)
        seen = 0

        def profile(*_):
            nonlocal seen
            seen += 1

        sys.setprofile(profile)
        try:
            episodes = infer_episodes(rebalances, causes)
        finally:
            sys.setprofile(None)
        assert sum(len(each.changes) for each in episodes) == count
        return seen

    assert calls(400) < 2.5 * calls(200)
