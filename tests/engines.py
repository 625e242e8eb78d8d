"""The engines on which tests of jobs run."""

import pytest

SPARK = pytest.param("spark", marks=pytest.mark.spark)


def spark_only(reason):
    """Run the test on Spark alone, because of what the embedded engine does not have."""
    assert reason
    return pytest.mark.parametrize("engine", [SPARK], indirect=True, scope="module")
