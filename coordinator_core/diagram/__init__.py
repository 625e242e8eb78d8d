"""Sequence diagrams of scenarios, traces and consumers: members, the coordinator, its log.

as_text(draw(watch(scenario, ERAS["2.0"], derived_ids())))  # played now, and seen inside
as_mermaid(draw(recall(trace, scenario)))                   # what a trace has
as_text(draw(live(script, ERAS["4.1"], derived_ids())))     # what consumers do by themselves
"""

from coordinator_core.diagram.consumers import live
from coordinator_core.diagram.drawing import Diagram, draw
from coordinator_core.diagram.mermaid import as_mermaid
from coordinator_core.diagram.recorded import recall
from coordinator_core.diagram.text import as_text
from coordinator_core.diagram.watching import watch

__all__ = ["Diagram", "as_mermaid", "as_text", "draw", "live", "recall", "watch"]
