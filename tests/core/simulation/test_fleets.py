"""Each fleet of examples/fleets shows the problem that it is named after."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from coordinator_core.simulation import BrokerLogLine, TruthLine, fleet_of, simulate

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[3] / "docs" / "simulation.md"
FLEETS = Path(__file__).parents[3] / "examples" / "fleets"
START_MS = 1_795_161_600_000


class PlayedFleet:
    def __init__(self, name, changed):
        values = tomllib.loads((FLEETS / f"{name}.toml").read_text(encoding="utf-8"))
        values.pop("start")
        assert values["name"] == name
        outputs = list(simulate(fleet_of(values | changed), START_MS, traces=False))
        truth_lines = [output.truth for output in outputs if isinstance(output, TruthLine)]
        self.lines = [output.text for output in outputs if isinstance(output, BrokerLogLine)]
        self.generations = [each for each in truth_lines if each["truth"] == "generation"]
        self.groups = [each for each in truth_lines if each["truth"] == "group"]
        self.ends = Counter(each["how"] for each in truth_lines if each["truth"] == "end")
        self.actions = Counter(each["action"] for each in truth_lines if each["truth"] == "action")

    def total(self, name):
        return sum(group[name] for group in self.groups)

    def causes(self):
        return Counter(each["cause"] for each in self.generations)

    def outcomes(self):
        return Counter(each["outcome"] for each in self.generations)


@pytest.fixture(scope="module")
def played():
    cache = {}

    def play(name, **changed):
        if (name, *changed) not in cache:
            cache[name, *changed] = PlayedFleet(name, changed)
        return cache[name, *changed]

    return play


def test_every_fleet_has_a_test():
    tested = {name for name in globals() if name.startswith("test_")}

    assert {path.stem.replace("-", "_") for path in FLEETS.glob("*.toml")} <= {
        name.removeprefix("test_") for name in tested
    }


def test_rolling_deploy_storm(played):
    """Replacing six processes causes twelve rebalances and moves every partition several times."""
    fleet = played("rolling-deploy-storm")

    assert fleet.actions == {"start": 12, "stop": 6}
    assert fleet.causes() == {"LEAVE": 6, "MEMBER_NEW": 7}
    assert fleet.total("partitions_moved") > 4 * 24


def test_flapping_member(played):
    """Each of fourteen cuts causes a session expiry and a rejoin.  All members revoke each time,
    and the member that is cut off keeps consuming partitions that others own by then.
    """
    fleet = played("flapping-member")

    assert fleet.actions["cut"] == 14
    assert fleet.total("members_expired") == 14
    assert fleet.causes() == {"SESSION_EXPIRY": 14, "MEMBER_NEW": 15}
    assert fleet.total("double_owned_partition_ms") > 14 * 4 * 5_000


def test_slow_poll_loop(played):
    """Each slow poll (90 s, max.poll.interval.ms is 60 s) causes a leave and a rejoin; the tenth is
    not over when the fleet ends.
    """
    fleet = played("slow-poll-loop")

    assert fleet.actions["slow"] == 10
    assert fleet.causes()["LEAVE_POLL_TIMEOUT"] == 9
    assert fleet.causes()["MEMBER_NEW"] == 10
    assert fleet.total("members_expired") == 0


def test_stuck_leader(played):
    """The group joins, but has no assignment until the leader's session expires."""
    fleet = played("stuck-leader")
    first, second, _ = fleet.generations

    assert (first["outcome"], second["outcome"]) == ("superseded", "stable")
    assert first["assigned_ms"] is None
    assert second["assigned_ms"] - first["joined_ms"] > 44_000
    assert second["member_count"] == 3


def test_cooperative_ping_pong(played):
    """36 times a process is added or removed: a leave is one rebalance, a join two, and each moves
    few partitions.
    """
    fleet = played("cooperative-ping-pong")
    generations = len(fleet.generations)

    assert fleet.causes()["LEAVE"] == 18
    assert fleet.causes()["MEMBER_NEW"] == 19
    assert generations > 18 + 19 + 15
    assert fleet.total("partitions_moved") <= 36 * 4


def test_static_twins_fencing(played):
    """Two processes with one instance id: each start fences the other, without a rebalance."""
    fleet = played("static-twins-fencing")

    assert fleet.ends["failed: FENCED_INSTANCE_ID"] > 60
    assert fleet.total("generations") == 1
    assert sum("Replacing previously mapped member" in line for line in fleet.lines) > 60
    assert fleet.total("double_owned_partition_ms") > 0


def test_group_max_size_lockout(played):
    """Refused processes fail and are refused again.  A member that is refused while it rejoins
    makes the rebalance wait for its timeout.
    """
    fleet = played("group-max-size-lockout")

    assert fleet.ends["failed: GROUP_MAX_SIZE_REACHED"] > 50
    assert max(each["member_count"] or 0 for each in fleet.generations) == 4
    assert max(each["join_ms"] or 0 for each in fleet.generations) == 300_000


def test_coordinator_failover_storm(played):
    """Without faults the deployment has nine generations per group.  With faults no rebalance
    completes for a minute and a half, and each attempt to join creates a member id.
    """
    fleet, without_faults = (
        played("coordinator-failover-storm"),
        played("coordinator-failover-storm", faults=[]),
    )

    assert sum("Finished loading" in line for line in fleet.lines) == 5 + 45 * 5 + 10
    assert without_faults.total("generations") == 4 * 9
    assert fleet.total("generations") == 4 * 2
    assert fleet.total("member_ids") > 10 * without_faults.total("member_ids")
    assert fleet.total("unowned_partition_ms") > 50 * without_faults.total("unowned_partition_ms")


def test_thundering_start_with_initial_delay(played):
    """Thirty starts within twenty seconds form one generation after 24 s: each new member extends
    the initial delay, and no partition moves.
    """
    fleet = played("thundering-start-with-initial-delay")

    assert fleet.outcomes() == {"stable": 1}
    assert fleet.generations[0]["member_count"] == 30
    assert fleet.generations[0]["join_ms"] == 24_000
    assert fleet.total("partitions_moved") == 0


def test_thundering_start_without_initial_delay(played):
    """Without the initial delay there are eight generations, and partitions move in each."""
    fleet = played("thundering-start-without-initial-delay")

    assert fleet.total("generations") == 8
    assert fleet.total("partitions_moved") > 4 * 60


@pytest.mark.parametrize("name", sorted(path.stem for path in FLEETS.glob("*.toml")))
def test_the_docs_have_the_fleets_numbers(played, name):
    fleet = played(name)
    (row,) = [
        line.split("|")
        for line in DOCS.read_text(encoding="utf-8").splitlines()
        if line.startswith(f"| {name} |")
    ]
    seconds = ("rebalance_ms", "unowned_partition_ms", "double_owned_partition_ms")

    assert [float(cell) for cell in row[4:9]] == [
        fleet.total("generations"),
        *(round(fleet.total(column) / 1000, 1) for column in seconds),
        fleet.total("member_ids"),
    ]
