"""``regroup simulate`` and ``regroup scenario``: the models of coordinator_core, from and to files.

``regroup simulate`` runs a simulated fleet, into files or into a lake.  The simulation itself is
coordinator_core/simulation; this package reads its spec and writes its output.

- ``spec_file``: reads a spec (TOML) and reports what is wrong with it.
- ``output_files``: segment files, server.log, trace and truth of one simulation.
- ``into_lake``: a fleet of any size as Spark tasks, straight into bronze tables.
- ``command``: the command with its two modes.

``regroup scenario`` plays scenarios with the coordinator model, and draws them.  A scenario is a
JSON file with a coordinator's configuration and a timed list of requests
(``coordinator_core.scenarios`` describes the format).  ``regroup scenario run`` plays it in an era
and prints the trace: every answer, record and state, as JSON Lines.  With ``--ids-from`` it takes
the member ids from an existing trace, so that the two traces can be compared byte for byte, because
the order of members in records depends on their ids.  ``regroup scenario diagram`` draws a sequence
diagram, as text or Mermaid, from one of three inputs (``coordinator_core.diagram``): a scenario and
an era, which the engine plays now; a trace, alone or with its scenario; or a script of consumers
and an era, for which the client model sends the requests.

- ``scenario``: both commands, which read files and write traces or a diagram.
"""
