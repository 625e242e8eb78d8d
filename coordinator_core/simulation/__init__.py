"""A simulated Kafka cluster with consumer groups, and the ground truth about them.

Consumers (``client``), the coordinator (``coordinator``), a network and faults run on one virtual
clock.  The simulation emits the output of real brokers: records of `__consumer_offsets` and lines
of server.log.  It also emits a trace and the ground truth, against which the results of any reader
of the records and lines can be checked.

Virtual time.  Nothing waits.  An event queue holds (time, phase, actor, callback); the simulation
takes the next entry, sets the clock to its time and calls it.  Several entries of one millisecond
run by phase (faults, appends, coordinator timers, requests, responses, clients) and then by actor,
never by the order in which they were scheduled.

Seeds.  Each random number is a hash of the seed and of its purpose (a process, a time, an offset);
there is no sequence of draws.  Therefore the same fleet and seed yield the same bytes, and a group
behaves the same whether it is simulated alone, among thousands of groups, or with idle time
skipped.

Faults.  Processes are stopped, killed, frozen (garbage collection), slow to poll, cut from the
network, or doubled with the same group.instance.id.  Messages are delayed, lost, duplicated or
reordered.  Brokers move leadership, stop, or fail appends.  Partitions of a group pause, or have a
record that ends each process that handles it.

Idle time.  A stable group without messages in flight can only change at times that are known in
advance (a planned action, a fault, a consumer's own timer).  Heartbeats until shortly before the
first of these events are skipped.  The output is the same.

Modules, in the order in which they build on each other:

- ``random_draws``: random numbers by seed and purpose.
- ``event_queue``: the virtual clock.
- ``spec_values``, ``spec``, ``plans``: a spec file's values, the fleet that they describe, and the
  actions that a group's plans expand to.  ``random_fleets``: specs drawn from a seed, for tests.
- ``outputs``: record batches, log lines, trace lines, truth lines.
- ``channels``, ``message_delivery``: connections, delays, loss; requests and responses in transit.
- ``offsets_partition``, ``broker``: a partition of `__consumer_offsets`; a broker with its
  coordinator.
- ``consumption``: the records that an application handles; obstacles.
- ``process``: a process with its consumer and its application.
- ``ground_truth``, ``ownership_times``, ``tracing``: the ground truth and the trace.
- ``simulated_group``, ``cluster_view``: a group's state, and the cluster as its parts see it.
- ``faults``, ``idle_time``, ``cluster``: broker faults, skipping, and the whole cluster.

``fleet_of`` reads a spec, ``simulate`` runs it.  They use no files, clocks or environment.
"""

from coordinator_core.simulation.cluster import SimulatedCluster, simulate
from coordinator_core.simulation.outputs import (
    BrokerLogLine,
    Output,
    TraceLine,
    TruthLine,
    WrittenBatch,
)
from coordinator_core.simulation.spec import Fleet, fleet_of
from coordinator_core.simulation.spec_values import SpecError, duration_ms

__all__ = [
    "BrokerLogLine",
    "Fleet",
    "Output",
    "SimulatedCluster",
    "SpecError",
    "TraceLine",
    "TruthLine",
    "WrittenBatch",
    "duration_ms",
    "fleet_of",
    "simulate",
]
