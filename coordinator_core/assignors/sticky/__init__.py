"""Sticky and cooperative-sticky: balanced first, then few moves."""

from coordinator_core.assignors.sticky.assignor import assign, assign_cooperative

__all__ = ["assign", "assign_cooperative"]
