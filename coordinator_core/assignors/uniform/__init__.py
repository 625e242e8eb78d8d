"""Uniform: the coordinator's assignor, balanced and sticky."""

from coordinator_core.assignors.uniform.assignor import assign

__all__ = ["assign"]
