"""The engine of a test, and marks: `make test-fast` leaves out what starts Spark or a broker.

`make test` leaves out the campaign, which `make -C tools test-spark` runs: end-to-end tests on
Spark, captures of scripts that were also captured on a later broker, and tests with the mark
``seldom``, of which those with the mark ``every_time`` are a slice.  Neither runs tests
that repeat what others cover: those with the mark ``again``, and on Spark those with the mark
``again_on_spark``.  `make -C tools repetitions` does."""

import os

import pytest
from hypothesis import settings

from jobs.configuration.config import Engine, load_config
from tests.engines import ENGINES, OTHER, restored_mode, using
from tests.jobs.report.chromium import Chromium, find_chromium

LONG = ("slow", "broker")
# Versions of brokers on which the same scripts were captured.
CAPTURED = {"3.9.1", "4.1.2", "4.4.0"}

# Every run uses the same examples. `make -C tools laws` tries other examples.
settings.register_profile("same", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile("same")


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    """The engine's name, while PySpark's functions build its columns."""
    with using(request.param):
        yield request.param


@pytest.fixture(scope="module")
def config(engine):
    """The default configuration, with this engine."""
    return load_config(None, Engine(engine))


@pytest.fixture(autouse=True)
def _same_engine_after_the_test():
    with restored_mode():
        yield


@pytest.fixture(scope="session")
def chromium():
    """A browser, if one is installed; the build server requires one."""
    program = find_chromium()
    if program is None:
        missing = pytest.fail if os.environ.get("REGROUP_REQUIRE_CHROMIUM") else pytest.skip
        missing("no Chromium here (Debian: apt install chromium or chromium-headless-shell)")
    with Chromium(program) as browser:
        yield browser


def pytest_collection_modifyitems(config, items):
    latest = _latest_captures(items)
    for item in items:
        on_spark, end_to_end = _has(item, "spark"), "end_to_end" in item.path.parts
        if "started_broker" in item.fixturenames:
            item.add_marker(pytest.mark.broker)
        if end_to_end and "engine" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
        sometimes = end_to_end or _has(item, "embedded_suffices")
        is_older = _version(item) < latest.get(_but_for_version(item), "")
        is_seldom = is_older or (on_spark and sometimes) or _has(item, "seldom")
        if on_spark and _has(item, "again_on_spark"):
            item.add_marker(pytest.mark.again)
        elif is_seldom and not _has(item, "every_time"):
            item.add_marker(pytest.mark.campaign)
        if getattr(config.option, "loadgroup", False) and (on_spark or _has(item, "broker")):
            _send_to(item, "spark" if on_spark else "broker")
    # Start the groups and the files that take longest first, so that no process has one of them
    # left at the end.
    long = {item.path for item in items if any(_has(item, each) for each in LONG)}
    items.sort(key=lambda item: (not _has(item, "spark"), item.path not in long))


def _send_to(item, group):
    """xdist's scheduler runs tests whose ids have the same suffix as one piece of work.  Its own
    marks set the attribute that held the id before pytest 9.2."""
    item._id = type(item.id).parse(f"{item.nodeid}@{group}")


def _latest_captures(items):
    """The latest version of a captured broker, per test function and set of other parameters."""
    of_captures = (item for item in items if {"end_to_end", "whatif"} & {*item.path.parts})
    by_version = sorted(of_captures, key=_version)
    return {_but_for_version(item): _version(item) for item in by_version}


def _version(item):
    return max(_names(item) & CAPTURED, default="")


def _but_for_version(item):
    return item.path, item.originalname, frozenset(_names(item) - CAPTURED - set(OTHER))


def _names(item):
    """The texts of the test's parameters."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    parts = (each if isinstance(each, tuple) else (each,) for each in values)
    return {part for each in parts for part in each if isinstance(part, str)}


def _has(item, marker):
    return item.get_closest_marker(marker) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With --dist loadgroup, one process runs all tests on Spark, in one JVM, and one all tests
    with the broker; of other tests, those of a file run in one process."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class FilesAndGroups(LoadGroupScheduling):
        def _split_scope(self, nodeid):
            return super()._split_scope(nodeid).split("::")[0]

    return FilesAndGroups(config, log)
