"""A production incident played again through the engine, from the evidence it left behind."""

from coordinator_core.incident.evidence import Life, lives
from coordinator_core.incident.replay import Generation, Replay, replay

__all__ = ["Generation", "Life", "Replay", "lives", "replay"]
