"""Random faults: afterwards all members are stable and every partition has one owner."""

import random

import pytest

from coordinator_core.client import (
    LIBRARIES,
    Consumer,
    ConsumerConfig,
    Disconnect,
    MemberState,
    Raised,
)
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import JoinResponse, OffsetFetch
from tests.core.client.harness import LOST, NEVER, NODE, ClientHarness
from tests.core.client.test_reactions import ANSWERS

TRANSIENT = [
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.REBALANCE_IN_PROGRESS,
    Errors.ILLEGAL_GENERATION,
    Errors.UNKNOWN_MEMBER_ID,
    Errors.REQUEST_TIMED_OUT,
]
KINDS = [
    ("java-4.1", ("range",)),
    ("java-4.1", ("cooperative-sticky",)),
    ("java-2.0", ("range", "roundrobin")),
    ("librdkafka-2", ("range",)),
    ("librdkafka-2", ("cooperative-sticky",)),
]


def faulty(dice):
    """An ``intercept`` with 3% errors or lost responses, except for offset fetches."""

    def intercept(name, request):
        kind = type(request)
        if kind not in ANSWERS or kind is OffsetFetch or dice.random() > 0.03:
            return None
        chance = dice.random()
        if chance < 0.1:
            return NEVER
        if chance < 0.3:
            return LOST
        answer = ANSWERS[kind](request, dice.choice(TRANSIENT))
        return answer._replace(member_id="") if isinstance(answer, JoinResponse) else answer

    return intercept


def schedule_faults(harness, dice, names):
    """Schedules slow polls, commits and broken connections within one minute."""
    for _ in range(25):
        at_ms, name = dice.randrange(60_000), dice.choice(names)
        fault = dice.choice(["slow", "disconnect", "commit"])
        if fault == "slow":
            harness.at(at_ms, harness.call, name, "process")
            harness.at(at_ms + dice.choice([50, 2000, 20_000]), harness.call, name, "poll")
        elif fault == "commit":
            harness.at(at_ms, harness.call, name, "commit")
        else:
            harness.at(at_ms, cut, harness, name)


def cut(harness, name):
    if name in harness.consumers:
        effects = harness.consumers[name].disconnected(NODE, harness.now_ms)
        harness.do(name, [Disconnect(NODE), *effects])


def has_ended(harness, name, library):
    """Whether a librdkafka consumer had a fatal error, as a static member without its member id."""
    fatal = any(raised.is_fatal for raised in harness.of(name, Raised))
    return fatal and library == "librdkafka-2"


@pytest.mark.parametrize("seed", range(30))
def test_a_group_becomes_stable_after_faults(seed):
    dice = random.Random(seed)
    library, assignors = KINDS[seed % len(KINDS)]
    harness = ClientHarness("4.1" if dice.random() < 0.5 else "3.9", {"orders": 7})
    names = [f"c{n}" for n in range(3)]
    for number, name in enumerate(names):
        config = ConsumerConfig(
            group_id="g",
            client_id=name,
            assignors=assignors,
            session_timeout_ms=6000,
            max_poll_interval_ms=10_000,
            instance_id=f"i{number}" if number == 0 and library != "java-2.0" else None,
        )
        harness.listener_ms[name] = dice.choice([0, 0, 300])
        consumer = Consumer(config, LIBRARIES[library])
        harness.at(dice.randrange(5000), harness.add, consumer, name)
    harness.intercept = faulty(dice)
    schedule_faults(harness, dice, names)
    harness.run(65_000)

    harness.intercept = None
    for name in names:
        harness.call(name, "poll")
    harness.run(200_000)

    consumers = [
        c for name, c in harness.consumers.items() if not has_ended(harness, name, library)
    ]
    owned = [partition for consumer in consumers for partition in consumer.owned]
    assert {c.state for c in consumers} == {MemberState.STABLE}, f"seed {seed}"
    assert sorted(owned) == [("orders", n) for n in range(7)], f"seed {seed}"
    assert len({c.generation for c in consumers}) == 1


@pytest.mark.parametrize("seed", range(30))
def test_all_members_of_a_group_can_close(seed):
    """After the same faults every member closes."""
    dice = random.Random(1000 + seed)
    library, assignors = KINDS[seed % len(KINDS)]
    harness = ClientHarness("4.1", {"orders": 7})
    names = [f"c{n}" for n in range(3)]
    for name in names:
        config = ConsumerConfig(
            group_id="g", client_id=name, assignors=assignors, session_timeout_ms=6000
        )
        harness.add(Consumer(config, LIBRARIES[library]), name)
    harness.intercept = faulty(dice)
    schedule_faults(harness, dice, names)
    for name in names:
        harness.at(dice.randrange(20_000, 60_000), harness.call, name, "close")
    harness.run(200_000)

    assert harness.consumers == {}, f"seed {seed}"
