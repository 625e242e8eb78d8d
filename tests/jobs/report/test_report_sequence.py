"""One rebalance as a Mermaid sequence, from the evidence of a captured group."""

from pathlib import Path

import pytest

from coordinator_core.incident import incarnations, replay
from jobs.console.errors import UsageError
from jobs.report import sequence
from tests.core.incident.incident_rows import of_example

EXPIRED_FOLLOWER = """\
sequenceDiagram
    participant p0 as inventory-pod-1
    participant p1 as inventory-pod-4
    participant p2 as inventory-pod-3
    participant p3 as coordinator
    participant p4 as log
    Note over p3: 0 s no heartbeat from inventory-pod-2 (127.0.0.1) for 20.0 s: session expired, \
member removed
    Note over p3: 0 s rebalance starts for generation 2: session of inventory-pod-2 (127.0.0.1) \
expired
    p0->>p3: 2.592 s JoinGroup, rejoin
    p1->>p3: 2.592 s JoinGroup, rejoin
    p2->>p3: 2.592 s JoinGroup, rejoin
    Note over p3: 2.592 s join of generation 2 completes with 3 members after 2.6 s
    p1->>p3: 2.606 s SyncGroup (assumed)
    p2->>p3: 2.606 s SyncGroup (assumed)
    p0->>p3: 2.606 s SyncGroup, with the assignment of 3 members
    Note over p3: 2.606 s leader inventory-pod-1 (127.0.0.1) sends the assignment (SyncGroup) \
after 14 ms#59; the rebalance took 2.6 s
    p3->>p4: 2.606 s group record: generation 2, 3 members
"""


def renamed(record, name):
    """All members with one client id, none of them static."""
    members = record.get("members") or []
    changed = [member | {"client_id": name, "instance_id": None} for member in members]
    return record | {"members": changed} if members else record


@pytest.fixture(scope="module")
def groups():
    """``groups(name)``: replay a captured group; ``rename``: one client id for all members."""
    evidence = of_example("3.9.1")

    def replay_named(group, rename=None):
        records = evidence.records[group]
        if rename is not None:
            records = [renamed(record, rename) for record in records]
        return replay(incarnations(group, evidence.events[group], records))

    return replay_named


@pytest.fixture
def mermaid(monkeypatch):
    """``mermaid(replay, generation)``: the command's output for a replay, without a lake."""

    def text(group_replay, generation):
        monkeypatch.setattr(sequence, "replay_group", lambda options: group_replay)
        monkeypatch.setattr(sequence, "_new_type", lambda *place: None)
        return sequence.sequence("lake", "c", group_replay.group_id, generation)

    return text


def test_requests_log_lines_and_records(groups, mermaid):
    assert mermaid(groups("inventory-static"), "2") == EXPIRED_FOLLOWER


def test_the_diagram_in_the_docs():
    text = (Path(__file__).parents[3] / "docs" / "report.md").read_text(encoding="utf-8")

    assert f"```mermaid\n{EXPIRED_FOLLOWER}```" in text


def test_a_generation_with_its_incarnation(groups, mermaid):
    assert mermaid(groups("inventory-static"), "1.2") == EXPIRED_FOLLOWER


def test_a_missing_generation(groups, mermaid):
    with pytest.raises(
        UsageError, match=r"^--mermaid 2\.2: no such generation of inventory-static;"
    ):
        mermaid(groups("inventory-static"), "2.2")
    with pytest.raises(UsageError, match=r"; it has 1 to 5$"):
        mermaid(groups("inventory-static"), "soon")


def test_a_restarted_process_is_one_participant(groups, mermaid):
    text = mermaid(groups("audit-python"), "2")

    assert "participant p0 as audit-1\n" in text
    assert "    p0->>p2: 0 s LeaveGroup\n" in text
    assert "    p0->>p2: 5.265 s JoinGroup, no member id\n" in text


def test_members_with_equal_names_have_their_member_ids(groups, mermaid):
    lines = mermaid(groups("audit-python", rename="app"), "3").splitlines()

    participants = [line.split(" as ")[1] for line in lines if "participant" in line]
    assert len(participants) == len(set(participants)) == 4
    assert all(name.startswith("app (audit-") for name in participants[:2])


def test_a_client_named_coordinator_has_its_member_id(groups, mermaid):
    lines = mermaid(groups("audit-python", rename="coordinator"), "2").splitlines()

    participants = [line.split(" as ")[1] for line in lines if "participant" in line]
    assert participants[-2:] == ["coordinator", "log"]
    assert participants[0].startswith("coordinator (audit-")


def test_names_are_escaped(groups, mermaid):
    text = mermaid(groups("audit-python", rename="a;\nb<script>#"), "2")

    assert "participant p0 as a#59; b#lt;script#gt;#35;\n" in text
    assert all(line.startswith(("sequenceDiagram", "    ")) for line in text.splitlines())
