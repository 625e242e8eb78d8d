"""Situations 41 to 64 of docs/situations: answers of the model and of brokers; the pages."""

import json

import pytest

from coordinator_core.coordinator.eras import ERAS
from coordinator_core.scenarios.group_types import play_scenario
from coordinator_core.scenarios.scenario import derived_ids
from tools.broker_requests.comparison import VERSIONS, answers_of, differences
from tools.modern_situations import epochs_above_4_1, pages, situations

# situation, era, step, answer: error or epoch, and the assignment if the answer has one
ANSWERS = """
41 4.4 a1     2 orders-0123
41 4.4 a2     2
41 4.4 a4     -1
41 4.4 a5     UNKNOWN_MEMBER_ID
41 4.1 a1     1 orders-0123
42 4.4 b1     3 nothing
42 4.4 a3     2 orders-01
42 4.4 b2     3
42 4.4 a4     3
42 4.4 b3     3 orders-23
42 4.1 a3     1 orders-01
42 4.1 b3     2 orders-23
43 4.4 c1     4 nothing
43 4.4 c2     4 orders-2
43 4.4 c3     4
43 4.4 c4     4 orders-25
44 4.4 a3     2 orders-01
44 4.4 a4     2
44 4.4 a5     UNKNOWN_MEMBER_ID
44 4.4 b4     4 orders-0123
44 4.4 a6     4 nothing
44 4.4 b5     4 orders-01
45 4.4 a5     4 orders-0123
45 4.4 b3     UNKNOWN_MEMBER_ID
45 4.4 b4     5 nothing
46 4.4 b3     -2
46 4.4 a4     3
46 4.4 b4     3 orders-23
46 4.4 a6     3
46 4.4 a7     4 orders-0123
47 4.4 b3     UNRELEASED_INSTANCE_ID
47 4.4 b4     UNRELEASED_INSTANCE_ID
47 4.4 b5     5 orders-23
47 4.4 a5     5
48 4.4 a5     3
48 4.4 a6     FENCED_MEMBER_EPOCH
48 4.4 a7     FENCED_MEMBER_EPOCH
48 4.4 a8     3
48 4.4 a9     3 orders-01
48 4.1 a5     2
48 4.1 a9     FENCED_MEMBER_EPOCH
49 4.4 a1     1 nothing
49 4.4 a2     2 web-eu-01
49 4.4 a5     2
49 4.4 a6     2
49 4.4 a7     3 web-eu-01 web-us-01
49 4.4 b1     INVALID_REGULAR_EXPRESSION
50 4.4 b4     4 orders-13
50 4.4 a4     4 orders-02
51 4.4 a4     3 orders-01
51 4.4 b4     3 payments-12
51 4.4 b6     5 orders-2 payments-2
51 4.4 a7     7 orders-01 payments-01
51 4.1 b9     2
52 4.4 c1     3 nothing
52 4.4 a7     REBALANCE_IN_PROGRESS
52 4.4 a9     3
52 4.4 b6     3
52 4.4 c3     3 orders-3
52 4.4 c4     5 orders-0123
53 4.4 b2     3
53 4.4 a3     2 orders-01
53 4.4 b4     REBALANCE_IN_PROGRESS
53 4.4 a5     -1
53 4.4 b7     REBALANCE_IN_PROGRESS
53 4.4 b8     4
54 4.4 b1     GROUP_ID_NOT_FOUND
54 4.4 b2     2 orders-0123
54 4.4 a6     INCONSISTENT_GROUP_PROTOCOL
54 4.1 a6     MEMBER_ID_REQUIRED
55 4.4 a1     2 nothing
55 4.4 a2     3 orders-01
55 4.4 b1     4 orders-0
55 4.4 c1     5 orders-1
55 4.4 a3     5
55 4.1 a3     4 orders-1
56 4.4 a3     4 orders-23
56 4.4 b3     5 orders-1
56 4.4 c3     6 orders-01
56 4.4 a8     7 orders-0123
56 4.4 c4     UNKNOWN_MEMBER_ID
56 4.1 a3     3 orders-013
56 4.1 a8     8 orders-0123
57 4.4 a1     1 nothing MISSING_INTERNAL_TOPICS ASSIGNMENT_DELAYED
57 4.4 a2     1 ASSIGNMENT_DELAYED
57 4.4 a3     3 active-0-0123
57 4.1 a1     1 nothing MISSING_INTERNAL_TOPICS
57 4.1 a2     2 active-0-0123
58 4.4 b1     3 nothing
58 4.4 a3     2 active-0-01
58 4.4 b3     3 active-0-23
59 4.4 b1     INVALID_REQUEST
59 4.4 b2     INVALID_REQUEST
59 4.4 b3     2 active-0-01 active-1-01
59 4.4 a5     3 nothing STALE_TOPOLOGY
59 4.4 a7     3 active-0-1 active-1-1 STALE_TOPOLOGY
60 4.4 b2     3 active-0-1 standby-0-0
60 4.4 b6     4 active-0-01
60 4.1 b6     2 active-0-1
60 4.1 b8     3 active-0-01
61 4.4 a4     2
61 4.4 a5     3
61 4.4 b3     3 orders-23
62 4.4 b1     2 nothing
62 4.4 c1     2 nothing
62 4.4 b2     4
62 4.4 a3     2 orders-01
62 4.4 b3     4 orders-23
62 4.4 c2     4 orders-45
62 4.1 c1     3 nothing
62 4.1 a2     1 orders-01
63 4.4 a5     NONE
63 4.4 a7     NONE
63 4.4 a8     STALE_MEMBER_EPOCH
63 4.4 b4     STALE_MEMBER_EPOCH
63 4.4 c1     UNKNOWN_MEMBER_ID
63 4.1 a7     STALE_MEMBER_EPOCH
64 4.4 admin1 NON_EMPTY_GROUP
64 4.4 admin3 NONE
64 4.4 admin4 GROUP_ID_NOT_FOUND
64 4.4 a4     2 orders-01
"""
STATUS = {0: "STALE_TOPOLOGY", 3: "MISSING_INTERNAL_TOPICS", 5: "ASSIGNMENT_DELAYED"}
ROWS = [line.split(maxsplit=3) for line in ANSWERS.strip().splitlines()]


def answers(situation, era):
    trace = play_scenario(situation, ERAS[era], derived_ids(), "")
    return {line["to"]: shown(line) for line in trace if line["event"] == "response"}


def shown(line):
    if line["error"] != "NONE" or "partitions" in line or line["op"] == "delete":
        return line["error"]
    epoch = line.get("member_epoch", line.get("generation"))
    status = [STATUS[code] for code in line.get("status", ())]
    assigned = None if line["op"] == "join" else line.get("assignment")
    rows = [] if assigned is None else [assignment(assigned)]
    return " ".join([str(epoch), *rows, *status])


def assignment(rows):
    if isinstance(rows, str):
        return rows
    texts = ["-".join([*map(str, names), "".join(map(str, parts))]) for *names, parts in rows]
    return " ".join(texts) or "nothing"


@pytest.mark.parametrize(("number", "era"), sorted({(row[0], row[1]) for row in ROWS}))
def test_key_answers(number, era):
    situation = next(each for each in situations() if each["name"].startswith(number))
    expected = {step: answer for at, in_era, step, answer in ROWS if (at, in_era) == (number, era)}

    played = answers(situation, era)

    assert {step: played[step] for step in expected} == expected


def test_every_situation_is_asserted_in_every_era_that_is_drawn():
    drawn = {(each["name"][:2], era) for each in situations() for era in each["eras"]}

    assert {(row[0], row[1]) for row in ROWS} == drawn


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("situation", situations(), ids=lambda each: each["name"])
def test_every_answer_and_record_is_that_of_a_broker(situation, version):
    played = answers_of(version)[situation["name"]]

    assert list(differences(situation, played)) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_brokers_were_asked_every_request(version):
    unanswered = {"metadata", "group_config", "reload", "wait"}
    for situation in situations():
        requests = {step["id"] for step in situation["steps"] if step["op"] not in unanswered}
        played = answers_of(version)[situation["name"]]

        assert {line["to"] for line in played["answers"]} == requests, situation["name"]


def test_a_different_answer_of_a_broker_is_a_difference():
    situation = situations()[0]
    played = json.loads(json.dumps(answers_of("4.4.0")[situation["name"]]))
    played["answers"][0]["member_epoch"] = 1

    differing = list(differences(situation, played))

    assert [(each.where, each.broker["member_epoch"]) for each in differing] == [("a1", 1)]


def test_a_different_record_of_a_broker_is_a_difference():
    situation = situations()[0]
    played = json.loads(json.dumps(answers_of("4.4.0")[situation["name"]]))
    tombstone = next(row for row in played["records"] if row[1] is None)
    played["records"].remove(tombstone)

    (difference,) = differences(situation, played)

    name = "ConsumerGroupCurrentMemberAssignment"
    assert difference.where == f"{name} {{'group_id': 'g', 'member_id': 'a'}}"
    assert difference.broker == difference.engine[:-1]
    assert difference.engine[-1] is None


def test_every_situation_says_what_4_1_does():
    described = {
        each["name"]
        for each in situations()
        if "4.1" in each["eras"] or "4.1" in each.get("remarks", {})
    }

    differing = {each["name"] for each in situations() if epochs_above_4_1(each) is None}

    assert differing <= described


def test_every_situation_was_asked_of_every_broker():
    sentence = "Same answers and records: brokers of Kafka 4.4.0 and 4.1.2."

    asked = [name for name, text in pages().items() if sentence in text]
    assert len(asked) == len(situations()) == 24
