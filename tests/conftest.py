"""The engine of a test, and marks: `make test-fast` leaves out what starts Spark or a broker."""

import pytest

from jobs.command_line.config import load_config
from jobs.engine.choice import Engine
from tests.engines import ENGINES, restored_mode, using


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
