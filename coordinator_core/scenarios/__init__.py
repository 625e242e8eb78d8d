"""Scenarios and traces: a timed list of requests in, everything that the coordinator did out.

A scenario is a JSON object: ``name``, ``config`` (settings of the coordinator) and ``steps``.  A
step has ``at_ms``, ``id``, ``op`` (join, sync, heartbeat, leave, commit, fetch, describe, delete,
wait, fault) and the fields of its request.  Member ids are made by the coordinator, so a step
refers to them: "@a1" in a member field is the member id of the answer to step a1, and in a
generation field that answer's generation.

A trace is a list of JSON objects in one order.  The first is the start line, with every member id
that was made, so that another implementation can play the scenario with the same ids.  Then come
``response`` lines (an answer, with its fields), ``record`` lines (key and value, in base64) and
``state`` lines (the state of a group after a step or a timer, if it changed).

Kafka's own coordinator classes (tools/differential) and real brokers play the same scenarios, and
their traces are what the engine is tested against.  Time is virtual: timers due at a step's time
fire before the step, and timers that the step sets for the same time fire right after it.  Appends
succeed at once, except for the one after a ``fault`` step.

scenario       plays a scenario of classic groups; member ids given or derived
group_types    plays a scenario of groups of all types
step_requests  the request of each of its steps
references     the answers that its steps refer to
topics         its topics
trace_events   the lines of a trace
"""
