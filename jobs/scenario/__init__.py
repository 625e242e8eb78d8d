"""``regroup scenario``: plays scenarios with the coordinator model, and draws them.

A scenario is a JSON file with a coordinator's configuration and a timed list of requests
(``coordinator_core.scenarios`` describes the format).  ``regroup scenario run`` plays it in an era
and prints the trace: every answer, record and state, as JSON Lines.  With ``--ids-from`` it takes
the member ids from an existing trace, so that the two traces can be compared byte for byte: the
order of members in records depends on their ids.

``regroup scenario diagram`` draws a sequence diagram, as text or Mermaid, from one of three inputs
(``coordinator_core.diagram``):

- a scenario and an era: the engine plays it now;
- a trace, alone or with its scenario: the answers that a broker gave;
- a script of consumers and an era: the client model sends the requests.

Wrong arguments and invalid files raise UsageError, whose message says what to change.

command  both commands: files in, traces or a diagram out
"""
