"""Range: per topic, consecutive partitions to the members in order."""

from coordinator_core.assignors.range.client import assign
from coordinator_core.assignors.range.server import assign as assign_on_server

__all__ = ["assign", "assign_on_server"]
