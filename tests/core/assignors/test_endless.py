"""Claims on which Kafka's sticky assignor never returns: Regroup raises Endless.

Kafka 4.1.2: a thread dump shows ``performReassignments`` after twelve seconds.
"""

import pytest

from coordinator_core.assignors import ASSIGNORS, Member, Topics
from coordinator_core.assignors.model import Endless

TOPICS = {"t11": 8, "t20": 6, "t67": 2, "t71": 7, "t79": 18, "t82": 19}
ALL = tuple(TOPICS)
CLAIMS = {
    "m132": (("t71",), {"t71": (0, 2, 4, 6)}),
    "m123": (("t82",), {"t82": (0, 2, 4, 6, 8, 10, 13)}),
    "m519": (ALL, {"t20": (4,), "t11": (2, 7), "t79": (3, 9, 15), "t82": (17,)}),
    "m486": (
        ("t11", "t20", "t67", "t79", "t82"),
        {"t20": (3,), "t11": (1, 6), "t79": (2, 8, 14), "t82": (16,)},
    ),
    "m345": (
        ("t11", "t20", "t67", "t82"),
        {"t20": (2,), "t11": (0, 5), "t79": (1, 7, 13), "t82": (14,)},  # unsubscribed from t79
    ),
    "m376": (("t71",), {"t71": (1, 3, 5)}),
    "m388": (("t82",), {"t82": (1, 3, 5, 7, 9, 11, 15)}),
    "m762": (("t71", "t82"), {}),
    "m606": (("t67", "t79", "t82"), {"t67": (0, 1), "t79": (4, 10, 16), "t82": (18,)}),
    "m632": (ALL, {"t20": (0, 5), "t11": (3,), "t79": (5, 11, 17)}),
    "m658": (ALL, {"t20": (1,), "t11": (4,), "t79": (6, 12, 0), "t82": (12,)}),
}


def member(name, topics, owned):
    generation = 2 if owned else -1
    return Member(
        member_id=name,
        topics=topics,
        owned=tuple(owned.items()),
        generation=generation,
        field_generation=generation,
    )


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("with_unsubscribed_claims", [True, False])
def test_endless_balancing_is_an_error(assignor, with_unsubscribed_claims):
    members = [member(name, *claim) for name, claim in CLAIMS.items()]
    if not with_unsubscribed_claims:
        members[4] = member("m345", CLAIMS["m345"][0], {"t20": (2,), "t11": (0, 5), "t82": (14,)})

    with pytest.raises(Endless, match="the same moves forever"):
        ASSIGNORS[assignor](Topics(TOPICS), members)
