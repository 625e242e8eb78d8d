"""regroup assign: JSON Lines in, JSON Lines out, and the error for an invalid line."""

import io
import json

import pytest

from jobs.assignors.command import assign

TWO = {
    "case": "two",
    "assignor": "range",
    "topics": {"t": {"partitions": 3, "racks": None}},
    "members": [
        {"id": "b", "instance_id": None, "rack": None, "topics": ["t"], "owned": []},
        {"id": "a", "instance_id": None, "rack": None, "topics": ["t"], "owned": []},
    ],
}
TAKEOVER = TWO | {
    "assignor": "cooperative-sticky",
    "rounds": 2,
    "topics": {"t": {"partitions": 2}},
    "members": [
        {"id": "a", "topics": ["t"], "owned": [["t", 0], ["t", 1]], "generation": 4},
        {"id": "b", "topics": ["t"]},
    ],
}


def run(*lines):
    out = io.StringIO()
    code = assign([line if isinstance(line, str) else json.dumps(line) for line in lines], out)
    return code, [json.loads(line) for line in out.getvalue().splitlines()]


def test_every_line_is_answered_in_order_and_blank_lines_are_skipped():
    code, rows = run(TWO, "\n", TWO | {"case": "roundrobin", "assignor": "roundrobin"})

    assert code == 0
    assert rows == [
        {"case": "two", "assignment": {"b": [["t", 2]], "a": [["t", 0], ["t", 1]]}},
        {"case": "roundrobin", "assignment": {"b": [["t", 1]], "a": [["t", 0], ["t", 2]]}},
    ]


def test_the_second_cooperative_round_assigns_the_revoked_partition():
    code, rows = run(TAKEOVER)

    assert code == 0
    assert rows == [
        {
            "case": "two",
            "assignment": {"a": [["t", 0]], "b": []},
            "rejoin": True,
            "assignment2": {"a": [["t", 0]], "b": [["t", 1]]},
        }
    ]


def test_an_exception_of_kafkas_assignor_is_an_answer():
    code, rows = run(TWO | {"assignor": "uniform", "topics": {}})

    assert code == 0
    assert rows == [{"case": "two", "error": "PartitionAssignorException"}]


def member(**changed):
    return TWO | {"members": [{"id": "a", "topics": ["t"], "owned": []} | changed]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON: Expecting property name"),
        ("[]", "expected a JSON object"),
        (TWO | {"case": 7}, '"case" must be a string'),
        (TWO | {"assignor": "best"}, '"assignor" must be one of cooperative-sticky, range, '),
        (TWO | {"topics": []}, '"topics" must be an object'),
        (TWO | {"topics": {"t": {"partitions": -1}}}, 'topic t: "partitions" must be a number'),
        (TWO | {"topics": {"t": {"partitions": 2, "racks": [["r"]]}}}, 'topic t: "racks" must be'),
        (TWO | {"members": None}, '"members" must be a list'),
        (TWO | {"members": TWO["members"] * 2}, "two members have the same id"),
        (TWO | {"members": [{}]}, 'a member must be an object with an "id"'),
        (member(topics="t"), 'member a: "topics" must be a list of names'),
        (member(owned=[["t"]]), 'member a: "owned" must be a list of [topic, partition]'),
        (member(generation="x"), 'member a: "generation" must be a number from -1 or null'),
        (member(generation_in="x"), 'member a: "generation_in" must be both or userdata'),
        (member(rack=1), 'member a: "rack" must be a string or null'),
        (TWO | {"map_order": "x"}, '"map_order" must be hash or given'),
        (TWO | {"rounds": "x"}, '"rounds" must be a number'),
    ],
)
def test_an_invalid_line_gives_one_line_on_stderr_and_exit_code_2(line, message, capsys):
    code, rows = run(TWO, line)

    assert code == 2
    assert len(rows) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"regroup assign: line 2: {message}")
    assert error.count("\n") == 1
