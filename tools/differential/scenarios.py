"""Random scenarios: consumers, operators who describe and delete groups, and a request repeater.

A scenario is generated without playing it. Each actor is a coroutine that sends requests and yields
how long to sleep; an agenda wakes the actors in order of time. Consumers share an estimate of their
group's state. It is good enough to bring the group into every state, and wrong often enough to send
unexpected requests. Many steps are at or next to the deadlines of timers.
The same seed and index give the same scenario.
"""

from __future__ import annotations

import base64
import heapq
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

Scenario = dict[str, Any]
Actor = Iterator[int]  # iterator that yields the milliseconds to sleep

UNLIMITED = 2147483647
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
ORDERED_IDS = 15
MAX_METADATA_BYTES = 4096
MEMBERSHIP_OPS = ("join", "sync", "heartbeat", "leave", "commit")
APPEND_ERRORS = [
    "NOT_LEADER_OR_FOLLOWER",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "REQUEST_TIMED_OUT",
    "MESSAGE_TOO_LARGE",
    "RECORD_LIST_TOO_LARGE",
    "INVALID_FETCH_SIZE",
    "KAFKA_STORAGE_ERROR",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "COORDINATOR_LOAD_IN_PROGRESS",
]
# Invalid subscriptions: Kafka's parser rejects some, and others make its coordinator throw an
# exception.
ODD_METADATA = ["", "AA==", "AAA=", "AAAAAA==", "//8AAAAA", "AAkAAAABAAF0/////wAAAAA="]
# 0 is not among the values: with static members that never return, 4.1 would set a timer for the
# same time forever.
SPOILED_REBALANCE_MS = [500, 2000, 60000]
ASSIGNORS = ["range", "roundrobin", "sticky", "cooperative-sticky", "stream", "default", "a", "zz"]
PROTOCOL_LISTS = [
    ["range"],
    ["range"],
    ["range", "cooperative-sticky"],
    ["cooperative-sticky", "range"],
    ["roundrobin", "range", "sticky"],
    ["sticky", "roundrobin", "range"],
]


def scenario(seed: int, index: int) -> Scenario:
    return _RandomScenario(
        random.Random(f"differential {seed} {index}"), f"random-{seed}-{index:05d}"
    ).scenario()


def subscription(topics: list[str], version: int = 0) -> str:
    """A consumer protocol subscription without user data, base64."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    owned = struct.pack(">i", 0) if version == 1 else b""
    body = struct.pack(">hi", version, len(topics)) + names + struct.pack(">i", -1) + owned
    return base64.b64encode(body).decode()


def _some_bytes(rng: random.Random, most: int) -> str:
    return base64.b64encode(rng.randbytes(rng.randrange(most))).decode()


class _RandomScenario:
    """The clock, the agenda and the steps taken so far."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self.rng = rng
        self.name = name
        self.now = 0
        self.steps: list[dict[str, Any]] = []
        self.edges: list[int] = []
        self._agenda: list[tuple[int, int, Actor]] = []
        self._woken = 0
        self.config = self._config()
        self.length = rng.choice([12, 25, 25, 50, 50, 90, 200])
        self.sabotage = rng.choice([0.0, 0.02, 0.05, 0.15])
        self.faults = rng.random() < 0.25

    def _config(self) -> dict[str, int]:
        rng = self.rng
        config = {
            "group_initial_rebalance_delay_ms": rng.choice([0, 0, 1, 100, 3000, 3000, 10000]),
            "group_min_session_timeout_ms": rng.choice([6000, 6000, 1]),
            "group_max_session_timeout_ms": rng.choice([1800000, 1800000, 30000]),
            "group_max_size": rng.choice([UNLIMITED] * 6 + [1, 2, 2, 3, 3, 5]),
        }
        if rng.random() < 0.3:
            config["offsets_retention_check_interval_ms"] = rng.choice([5000, 60000, 600000])
            config["offsets_retention_minutes"] = rng.choice([1, 1, 2, 10])
        return config

    def scenario(self) -> Scenario:
        for name in self.rng.choice([["g"], ["g"], ["g"], ["g", "h"], ["billing", "größe", "g-1"]]):
            _RandomGroup(self, name)
        while self._agenda and len(self.steps) < self.length:
            self.now, _, actor = heapq.heappop(self._agenda)
            self._resume(actor)
        self._let_timers_end()
        made = {
            "name": self.name,
            "about": "A random scenario.",
            "config": self.config,
            "steps": self.steps,
        }
        if self.rng.random() < 0.25:
            made["member_ids"] = "scattered"
        return made

    def start(self, actor: Actor, delay_ms: int = 0) -> None:
        self._woken += 1
        heapq.heappush(self._agenda, (self.now + delay_ms, self._woken, actor))

    def _resume(self, actor: Actor) -> None:
        sleep_ms = next(actor, None)
        if sleep_ms is not None:
            self.start(actor, sleep_ms)

    def send(self, op: str, group: str, **fields: Any) -> str:
        """Add a step; returns the reference to it."""
        step = {
            "at_ms": self.now,
            "id": f"s{len(self.steps) + 1}",
            "op": op,
            "group": group,
            **fields,
        }
        self.steps.append(step)
        return "@" + step["id"]

    def expect(self, *delays_ms: int) -> None:
        """Note when timers that are set now will fire, so that other steps come close to them."""
        self.edges += [self.now + delay for delay in delays_ms]

    def nap(self) -> int:
        return self.rng.choice([0, 0, 0, 1, 1, 3, 20, 50])

    def until_edge(self, or_else_ms: int) -> int:
        """How long to sleep until, just before or just after one of the next timers."""
        ahead = sorted({edge for edge in self.edges if edge > self.now})[:4]
        if not ahead:
            return or_else_ms
        return max(0, self.rng.choice(ahead) - self.now + self.rng.choice([-1, 0, 0, 1]))

    def _let_timers_end(self) -> None:
        rng = self.rng
        for pause_ms in rng.choice([[], [10000], [1000, 6000, 30000, 60000, 310000]]):
            self.now += pause_ms
            self.send("wait", "")


class _RandomGroup:
    """A group's name, the estimate of its state, and all its actors."""

    def __init__(self, world: _RandomScenario, name: str) -> None:
        rng = world.rng
        self.world = world
        self.name = name
        self.type = rng.choice(["consumer", "consumer", "consumer", "connect"])
        self.consumers: list[_RandomConsumer] = []
        self.rejoined: set[_RandomConsumer] = set()
        self.rebalancing = False
        self.join_ends = 0
        self.static_share = rng.choice([0.0, 0.35, 0.35, 1.0])
        self.crowd = rng.choice([12] * 7 + [40])
        self.ids_left = ORDERED_IDS if self.crowd == 12 and rng.random() < 0.9 else 60
        self.topics = ["t"] if rng.random() < 0.6 else ["t", "u", "orders.v1"]
        self.partitions = 3 if rng.random() < 0.85 else 12
        world.start(self._arrivals(), rng.choice([0, 0, 7, 1000]))
        world.start(self._operator(), rng.choice([0, 500, 4000, 15000]))
        world.start(self._repeater(), rng.choice([100, 3000, 8000]))

    def _arrivals(self) -> Actor:
        rng = self.world.rng
        for _ in range(rng.randrange(1, 5) if self.crowd == 12 else rng.randrange(8, 30)):
            self._add_consumer()
            yield self.world.nap()
        while True:
            yield (
                self.world.until_edge(5000)
                if rng.random() < 0.4
                else rng.choice([2000, 9000, 30000])
            )
            if len(self.consumers) < self.crowd:
                self._add_consumer()

    def _add_consumer(self) -> None:
        consumer = _RandomConsumer(self, len(self.consumers))
        self.consumers.append(consumer)
        self.world.start(consumer.run())

    def present(self) -> list[_RandomConsumer]:
        return [consumer for consumer in self.consumers if consumer.inside]

    def consumer_joins(self, consumer: _RandomConsumer) -> None:
        """Estimate: the first join starts a rebalance, which ends when all have rejoined."""
        delay_ms = self.world.config["group_initial_rebalance_delay_ms"]
        now = self.world.now
        if not self.rebalancing:
            self.rebalancing = True
            self.rejoined = set()
            alone = not [other for other in self.present() if other is not consumer]
            self.join_ends = now + (delay_ms if alone else consumer.rebalance_ms)
        self.rejoined.add(consumer)
        if self.join_ends - now > delay_ms and self.rejoined >= set(self.present()):
            self.join_ends = now
        self.world.expect(delay_ms, 2 * delay_ms)

    def consumer_gone(self, consumer: _RandomConsumer) -> None:
        if not self.rebalancing and self.present():
            self.rebalancing = True
            self.rejoined = set()
            self.join_ends = self.world.now + consumer.rebalance_ms

    def _operator(self) -> Actor:
        world, rng = self.world, self.world.rng
        actions: list[tuple[Callable[[], object], float]] = [
            (lambda: world.send("describe", self.name), 4),
            (lambda: world.send("fetch", self.name, offsets=self.some_partitions()), 3),
            (self._simple_commit, 2),
            (lambda: world.send("delete", self.name), 1),
            (self._remove_from_outside, 1),
            (lambda: world.send("wait", ""), 1),
        ]
        if world.faults:
            actions.append((self._fault, 6))
        while True:
            rng.choices([action for action, _ in actions], [weight for _, weight in actions])[0]()
            yield (
                world.until_edge(3000) if rng.random() < 0.5 else rng.choice([0, 1000, 7000, 40000])
            )

    def _fault(self) -> None:
        self.world.send("fault", self.name, append_error=self.world.rng.choice(APPEND_ERRORS))

    def some_partitions(self) -> list[list[Any]]:
        rng = self.world.rng
        every = [
            [topic, partition] for topic in self.topics for partition in range(self.partitions)
        ]
        return rng.sample(every, rng.randrange(1, min(len(every), 10) + 1))

    def _simple_commit(self) -> None:
        rng = self.world.rng
        self.world.send(
            "commit",
            self.name,
            member=rng.choice(["", "", "", "admin"]),
            instance_id=rng.choice([None, None, "i0"]),
            generation=rng.choice([-1, -1, -1, 0]),
            offsets=self.offsets(),
        )

    def offsets(self) -> list[list[Any]]:
        rng = self.world.rng
        few = self.some_partitions() if self.partitions > 3 else self.some_partitions()[:2]
        return [[*row, rng.choice([0, 5, rng.randrange(2**40)]), self._metadata()] for row in few]

    def _metadata(self) -> str | None:
        rng = self.world.rng
        odd = [None, "x" * MAX_METADATA_BYTES, "x" * (MAX_METADATA_BYTES + 1), "größer"]
        return rng.choice(odd if rng.random() < 0.1 else ["", "m"])

    def _remove_from_outside(self) -> None:
        """Remove static members as an administrator does: by instance id, without member id."""
        rows: list[list[str | None]] = [["", c.instance] for c in self.consumers if c.instance]
        if rows:
            chosen = self.world.rng.sample(rows, self.world.rng.randrange(1, len(rows) + 1))
            self.world.send("leave", self.name, members=chosen)

    def _repeater(self) -> Actor:
        """Repeat requests of other actors, late and changed."""
        world, rng = self.world, self.world.rng
        while True:
            yield world.until_edge(1000) if rng.random() < 0.5 else rng.choice([1, 300, 2000])
            sent = [s for s in world.steps if s["group"] == self.name and s["op"] in MEMBERSHIP_OPS]
            if sent and rng.random() < 4 * world.sabotage + 0.05:
                step = rng.choice(sent[-12:])
                fields = {k: v for k, v in step.items() if k not in ("at_ms", "id", "op", "group")}
                for _ in range(rng.choice([0, 1, 1, 2])):
                    fields = self._with_one_change(fields)
                if fields.get("member") == "" and step["op"] == "join":
                    self.ids_left -= 1
                group = "" if rng.random() < 0.03 else self.name
                world.send(step["op"], group, **fields)

    def _with_one_change(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields with one of them changed."""
        rng = self.world.rng
        field = rng.choice(sorted(fields))
        change = {
            "member": self.any_member,
            "instance_id": self._any_instance,
            "generation": self._any_generation,
            "members": lambda: [
                [self.any_member(), self._any_instance()] for _ in range(rng.randrange(4))
            ],
            "session_timeout_ms": lambda: rng.choice([0, 1, 5999, 6000, 30000, 30001, 1800001]),
            "rebalance_timeout_ms": lambda: rng.choice(SPOILED_REBALANCE_MS),
            "protocol_type": lambda: rng.choice(["", "consumer", "connect", "Consumer"]),
            "protocol_name": lambda: rng.choice([None, *ASSIGNORS]),
            "protocols": lambda: rng.choice(
                [[], [["zz", ""]], [["range", rng.choice(ODD_METADATA)]]]
            ),
            "assignments": lambda: [
                [self.any_member(), _some_bytes(rng, 9)] for _ in range(rng.randrange(4))
            ],
            "offsets": self.offsets,
            "requires_known_member_id": lambda: not fields[field],
            "supports_skipping_assignment": lambda: not fields[field],
            "client_id": lambda: rng.choice(["", "another"]),
            "client_host": lambda: "/10.1.2.3",
            "reason": lambda: rng.choice([None, "", "because"]),
        }[field]
        return {**fields, field: change()}

    def any_member(self) -> str:
        rng = self.world.rng
        members = [consumer.member for consumer in self.consumers]
        return rng.choice([*members, *members, "", "nobody"])

    def _any_instance(self) -> str | None:
        instances = [consumer.instance for consumer in self.consumers]
        return self.world.rng.choice([*instances, *instances, None, "i-nobody"])

    def _any_generation(self) -> int | str:
        joins = [consumer.joined for consumer in self.consumers if consumer.joined]
        return self.world.rng.choice([*joins, *joins, -1, 0, 1, 2, 3, 7])


class _RandomConsumer:
    """One consumer: joins, syncs, heartbeats, commits, rejoins in an estimated rebalance, ends."""

    def __init__(self, group: _RandomGroup, number: int) -> None:
        rng = group.world.rng
        self.group = group
        self.world = group.world
        self.name = f"c{number}"
        self.instance = f"i{number}" if rng.random() < group.static_share else None
        if self.instance and number and rng.random() < 0.1:
            self.instance = f"i{number - 1}"  # Two members have this instance id.
        self.requires_id = rng.random() < 0.75
        self.skips = rng.random() < 0.5
        self.host = rng.choice(["/127.0.0.1", "/127.0.0.1", "/10.0.0.7"])
        self.session_ms = rng.choice([6000, 10000, 10000, 30000])
        self.rebalance_ms = rng.choice([1000, 5000, 10000, 60000])
        self.protocols = self._subscribe()
        self.diligence = rng.choice([0.75, 0.95, 1.0, 1.0])
        self.member = ""
        self.joined: str | None = None
        self.inside = False

    def _subscribe(self) -> list[list[str]]:
        rng = self.world.rng
        names = rng.choice(PROTOCOL_LISTS)
        if rng.random() < 0.1:
            names = rng.sample(ASSIGNORS, rng.randrange(1, 5))
        topics = rng.sample(self.group.topics, rng.randrange(1, len(self.group.topics) + 1))
        odd = rng.random() < 0.05
        metadata = rng.choice(ODD_METADATA) if odd else subscription(topics, rng.randrange(2))
        return [[name, metadata] for name in names]

    def run(self) -> Actor:
        rng = self.world.rng
        while True:
            yield from self._enter()
            rounds = rng.choice([1, 2, 3, 5, 12])
            while self.inside and rounds > 0:
                rounds -= 1
                yield from self._take_part()
            yield from self._end()
            if rng.random() < 0.3:
                return

    def _join(self, member: str) -> str:
        reference = self.world.send(
            "join",
            self.group.name,
            client_id=self.name,
            client_host=self.host,
            member=member,
            instance_id=self.instance,
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            protocol_type=self.group.type,
            protocols=self.protocols,
            requires_known_member_id=self.requires_id,
            supports_skipping_assignment=self.skips,
            reason=self.world.rng.choice([None, None, "rejoining"]),
        )
        self.world.expect(self.session_ms, self.rebalance_ms)
        if self.world.rng.random() < 0.05:
            self.world.expect(NEW_MEMBER_JOIN_TIMEOUT_MS)
        return reference

    def _enter(self) -> Actor:
        full = len(self.group.present()) >= self.world.config["group_max_size"]
        if self.group.ids_left <= 0 or (full and self.world.rng.random() < 0.7):
            yield 20000
            return
        self.group.ids_left -= 1
        self.inside = True
        at_rest = self.instance and self.joined and not self.group.rebalancing
        self.member = self.joined = self._join("")
        if (self.requires_id or self.skips) and self.instance is None:
            yield self.world.nap()
            if self.world.rng.random() < 0.95:
                self.joined = self._join(self.member)
        if at_rest and self.world.rng.random() < 0.8:
            yield self.world.nap()
            self._sync()  # A static member that returns may not cause a rebalance.
        else:
            self.group.consumer_joins(self)

    def _take_part(self) -> Actor:
        """One round: wait for the join to complete, sync, and work until the next rebalance."""
        group, world, rng = self.group, self.world, self.world.rng
        if group.rebalancing:
            if self not in group.rejoined:
                yield from self._rejoin()
            yield max(0, group.join_ends - world.now) + rng.choice([0, 0, 0, 1, 30])
            self._sync()
            group.rebalancing = False
        for _ in range(rng.choice([1, 2, 4, 8])):
            yield self._think()
            if group.rebalancing and self not in group.rejoined:
                if rng.random() < 0.7:
                    self._heartbeat()
                return
            self._work()
        if rng.random() < 0.3:
            yield from self._rejoin()

    def _think(self) -> int:
        rng = self.world.rng
        if rng.random() < 0.2:
            return self.world.until_edge(self.session_ms)
        return rng.choice(
            [300, 2000, self.session_ms // 3, self.session_ms // 3, self.session_ms - 1]
        )

    def _work(self) -> None:
        rng = self.world.rng
        if rng.random() < 0.7:
            self._heartbeat()
        elif rng.random() < 0.8:
            self._commit()
        else:
            self._sync()

    def _rejoin(self) -> Actor:
        rng = self.world.rng
        if rng.random() > self.diligence:
            yield self.world.until_edge(self.rebalance_ms)
        if rng.random() < 0.15:
            self.protocols = self._subscribe()
        if rng.random() < 0.1:
            self.session_ms = rng.choice([6000, 10000, 30000])
            self.rebalance_ms = rng.choice([2000, 10000, 60000])
        self.joined = self._join(self.member)
        self.group.consumer_joins(self)
        yield self.world.nap()

    def _sync(self) -> None:
        rng = self.world.rng
        if rng.random() > self.diligence:
            return
        members = [other.member for other in self.group.present() if rng.random() < 0.97]
        self.world.send(
            "sync",
            self.group.name,
            member=self.member,
            instance_id=self.instance,
            generation=self.joined,
            protocol_type=rng.choice([None, self.group.type]),
            protocol_name=rng.choice([None, None, self.protocols[0][0]]),
            assignments=[[member, subscription([f"p{at}"])] for at, member in enumerate(members)],
        )
        self.world.expect(self.session_ms, self.rebalance_ms)

    def _heartbeat(self) -> None:
        self.world.send(
            "heartbeat",
            self.group.name,
            member=self.member,
            instance_id=self.instance,
            generation=self.joined,
        )
        self.world.expect(self.session_ms)

    def _commit(self) -> None:
        self.world.send(
            "commit",
            self.group.name,
            member=self.member,
            instance_id=self.instance,
            generation=self.joined,
            offsets=self.group.offsets(),
        )
        self.world.expect(self.session_ms)

    def _end(self) -> Actor:
        """Leave, alone or with others, or stop without a request; maybe return later."""
        rng = self.world.rng
        how = rng.choice(["leave", "leave", "leave together", "crash", "restart", "restart"])
        if how == "leave":
            by_instance = self.instance is not None and rng.random() < 0.5
            self._leave([["" if by_instance else self.member, self.instance]])
        elif how == "leave together":
            leavers = rng.sample(
                self.group.consumers, rng.randrange(1, min(4, len(self.group.consumers)) + 1)
            )
            self._leave(
                [
                    [other.member, other.instance]
                    for other in dict.fromkeys([self, *leavers])
                    if other.joined
                ]
            )
        self.inside = False
        if how != "restart" or not self.instance:
            self.group.consumer_gone(self)
        yield self.world.nap() if how == "restart" else self.world.until_edge(self.session_ms)

    def _leave(self, rows: list[list[str | None]]) -> None:
        self.world.send("leave", self.group.name, members=rows)
