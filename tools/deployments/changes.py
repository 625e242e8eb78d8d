"""Groups whose settings change between deployments: as advised, otherwise, partly.

All groups have six processes and are deployed twice.  A night passes.  The third deployment brings
the new settings, and two more follow.
"""

from __future__ import annotations

from tools.deployments.script import (
    PROCESSES,
    START_S,
    Deployment,
    Group,
    Script,
    Step,
    Strategy,
    classic,
    name_of,
)

_WAY = Strategy("one_by_one", 12, 1, 84)
_RESTART_S = 1.0
_BEFORE, _ALL = 2, 5
_SCALED = PROCESSES + 2
# Settings of slow rebalances: a rebalance waits for the next heartbeat of each member.
_SLOW = {"session.timeout.ms": 30_000, "heartbeat.interval.ms": 5000}
_SESSION = {"session.timeout.ms": 45_000}
_EAGER, _JAVA = (
    group._replace(conf={**group.conf, **_SLOW})
    for group in (classic("librdkafka", "range", "Range"), classic("java", "range", "Range"))
)
# By name: the group before and after the change.  Static membership is the change that nightly
# advises.
_GROUPS: dict[str, tuple[Group, Group]] = {
    "advised-librdkafka": (_EAGER, _EAGER._replace(static=PROCESSES)),
    "advised-java": (_JAVA, _JAVA._replace(static=PROCESSES)),
    "slower": (_JAVA, _JAVA._replace(static=PROCESSES, later_s=7)),
    "otherwise": (_JAVA, _JAVA._replace(conf={**_JAVA.conf, **_SESSION})),
    "partly": (_EAGER, _EAGER._replace(static=PROCESSES // 2)),
    "scaled": (_JAVA, _JAVA._replace(static=_SCALED, processes=_SCALED)),
    "further": (_EAGER, _EAGER._replace(static=PROCESSES, conf={**_EAGER.conf, **_SESSION})),
}


def changes() -> Script:
    return Script(
        {name: before for name, (before, _) in _GROUPS.items()},
        [_deployment(number) for number in range(_ALL)],
        {name: after for name, (_, after) in _GROUPS.items()},
        _BEFORE,
    )


def _deployment(number: int) -> Deployment:
    from_s = START_S + number * _WAY.lasts_s
    steps = []
    for slot in range(_SCALED if number >= _BEFORE else PROCESSES):
        stop_s = from_s + _WAY.pace_s * min(slot, PROCESSES - 1)
        # Processes that the change adds do not need to be stopped.
        if slot < PROCESSES or number > _BEFORE:
            steps.append(Step(stop_s, "stop", name_of(slot, 1)))
        steps.append(Step(stop_s + _RESTART_S, "start", name_of(slot, 1)))
    return Deployment(_WAY, number, from_s, from_s + _WAY.lasts_s, tuple(sorted(steps)))
