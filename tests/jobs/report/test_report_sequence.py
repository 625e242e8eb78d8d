"""One rebalance as a Mermaid sequence, from the evidence of a real group."""

from pathlib import Path

import pytest

from coordinator_core.incident import incarnations, replay
from jobs.console.errors import UsageError
from jobs.report import sequence
from tests.core.incident.incident_rows import of_example

SILENT_FOLLOWER = """\
sequenceDiagram
    participant p0 as inventory-pod-1
    participant p1 as inventory-pod-4
    participant p2 as inventory-pod-3
    participant p3 as coordinator
    participant p4 as log
    Note over p3: 0 s inventory-pod-2 (127.0.0.1) was not heard of for 20.0 s: put out
    Note over p3: 0 s a rebalance begins, for generation 2: inventory-pod-2 (127.0.0.1) is silent
    p0->>p3: 2.592 s JoinGroup, again
    p1->>p3: 2.592 s JoinGroup, again
    p2->>p3: 2.592 s JoinGroup, again
    Note over p3: 2.592 s generation 2 has 3 members, all there after 2.6 s
    p1->>p3: 2.606 s SyncGroup (assumed)
    p2->>p3: 2.606 s SyncGroup (assumed)
    p0->>p3: 2.606 s SyncGroup, with the assignment of 3 members
    Note over p3: 2.606 s its leader inventory-pod-1 (127.0.0.1) brings the assignment after 14 ms\
#59; everybody waited 2.6 s
    p3->>p4: 2.606 s group record: generation 2, 3 members
"""


def renamed(record, name):
    """All members with one client id, none of them static."""
    members = record.get("members") or []
    changed = [member | {"client_id": name, "instance_id": None} for member in members]
    return record | {"members": changed} if members else record


@pytest.fixture(scope="module")
def groups():
    """``groups(name)``: a captured group played again; ``rename`` gives all members one client."""
    evidence = of_example("3.9.1")

    def played(group, rename=None):
        records = evidence.records[group]
        if rename is not None:
            records = [renamed(record, rename) for record in records]
        return replay(incarnations(group, evidence.events[group], records))

    return played


@pytest.fixture
def mermaid(monkeypatch):
    """``mermaid(replay, generation)``: as the command makes it, of a replay instead of a lake."""

    def text(found, generation):
        monkeypatch.setattr(sequence, "replay_group", lambda options: found)
        return sequence.sequence("lake", "c", found.group_id, generation)

    return text


def test_who_asked_what_and_what_came_of_it(groups, mermaid):
    assert mermaid(groups("inventory-static"), "2") == SILENT_FOLLOWER


def test_the_one_in_the_docs_is_this_one():
    text = (Path(__file__).parents[3] / "docs" / "report.md").read_text(encoding="utf-8")

    assert f"```mermaid\n{SILENT_FOLLOWER}```" in text


def test_the_life_of_the_group_may_be_named(groups, mermaid):
    assert mermaid(groups("inventory-static"), "1.2") == SILENT_FOLLOWER


def test_a_generation_that_is_not_there_is_said(groups, mermaid):
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


def test_members_of_one_name_are_told_apart(groups, mermaid):
    lines = mermaid(groups("audit-python", rename="app"), "3").splitlines()

    named = [line.split(" as ")[1] for line in lines if "participant" in line]
    assert len(named) == len(set(named)) == 4
    assert all(name.startswith("app (audit-") for name in named[:2])


def test_a_client_called_as_the_coordinator_is_not_taken_for_it(groups, mermaid):
    lines = mermaid(groups("audit-python", rename="coordinator"), "2").splitlines()

    named = [line.split(" as ")[1] for line in lines if "participant" in line]
    assert named[-2:] == ["coordinator", "log"]
    assert named[0].startswith("coordinator (audit-")


def test_names_end_no_statement(groups, mermaid):
    text = mermaid(groups("audit-python", rename="a;\nb<script>#"), "2")

    assert "participant p0 as a#59; b#lt;script#gt;#35;\n" in text
    assert all(line.startswith(("sequenceDiagram", "    ")) for line in text.splitlines())
