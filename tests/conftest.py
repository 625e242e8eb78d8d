"""The engine of a test, and marks: `make test-fast` leaves out what starts Spark or a broker."""

import pytest

from jobs.engine.embedded import SPARK_CONNECT_MODE
from tests.engines import SPARK


@pytest.fixture(scope="module", params=[SPARK, "embedded"])
def engine(request):
    """The engine's name.  Meanwhile PySpark's functions build columns of this engine; the sessions
    of both stay alive."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "embedded":
            patch.setenv(SPARK_CONNECT_MODE, "1")
        else:
            patch.delenv(SPARK_CONNECT_MODE, raising=False)
        yield request.param


# Fixtures of tests/end_to_end that start a Spark session, in this process or in a command's.
SPARK_FIXTURES = {"spark", "demo", "ingested"}


def pytest_collection_modifyitems(items):
    for item in items:
        if SPARK_FIXTURES & set(item.fixturenames) and "engine" not in item.fixturenames:
            item.add_marker(pytest.mark.spark)
        if "broker" in item.fixturenames:
            item.add_marker(pytest.mark.broker)
