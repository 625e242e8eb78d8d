"""The figures of the league, from what the processes and the broker of a play wrote."""

import json
from datetime import UTC, datetime

import pytest

from bench.league.truth import write
from tools.client_zoo_league import cells

T0 = 1_795_000_000_000
GROUP = "league-java"


def action(at_s, what, process, pid):
    fields = {"action": what, "process": f"orders-{process}", "group": GROUP, "pid": pid}
    return {"wall_ms": T0 + 1000 * at_s, **fields}


def callback(at_s, what, process, pid, *partitions):
    fields = {"client": f"orders-{process}", "group": GROUP, "pid": pid, "what": what}
    return {"wall_ms": T0 + 1000 * at_s, **fields, "partitions": partitions}


def line(at_s, text):
    at = datetime.fromtimestamp(T0 / 1000 + at_s, UTC)
    return f"[{at:%Y-%m-%d %H:%M:%S},000] INFO {text} (c)\n"


ACTIONS = [
    action(0, "start", 1, 11),
    action(0, "start", 2, 21),
    action(20, "stop", 1, 11),
    action(22, "start", 1, 12),
    action(40, "kill", 2, 21),
    action(50, "start", 2, 22),
    action(60, "slow", 1, 12),
    action(100, "freeze", 2, 22),
    action(140, "stop", 1, 12),
    action(140, "stop", 2, 22),
]
CALLBACKS = [
    {**callback(1, "started", 1, 11), "library": "kafka-clients 4.4.0"},
    callback(3, "assigned", 1, 11, 0, 1, 2),
    callback(4, "assigned", 2, 21, 3, 4, 5),
    callback(20, "closed", 1, 11),
    callback(21, "revoked", 2, 21, 3, 4, 5),
    callback(22, "assigned", 2, 21, 0, 1, 2, 3, 4, 5),
    callback(51, "assigned", 1, 12, 0, 1, 2, 3, 4, 5),
    callback(90, "lost", 1, 12, 0, 1, 2, 3, 4, 5),
    callback(92, "assigned", 2, 22, 0, 1, 2, 3, 4, 5),
]
LOG = [
    line(1, f"Preparing to rebalance group {GROUP} in state Empty with old generation 0"),
    line(3, f"Assignment received from leader m for group {GROUP} for generation 1"),
    line(20, f"[Group {GROUP}] Member orders-1-aa has left group through explicit `LeaveGroup`"),
    line(20, f"Preparing to rebalance group {GROUP} in state Stable with old generation 1"),
    line(22, f"Assignment received from leader m for group {GROUP} for generation 2"),
    line(50, f"Member orders-2-bb in group {GROUP} has failed, removing it from the group"),
    line(80, f"[Group {GROUP}] Member orders-1-cc has left group through explicit `LeaveGroup`"),
    line(140, f"[Group {GROUP}] Member orders-1-dd has left group through explicit `LeaveGroup`"),
    line(140, f"[Group {GROUP}] Member orders-2-ee has left group through explicit `LeaveGroup`"),
    line(81, "Assignment received from leader m for group another for generation 2"),
]


@pytest.fixture
def play(tmp_path):
    begin = {
        "action": "script begins",
        "wall_ms": T0,
        "t0_wall_ms": T0,
        "broker": "4.4.0",
        "groups": {GROUP: {"client": "java", "protocol": "classic", "topic": "orders"}},
    }
    lines = "".join(json.dumps(each) + "\n" for each in [begin, *ACTIONS])
    (tmp_path / "timeline.jsonl").write_text(lines)
    (tmp_path / "clients.jsonl").write_text("".join(json.dumps(c) + "\n" for c in CALLBACKS))
    (tmp_path / "server.log").write_text("".join(LOG))
    (tmp_path / "clients").mkdir()
    handled = tmp_path / "clients" / f"{GROUP}.orders-1.11.handled"
    handled.write_text(f"{T0} 0 0\n{T0} 0 1\n{T0} 0 1\n{T0} 1 1\n")
    (tmp_path / "logs" / "java").mkdir(parents=True)
    for name in ("orders-1", "orders-2"):
        (tmp_path / "logs" / "java" / f"{GROUP}.{name}.log").write_text("")
    write(tmp_path)
    return tmp_path


def test_the_figures_of_a_group(play):
    of_group = json.loads((play / "truth.json").read_text())["groups"][GROUP]

    assert of_group["rebalances"] == 2
    assert of_group["not_stable_ms"] == 4000
    # Unowned are 3 partitions for 2 s after the stop, 3 for 1 s of the revocation, 6 for 11 s after
    # the kill, and 6 for 2 s after the loss.
    assert of_group["unowned_partition_ms"] == {"first_full_to_final_stop": 87_000}
    assert of_group["phases"]["roll"] == {"rebalances": 1, "unowned_partition_ms": 9000}
    assert of_group["handled"] == {"records": 4, "duplicates": 1}


def test_the_row_of_a_group(play):
    truth = json.loads((play / "truth.json").read_text())["groups"][GROUP]
    version = json.loads((play / "versions.json").read_text())["libraries"]["java"]

    assert cells(GROUP, truth, version) == (
        *(GROUP, "kafka-clients 4.4.0", "leaves after 0.0 s", "1.0", "9.0", "11.0"),
        *("leaves at 20; lost at 30", "stays a member", 1),
    )
