"""The periodic clean-up: which offsets it removes, in which order, and in which appends."""

import pytest

from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.jvm.hash_codes import partition_for
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Append, DeleteGroup, JoinGroup, OffsetCommit, Respond
from coordinator_core.records import decode

SUBSCRIPTION_TO_T = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"
MINUTE_MS = 60_000
CONFIG = CoordinatorConfig(
    group_initial_rebalance_delay_ms=0,
    offsets_retention_ms=MINUTE_MS,
    offsets_retention_check_interval_ms=MINUTE_MS,
)


class FailingLogBroker:
    """A coordinator whose next append may fail; the log as a list of appends."""

    def __init__(self, era):
        self.coordinator = Coordinator(CONFIG, ERAS[era], lambda group_id, prefix: prefix)
        self.fault = Errors.NONE
        self.appends = []
        self.answers = []

    def send(self, request, now_ms=0):
        self._perform(self.coordinator.handle(request, now_ms), now_ms)

    def wait(self, now_ms):
        while (fired := self.coordinator.fire_next(now_ms)) is not None:
            self._perform(fired, now_ms)

    def _perform(self, effects, now_ms):
        for effect in effects:
            if isinstance(effect, Append):
                error, self.fault = self.fault, Errors.NONE
                if error is Errors.NONE:
                    self.appends.append(effect)
                self._perform(self.coordinator.appended(effect, error, now_ms), now_ms)
            elif isinstance(effect, Respond):
                self.answers.append(effect.response)


def commit(group_id, *partitions):
    return OffsetCommit(
        request_id="c",
        group_id=group_id,
        member_id="",
        generation=-1,
        offsets=tuple((t, p, 5, "") for t, p in partitions),
    )


def removed(append):
    """The partitions and group ids for which an append has tombstones."""
    keys = [decode(key, value).key for key, value in append.records if value is None]
    return [(k["topic"], k["partition"]) if "topic" in k else k["group"] for k in keys]


def test_in_4_1_each_partition_of_the_log_has_its_own_append():
    broker = FailingLogBroker("4.1")
    for group_id in ("a", "b"):
        broker.send(commit(group_id, ("t", 0)))
    before = len(broker.appends)
    broker.fault = Errors.NOT_LEADER_OR_FOLLOWER  # The first group is in partition 47.

    broker.wait(2 * MINUTE_MS)

    first, second = broker.appends[before : before + 2]
    assert (first.partition, removed(first)) == (partition_for("b"), [("t", 0), "b"])
    assert (second.partition, removed(second)) == (partition_for("a"), [("t", 0), "a"])


@pytest.mark.parametrize(("faults", "order"), [(0, [2, 0]), (1, [0, 2]), (2, [0, 2])])
def test_in_4_1_a_reverted_removal_may_change_the_order_of_offsets(faults, order):
    broker = FailingLogBroker("4.1")
    broker.send(commit("g", ("t", 0), ("t", 2)))
    for _ in range(faults):
        broker.fault = Errors.MESSAGE_TOO_LARGE
        broker.send(DeleteGroup("d", "g"))

    broker.send(DeleteGroup("d", "g"))

    assert removed(broker.appends[-1]) == [*[("t", number) for number in order], "g"]


@pytest.mark.parametrize(("era", "expires"), [("4.1", False), ("3.9", False), ("2.5", True)])
def test_since_kafka_13636_offsets_without_subscriber_expire_only_in_stable_groups(era, expires):
    broker = FailingLogBroker(era)
    broker.send(commit("g", ("u", 0)))
    protocols = (("range", SUBSCRIPTION_TO_T),)
    at_ms = MINUTE_MS - 1
    broker.wait(at_ms)
    broker.send(
        JoinGroup(
            request_id="j",
            group_id="g",
            member_id="",
            instance_id=None,
            client_id="c",
            client_host="/h",
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            protocol_type="consumer",
            protocols=protocols,
        ),
        at_ms,
    )
    before = len(broker.appends)

    broker.wait(MINUTE_MS)

    assert [removed(append) for append in broker.appends[before:]] == [[("u", 0)]] * expires
