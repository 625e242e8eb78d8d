"""Every wording of the coordinator's lines: its event and fields, distinct from all others."""

import re
from pathlib import Path

import pytest

import schemas.log_lines as data
from coordinator_core.coordinator.eras import NEWEST_ERA
from coordinator_core.log_lines import ParsedEvent, holds_in, parse_message
from coordinator_core.log_lines.templates import Template
from coordinator_core.log_lines.wordings import line_index, line_wordings

DATA = Path(__file__).parents[2] / "data" / "log_lines"
UUID = "90a3d664-7451-4c0d-ad14-53df23eb1069"


def cases():
    for line in (DATA / "wordings.txt").read_text().splitlines():
        if not line.startswith("#"):
            event, rest = line.split("|", 1)
            message, fields = rest.rsplit("|", 1)
            yield pytest.param(event.strip(), message.strip(), fields.split(), id=message.strip())


def written(event):
    """A ParsedEvent as in the table."""
    for name, value in event._asdict().items():
        if name != "event" and value not in (None, ()):
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            yield f"{name}={text}".replace(" ", "_")


@pytest.mark.parametrize(("event", "message", "fields"), list(cases()))
def test_message_is_read(event, message, fields):
    parsed = parse_message(message)

    assert parsed.event == event
    assert list(written(parsed)) == fields


def test_the_table_has_every_wording_with_an_event():
    covered = {line_index().find(case.values[1])[0].template.text for case in cases()}

    assert covered == {w.template.text for w in line_wordings() if w.event != "OTHER"}


OTHERS = """
Starting up.
Startup complete.
Shutting down.
Shutdown complete.
Event processor closed.
Coordinator runtime closed.
Member m-1 has already been removed from the group.
Received unexpected notification of sync expiration for g 1 with an old generation 1 while the group has 2.
Failed to parse Consumer Protocol consumer:range of group g 1. Consumer group coordinator is not aware of the subscribed topics.
Attempt to add rejoining member m-1 of group g 1 in unexpected group state Dead
BrokerId 1 is no longer a coordinator for the group g 1. Proceeding cleanup for other alive groups
[GroupId g 1] Computed new metadata hash: 1234.
[GroupId g 1] Failed to compute a new target assignment for epoch 5: out of cheese.
Cannot upgrade classic group g 1 to consumer group because online upgrade is disabled.
Unknown message key with version 9 while loading offsets and group metadata from __consumer_offsets-3. Ignoring it. It could be a left over from an aborted upgrade.
The write event x for the timer y failed due to z. Ignoring it.
"""  # noqa: E501


@pytest.mark.parametrize("message", list(filter(None, OTHERS.splitlines())))
def test_known_lines_without_an_event_are_other(message):
    assert parse_message(message).event == "OTHER"


UNKNOWN = """
Stabilized group g generation x
Preparing to rebalance
Group g feels fine
[GroupId g] Member m-1 dances.

"""


@pytest.mark.parametrize("message", UNKNOWN.splitlines())
def test_messages_that_no_broker_logs_have_no_event(message):
    assert parse_message(message) is None


# group ids that contain the words of log lines
GROUPS = [
    "plain",
    "with spaces (and brackets)",
    'it\'s "quoted"',
    "x generation 3 (__consumer_offsets-1)",
    "x in state Stable with old generation 3",
    "x with generation 3 is now empty (__consumer_offsets-1)",
    "y has failed, removing it from the group",
    "[GroupId z] Member",
    "ümläut-组",
    "",
]


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_id_may_contain_any_words(group):
    start = parse_message(
        f"Preparing to rebalance group {group} in state PreparingRebalance with old generation 7 "
        f"(__consumer_offsets-3) (reason: removing member m-{UUID} on heartbeat expiration)"
    )
    joined = parse_message(f"Stabilized group {group} generation 8 (__consumer_offsets-3)")
    failed = parse_message(
        f"Member m-{UUID} in group {group} has failed, removing it from the group"
    )

    assert (start.group_id, start.generation, start.cause) == (group, 7, "SESSION_EXPIRY")
    assert (joined.group_id, joined.generation) == (group, 8)
    assert (failed.group_id, failed.member_id) == (group, f"m-{UUID}")


def test_a_client_id_may_contain_the_words_around_a_member_id():
    failed = parse_message(
        f"Member a in group b-{UUID} in group g has failed, removing it from the group"
    )

    assert (failed.member_id, failed.group_id) == (f"a in group b-{UUID}", "g")


@pytest.mark.parametrize(
    ("printed", "expected"),
    [("None", None), ("Some(i-1)", "i-1"), ("Some(null)", None), ("Some(Some(x))", "Some(x)")],
)
def test_an_instance_id_printed_as_an_option(printed, expected):
    left = parse_message(
        f"Member[group.instance.id {printed}, member.id m-1] in group g has left, "
        "removing it from the group"
    )

    assert left.instance_id == expected


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("Set(m-1)", ("m-1",)),
        ("HashSet(m-1, m-2)", ("m-1", "m-2")),
        ("Set()", ()),
        ("[m-1, m-2]", ("m-1", "m-2")),
        ("{m-1=[B@5e1d03d7, m-2=[B@12e11d8c}", ("m-1", "m-2")),
    ],
)
def test_members_as_a_scala_set_a_java_list_or_a_java_map(printed, expected):
    event = parse_message(f"Setting empty assignments for members {printed} of g for generation 4")

    assert event == ParsedEvent(
        event="EMPTY_ASSIGNMENTS", group_id="g", generation=4, members=expected, step="set"
    )


# versions    version  holds
VERSION_CASES = """
2.1-4.0      2.1.0    yes
2.1-4.0      4.0.1    yes
2.1-4.0      4.1.0    no
2.1-4.0      2.0.1    no
2.8.1-4.0    2.8.0    no
2.8          2.8.2    yes
2.8-2.8.0    2.8.1    no
0.9-0.10     0.10.2   yes
0.9-0.10.0   0.10.2   no
0.9-0.10.2   0.11.0   no
4.2-         4.1.2    no
4.2-         4.2.0    yes
4.2-         5.0.0    yes
-2.0         0.9.0    yes
-2.0         2.0.1    yes
-2.0         2.1.0    no
"""


@pytest.mark.parametrize("line", list(filter(None, VERSION_CASES.splitlines())))
def test_versions_include_both_ends_and_may_have_one(line):
    versions, version, holds = line.split()
    assert holds_in(versions, version) is (holds == "yes")


def test_no_version_has_two_wordings_of_one_text():
    for coordinator in data.COORDINATORS:
        entries = [
            (w["text"], w["logger"], w["level"], w["versions"]) for w in data.wordings(coordinator)
        ]
        assert len(entries) == len(set(entries))


def test_data_are_well_formed():
    keys = {"event", "step", "protocol", "cause", "versions", "level", "logger", "text"}
    for coordinator in data.COORDINATORS:
        for wording in data.wordings(coordinator):
            assert set(wording) <= keys
            assert {"versions", "level", "logger", "text"} <= set(wording)
            assert re.fullmatch(r"\d+\.\d+(\.\d+)?(-(\d+\.\d+(\.\d+)?)?)?", wording["versions"])
            assert wording["level"] in {"TRACE", "DEBUG", "INFO", "WARN", "ERROR"}


def test_wordings_of_the_newest_version_have_no_last_version():
    """A new version of Kafka then needs new rows only for the wordings that it changed."""
    newest = [
        each["versions"]
        for each in [*data.wordings("java"), *data.reasons("java"), *data.loggers("java")]
        if holds_in(each["versions"], NEWEST_ERA.kafka)
    ]
    assert {each[-1] for each in newest} == {"-"}


def test_a_missing_field_is_named():
    with pytest.raises(ValueError, match="generation"):
        Template("Stabilized group {group_id} generation {generation}").form(
            {"group_id": "g"}, "scala"
        )
