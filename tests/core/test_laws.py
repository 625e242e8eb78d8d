"""Laws of the protocol that hold in every era for all client behavior."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    CommitResponse,
    DeleteGroup,
    DescribeGroup,
    Event,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    Leaver,
    OffsetCommit,
    OffsetFetch,
    Respond,
    SyncGroup,
    SyncResponse,
)
from coordinator_core.records import decode

pytestmark = pytest.mark.slow

SUBSCRIPTION = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"
CHOICES = [("range",), ("range", "sticky"), ("sticky", "range")]
FAILURES = [Errors.NOT_LEADER_OR_FOLLOWER, Errors.REQUEST_TIMED_OUT, Errors.MESSAGE_TOO_LARGE]
LONGEST_TIMER_MS = 300_000


class GroupMachine(RuleBasedStateMachine):
    """Up to six clients of one group, a log, and time."""

    era = "4.1"

    @initialize(delay_ms=st.sampled_from([0, 3000]), limit=st.sampled_from([2, 1000]))
    def start(self, delay_ms, limit):
        config = CoordinatorConfig(group_initial_rebalance_delay_ms=delay_ms, group_max_size=limit)
        self.coordinator = Coordinator(config, ERAS[self.era], self._new_id)
        self.now_ms = 0
        self.ids = 0
        self.requests = {}  # request id -> request that is not answered yet
        self.sent = 0
        self.clients = {}  # client id -> (member id, generation) of the client's last answer
        self.log = []
        self.pending = []  # appends that have not ended yet
        self.generation = 0  # highest generation in this incarnation of the group
        self.handed_out = {}  # generation -> assignments that are in the log
        self.slow = set()  # accepted commits that wait for the log
        self.replaced = set()  # joins and syncs that a repetition replaced
        self.log_differs = False
        self.fault = None  # error with which the next append fails

    def _new_id(self, group_id, prefix):
        self.ids += 1
        return f"{prefix}-{self.ids}"

    # -- actions of clients and the broker

    def _send(self, make):
        self.sent += 1
        request = make(f"r{self.sent}")
        self.requests[request.request_id] = request
        self._perform(self.coordinator.handle(request, self.now_ms))
        self._perform(self.coordinator.advance(self.now_ms))

    def _perform(self, effects):
        for effect in effects:
            if isinstance(effect, Append):
                self.pending.append(effect)
                if self.fault is not None:
                    error, self.fault = self.fault, None
                    self._end(effect, error)
            elif isinstance(effect, Respond):
                self._answered(effect)
            elif isinstance(effect, Event) and effect.kind == "STATE":
                self._moved(effect)

    def _answered(self, effect):
        request = self.requests.pop(effect.request_id, None)
        assert request is not None, "a request is answered at most once"
        response = effect.response
        if isinstance(response, JoinResponse) and response.member_id:
            self.clients[request.client_id] = (response.member_id, response.generation)
        if isinstance(response, SyncResponse) and response.error is Errors.NONE:
            in_log = self.handed_out[request.generation]
            assert response.assignment in in_log, "no assignment before its record is in the log"
        if isinstance(response, CommitResponse) and request.generation >= 0:
            old = request.generation < self.generation
            fine = [error for _, _, error in response.partitions if error is Errors.NONE]
            accepted_earlier = effect.request_id in self.slow
            assert not (old and fine) or accepted_earlier, "no commit of an old generation succeeds"

    def _moved(self, event):
        if event.state == "Dead":
            self.generation = 0
        else:
            assert event.generation >= self.generation, "generations never decrease"
            self.generation = event.generation

    @rule(client=st.integers(0, 5), protocols=st.sampled_from(CHOICES), fresh=st.booleans())
    def join(self, client, protocols, fresh):
        client_id = f"c{client}"
        static = client % 2 and ERAS[self.era].name in ("2.5", "3.9", "4.1")
        member_id = "" if fresh else self.clients.get(client_id, ("", 0))[0]
        self._drop_request_of(client_id, JoinGroup)
        self._send(
            lambda request_id: JoinGroup(
                request_id=request_id,
                group_id="g",
                member_id=member_id,
                instance_id=f"i{client}" if static else None,
                client_id=client_id,
                client_host="/h",
                session_timeout_ms=10_000,
                rebalance_timeout_ms=20_000,
                protocol_type="consumer",
                protocols=tuple((name, SUBSCRIPTION) for name in protocols),
                requires_known_member_id=not static and client > 2 and self.era not in OLD,
                supports_skipping_assignment=client == 5,
            )
        )

    @rule(client=st.integers(0, 5), named=st.integers(0, 5))
    def sync(self, client, named):
        member_id, generation = self.clients.get(f"c{client}", ("nobody", 1))
        everyone = [self.clients.get(f"c{n}", ("x", 0))[0] for n in range(named + 1)]
        sent = {each: f"{generation}/{each}".encode() for each in everyone}
        self._drop_request_of(member_id, SyncGroup)
        self._send(
            lambda request_id: SyncGroup(
                request_id=request_id,
                group_id="g",
                member_id=member_id,
                generation=generation,
                assignments=sent,
            )
        )

    def _drop_request_of(self, who, kind):
        """A repeated join or sync replaces the first, which is never answered."""
        for key, request in list(self.requests.items()):
            name = request.client_id if kind is JoinGroup and type(request) is kind else None
            name = request.member_id if kind is SyncGroup and type(request) is kind else name
            if name == who:
                self.replaced.add(key)

    @rule(client=st.integers(0, 5))
    def heartbeat(self, client):
        member_id, generation = self.clients.get(f"c{client}", ("nobody", 1))
        self._send(lambda request_id: Heartbeat(request_id, "g", member_id, generation))

    @rule(client=st.integers(0, 5), partition=st.integers(0, 2))
    def commit(self, client, partition):
        member_id, generation = self.clients.get(f"c{client}", ("", -1))
        offsets = (("u", partition, 5, ""),)
        before = set(self.requests)
        self._send(
            lambda request_id: OffsetCommit(
                request_id=request_id,
                group_id="g",
                member_id=member_id,
                generation=generation,
                offsets=offsets,
            )
        )
        self.slow |= set(self.requests) - before

    @rule(client=st.integers(0, 5))
    def leave(self, client):
        member_id, _ = self.clients.get(f"c{client}", ("nobody", 1))
        # The sync of a member that leaves before the leader's sync is not answered.
        self._drop_request_of(member_id, SyncGroup)
        self._send(lambda request_id: LeaveGroup(request_id, "g", (Leaver(member_id),)))

    @rule()
    def delete(self):
        # An append in flight when the group is deleted is in the log after the tombstone.
        self.log_differs |= bool(self.pending)
        self._send(lambda request_id: DeleteGroup(request_id, "g"))

    @rule(error=st.sampled_from(FAILURES))
    def the_next_append_fails(self, error):
        self.fault = error

    @rule(count=st.integers(1, 5), error=st.sampled_from([Errors.NONE, *FAILURES]))
    def end_appends(self, count, error):
        """End appends late; 4.x knows at once when an append fails."""
        for append in self.pending[:count]:
            self._end(append, Errors.NONE if self.era == "4.1" else error)

    def _end(self, append, error):
        self.pending.remove(append)
        self.log_differs |= error is not Errors.NONE
        if error is Errors.NONE:
            self.log += append.records
            for key, value in append.records:
                record = decode(key, value)
                if record.name == "GroupMetadata" and record.value is not None:
                    assignments = {m["assignment"] for m in record.value["members"]}
                    in_log = self.handed_out.setdefault(record.value["generation"], {b""})
                    in_log |= assignments
        self._perform(self.coordinator.appended(append, error, self.now_ms))

    @rule(pass_ms=st.sampled_from([1, 500, 3000, 9999, 10_000, 20_000]))
    def time_passes(self, pass_ms):
        end_ms = self.now_ms + pass_ms
        while (due_ms := self.coordinator.next_deadline_ms()) is not None and due_ms <= end_ms:
            assert due_ms >= self.now_ms, "time never runs backwards"
            self.now_ms = due_ms
            self._perform(self.coordinator.fire_next(due_ms))
        self.now_ms = end_ms

    # -- laws

    @invariant()
    def at_most_one_leader_and_it_is_a_member(self):
        group = self._group()
        if group is not None:
            assert (group.leader is None) == (not group.members)
            assert group.leader is None or group.leader in group.members

    @invariant()
    def requests_wait_only_while_a_timer_is_set(self):
        turn = self.coordinator._turn
        group = self._group()
        if group is None:
            return
        waiting = [m for m in group.members.values() if m.awaiting_join is not None]
        assert len(waiting) == group.awaiting_join_count
        if group.state is GroupState.PREPARING_REBALANCE:
            assert len(turn.timers.join_waits("g")) == 1
        else:
            assert waiting == []
        if group.state is not GroupState.COMPLETING_REBALANCE:
            assert not any(m.awaiting_sync for m in group.members.values())

    @invariant()
    def no_timer_is_left_behind(self):
        turn = self.coordinator._turn
        assert len(turn.wheel) == len(turn.timers)
        deadline_ms = self.coordinator.next_deadline_ms()
        assert deadline_ms is None or deadline_ms <= self.now_ms + LONGEST_TIMER_MS

    @invariant()
    def counters_equal_what_they_count(self):
        group = self._group()
        if group is None:
            return
        for name, count in group.supported.items():
            voters = [m for m in group.members.values() if name in dict(m.protocols)]
            assert count == len(voters)
        # 2.5 drops the instance id of a join that it refuses for group.max.size.
        if self.era != "2.5":
            static = {m.instance_id: m.member_id for m in group.members.values() if m.instance_id}
            assert group.static_members == static
        assert not set(group.pending) & set(group.members)
        assert set(group.pending_sync) <= set(group.members)

    def _group(self):
        return self.coordinator.groups.get("g")

    def teardown(self):
        """At the end all members are gone, all requests answered, and a reloaded group is equal."""
        if not hasattr(self, "coordinator"):
            return
        while self.pending:
            self._end(self.pending[0], Errors.NONE)
        self._same_when_reloaded()
        while self.coordinator.next_deadline_ms() is not None:
            self.time_passes(20_000)
            while self.pending:
                self._end(self.pending[0], Errors.NONE)
        left = set(self.requests) - self.replaced
        if self.era in OLD:  # KAFKA-7610: up to 2.1, the join of a removed member is not answered.
            left = {key for key in left if not isinstance(self.requests[key], JoinGroup)}
        assert left == set(), [self.requests[key] for key in left]
        group = self._group()
        assert group is None or not group.members

    def _same_when_reloaded(self):
        group = self._group()
        if group is None or group.state not in (GroupState.STABLE, GroupState.EMPTY):
            return
        if (
            self.log_differs or self.era == "2.5"
        ):  # 2.5 does not write the id of a static member that returned.
            return
        successor = Coordinator(CoordinatorConfig(), ERAS[self.era], self._new_id)
        successor.load(self.log, self.now_ms)
        for request in (DescribeGroup("d", "g"), OffsetFetch("f", "g", None)):
            expected = self.coordinator.handle(request, self.now_ms)
            reloaded = successor.handle(request, self.now_ms)
            if group.generation or group.offsets:
                assert reloaded == expected, f"{reloaded} != {expected}"


OLD = ("2.0", "0.10", "0.9")


def law_test(era_name):
    machine = type(f"GroupMachine{era_name}", (GroupMachine,), {"era": era_name})
    case = machine.TestCase
    case.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
    return case


TestLaws41 = law_test("4.1")
TestLaws39 = law_test("3.9")
TestLaws25 = law_test("2.5")
TestLaws20 = law_test("2.0")
TestLaws010 = law_test("0.10")
TestLaws09 = law_test("0.9")


@pytest.mark.parametrize("era", sorted(ERAS))
def test_memory_of_a_long_run_is_flat(era):
    coordinator = Coordinator(CoordinatorConfig(), ERAS[era], lambda group_id, prefix: prefix)
    turn = coordinator._turn
    sizes = []
    for beat in range(3000):
        now_ms = beat * 1000
        coordinator.advance(now_ms)
        if beat == 0:
            coordinator.handle(_join(), now_ms)
        if beat == 5:
            effects = coordinator.handle(
                SyncGroup(request_id="s", group_id="g", member_id="a", generation=1), now_ms
            )
            append = next(e for e in effects if isinstance(e, Append))
            coordinator.appended(append, Errors.NONE, now_ms)
        if beat > 5:
            coordinator.handle(Heartbeat("h", "g", "a", 1), now_ms)
        if beat % 1000 == 999:
            buckets = sum(map(len, turn.wheel._buckets))
            sizes.append((len(turn.wheel), buckets < 40, len(turn.timers), len(turn.log.in_flight)))
    assert sizes == [(1, True, 1, sizes[0][3])] * 3


def _join():
    protocols = (("range", SUBSCRIPTION),)
    return JoinGroup(
        request_id="j",
        group_id="g",
        member_id="",
        instance_id=None,
        client_id="a",
        client_host="/h",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=20_000,
        protocol_type="consumer",
        protocols=protocols,
    )
