"""Lines of any text are read in time that grows linearly with their length."""

import time

import pytest

from coordinator_core.log_lines import parse_line
from coordinator_core.log_lines.client_lines import parse_client_line

BROKER = "[2024-01-02 03:04:05,678] INFO [GroupCoordinator 1]: "
CLIENT = "[Consumer clientId=c, groupId=g] "
# Each row: reader, text before the repeated text, repeated text.
LINES = [
    (BROKER, "[GroupCoordinator 1]: "),
    (BROKER, "Group g "),
    (BROKER, "Member m in group g has failed, "),
    (BROKER, "Preparing to rebalance group g in state S with old generation 1 (reason: "),
    (BROKER + "Stabilized group g generation 7", " "),
    (BROKER + "Stabilized group g generation 7", " | a"),
    (BROKER + "Stabilized group g generation 7", " (a.b)"),
    (BROKER + "Stabilized group g generation 7", "\\n"),
    (BROKER + "Group g removed dynamic members who haven't joined: ", "Set("),
    (BROKER + "Group leader [memberId: ", "a, groupInstanceId: "),
    ("INFO kafka.coordinator.group.GroupCoordinator - ", "Stabilized group "),
    ("", "10:00:00 "),
    ("", "\u2502 "),
    ("", "[Consumer clientId="),
    ("[Consumer clientId=c, groupId=", "], groupId="),
    (CLIENT + "SyncGroup failed: ", " Sent generation was Generation{generationId=1, memberId='"),
    (CLIENT + "Adding newly assigned partitions: ", "a-0, "),
    ("[thrd:main]: ", 'Group "g" changed join state '),
    ("msg=joined group=g ", 'a="b" '),
    ("joined; group: g, ", "a: b, "),
    ('{"group": "g", "msg": "joined", "a": ', "{"),
    ("kafka.coordinator ", "(Re-)joining group "),
]
LENGTH = 100_000


@pytest.mark.parametrize(("beginning", "repeated"), LINES)
@pytest.mark.parametrize("end", ["x", " [GroupCoordinator 1]: x"])
def test_a_long_line_takes_no_long_time(beginning, repeated, end):
    line = beginning + repeated * (LENGTH // len(repeated)) + end

    began = time.process_time()
    parse_line(line)
    parse_client_line(line)

    # A pattern that takes quadratic time would take minutes.
    assert time.process_time() - began < 2
