"""Situations 1 to 40 of docs/situations: their answers, recordings of brokers, and the pages."""

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path

import pytest

from coordinator_core.assignors import CLIENT_ASSIGNORS, Member, Topics
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.records import decode_assignment, decode_subscription
from coordinator_core.scenarios.scenario import derived_ids, play
from tools import modern_situations
from tools.manual.folder import read_folder
from tools.situations import ERAS_IN_ORDER, FOLDER, pages, same_eras, situations

DATA = Path(__file__).parents[1] / "data" / "coordinator"
ERA_OF = {"0.9.0.1": "0.9", "0.10.0.1": "0.9", "0.10.2.2": "0.10", "2.0.1": "2.0", "2.5.1": "2.5"}
ERA_OF |= {"3.9.1": "3.9", "4.1.1": "4.1", "4.1.2": "4.1"}

# situation, era, step, time of the answer (ms), answer
ANSWERS = """
01 0.10  a1        0 generation 1 leads a
01 0.10  a2     3500 orders-0,1,2,3,4,5
01 2.0   a1     3000 generation 1 leads a
01 2.0   a2     3500 orders-0,1,2,3,4,5
02 4.1   a0        0 MEMBER_ID_REQUIRED
02 4.1   a      3000 generation 1 leads a
02 4.1   s3     7000 t-0
02 4.1   s6    10000 NONE
03 4.1   b0     8000 MEMBER_ID_REQUIRED
03 4.1   s6     9000 REBALANCE_IN_PROGRESS
03 4.1   b      9001 generation 2 follows a
03 4.1   a2     9001 generation 2 leads a, b
03 4.1   s8     9100 t-0
03 4.1   s9     9101 t-1
04 4.1   s6     6200 REBALANCE_IN_PROGRESS
04 4.1   s8     6201 REBALANCE_IN_PROGRESS
04 4.1   a2     6203 generation 2 leads a, b, c
04 4.1   b2     6203 generation 2 follows a
04 4.1   c      6203 generation 2 follows a
05 0.9   h1     3700 REBALANCE_IN_PROGRESS
05 0.9   h2     4200 NONE
05 0.9   h3     4800 REBALANCE_IN_PROGRESS
05 0.9   h3b    4850 REBALANCE_IN_PROGRESS
05 0.9   h4     5300 REBALANCE_IN_PROGRESS
05 0.9   h4b    5350 REBALANCE_IN_PROGRESS
05 0.9   h5     6000 UNKNOWN_MEMBER_ID
05 2.0   h1     3700 REBALANCE_IN_PROGRESS
05 2.0   h2     4200 NONE
05 2.0   h3     4800 REBALANCE_IN_PROGRESS
05 2.0   h3b    4850 ILLEGAL_GENERATION
05 2.0   h4     5300 REBALANCE_IN_PROGRESS
05 2.0   h4b    5350 REBALANCE_IN_PROGRESS
05 2.0   h5     6000 UNKNOWN_MEMBER_ID
05 4.1   h1     3700 NONE
05 4.1   h2     4200 NONE
05 4.1   h3     4800 REBALANCE_IN_PROGRESS
05 4.1   h3b    4850 ILLEGAL_GENERATION
05 4.1   h4     5300 NONE
05 4.1   h4b    5350 ILLEGAL_GENERATION
05 4.1   h5     6000 UNKNOWN_MEMBER_ID
06 2.0   b1     9100 generation 2 follows a
06 2.0   b2     9100 generation 2 follows a
06 2.0   a5     9100 generation 2 leads a, b, b2
06 2.0   b3     9300 orders-2,3
06 2.0   b7    21301 REBALANCE_IN_PROGRESS
07 4.1   b1i    1000 MEMBER_ID_REQUIRED
07 4.1   b1   never
07 4.1   b2     9100 generation 2 follows a
07 4.1   a5     9100 generation 2 leads a, b
07 4.1   b3     9300 orders-2,3
08 0.10  a3   never
08 0.10  a4     2900 generation 3 leads a, b
08 0.10  b3     2900 generation 3 follows a
09 2.0   b2     6300 generation 2 follows a
09 2.0   a2     6500 generation 2 leads a, b
10 0.9   a1        0 generation 1 leads a
10 0.9   b1     1700 generation 2 follows a
10 0.9   c1     1700 generation 2 follows a
10 0.9   a2     1000 REBALANCE_IN_PROGRESS
10 0.9   a3     1200 REBALANCE_IN_PROGRESS
10 0.9   a4     1700 generation 2 leads a, b, c
11 2.0   a1     9000 generation 1 leads a, b, c
11 2.0   b1     9000 generation 1 follows a
11 2.0   c1     9000 generation 1 follows a
12 0.10  a3     3200 generation 3 leads a, b, c
12 0.10  b3     2400 REBALANCE_IN_PROGRESS
12 0.10  b4     3200 generation 3 follows a
12 0.10  c5     3200 generation 3 follows a
13 0.10  b3     2000 generation 2 follows a
13 0.10  b4     2300 orders-1
13 0.10  a3     2400 NONE
13 0.10  a4     3700 generation 3 leads a, b, c
13 0.10  b5     3000 REBALANCE_IN_PROGRESS
13 0.10  b6     3700 generation 3 follows a
14 0.10  b3     3200 generation 3 follows a
14 0.10  a4     3200 generation 3 leads a, b, c
14 0.10  c4     3200 generation 3 follows a
15 0.10  c1     3200 generation 3 follows a
15 0.10  a3     2400 REBALANCE_IN_PROGRESS
15 0.10  b4     3200 generation 3 follows a
15 0.10  a4     3200 generation 3 leads a, b, c
16 0.10  c1     2900 generation 3 follows a
16 0.10  a3     2900 generation 3 leads a, c
16 0.10  b3     2900 NONE
17 0.10  a1        0 generation 1 leads a
17 0.10  b1     6000 generation 2 follows c
17 0.10  c1     6000 generation 2 leads b, c
18 0.9   a3     7200 generation 3 leads a, b
18 0.9   b4     7200 generation 3 follows a
18 0.9   c6     7700 REBALANCE_IN_PROGRESS
18 0.9   c7     8600 REBALANCE_IN_PROGRESS
18 2.0   a3     8000 generation 3 leads a, b
18 2.0   b4     8000 generation 3 follows a
18 2.0   c6     7700 REBALANCE_IN_PROGRESS
18 2.0   c7     8600 UNKNOWN_MEMBER_ID
19 0.10  b3     1400 generation 2 follows a
19 0.10  a2     1800 generation 2 leads a, b, c
19 0.10  b2     2500 REBALANCE_IN_PROGRESS
19 0.10  c2     2500 REBALANCE_IN_PROGRESS
19 0.10  a3     2900 REBALANCE_IN_PROGRESS
19 0.10  b4     3600 generation 3 follows a
20 0.10  b2   never
20 0.10  b4     2000 orders-1
20 0.10  a2     2000 orders-0
21 2.0   b2     7000 orders-3,4,5
21 2.0   a2     7000 orders-0,1,2
22 2.0   a2     6300 orders-0,1,2
22 2.0   b2     7000 orders-3,4,5
23 2.0   a6    13000 REBALANCE_IN_PROGRESS
23 2.0   a7    13500 generation 3 leads a
23 2.0   b3    14000 UNKNOWN_MEMBER_ID
24 2.0   b3     7000 NONE
24 2.0   a3     7300 REBALANCE_IN_PROGRESS
24 2.0   a4     7600 generation 3 leads a
24 2.0   b4     8200 UNKNOWN_MEMBER_ID
25 2.0   a3     7000 NONE
25 2.0   b4     7900 generation 3 follows c
25 2.0   c3     7900 generation 3 leads b, c
25 2.0   b5     8350 orders-0,1,2
26 0.9   a5     4400 UNKNOWN_MEMBER_ID
26 0.9   b1     5000 generation 1 leads b
26 2.0   a5     4400 UNKNOWN_MEMBER_ID
26 2.0   b1     8000 generation 3 leads b
27 0.9   a4    13100 generation 3 leads a, b, c
27 0.9   c1    13100 generation 3 follows a
27 0.9   b4    12500 REBALANCE_IN_PROGRESS
27 0.9   b5    13100 generation 3 follows a
27 2.0   a4    12000 generation 3 leads a, c
27 2.0   c1    12000 generation 3 follows a
27 2.0   b4    12500 UNKNOWN_MEMBER_ID
27 2.0   b5    13100 UNKNOWN_MEMBER_ID
28 2.5   a4    12050 generation 2 leads a, b, c
28 2.5   b3    12700 ILLEGAL_GENERATION
28 2.5   c1    12050 generation 2 follows a
28 2.5   a5    12800 REBALANCE_IN_PROGRESS
28 2.5   a7    17500 NONE
28 4.1   a4    12050 generation 2 leads a, b, c
28 4.1   b3    12700 ILLEGAL_GENERATION
28 4.1   c1    12050 generation 2 follows a
28 4.1   a5    12800 NONE
28 4.1   a7    17500 REBALANCE_IN_PROGRESS
29 4.1   b2    18000 generation 2 leads a, b
29 4.1   s9    19000 ILLEGAL_GENERATION
29 4.1   s10   19001 NONE
30 2.5   s9    15000 NONE
30 2.5   s11   16001 NONE
30 2.5   s12   16002 NONE
30 2.5   a2   never
30 2.5   b2   never
30 4.1   s9    15000 NONE
30 4.1   s11   16001 UNKNOWN_MEMBER_ID
30 4.1   s12   16002 REBALANCE_IN_PROGRESS
30 4.1   a2    16004 generation 2 leads a, b
30 4.1   b2    16004 generation 2 follows a
31 2.5   b2    12000 REBALANCE_IN_PROGRESS
31 2.5   a11   10000 REBALANCE_IN_PROGRESS
31 2.5   a20   14600 UNKNOWN_MEMBER_ID
31 2.5   b3    15000 generation 2 leads b
31 4.1   b2    14000 REBALANCE_IN_PROGRESS
31 4.1   a11   10000 NONE
31 4.1   a20   14600 UNKNOWN_MEMBER_ID
31 4.1   b3    15000 generation 2 leads b
32 4.1   a2     6300 orders-0,1,2
32 4.1   b2     6400 nothing
33 2.5   b3     7500 generation 1 follows a
33 2.5   b4     7800 FENCED_INSTANCE_ID
33 2.5   b5     7900 FENCED_INSTANCE_ID
33 2.5   b10    8400 orders-3,4,5
33 4.1   b3     7500 generation 1 follows a
33 4.1   b4     7800 FENCED_INSTANCE_ID
33 4.1   b5     7900 FENCED_INSTANCE_ID
33 4.1   b10    8400 orders-3,4,5
34 4.1   a5     3030 orders-0,1
34 4.1   b2     3030 nothing
34 4.1   a6     6030 generation 3 leads a, b
34 4.1   b4     6030 generation 3 follows a
34 4.1   b5     6050 orders-2,3
35 4.1   a3     7600 generation 3 leads a, b
35 4.1   b3     7300 REBALANCE_IN_PROGRESS
35 4.1   b4     7600 generation 3 follows a
"""


def answers(trace):
    return {line["to"]: line for line in trace if line["event"] == "response"}


def named(situation, trace):
    """Member id -> the letter of its step, and a number from its second id on."""
    names, counts = {}, {}
    for step in situation["steps"]:
        line = answers(trace).get(step["id"], {})
        if step["op"] == "join" and line.get("member") not in (None, "", *names):
            letter = re.match("[a-z]", step["id"])[0] if step["member"] == "" else None
            letter = letter or names.get(line["member"], step["id"][0])
            counts[letter] = counts.get(letter, 0) + 1
            names[line["member"]] = letter + ("" if counts[letter] == 1 else str(counts[letter]))
    return names


def shown(line, names):
    """An answer in the form of ANSWERS."""
    if line is None:
        return "never"
    if line["op"] == "join" and line["error"] == "NONE":
        if line["leader"] != line["member"]:
            return f"generation {line['generation']} follows {names[line['leader']]}"
        members = ", ".join(sorted(names[each[0]] for each in line["members"]))
        return f"generation {line['generation']} leads {members}"
    if line["op"] == "sync" and line["error"] == "NONE":
        topics = partitions(line["assignment"])
        return (
            " ".join(f"{topic}-{','.join(map(str, each))}" for topic, each in topics) or "nothing"
        )
    return line["error"]


def partitions(assignment):
    data = b64decode(assignment)
    return decode_assignment(data).partitions if data else []


BY_NUMBER = {each["name"][:2]: each for each in situations()}
EXPECTED = [line.split(maxsplit=3) for line in ANSWERS.strip().splitlines()]


@pytest.mark.parametrize(
    ("number", "era"), list(dict.fromkeys((number, era) for number, era, *_ in EXPECTED))
)
def test_key_answers(number, era):
    trace = play(BY_NUMBER[number], ERAS[era], derived_ids(), "")

    by_step, names = answers(trace), named(BY_NUMBER[number], trace)

    for _, _, step, expected in (row for row in EXPECTED if row[:2] == [number, era]):
        line = by_step.get(step)
        when = "" if line is None else f"{line['at_ms']} "
        assert f"{step} {when}{shown(line, names)}" == f"{step} {expected}"


def test_every_situation_is_asserted_in_every_era_that_is_drawn():
    drawn = {(number, era) for number, each in BY_NUMBER.items() for era in each["eras"]}

    assert {(number, era) for number, era, *_ in EXPECTED} == drawn
    assert all(re.fullmatch(r"\d\d-[a-z0-9-]+", each["name"]) for each in situations())


def recordings():
    with gzip.open(DATA / "situations.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


RECORDINGS = {(row["name"], row["version"]): row for row in recordings()}
RECORDED = [
    (each["name"], version)
    for each in situations()
    if "recorded" in each
    for version in each["recorded"]["versions"]
]
# The compared fields of an answer, which all versions of the request have.
FIELDS = ("error", "generation", "assignment", "partitions")


@pytest.mark.parametrize(("name", "version"), RECORDED)
def test_a_recording_has_the_same_requests_and_answers(name, version):
    situation = BY_NUMBER[name[:2]]
    row = RECORDINGS[situation["recorded"]["name"], version]
    recorded_ids, derived_id = iter(row["trace"][0]["member_ids"]), derived_ids()
    played = play(
        situation,
        ERAS[ERA_OF[version]],
        lambda g, p: next(recorded_ids, None) or derived_id(g, p),
        "",
    )

    assert requests(situation) == [
        step for step in requests(row["scenario"]) if step["id"] in ids_of(situation)
    ]
    assert compared(situation, played) == compared(situation, row["trace"])


def ids_of(scenario):
    return {step["id"] for step in scenario["steps"]}


def requests(scenario):
    """The steps without the group's name."""
    return [
        {key: value for key, value in step.items() if key != "group"}
        for step in scenario["steps"]
        if step["op"] != "wait"
    ]


def compared(situation, trace):
    """The compared fields of the answer to each of the situation's steps."""
    by_step, names = answers(trace), named(situation, trace)
    fields_of = {}
    for step in requests(situation):
        line = by_step.get(step["id"])
        if line is None:
            fields_of[step["id"]] = None
            continue
        fields = {key: line[key] for key in FIELDS if key in line}
        if step["op"] == "commit":
            del fields["error"]  # The error is derived from the errors of the partitions.
        if step["op"] == "join":
            fields["members"] = sorted(names[each[0]] for each in line["members"])
            fields["leader"] = names.get(line["leader"])
        fields_of[step["id"]] = fields
    return fields_of


def test_recordings_cover_all_eras():
    versions = {version for _, version in RECORDED}

    assert versions >= {"0.9.0.1", "0.10.0.1", "0.10.2.2", "2.0.1", "2.5.1", "3.9.1", "4.1.2"}
    assert len(RECORDED) >= 140
    assert set(RECORDINGS) == {
        (BY_NUMBER[name[:2]]["recorded"]["name"], version) for name, version in RECORDED
    }


def test_the_written_assignments_equal_the_cooperative_assignors():
    """In the written scenario the leader's assignments are those of cooperative-sticky."""
    steps = {step["id"]: step for step in BY_NUMBER["34"]["steps"]}
    topics = Topics({"orders": 4})

    for joins, sync in ((("a4", "b1"), "a5"), (("a6", "b4"), "a7")):
        members = []
        for each in joins:
            read = decode_subscription(b64decode(steps[each]["protocols"][0][1]))
            owned, generation = read.owned_partitions, read.generation_id
            members.append(
                Member(
                    member_id=each[0],
                    topics=read.topics,
                    owned=owned,
                    generation=generation,
                    field_generation=generation,
                )
            )
        computed = CLIENT_ASSIGNORS["cooperative-sticky"](topics, members)
        written = {who[1]: partitions(data) for who, data in steps[sync]["assignments"]}

        assert {who: flat(each) for who, each in written.items()} == {
            who: sorted(each) for who, each in computed.items()
        }


def flat(pairs):
    return [(topic, number) for topic, numbers in pairs for number in numbers]


def test_the_pages_are_up_to_date():
    """If it fails: python -m tools.situations"""
    assert read_folder(FOLDER) == pages() | modern_situations.pages()


def test_eras_with_the_same_answers_are_not_drawn():
    assert same_eras(BY_NUMBER["13"], "0.10") == ["0.9", "2.0", "2.5", "3.9", "4.1", "4.4"]
    assert same_eras(BY_NUMBER["18"], "0.9") == []
    assert same_eras(BY_NUMBER["18"], "2.0") == ["0.10", "2.5", "3.9", "4.1", "4.4"]
    assert same_eras(BY_NUMBER["33"], "4.1") == ["3.9", "4.4"]  # Older eras have no static members.


def test_eras_that_are_not_drawn_have_the_grid_of_one_that_is():
    assert [era for era in ERAS if era in ERAS_IN_ORDER] == [*ERAS_IN_ORDER]
    grids = [ERAS[era].grid for era in ERAS_IN_ORDER]
    assert [name for name, era in ERAS.items() if era.grid not in grids] == []
