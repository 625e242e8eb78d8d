"""Random scenarios of consumer groups, with members of the classic protocol among them.

A scenario has one or two themes: a crowd of members, processes that share instance ids, epochs of
the past, regular expressions that change, topics that come and go, migrations between protocols.
Themes are weights of what the actors do.  A scenario is made without playing it: "last" and "@s1"
refer to answers.
"""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tools.differential.group_steps import FAULTS, Scenario, Step, Steps

TOPICS = ("a", "b", "ab", "orders-1", "orders-2", "x.y")
REGEXES = ("a.*", "orders-.*", "a|b", "[a-z]", "orders-[2-9]", "x\\.y", "none", "", "(", "*")
SUBSCRIPTIONS = (["a"], ["a"], ["a"], ["a", "b"], ["b"], ["a", "b", "ab"], ["orders-1"], [])
ASSIGNORS = (None, None, None, None, "uniform", "range", "range", "unknown")
RACKS = ("r1", "r2", "r3")
_MIXED = "migration"
THEMES: Mapping[str, Mapping[str, float]] = {
    "crowd": {"arrive": 14, "round": 8, "beat": 10, "leave": 2, "silence": 1},
    "static": {"arrive": 4, "return": 9, "leave": 6, "steal": 5, "beat": 10, "round": 2},
    "epochs": {"arrive": 4, "past": 12, "beat": 12, "leave": 1, "commit": 6, "fetch": 3},
    "regexes": {"arrive": 4, "regex": 8, "topics": 6, "beat": 14, "pause": 5, "round": 1},
    "topics": {"arrive": 4, "topics": 10, "subscribe": 5, "beat": 14, "round": 2, "commit": 2},
    _MIXED: {
        "arrive": 4, "join": 10, "sync": 6, "classic_beat": 8, "classic_leave": 3, "beat": 10,
        "leave": 5, "round": 1, "silence": 1,
    },
}  # fmt: skip
ALWAYS = {"wait": 14, "disturb": 2, "vote": 0.7, "commit": 1, "configure": 0.3, "return": 1}
MEMBER_COUNTS = {"crowd": (8, 12, 20, 40)}
STEP_COUNTS = (20, 40, 80)


def consumer_scenario(rng: random.Random, name: str) -> Scenario:
    themes = rng.sample([*THEMES], rng.choice([1, 1, 2]))
    return _ConsumerSteps(rng, name, themes).play()


def mixed_scenario(rng: random.Random, name: str) -> Scenario:
    """A group with members of both protocols."""
    themes = [rng.choice([*THEMES]), _MIXED]
    return _ConsumerSteps(rng, name, themes).play()


class _Consumer:
    """A process with the consumer protocol."""

    def __init__(self, steps: Steps, instance_id: str | None) -> None:
        rng = steps.rng
        self.id = steps.uuid()
        self.instance_id = instance_id
        self.topics: list[str] | None = list(rng.choice(SUBSCRIPTIONS))
        self.regex: str | None = None
        self.assignor = rng.choice(ASSIGNORS)
        self.rack_id = rng.choice(RACKS) if steps.racks and rng.random() < 0.8 else None
        self.rebalance_timeout_ms = rng.choice([1000, 5000, 60000, 60000])
        self.is_gone = False

    def request(self) -> Step:
        fields: Step = {"group": "g", "member": self.id}
        if self.instance_id is not None:
            fields["instance_id"] = self.instance_id
        return fields

    def full(self) -> Step:
        fields = {"rebalance_timeout_ms": self.rebalance_timeout_ms, "topics": self.topics}
        optional = {"regex": self.regex, "assignor": self.assignor, "rack_id": self.rack_id}
        return fields | {name: value for name, value in optional.items() if value is not None}


class _ClassicConsumer:
    """A process with the classic protocol; `joined`: the reference to its last join."""

    def __init__(self, steps: Steps, number: int) -> None:
        rng = steps.rng
        self.client_id = f"classic-{number}"
        self.instance_id = f"i{rng.randint(0, 3)}" if rng.random() < 0.3 else None
        self.topics = list(rng.choice([["a"], ["a", "b"], ["b"]]))
        self.session_timeout_ms = rng.choice([6000, 10000, 30000])
        self.rebalance_timeout_ms = rng.choice([2000, 10000, 60000])
        self.needs_id = rng.random() < 0.5
        self.member = ""
        self.joined = ""


class _ConsumerSteps(Steps):
    def __init__(self, rng: random.Random, name: str, themes: Sequence[str]) -> None:
        super().__init__(rng, name, TOPICS)
        self._weights = _weights(themes)
        counts = [MEMBER_COUNTS.get(theme, (2, 3, 5)) for theme in themes]
        self._most_members = max(map(rng.choice, counts))
        self._is_static = "static" in themes
        self._consumers: list[_Consumer] = []
        self._classic: list[_ClassicConsumer] = []
        if rng.random() < 0.25:
            self.racks = RACKS
        self._configure_broker()

    def _configure_broker(self) -> None:
        rng = self.rng
        settings = {
            "group.consumer.assignment.interval.ms": (0.3, [0, 0, 500, 5000]),
            "group.consumer.migration.policy": (0.3, ["disabled", "upgrade", "downgrade"]),
            "group.consumer.max.size": (0.1, [1, 2, 5]),
            "group.consumer.assignors": (0.2, ["range,uniform", "range"]),
            "group.consumer.regex.refresh.interval.ms": (0.3, [10000, 20000]),
        }
        for name, (chance, values) in settings.items():
            if rng.random() < chance:
                self.kafka[name] = rng.choice(values)
        self.kafka["group.consumer.min.session.timeout.ms"] = 5000
        self.kafka["group.consumer.session.timeout.ms"] = rng.choice([6000, 15000, 45000])
        self.config["group_initial_rebalance_delay_ms"] = rng.choice([0, 0, 1000, 3000])
        if rng.random() < 0.1:
            self.config["group_max_size"] = rng.choice([1, 2, 3])
        if rng.random() < 0.1:
            self.config["offsets_retention_check_interval_ms"] = 60000
            self.config["offsets_retention_minutes"] = 1

    def play(self) -> Scenario:
        rng = self.rng
        self.create(*rng.sample(TOPICS, rng.randint(1, 4)))
        count = rng.choice(STEP_COUNTS) + 3 * self._most_members
        names, weights = [*self._weights], [*self._weights.values()]
        while len(self.steps) < count:
            getattr(self, f"_{rng.choices(names, weights)[0]}")()
        for _ in range(2):
            self.now_ms += 46000
            self.step("wait", group="g")
        self.step("consumer_describe", group="g")
        return self.scenario()

    # -- consumers

    def _arrive(self) -> None:
        if len(self._consumers) >= self._most_members:
            self._beat()
            return
        chance = 0.9 if self._is_static else 0.15
        number = self.rng.randint(0, 3) if self._is_static else len(self._consumers)
        instance_id = f"i{number}" if self.rng.random() < chance else None
        consumer = _Consumer(self, instance_id)
        self._consumers.append(consumer)
        self._join_with(consumer)

    def _join_with(self, consumer: _Consumer) -> None:
        consumer.is_gone = False
        fields = consumer.request() | consumer.full()
        self.step("consumer_heartbeat", **fields, member_epoch=0, owned=[])

    def _beat(self) -> None:
        self._with_present(self._beat_of)

    def _beat_of(self, consumer: _Consumer, **changes: Any) -> None:
        fields: Step = {"member_epoch": self.mostly_last_epoch(), "brief": True}
        if self.rng.random() < 0.15:
            fields = {"member_epoch": "last", **consumer.full()}
        if self.rng.random() < 0.85:
            fields["owned"] = "last"
        elif self.rng.random() < 0.4:
            fields["owned"] = self._some_partitions()
        self.step("consumer_heartbeat", **(consumer.request() | fields | changes))

    def _round(self) -> None:
        """All heartbeat, in any order."""
        present = [each for each in self._consumers if not each.is_gone]
        for consumer in self.rng.sample(present, len(present)):
            self._beat_of(consumer)
            if self.rng.random() < 0.3:
                self.now_ms += self.rng.choice([1, 100, 1000])

    def _past(self) -> None:
        """An epoch or owned partitions that the member does not have, or no longer."""
        changes = self.rng.choice(
            [
                {"member_epoch": self.rng.randint(1, 12)},
                {"member_epoch": self.rng.choice([0, -1, -2, -3])},
                {"member_epoch": self._former_answer(), "owned": self._former_answer()},
                {"member_epoch": self._former_answer(), "owned": []},
                {"member_epoch": "last", "owned": self._some_partitions()},
                {"member_epoch": "last", "owned": self._former_answer()},
            ]
        )
        self._with_present(lambda consumer: self._beat_of(consumer, **changes))

    def _former_answer(self) -> str:
        beats = [each["id"] for each in self.steps if each["op"] == "consumer_heartbeat"]
        return "@" + self.rng.choice(beats[-12:]) if beats else "last"

    def _some_partitions(self) -> list[Any]:
        names = self.rng.sample([*self.partitions, "gone"], self.rng.choice([0, 1, 1]))
        return [[name, sorted({self.rng.randint(0, 5) for _ in range(3)})] for name in names]

    def _leave(self) -> None:
        self._with_present(self._leave_of)

    def _leave_of(self, consumer: _Consumer) -> None:
        is_static = consumer.instance_id is not None
        epoch = -2 if is_static and self.rng.random() < 0.7 else -1
        self.step("consumer_heartbeat", **consumer.request(), member_epoch=epoch)
        consumer.is_gone = True

    def _silence(self) -> None:
        self._with_present(lambda consumer: setattr(consumer, "is_gone", True))

    def _return(self) -> None:
        """A process starts again, with a new member id or the old one."""
        if self._consumers:
            consumer = self.rng.choice(self._consumers)
            if self.rng.random() < 0.7:
                consumer.id = self.uuid()
            self._join_with(consumer)

    def _steal(self) -> None:
        """A process uses an instance id that another one may have."""

        def steal(consumer: _Consumer) -> None:
            instance_id = f"i{self.rng.randint(0, 4)}"
            epoch = self.rng.choice(["last", "last", 0, -1, -2])
            fields = consumer.full() if epoch == 0 else {}
            owned = {"owned": []} if epoch == 0 else {}
            changes = {"instance_id": instance_id, "member_epoch": epoch}
            self.step("consumer_heartbeat", **(consumer.request() | fields | owned | changes))

        self._with_present(steal)

    def _regex(self) -> None:
        def change(consumer: _Consumer) -> None:
            consumer.regex = self.rng.choice(REGEXES)
            consumer.topics = self.rng.choice([None, None, [], ["a"]])
            self.step(
                "consumer_heartbeat",
                **consumer.request(),
                **consumer.full(),
                member_epoch="last",
                owned="last",
            )

        self._with_present(change)

    def _subscribe(self) -> None:
        def change(consumer: _Consumer) -> None:
            consumer.topics = list(self.rng.choice(SUBSCRIPTIONS))
            self._beat_of(consumer, brief=False, **consumer.full())

        self._with_present(change)

    def _vote(self) -> None:
        def change(consumer: _Consumer) -> None:
            consumer.assignor = self.rng.choice(["uniform", "range"])
            self._beat_of(consumer, brief=False, **consumer.full())

        self._with_present(change)

    def _with_present(self, act: Callable[[_Consumer], None]) -> None:
        present = [each for each in self._consumers if not each.is_gone]
        if present:
            act(self.rng.choice(present))
        else:
            self._return()

    # -- offsets, topics and time

    def _commit(self) -> None:
        rng = self.rng
        fields: Step = {"member": "", "generation": -1}
        if self._consumers and rng.random() < 0.9:
            consumer = rng.choice(self._consumers)
            epoch = rng.choice(["last", "last", 1, 2, 3, self._former_answer()])
            fields = {"member": consumer.id, "generation": epoch}
        rows = [[rng.choice(TOPICS), rng.randint(0, 3), rng.randint(0, 99), "m"] for _ in range(2)]
        version = rng.choice([9, 9, 9, 8, 10])
        self.step("commit", group="g", version=version, offsets=rows[: rng.randint(1, 2)], **fields)

    def _fetch(self) -> None:
        self.step("fetch", group="g", offsets=[[name, 0] for name in TOPICS[:3]])

    def _topics(self) -> None:
        self.change_topics()

    def _pause(self) -> None:
        """Past the ten seconds in which regular expressions are not resolved again."""
        self.now_ms += self.rng.choice([9999, 10000, 10001, 20000])
        self._round()

    def _wait(self) -> None:
        self.wait()

    def _disturb(self) -> None:
        kind = self.rng.choice(["look", "look", "fault", "reload", "delete", "describe", "list"])
        if kind == "look":
            self.step("consumer_describe", group="g")
        elif kind == "fault":
            self.step("fault", group="g", append_error=self.rng.choice(FAULTS))
        elif kind in ("delete", "describe"):
            self.step(kind, group="g")
        else:
            self.step(kind)

    def _configure(self) -> None:
        name = self.rng.choice(["session.timeout.ms", "heartbeat.interval.ms"])
        value = {"session.timeout.ms": [8000, 45000], "heartbeat.interval.ms": [5000, 7000]}[name]
        configs = {f"consumer.{name}": self.rng.choice(value)}
        self.step("group_config", group="g", configs=configs)

    # -- classic members

    def _join(self) -> None:
        rng = self.rng
        if len(self._classic) < 4 and rng.random() < 0.5:
            self._classic.append(_ClassicConsumer(self, len(self._classic)))
        if self._classic:
            self._join_of(rng.choice(self._classic))

    def _join_of(self, classic: _ClassicConsumer) -> None:
        rng = self.rng
        if rng.random() < 0.1:
            classic.member = ""
        names = rng.choice([["range"], ["range", "cooperative-sticky"], ["cooperative-sticky"]])
        metadata = _subscription(rng, classic.topics)
        classic.joined = self.step(
            "join",
            group="g",
            client_id=classic.client_id,
            client_host="/127.0.0.1",
            member=classic.member,
            instance_id=classic.instance_id,
            session_timeout_ms=classic.session_timeout_ms,
            rebalance_timeout_ms=classic.rebalance_timeout_ms,
            protocol_type="consumer" if rng.random() < 0.97 else "connect",
            protocols=[[name, metadata] for name in names],
            requires_known_member_id=classic.needs_id,
            reason=None,
        )
        classic.member = classic.member or classic.joined

    def _sync(self) -> None:
        def sync(classic: _ClassicConsumer) -> None:
            rows = [[each.joined, _assignment(n)] for n, each in enumerate(self._classic)]
            fields = {"protocol_type": "consumer", "protocol_name": "range"}
            self._classic_step("sync", classic, assignments=rows, **fields)

        self._with_classic(sync)

    def _classic_beat(self) -> None:
        self._with_classic(lambda classic: self._classic_step("heartbeat", classic))

    def _classic_step(self, op: str, classic: _ClassicConsumer, **fields: Any) -> None:
        self.step(
            op,
            group="g",
            member=classic.member,
            instance_id=classic.instance_id,
            generation=classic.joined if self.rng.random() < 0.95 else self.rng.randint(0, 6),
            **fields,
        )

    def _classic_leave(self) -> None:
        def leave(classic: _ClassicConsumer) -> None:
            self.step("leave", group="g", members=[[classic.member, classic.instance_id]])
            if self.rng.random() < 0.7:
                classic.member = ""

        self._with_classic(leave)

    def _with_classic(self, act: Callable[[_ClassicConsumer], None]) -> None:
        joined = [each for each in self._classic if each.joined]
        if joined:
            act(self.rng.choice(joined))
        else:
            self._join()


def _weights(themes: Sequence[str]) -> dict[str, float]:
    weights: dict[str, float] = dict(ALWAYS)
    for theme in themes:
        for name, weight in THEMES[theme].items():
            weights[name] = weights.get(name, 0) + weight
    return weights


def _subscription(rng: random.Random, topics: Sequence[str]) -> str:
    """A subscription of any version, seldom an unreadable one; base64."""
    if rng.random() < 0.03:
        return rng.choice(["", "AA==", "AAEAAAAB", "//8AAAAA"])
    version = rng.choice([0, 1, 1, 3])
    body = struct.pack(">hi", version, len(topics)) + b"".join(map(_text, topics))
    body += struct.pack(">i", -1)  # no user data
    if version >= 1:
        owned = [name for name in topics if rng.random() < 0.5]
        body += struct.pack(">i", len(owned))
        for name in owned:
            partitions = sorted({rng.randint(0, 5) for _ in range(2)})
            body += _text(name) + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    if version >= 2:
        body += struct.pack(">i", rng.randint(-1, 6))
    if version >= 3:
        body += _text(rng.choice(RACKS)) if rng.random() < 0.5 else struct.pack(">h", -1)
    return base64.b64encode(body).decode()


def _assignment(partition: int) -> str:
    body = struct.pack(">hi", 1, 1) + _text("a") + struct.pack(">iii", 1, partition, -1)
    return base64.b64encode(body).decode()


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()
