"""A production incident played again through the engine, from the evidence it left behind."""

from coordinator_core.incident.evidence import Life, lives
from coordinator_core.incident.replay import Explanation, Generation, Replay, Told, explain, replay

__all__ = [
    "Explanation",
    "Generation",
    "Life",
    "Replay",
    "Told",
    "explain",
    "lives",
    "replay",
]
