"""The session that the jobs' tests have."""

from tests.jobs.conftest import spark

__all__ = ["spark"]
