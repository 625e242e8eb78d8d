"""Which tests share a worker when several run at a time (``pytest -n 2 --dist loadgroup``)."""

import pytest


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items):
    """A file's tests share fixtures, and those over the one lake of all incidents share that."""
    for item in items:
        shared = "lakes" in getattr(item, "fixturenames", ())
        item.add_marker(pytest.mark.xdist_group("lakes" if shared else str(item.path)))
