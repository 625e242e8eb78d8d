"""The docstrings of jobs and coordinator_core list what is in their folders, and nothing else."""

import re
from pathlib import Path

import coordinator_core
import jobs
from coordinator_core.coordinator.eras import ERAS

ROOT = Path(__file__).parent.parent


def listed(docstring, indent):
    """Names at the start of lines with this indent, up to two spaces or the end of the line."""
    lines = re.findall(rf"^ {{{indent}}}([a-z]\w*(?:, \w+)*)(?:  .*)?$", docstring, re.MULTILINE)
    return sorted(name for line in lines for name in line.split(", "))


def folders(package):
    return sorted(each.parent.name for each in (ROOT / package).glob("*/__init__.py"))


def test_the_packages_of_the_core():
    assert listed(coordinator_core.__doc__, 2) == folders("coordinator_core")


def test_the_jobs():
    of_jobs, _ = jobs.__doc__.split("\nRooms, from top to bottom.")
    modules = {each.stem for each in (ROOT / "jobs").glob("*.py")} - {"__init__"}

    assert listed(of_jobs.split("dependency order:\n")[1], 4) == sorted(modules)


def test_the_eras_of_the_coordinator():
    first, last = (list(ERAS)[n] for n in (0, -1))

    assert f"the group coordinator of Kafka {first} to {last}," in coordinator_core.__doc__
