"""The reconciliation grid of consumer groups: what a heartbeat makes of its member."""

import pytest

from coordinator_core.coordinator.consumer import reconciliation
from coordinator_core.coordinator.consumer.group import ConsumerGroup, ConsumerMember
from coordinator_core.coordinator.consumer.reconciliation import Goal, reconciled
from coordinator_core.coordinator.consumer.states import ConsumerMemberState, Report
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.coordinator.offsets import OffsetStore
from coordinator_core.protocol.errors import CoordinatorBug

S = ConsumerMemberState.STABLE
V = ConsumerMemberState.UNREVOKED_PARTITIONS
L = ConsumerMemberState.UNRELEASED_PARTITIONS
TOPIC, OTHER_TOPIC = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"

# Partitions of one topic are written as one digit each.  The member has the partitions `has` in
# epoch 3, and must revoke `pending`. `target` belongs to the next `epoch`.  `says` is what the
# member says it owns, or None.  `busy` are partitions of another member.  S, V and L are the states
# of the member.
GRID = [
    # rule                                  state     has pending target epoch says busy  after
    ("at the target's epoch: no change",    S, "01", "",  "01", 3, None, "",   (S, 3, "01", "")),
    ("the same partitions: the new epoch",  S, "01", "",  "01", 5, None, "",   (S, 5, "01", "")),
    ("free partitions are taken at once",   S, "0",  "",  "01", 5, "0",  "",   (S, 5, "01", "")),
    ("another member's one is awaited",     S, "0",  "",  "01", 5, "0",  "1",  (L, 5, "0",  "")),
    ("free ones are taken, others awaited", S, "",   "",  "01", 5, "",   "1",  (L, 5, "0",  "")),
    ("it revokes before all else",          S, "01", "",  "12", 5, "01", "",   (V, 3, "1",  "0")),
    ("without a list it may own all",       S, "01", "",  "1",  5, None, "",   (V, 3, "1",  "0")),
    ("what it lacks needs no revoking",     S, "01", "",  "12", 5, "1",  "",   (S, 5, "12", "")),
    ("it stays while it owns some of them", V, "1",  "0", "12", 5, "01", "",   (V, 3, "1",  "0")),
    ("it stays while it does not say",      V, "1",  "0", "12", 5, None, "",   (V, 3, "1",  "0")),
    ("once revoked it goes on",             V, "1",  "0", "12", 5, "1",  "",   (S, 5, "12", "")),
    ("once revoked it may have to wait",    V, "1",  "0", "12", 5, "1",  "2",  (L, 5, "1",  "")),
    ("there may be more to revoke",         V, "12", "0", "2",  5, "12", "",   (V, 3, "2",  "1")),
    ("it takes a partition once it is free", L, "0", "",  "01", 3, None, "",   (S, 3, "01", "")),
    ("it waits on while it is not free",    L, "0",  "",  "01", 3, None, "1",  (L, 3, "0",  "")),
    ("a newer target can take from it",     L, "0",  "",  "1",  5, "0",  "1",  (V, 3, "",   "0")),
]  # fmt: skip
FIELDS = ["start", "has", "pending", "target", "epoch", "says", "busy", "expected"]


def group_with(busy):
    group = ConsumerGroup("g", 0, OffsetStore(ERAS["4.4"].partition_order()), 1)
    if busy:
        group.put_member(
            ConsumerMember(
                member_id="other", epoch=3, assigned={TOPIC: dict.fromkeys(map(int, busy), 3)}
            )
        )
    return group


def goal(target, epoch, says, busy, **fields):
    fields = {"names_topics": True, "subscription_changed": False, **fields}
    owned = None if says is None else {TOPIC: frozenset(map(int, says))}
    rules = ERAS["4.4"].modern
    wanted = {TOPIC: frozenset(map(int, target))} if target else {}
    subscribed = fields.pop("subscribed", frozenset({TOPIC}))
    return Goal(
        rules=rules,
        group=group_with(busy),
        epoch=epoch,
        target=wanted,
        owned=owned,
        subscribed=subscribed,
        **fields,
    )


def owned(partitions):
    return {TOPIC: dict.fromkeys(map(int, partitions), 2)} if partitions else {}


def partitions(of):
    return "".join(map(str, sorted(of.get(TOPIC, ()))))


@pytest.mark.parametrize(FIELDS, [row[1:] for row in GRID], ids=[row[0] for row in GRID])
def test_a_heartbeat_leads_the_member_towards_its_target(
    start, has, pending, target, epoch, says, busy, expected
):
    member = ConsumerMember(
        member_id="m",
        epoch=3,
        previous_epoch=2,
        state=start,
        assigned=owned(has),
        pending=owned(pending),
    )

    after = reconciled(member, goal(target, epoch, says, busy))

    shown = after.state, after.epoch, partitions(after.assigned), partitions(after.pending)
    assert shown == expected


def test_a_partition_has_the_epoch_at_which_it_was_assigned():
    member = ConsumerMember(member_id="m", epoch=3, previous_epoch=2, state=S, assigned=owned("0"))

    after = reconciled(member, goal("01", 5, "0", ""))

    assert after.assigned == {TOPIC: {0: 2, 1: 5}}


def test_topics_that_a_member_drops_are_revoked_before_a_new_target():
    """From 4.4 on; the epoch stays."""
    member = ConsumerMember(member_id="m", epoch=3, previous_epoch=2, state=S, assigned=owned("01"))
    changed = {"subscription_changed": True, "subscribed": frozenset({OTHER_TOPIC})}

    after = reconciled(member, goal("01", 3, "01", "", **changed))

    assert (after.state, after.epoch, after.previous_epoch) == (V, 3, 3)
    assert (partitions(after.assigned), partitions(after.pending)) == ("", "01")


def test_a_member_that_waits_always_has_a_target_to_go_to():
    member = ConsumerMember(member_id="m", epoch=3, previous_epoch=2, state=L, assigned=owned("0"))

    with pytest.raises(CoordinatorBug):
        reconciliation.GRID[L][Report.UNCHANGED](member, goal("0", 3, None, ""))
