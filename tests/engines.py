"""The engines on which tests of jobs run."""

import os
from contextlib import contextmanager

import pytest

from jobs.engine.embedded import SPARK_CONNECT_MODE

SPARK = pytest.param("spark", marks=pytest.mark.spark)
ENGINES = [SPARK, "embedded"]
OTHER = {"spark": "embedded", "embedded": "spark"}


def spark_only(reason):
    """Run the test on Spark alone, because of what the embedded engine does not have."""
    assert reason
    return pytest.mark.parametrize("engine", [SPARK], indirect=True, scope="module")


@contextmanager
def using(engine):
    """Meanwhile PySpark's functions build columns of this engine.  Sessions of both stay alive."""
    with restored_mode():
        if engine == "embedded":
            os.environ[SPARK_CONNECT_MODE] = "1"
        else:
            os.environ.pop(SPARK_CONNECT_MODE, None)
        yield


@contextmanager
def restored_mode():
    """Undo the choice of an engine that commands make meanwhile."""
    before = os.environ.get(SPARK_CONNECT_MODE)
    yield
    if before is None:
        os.environ.pop(SPARK_CONNECT_MODE, None)
    else:
        os.environ[SPARK_CONNECT_MODE] = before
