"""Fleets of consumer groups on one virtual clock: what their brokers leave behind, and the truth.

``fleet_of`` reads a spec, ``simulate`` plays it; nothing here reads a file, a clock or chance.
"""

from coordinator_core.simulation.outputs import Line, Output, Told, Traced, Written
from coordinator_core.simulation.reading import SpecError, duration_ms
from coordinator_core.simulation.spec import Fleet, fleet_of
from coordinator_core.simulation.world import World, simulate

__all__ = [
    "Fleet",
    "Line",
    "Output",
    "SpecError",
    "Told",
    "Traced",
    "World",
    "Written",
    "duration_ms",
    "fleet_of",
    "simulate",
]
