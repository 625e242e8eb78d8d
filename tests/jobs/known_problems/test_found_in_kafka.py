"""Defects of docs/found-in-kafka.md that a lake shows."""

import pytest

BROKER = {"broker": "4.4.0"}
GENERATION = {
    "group_id": "g", "generation": 2, "group_type": "consumer", "stable_time": 1000,
    "ended_time": 9000,
}  # fmt: skip
MEMBER = {"group_id": "g", "generation": 2, "member_id": "c", "subscribed_topics": []}
TARGET = {
    "group_id": "g", "generation": 2, "member_id": "c", "topic": "a", "partition": 2,
    "assignor": "uniform", "is_target": True,
}  # fmt: skip


class TestUnownedPartition:
    def test_a_member_without_topics_has_a_partition_in_the_target(self, findings):
        tables = {
            "assignments": [TARGET], "generations": [GENERATION], "generation_members": [MEMBER],
        }  # fmt: skip
        columns = "member_id", "topic_partition", "from_time", "version_seen"

        rows = findings("consumer-unowned-partition", tables, *columns, versions=BROKER)

        assert rows == [("c", "a-2", 1000, True)]

    @pytest.mark.parametrize(
        ("changed", "more"),
        [
            pytest.param({"subscribed_topics": ["a"]}, {}, id="it subscribes"),
            pytest.param(
                {},
                {"group_records": [{"group_id": "g", "member_id": "c", "regex": "a.*"}]},
                id="by a regular expression",
            ),
            pytest.param({"subscribed_topics": None}, {}, id="its topics are unknown"),
        ],
    )
    def test_a_member_that_consumes_it_is_right(self, findings, changed, more):
        tables = {
            "assignments": [TARGET], "generations": [GENERATION],
            "generation_members": [MEMBER | changed], **more,
        }  # fmt: skip

        assert findings("consumer-unowned-partition", tables, "finding", versions=BROKER) == []


def bump(offset, epoch, cause="MEMBER_NEW", **more):
    row = {"group_id": "g", "log_offset": offset, "epoch": epoch, "cause": cause}
    return row | {"time": 1000 * (offset or 0), "member_id": "m"} | more


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        pytest.param([bump(1, 1), bump(2, 2), bump(3, 1)], [(3000, 1)], id="back to the first"),
        pytest.param([bump(1, 1), bump(2, 2), bump(3, 1, incarnation=2)], [], id="deleted, new"),
        pytest.param([bump(1, 7, "CONVERSION"), bump(2, 2)], [], id="a classic group's generation"),
        pytest.param([bump(1, 1), bump(2, 2), bump(3, 3)], [], id="upward"),
        pytest.param(
            [bump(2, 2), bump(None, 1, time=3000)], [], id="of lines: their order is not certain"
        ),
    ],
)
def test_epochs_go_back_without_a_new_incarnation(findings, epochs, expected):
    tables = {"group_epochs": epochs}
    columns = "from_time", "incarnation"

    assert findings("consumer-group-dropped", tables, *columns, versions=BROKER) == expected


VOTES = [
    bump(5, 1, "ASSIGNOR_CHANGE"),
    *[bump(5 * n, n, "UNKNOWN", member_id=None) for n in range(2, 7)],
]


@pytest.mark.parametrize(
    ("epochs", "broker", "expected"),
    [
        pytest.param(
            VOTES,
            "4.4.0",
            [
                (
                    None,
                    "heartbeats of members of g bumped the group epoch 6 times: two server-side"
                    " assignors have equal votes",
                )
            ],
            id="with each heartbeat",
        ),
        pytest.param(VOTES, "4.2", [], id="before 4.4"),
        pytest.param(
            [bump(5 * n, n, "ASSIGNOR_CHANGE") for n in range(1, 7)],
            "4.4.0",
            [],
            id="a deployment of six members",
        ),
        pytest.param(VOTES[1:], "4.4.0", [], id="no member changed its assignor"),
        pytest.param(
            [each | {"time": each["time"] * 60} for each in VOTES], "4.4.0", [], id="now and then"
        ),
    ],
)
def test_the_epoch_rises_with_each_heartbeat(findings, epochs, broker, expected):
    tables = {"group_epochs": epochs}

    columns = "member_id", "summary"
    rows = findings("tied-assignor-vote", tables, *columns, versions={"broker": broker})

    assert rows == expected


CURRENT = {
    "group_id": "g", "member_id": "m", "record": "ConsumerGroupCurrentMemberAssignment",
    "append_time": 1000, "epoch": 4, "previous_epoch": 4, "state": 0, "tombstone": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, [("m",)], id="its own epoch as previous epoch"),
        pytest.param({"previous_epoch": 3}, [], id="a step of a rebalance"),
        pytest.param({"state": 1}, [], id="it gives up partitions"),
        pytest.param({"tombstone": True, "epoch": None}, [], id="it left"),
    ],
)
def test_a_member_is_written_without_a_change(findings, changed, expected):
    tables = {"group_records": [CURRENT | changed]}

    rows = findings("consumer-rewritten-record", tables, "member_id", versions=BROKER)

    assert rows == expected
