"""Sequence diagrams: the texts of rows, and well-formed text and Mermaid output."""

import gzip
import json
import re
from pathlib import Path

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.diagram import as_mermaid, as_text, draw, record_scenario, record_trace
from coordinator_core.diagram.drawing import Arrow, Diagram, Note, Pause
from coordinator_core.scenarios.scenario import derived_ids, given_ids, play
from tools import modern_situations as modern
from tools.manual.folder import read_folder
from tools.situations import FOLDER, scripts, situations

DATA = Path(__file__).parents[1] / "data" / "coordinator"
ORDERS = "AAAAAAABAAZvcmRlcnP/////"  # subscribed to orders
ORDERS_0 = "AAAAAAABAAZvcmRlcnMAAAABAAAAAP////8="
ORDERS_1 = "AAAAAAABAAZvcmRlcnMAAAABAAAAAf////8="


def join(at_ms, step, member="", **fields):
    return {
        "at_ms": at_ms, "id": step, "op": "join", "group": "g", "member": member,
        "client_id": "c", "client_host": "/h", "instance_id": None, "session_timeout_ms": 6000,
        "rebalance_timeout_ms": 10000, "protocol_type": "consumer",
        "protocols": [["range", ORDERS]], "requires_known_member_id": False, **fields,
    }  # fmt: skip


def sync(at_ms, step, member, assignments=()):
    return {
        "at_ms": at_ms, "id": step, "op": "sync", "group": "g", "member": member,
        "generation": member, "protocol_type": "consumer", "protocol_name": "range",
        "assignments": [list(each) for each in assignments],
    }  # fmt: skip


def heartbeat(at_ms, step, member, **fields):
    return {
        "at_ms": at_ms, "id": step, "op": "heartbeat", "group": "g", "member": member,
        "generation": member, **fields,
    }  # fmt: skip


def wait(at_ms):
    return {"at_ms": at_ms, "id": "end", "op": "wait", "group": "g"}


def drawn(*steps, era="2.0", delay_ms=0, **config):
    config = {"group_initial_rebalance_delay_ms": delay_ms, **config}
    scenario = {"name": "s", "config": config, "steps": list(steps)}
    return draw(record_scenario(scenario, ERAS[era], derived_ids()))


def texts(diagram):
    return [row.text for row in diagram.rows if not isinstance(row, Pause)]


def notes(diagram):
    return [row.text for row in diagram.rows if isinstance(row, Note)]


TWO_MEMBERS = [
    join(0, "a1"),
    sync(0, "a2", "@a1", [("@a1", ORDERS_0)]),
    join(500, "b1"),
    heartbeat(1000, "a3", "@a1"),
    join(1000, "a4", "@a1"),
    sync(1100, "b2", "@b1"),
    sync(1100, "a5", "@a4", [("@a1", ORDERS_0), ("@b1", ORDERS_1)]),
    heartbeat(3000, "a6", "@a4"),
    heartbeat(5000, "a7", "@a4"),
    wait(8000),
]

# fmt: off
TWO_MEMBERS_TEXT = """\
s, era 0.10 (session timeout 6 s, rebalance timeout 10 s)

        a     b    coordinator   log
  0 s   ├─────┼─────────▶         │   JoinGroup, no member id, range for orders
        │     │         ●         │   PreparingRebalance, generation 0: rebalance starts: new member a
        │     │         ●         │   AwaitingSync, generation 1: a's JoinGroup creates the delayed join and completes it at once
        ◀╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌┤         │   JoinGroup: generation 1, leader of a
        ├─────┼─────────▶         │   SyncGroup, generation 1, a gets orders-0
        │     │         ├─────────▶   group record: generation 1, a has orders-0
        ◀╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌┤         │   SyncGroup: orders-0
        │     │         ●         │   Stable, generation 1
0.5 s   │     ├─────────▶         │   JoinGroup, no member id, range for orders
        │     │         ●         │   PreparingRebalance, generation 1: rebalance starts: new member b
        │     │         ●         │   b's JoinGroup creates the delayed join, which waits for a, at most until 10.5 s
  1 s   ◀─────┼─────────▶         │   Heartbeat, generation 1: REBALANCE_IN_PROGRESS
        ├─────┼─────────▶         │   JoinGroup, member a, same protocols
        │     │         ●         │   AwaitingSync, generation 2: a's JoinGroup completes the delayed join
        │     ◀╌╌╌╌╌╌╌╌╌┤         │   JoinGroup: generation 2, leader a
        ◀╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌┤         │   JoinGroup: generation 2, leader of a, b
1.1 s   │     ├─────────▶         │   SyncGroup, generation 2
        ├─────┼─────────▶         │   SyncGroup, generation 2, a gets orders-0, b gets orders-1
        │     │         ├─────────▶   group record: generation 2, a has orders-0, b has orders-1
        │     ◀╌╌╌╌╌╌╌╌╌┤         │   SyncGroup: orders-1
        ◀╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌┤         │   SyncGroup: orders-0
        │     │         ●         │   Stable, generation 2
        ┊     ┊         ┊         ┊   … 1.9 s …
  3 s   ◀─────┼─────────▶         │   Heartbeat, generation 2: NONE (2 times until 5 s)
        ┊     ┊         ┊         ┊   … 4.1 s …
7.1 s   │     │         ●         │   session of b expired, member removed
        │     │         ●         │   PreparingRebalance, generation 2: rebalance starts: session of b expired
        │     │         ●         │   b's session expiry creates the delayed join, which waits for a, at most until 17.1 s
"""  # noqa: E501  the output has long lines
# fmt: on


def test_a_complete_diagram_as_text():
    assert as_text(drawn(*TWO_MEMBERS, era="0.10")) == TWO_MEMBERS_TEXT


def test_a_diagram_in_mermaid():
    diagram = Diagram(
        "s",
        "",
        ("a", "coordinator", "log"),
        (
            Arrow(0, "a", "coordinator", "asks"),
            Pause(2500),
            Note(2500, "1 -> 2; #3"),
            Arrow(2500, "coordinator", "a", "answers", is_answer=True),
            Arrow(2501, "a", "coordinator", "both", is_both_ways=True),
        ),
    )

    assert as_mermaid(diagram).splitlines() == [
        "sequenceDiagram",
        "    participant p0 as a",
        "    participant p1 as coordinator",
        "    participant p2 as log",
        "    p0->>p1: 0 s asks",
        "    Note over p0,p2: 2.5 s later",
        "    Note over p1: 2.5 s 1 -#gt; 2#59; #35;3",
        "    p1-->>p0: 2.5 s answers",
        "    p0->>p1: 2.501 s both",
    ]


# -- participants and member ids -------------------------------------------------------------------


def test_a_second_member_id_of_a_client_has_a_number():
    diagram = drawn(join(0, "a1"), join(10, "b1"), join(20, "b2"), join(30, "a2", "@a1"))

    assert diagram.columns == ("a", "b", "coordinator", "log")
    assert "JoinGroup: generation 2, leader of a, b, b2" in texts(diagram)
    assert "JoinGroup: generation 2, member id b2, leader a" in texts(diagram)


def test_a_static_member_that_returns_has_a_second_id():
    static = {"instance_id": "i"}
    steps = [join(0, "a1", **static), sync(1, "a2", "@a1"), join(2, "a3", **static)]

    diagram = drawn(*steps, era="4.1")

    assert "a2 replaces a, instance i" in notes(diagram)
    assert texts(diagram)[-1] == "JoinGroup: generation 1, member id a2, leader a"


def test_an_id_that_no_answer_contained_is_shown_as_it_is():
    diagram = drawn(heartbeat(0, "x1", "stranger", generation=4))

    assert texts(diagram) == ["Heartbeat, as member stranger, generation 4: UNKNOWN_MEMBER_ID"]


def test_describe_and_delete_are_requests_of_an_admin():
    describe = {"at_ms": 1, "id": "d", "op": "describe", "group": "g"}

    diagram = drawn(join(0, "a1"), describe, join(2, "b1"))

    assert diagram.columns == ("a", "b", "admin", "coordinator", "log")
    assert "DescribeGroups: CompletingRebalance, a" in texts(diagram)


def test_rows_name_the_group_if_a_scenario_has_several():
    diagram = drawn(join(0, "a1"), {**join(0, "b1"), "group": "h"})

    assert texts(diagram)[0] == "g: JoinGroup, no member id, range for orders"
    assert any(text.startswith("h: PreparingRebalance") for text in texts(diagram))


# -- delayed joins ---------------------------------------------------------------------------------


def test_new_members_extend_an_initial_delayed_join():
    diagram = drawn(join(0, "a1"), join(1000, "b1"), wait(7000), delay_ms=3000)

    assert notes(diagram) == [
        "PreparingRebalance, generation 0: rebalance starts: new member a",
        "a's JoinGroup creates the initial delayed join, which waits until 3 s",
        "the initial delayed join still waits until 3 s",
        "new members joined: the initial delayed join is extended until 6 s",
        "CompletingRebalance, generation 1: the join timer completes the delayed join",
    ]


def test_a_delayed_join_completes_without_a_member_that_did_not_rejoin():
    steps = [join(0, "a1"), join(1, "b1"), join(2, "a2", "@a1"), join(3, "a3", "@a1")]
    changed = {"protocols": [["range", ORDERS], ["roundrobin", ORDERS]]}
    more = [join(4, "a4", "@a1", **changed), heartbeat(5000, "b2", "@b1"), wait(11000)]

    assert notes(drawn(*steps, *more))[-3:] == [
        "a's JoinGroup creates the delayed join, which waits for b, at most until 10.004 s",
        "b did not rejoin in time: members removed",
        "CompletingRebalance, generation 3: the join timer completes the delayed join",
    ]


def test_a_replaced_join_is_never_answered_and_the_last_one_not_yet():
    waiting = drawn(join(0, "a1"), join(500, "b1"), join(600, "c1"), join(700, "a2", "@a1"))
    taken = [join(1, "b1", requires_known_member_id=True), join(2, "b2", "@b1")]
    steps = [join(0, "a1"), sync(0, "a2", "@a1"), *taken, join(3, "b3", "@b1")]

    again = drawn(*steps, era="4.1")

    assert [each for each in notes(waiting) if "answered" in each] == []
    assert notes(again)[-2:] == [
        "never answered: b's JoinGroup at 0.002 s",
        "not answered yet: b's JoinGroup at 0.003 s",
    ]


def test_a_failed_append_has_a_note():
    fault = {"at_ms": 1, "id": "f", "op": "fault", "append_error": "NOT_LEADER_OR_FOLLOWER"}

    diagram = drawn(join(0, "a1"), {**fault, "group": "g"}, sync(2, "a2", "@a1"), era="4.1")

    assert "the next append will fail: NOT_LEADER_OR_FOLLOWER" in notes(diagram)
    assert "append failed" in notes(diagram)
    assert "SyncGroup: NOT_COORDINATOR" in texts(diagram)


def test_a_scenario_without_steps_has_no_rows():
    assert as_text(drawn()) == "s, era 2.0, initial delay 0 s\n\n  coordinator   log\n"


# -- traces ----------------------------------------------------------------------------------------


def rows(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_a_brokers_trace_is_drawn_with_its_log_lines():
    scenario = next(
        each for each in rows("broker-scenarios.jsonl.gz") if each["name"] == "old-new-member-first"
    )
    trace = next(r for r in rows("broker-2.0.1.jsonl.gz") if r["name"] == scenario["name"])["trace"]

    diagram = draw(record_trace(trace, scenario))

    first = texts(diagram)[:4]
    assert first == [
        "JoinGroup, no member id, range for orders",
        "rebalance starts",
        "join complete",
        "JoinGroup: generation 1, leader of a",
    ]
    assert "2.0.1" in diagram.title
    assert diagram.columns == ("a", "b", "c", "admin", "coordinator", "log")


@pytest.mark.parametrize("version", ["0.9.0.1", "2.0.1", "2.5.1", "3.9.1", "4.1.2"])
def test_every_answer_of_a_broker_is_drawn(version):
    scenarios = {each["name"]: each for each in rows("broker-scenarios.jsonl.gz")}
    for row in rows(f"broker-{version}.jsonl.gz"):
        diagram = draw(record_trace(row["trace"], scenarios[row["name"]]))

        answered = [line for line in row["trace"] if line["event"] == "response"]
        assert sum(drawn_answers(each) for each in diagram.rows) == len(answered)
        assert malformed(as_mermaid(diagram)) == []


def drawn_answers(row):
    """The number of answers in a row; several heartbeats may be folded into one row."""
    if not isinstance(row, Arrow) or not (row.is_answer or row.is_both_ways):
        return 0
    times = re.search(r"\((\d+) times until", row.text)
    return int(times[1]) if times else 1


@pytest.mark.parametrize("era", ["2.5", "4.1"])
def test_a_trace_is_drawn_with_the_same_arrows_as_its_scenario(era):
    for situation in situations():
        played = record_scenario(situation, ERAS[era], derived_ids())
        trace = play(situation, ERAS[era], derived_ids(), "")

        of_trace, of_scenario = draw(record_trace(trace, situation)), draw(played)

        assert arrows(of_trace) == arrows(of_scenario), situation["name"]


def arrows(diagram):
    return sorted(
        (row.at_ms, row.source, row.text) for row in diagram.rows if isinstance(row, Arrow)
    )


def test_a_trace_by_itself_has_no_requests():
    config = {"group_initial_rebalance_delay_ms": 0}
    trace = play({"config": config, "steps": TWO_MEMBERS}, ERAS["2.0"], derived_ids(), "r")

    diagram = draw(record_trace(trace))

    assert {row.source for row in diagram.rows if isinstance(row, Arrow)} == {"coordinator"}
    assert "JoinGroup: generation 2, leader of a, b" in texts(diagram)


def test_a_trace_without_a_start_line_is_refused():
    with pytest.raises(ValueError, match="start line"):
        record_trace([{"event": "response"}])


# -- well-formed output ----------------------------------------------------------------------------

PARTICIPANT = re.compile(r"    participant (p\d+) as \S.*")
MESSAGE = re.compile(r"    (p\d+)(->>|-->>)(p\d+): (.+)")
OVER = re.compile(r"    Note over (p\d+)(?:,(p\d+))?: (.+)")
ENTITY = re.compile(r"#(?:\d+|[a-z]+);")


def malformed(mermaid):
    """Lines that are not in the grammar of Mermaid sequence diagrams."""
    head, *lines = mermaid.splitlines()
    declared = {match[1] for line in lines if (match := PARTICIPANT.fullmatch(line))}
    bad = [] if head == "sequenceDiagram" else [head]
    for line in lines:
        if PARTICIPANT.fullmatch(line):
            continue
        match = MESSAGE.fullmatch(line) or OVER.fullmatch(line)
        used = set() if match is None else set(re.findall(r"\bp\d+\b", line.split(":")[0]))
        text = "" if match is None else ENTITY.sub("", match.groups()[-1])
        if match is None or not used <= declared or set("#;<>") & set(text):
            bad.append(line)
    return bad


def test_the_grammar_check_finds_malformed_lines():
    good = "sequenceDiagram\n    participant p0 as a\n    p0->>p0: x"

    assert malformed(good) == []
    assert malformed(good + "\n    p0->>p9: x") == ["    p0->>p9: x"]
    assert malformed(good + "\n    p0->>p0: x; y") == ["    p0->>p0: x; y"]
    assert malformed(good + "\n    p0=>p0: x") == ["    p0=>p0: x"]


def test_the_pages_are_well_formed():
    pages = read_folder(FOLDER)
    drawn = re.findall(r"```mermaid\n(.*?)```", "".join(pages.values()), re.DOTALL)

    assert len(pages) - 2 == len(situations()) + len(scripts()) + len(modern.situations()) == 64
    assert len(drawn) >= 64
    assert [line for each in drawn for line in malformed(each)] == []


def test_every_named_scenario_can_be_drawn():
    traces = {row["name"]: row["trace"] for row in rows("traces-4.1.jsonl.gz")}
    for scenario in rows("scenarios.jsonl.gz"):
        trace = traces[scenario["name"]]
        ids = given_ids(trace[0]["member_ids"])
        for recording in (
            record_scenario(scenario, ERAS["4.1"], ids),
            record_trace(trace, scenario),
            record_trace(trace),
        ):
            diagram = draw(recording)

            assert malformed(as_mermaid(diagram)) == []
            assert lines_without_lifeline(as_text(diagram)) == []


def lines_without_lifeline(text):
    """Lines without the coordinator's lifeline under its name."""
    _, _, head, *lines = text.splitlines()
    place = head.index("coordinator") + len("coordinator") // 2
    return [line for line in lines if line[place] not in "│┊●├┤◀▶"]
