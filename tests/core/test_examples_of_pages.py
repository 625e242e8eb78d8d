"""The examples in docstrings of packages of coordinator_core give what they show."""

import doctest

import pytest

from coordinator_core import modern_history, whatif
from tests.core.modern_history import group_records
from tests.core.whatif import deployed_groups

PARTITIONS = {f"P{number}": ("active", None, "topic", number) for number in (0, 1)}
PAGES = {
    whatif: (9, vars(deployed_groups)),
    modern_history: (6, vars(group_records) | PARTITIONS),
}


@pytest.mark.parametrize("package", PAGES, ids=lambda each: each.__name__)
def test_the_example_is_played(package):
    steps, names = PAGES[package]
    example = doctest.DocTestParser().get_doctest(
        package.__doc__, vars(package) | names, package.__name__, None, 0
    )

    results = doctest.DocTestRunner().run(example)

    assert (results.attempted, results.failed) == (steps, 0)
