"""Sequence diagrams of group rebalances: members, the coordinator and its log.

A diagram shows what members send, what the coordinator answers and writes, and notes over the
coordinator: its state, why a rebalance starts, which members the delayed join waits for, and which
request or timer completes it.  A diagram is made in three steps:

    recording = record_scenario(scenario, ERAS["2.0"], derived_ids())
    diagram = draw(recording)
    print(as_text(diagram))

A ``Recording`` is a list of entries in one order: arrived requests, fired timers, lines of the
trace, events of the group, the status of the delayed join, and events of a client.  It comes from

scenario_recording  a scenario that the engine plays now; knows every event and delayed join
trace_recording     a trace of a broker or of the engine, with its scenario or without; knows
                    log lines instead of events, so causes may be missing
consumer_recording  a script of consumers, which the client model and the engine run

``draw`` turns entries into rows: arrows, notes, and pauses where nothing happens for a second.

names         participants from steps, and short names (a, b, b2) from member ids
words         texts of requests, answers and records
modern_words  the same for consumer, share and streams groups
notes         texts of notes
drawing       recording -> diagram: rows, folded heartbeats, merged records, pauses
text          diagram -> lines for a terminal
mermaid       diagram -> a Mermaid sequenceDiagram
"""

from coordinator_core.diagram.consumer_recording import record_consumers
from coordinator_core.diagram.drawing import Diagram, draw
from coordinator_core.diagram.mermaid import as_mermaid
from coordinator_core.diagram.scenario_recording import record_scenario
from coordinator_core.diagram.text import as_text
from coordinator_core.diagram.trace_recording import record_trace

__all__ = [
    "Diagram",
    "as_mermaid",
    "as_text",
    "draw",
    "record_consumers",
    "record_scenario",
    "record_trace",
]
