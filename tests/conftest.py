"""The engine of a test, and marks: `make test-fast` leaves out what starts Spark or a broker."""

import pytest
from hypothesis import settings

from jobs.configuration.config import load_config
from jobs.engine.choice import Engine
from tests.engines import ENGINES, restored_mode, using

# The same examples in each run; `make -C tools laws` tries others.
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


def pytest_collection_modifyitems(items):
    for item in items:
        if "broker" in item.fixturenames:
            item.add_marker(pytest.mark.broker)
        if "engine" in item.fixturenames and "end_to_end" in item.path.parts:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("embedded_suffices") and _is_on_spark(item):
            item.add_marker(pytest.mark.spark_campaign)
    # Files that take long first, so that no process has one left at the end; the one that waits for
    # the compiled wheel comes after them.
    long = {item.path for item in items if item.get_closest_marker("slow") or _is_on_spark(item)}
    compiled = {item.path for item in items if "installed" in item.fixturenames}
    items.sort(key=lambda item: (item.path not in long, item.path in compiled))


def _is_on_spark(item):
    return item.get_closest_marker("spark") is not None
