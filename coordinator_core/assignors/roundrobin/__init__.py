"""Round robin: all partitions in turn."""

from coordinator_core.assignors.roundrobin.assignor import assign

__all__ = ["assign"]
