"""Marks of every test: `make test-fast` leaves out what starts Spark or a Kafka broker."""

import pytest

# Fixtures that start a Spark session or a broker, in this process or in a command's.
SPARK_FIXTURES = {"spark", "demo", "ingested"}
BROKER_FIXTURES = {"broker"}


def pytest_collection_modifyitems(items):
    for item in items:
        if SPARK_FIXTURES & set(item.fixturenames):
            item.add_marker(pytest.mark.spark)
        if BROKER_FIXTURES & set(item.fixturenames):
            item.add_marker(pytest.mark.broker)
