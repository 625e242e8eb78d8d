"""docs/client.md has the same tables as the code."""

from pathlib import Path

import pytest

from coordinator_core.client import LIBRARIES
from coordinator_core.client.java.application import Application
from coordinator_core.client.libraries import PROFILES
from coordinator_core.client.librdkafka.states import MEMBER_STATES, JoinState
from coordinator_core.client.messages import MemberState
from coordinator_core.client.modern.membership import MembershipState
from coordinator_core.client.modern.reactions import JAVA_MODERN, LIBRDKAFKA_MODERN
from coordinator_core.client.reactions import JAVA, LIBRDKAFKA, Reaction

PAGES = Path(__file__).parents[3] / "docs"
DOCS = (PAGES / "client.md").read_text()
PROFILES_PAGE = (PAGES / "client-libraries.md").read_text()


def markdown(table):
    columns = list(table[None])
    yield "| error | " + " | ".join(column.__name__ for column in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for error, row in table.items():
        name = "any other" if error is None else error.name
        yield f"| {name} | " + " | ".join(row[column].name for column in columns) + " |"


@pytest.mark.parametrize("table", [JAVA, LIBRDKAFKA, JAVA_MODERN, LIBRDKAFKA_MODERN])
def test_the_error_tables_equal_the_code(table):
    assert "\n".join(markdown(table)) in DOCS


def test_every_reaction_is_documented():
    assert all(f"| {reaction.name} | {reaction.value} |" in DOCS for reaction in Reaction)


def test_every_library_and_state_is_documented():
    states = [*MemberState, *JoinState, *MembershipState]

    assert [name for name in LIBRARIES if name not in DOCS] == []
    assert [state.name for state in states if state.name not in DOCS] == []
    assert set(MEMBER_STATES) == set(JoinState)
    assert Application.__name__ in DOCS


def test_every_profile_is_documented():
    assert [name for name, row in rows_of_profiles() if row not in PROFILES_PAGE] == []


def rows_of_profiles():
    """One row per library, with the defaults of its newest version."""
    newest = {library.kind: library for library in PROFILES.values()}
    for kind, each in newest.items():
        cells = (
            each.name,
            "leaves" if each.leaves_on_close else "does not leave",
            each.slow_handler,
            "yes" if each.commits_while_slow else "no",
            "lost" if each.has_lost else "revoked",
            each.session_timeout_ms,
            each.rebalance_timeout_ms or "as max.poll.interval.ms"
            if each.has_rebalance_timeout
            else "as session.timeout.ms",
            each.commit_interval_ms or "after each record or batch",
            ", ".join(each.assignors),
        )
        yield kind, "| " + " | ".join(map(str, cells)) + " |"
