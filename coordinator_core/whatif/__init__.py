"""Predict what other settings would have changed for a group.

An incident's evidence shows when each process started, stopped, crashed and stopped polling
(coordinator_core.lives).  These process lives do not depend on Kafka's settings; almost everything
else does: which departures lead to a rebalance, how long a join takes, what the assignor moves, how
long partitions have no owner.  So a prediction keeps the process lives, changes the settings, and
simulates the rest with the models of clients and coordinator (coordinator_core.simulation).

Three results are put side by side, each with the same figures (`Figures`: rebalances, time not
stable, moved partitions, unavailable partition time; with commits also records reprocessed and
consumption pauses):

- observed:  computed from the evidence alone.
- model:     the simulation under unchanged settings.  Its distance from observed says how far the
             predictions can be trusted.
- predicted: the simulation under changed settings.  Compare it with model, not with observed.

Seeds.  The evidence gives each start and end of a process as an interval.  The first seed uses the
most likely time; the others draw a time from the interval, and draw how late heartbeats are.  A
prediction has one result per seed: the median is shown, with minimum and maximum.  A change counts
as a saving only if its worst seed is better than the best seed of the unchanged settings.

A simulation in which no session expired has the same figures with longer sessions, so a sweep over
settings does not repeat it.

The group runs alone on one healthy broker of its era: failed appends, moved coordinators and
competing load are not simulated.  A process restarts when it did, whatever the settings.  Only
groups whose protocol type is "consumer" have a client model, but for Kafka Streams, whose tasks no
assignor here assigns; others raise NotAConsumerGroup.

What Kafka does, and what a setting changes
-------------------------------------------
Take a rolling deployment.  A dynamic member that is closed sends LeaveGroup: the others rebalance,
and rebalance again when its successor joins.  All members of an eager group revoke everything for
each of these rebalances, but the partitions of the stopped process get an owner within seconds.  A
static member (KIP-345) sends no LeaveGroup.  Nobody rebalances, and its partitions wait for its
successor, or for the end of its session.  So static membership buys fewer rebalances with partition
downtime.  The balance depends on the assignor, the timeouts, the number of processes, and on how
long each restart took, so it is simulated.

Example
-------
Six Java consumers share twelve partitions (range, session timeout 45 s).  After two minutes each is
restarted in turn: 4 s down, every 20 s.  `baseline_of` reads the deployment from the records and
the log of the group:

>>> baseline = baseline_of_group({**DEPLOYED, "at": "2m"}, "5m")
>>> len(baseline.processes), {len(process.lives) for process in baseline.processes}
(6, {2})

The model, with the group's own settings: the first join, and almost two rebalances per restart:

>>> before = predict(baseline, UNCHANGED, seeds=3).median
>>> before.rebalances, before.moved_partitions, before.unavailable_partition_ms
(12, 49, 17130)

The same process lives with static members: the first join only.  But each restart now leaves two
partitions without an owner for 4 s, so the downtime is almost three times as long:

>>> static = SettingsChange.of(["group.instance.id=process"])
>>> prediction = predict(baseline, static, seeds=3)
>>> after = prediction.median
>>> after.rebalances, after.moved_partitions, after.unavailable_partition_ms
(1, 0, 47772)
>>> prediction.minimum.unavailable_partition_ms, prediction.maximum.unavailable_partition_ms
(47752, 47792)

Where each part is
------------------
- settings:      `SettingsChange`, parsed from KEY=VALUE, with its cost; `GRID`, the default changes
- kafka_names:   Kafka's names of the settings
- client_libraries: which library each process has after the change
- limits:        what a group's brokers and clients would refuse
- candidates:    the default changes, fitted to a group, and changes to the other group protocol
- broker_limits: limits of a consumer group's own configuration
- readiness:     what keeps a group from the consumer protocol
- verdict:       whether a group should migrate, and what gets worse
- baseline:      `baseline_of`, what the simulation needs to know about a group: process lives,
                 client libraries, topics, assignor, heartbeat interval, era
- consumer_baseline: the same of a group that has, or had, the consumer protocol
- migration:     an online rolling migration: which processes restart when
- predict:       `predict`, `predict_each`: the baseline's process lives under changed settings;
                 `instance_ids_of`, `other_instance_ids`: where static members' names come from
- deployments:   ways to deploy a group: which processes stop and start when, and the figures
- observed_deployment: how a group was deployed since a time
- autoscaler:    an autoscaler that follows the lag, replayed over a load
- manifests:     the lines of Kubernetes manifests for a way to deploy
- observed:      the figures from evidence alone
- ownership:     time without an owner within a period
- handovers:     records reprocessed and pauses where the tenures of a simulation end
- known_settings: settings of brokers and groups by configuration files or the Admin API
- in_force:      the settings in force, with what shows each; changes without them
- fit:           whether the model explains the observed figures
- judgement:     `judge`: predictions and advice of one group, for all commands
- figures:       the figures; `Prediction`, one result per seed
- advice:        the cheapest change that saves most of the unavailable time, and what was rejected
- carried_out:   whether advice was carried out, and since when
- advice_outcomes: predicted beside observed figures per deployment, before and after
- reasons:       why a change helps, what it risks, what its prediction assumes
- config_blocks: the lines to paste into configurations
- client_settings: what a change sets and removes in the consumers' configurations
- deployment_forms: the lines for consumers, as each kind of deployment takes them
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
