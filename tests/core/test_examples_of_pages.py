"""The examples in docstrings of packages give what they show."""

import doctest

import pytest

from coordinator_core import coordinator, modern_history, protocol, whatif
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Append, Heartbeat, JoinGroup, Respond, SyncGroup
from coordinator_core.records import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from jobs import modern_history as tables_of_modern_groups
from jobs.modern_history.rows import ROWS
from tests.core.modern_history import group_records
from tests.core.whatif import deployed_groups

LOG = []


def play(coordinator, now_ms, request=None):
    """The answers to the request and to those that waited, with all appends written to LOG."""
    effects = coordinator.advance(now_ms)
    effects += [] if request is None else coordinator.handle(request, now_ms)
    answered = []
    while effects:
        match effects.pop(0):
            case Respond(response=response):
                answered.append(response)
            case Append() as append:
                LOG.extend(append.records)
                effects += coordinator.appended(append, Errors.NONE, now_ms)
    return answered


OF_PROTOCOL = {
    "Append": Append,
    "ASSIGNMENT": encode_assignment(Assignment(3, [("orders", [0, 1])], None)),
    "Coordinator": Coordinator,
    "CoordinatorConfig": CoordinatorConfig,
    "ERAS": ERAS,
    "Errors": Errors,
    "Heartbeat": Heartbeat,
    "JoinGroup": JoinGroup,
    "PROTOCOLS": (("range", encode_subscription(Subscription(3, ["orders"], None, [], -1))),),
    "SyncGroup": SyncGroup,
    "answers": lambda effects: [each.response for each in effects if isinstance(each, Respond)],
}
OF_COORDINATOR = OF_PROTOCOL | {"log": LOG, "play": play}
PARTITIONS = {f"P{number}": ("active", None, "topic", number) for number in (0, 1)}
OF_TABLES = {"NAMES": {"topic": "orders"}, "ROWS": ROWS, "replay": modern_history.replay}
PAGES = {
    coordinator: (13, OF_COORDINATOR),
    protocol: (15, OF_PROTOCOL),
    whatif: (9, vars(deployed_groups)),
    modern_history: (6, vars(group_records) | PARTITIONS),
    tables_of_modern_groups: (7, vars(group_records) | PARTITIONS | OF_TABLES),
}


@pytest.mark.parametrize("package", PAGES, ids=lambda each: each.__name__)
def test_the_example_is_played(package):
    steps, names = PAGES[package]
    example = doctest.DocTestParser().get_doctest(
        package.__doc__, vars(package) | names, package.__name__, None, 0
    )

    results = doctest.DocTestRunner().run(example)

    assert (results.attempted, results.failed) == (steps, 0)
