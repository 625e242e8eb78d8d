"""The example in the docstring of coordinator_core.protocol gives what it shows."""

import doctest

import coordinator_core.protocol as protocol
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

NAMES = {
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


def test_the_example_is_played():
    example = doctest.DocTestParser().get_doctest(protocol.__doc__, NAMES, "protocol", None, 0)

    results = doctest.DocTestRunner().run(example)

    assert (results.attempted, results.failed) == (15, 0)
