"""Predict what other settings would have changed for a group.

An incident's evidence shows when each process started, stopped, crashed and stopped polling
(coordinator_core.lives).  These process lives do not depend on Kafka's settings; almost everything
else does: which departures lead to a rebalance, how long a join takes, what the assignor moves, how
long partitions have no owner.  Therefore a prediction keeps the process lives, changes the
settings, and simulates everything else with the models of clients and coordinator
(coordinator_core.simulation).

Three results are put side by side, each with the same figures (`Figures`: rebalances, time not
stable, moved partitions, unavailable partition time; with commits also records reprocessed and
consumption pauses):

- observed:  computed from the evidence alone.
- model:     the simulation under unchanged settings.  Its distance from observed says how much the
  predictions can be trusted.
- predicted: the simulation under changed settings.  Compare it with model, not with observed.

Seeds.  The evidence gives each start and end of a process as an interval.  The first seed uses the
most likely time.  The other seeds draw a time from the interval, and draw the delays of heartbeats.
A prediction has one result per seed: the median is shown, with minimum and maximum.  A change
counts as a saving only if its worst seed is better than the best seed of the unchanged settings.

A simulation in which no session expired has the same figures with longer sessions, so a sweep over
settings does not repeat it.

The group runs alone on one healthy broker of its era: failed appends, moved coordinators and
competing load are not simulated.  A process restarts when it did, whatever the settings.  Only
groups whose protocol type is "consumer" have a client model, except Kafka Streams, whose tasks no
assignor here assigns; other groups raise NotAConsumerGroup.

What Kafka does, and what a setting changes
-------------------------------------------
Take a rolling deployment.  A dynamic member that is closed sends LeaveGroup: the other members
rebalance, and rebalance again when its successor joins.  All members of an eager group revoke
everything for each of these rebalances, but the partitions of the stopped process get an owner
within seconds.  A static member (KIP-345) sends no LeaveGroup.  Nobody rebalances, and its
partitions wait for its successor, or for the end of its session.  Static membership therefore
trades fewer rebalances for more partition downtime.  The balance depends on the assignor, the
timeouts, the number of processes, and on how long each restart took, so it is simulated.

A process that is killed sends no LeaveGroup either.  Its partitions wait until its session expires,
then all members rebalance.  A shorter session shortens this wait, but also removes processes that
only paused.  The coordinator refuses sessions outside its limits, librdkafka sessions longer than
max.poll.interval.ms (`limits`).

An application that polls too late makes its client leave at max.poll.interval.ms, and join again
when it polls: two rebalances.  A longer interval avoids both, but then nobody consumes the slow
process' partitions in the meantime.

Under the consumer protocol (KIP-848) only partitions that move lose their owner.  However, a member
notices a new target by its next heartbeat (every 5 s by default), and the broker's default session
is 45 s.  A killed static member keeps its instance id until its session expires, so its successor
is refused.  An online migration restarts the processes one after another; meanwhile classic members
are members of a consumer group (`migration`).

An assignor decides which partitions move.  The prediction runs the real algorithm on the simulated
members (coordinator_core.assignors).

Advice (`advice`) is the cheapest change with at least 85 % of the best change's saving.  A change
of a consumer setting costs 1, another broker version or client library 8, other changes between 2
and 4.  A group gets no advice if its unchanged settings do not give the observed figures (`fit`).

Example
-------
Six Java consumers share twelve partitions (range, session timeout 45 s).  After two minutes each
process is restarted in turn: 4 s down, every 20 s.  `baseline_of` reads the deployment from the
records and the log of the group:

>>> baseline = baseline_of_group({**DEPLOYED, "at": "2m"}, "5m")
>>> len(baseline.processes), {len(process.lives) for process in baseline.processes}
(6, {2})

The model, with the group's own settings: the first join, and almost two rebalances per restart:

>>> before = predict(baseline, UNCHANGED, seeds=3).median
>>> before.rebalances, before.moved_partitions, before.unavailable_partition_ms
(12, 49, 17130)

The same process lives with static members: the first join only.  However, each restart now leaves
two partitions without an owner for 4 s, so the downtime is almost three times as long:

>>> static = SettingsChange.of(["group.instance.id=process"])
>>> prediction = predict(baseline, static, seeds=3)
>>> after = prediction.median
>>> after.rebalances, after.moved_partitions, after.unavailable_partition_ms
(1, 0, 47772)
>>> prediction.minimum.unavailable_partition_ms, prediction.maximum.unavailable_partition_ms
(47752, 47792)

Where each part is
------------------
before the simulation: baseline, consumer_baseline (groups that have, or had, the consumer
    protocol), common_ends (processes that stopped together), observed (figures of the evidence),
    known_settings and in_force (settings in force), utc_times
changes: settings (`SettingsChange`, `GRID`), kafka_names, client_libraries, candidates (changes
    that fit a group), limits and broker_limits (what brokers and clients refuse)
simulation: predict, migration (which processes restart when), deployments (ways to deploy a
    group), autoscaler; figures, ownership and handovers (their figures), calibration (ranges)
judgement: judgement (`judge`, for all commands), fit (does the model explain the group), advice,
    currencies (what advice saves), concerned (which processes cause and bear the rebalances),
    reasons (why a change helps, what it risks), readiness and verdict (migration to the consumer
    protocol)
afterwards: carried_out, observed_deployment, advice_outcomes (predicted beside observed figures)
lines to paste: config_blocks, client_settings, deployment_forms, manifests (Kubernetes)
"""

from coordinator_core.whatif.advice import Advice, advise
from coordinator_core.whatif.baseline import Baseline, NotAConsumerGroup, baseline_of
from coordinator_core.whatif.candidates import candidates
from coordinator_core.whatif.figures import Figures, Outcomes, Prediction
from coordinator_core.whatif.limits import check, refusals
from coordinator_core.whatif.observed import observed
from coordinator_core.whatif.predict import (
    instance_ids_of,
    other_instance_ids,
    predict,
    predict_each,
    with_both_instance_ids,
)
from coordinator_core.whatif.settings import (
    GRID,
    SETTINGS,
    UNCHANGED,
    InvalidSetting,
    SettingsChange,
)

__all__ = [
    "GRID",
    "SETTINGS",
    "UNCHANGED",
    "Advice",
    "Baseline",
    "Figures",
    "InvalidSetting",
    "NotAConsumerGroup",
    "Outcomes",
    "Prediction",
    "SettingsChange",
    "advise",
    "baseline_of",
    "candidates",
    "check",
    "instance_ids_of",
    "observed",
    "other_instance_ids",
    "predict",
    "predict_each",
    "refusals",
    "with_both_instance_ids",
]
