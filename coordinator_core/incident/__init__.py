"""Reproduce a group's incident: infer the requests from the evidence, run the engine, compare.

Brokers leave two kinds of evidence of a group.  The `__consumer_offsets` topic has a group record
for each generation whose leader synced: generation, protocol, leader, members with subscriptions
and assignments, and the time at which the join completed.  The log (server.log) has a line for
most changes: rebalance started and why, member joined, left or expired, join completed, assignment
received.  Neither contains the requests themselves.

The replay works in four steps:

    evidence  -> one incarnation of the group at a time, cut into its generations
    stimuli   -> for each generation, the requests that lead to it, each with the interval in which
                 it was sent, and its basis: a log line, a record, or an assumption
    engine    -> the coordinator model processes the stimuli; its own timers expire sessions, joins
                 and syncs; it elects leaders, counts votes, numbers generations, writes records
    comparison-> log lines, records and times of production against those of the engine

A generation is reproduced if nothing differs, else it diverged; the first difference is reported.
If no record of the incarnation remains, a difference is no divergence: the verdict is undecided.
After a divergence the engine is loaded with production's record, like a coordinator that takes over
the group, so that later generations are judged independently.

With a log, departures, expiries and new members have their own lines.  The rejoins of all other
members are inferred from the next record, and lie between the start of the rebalance and the end of
the join.  Followers' syncs are never logged: all followers are assumed to sync unless they are
removed for not syncing.  With records alone, a member of the previous record that is missing from
the next record is assumed to leave (an expiry looks the same), a new member joins, and all other
members rejoin.  If the members do not change, the leader is assumed to have requested the
rebalance.  Generations superseded before their leader synced leave no record.  With a log alone (no
records) the lines still show the members that join, leave and expire.  Subscriptions and
assignments are unknown and stay empty, timeouts are defaults, and no record is compared.

Other values are also inferred: the broker's era (from the wordings of its log and the versions of
its records), its group.initial.rebalance.delay.ms, and the timeouts and protocols of members.

- evidence:            rows of the lake as values: log events and group records of an incarnation
- generation_evidence: an incarnation's evidence cut into generations
- members:             settings, protocols and metadata of each member, from the records
- broker_settings:     era and initial rebalance delay
- stretches:           the eras of a group's coordinators, if the brokers were upgraded
- stimuli:             what reached the coordinator; expired sessions
- stimulus_builder:    builds a generation's stimuli while it tracks the members present
- log_inference:       stimuli of a generation whose start is logged
- record_inference:    stimuli of a generation that only its records show
- later_evidence:      facts about a generation that only later evidence shows
- commits:             offset commits as stimuli
- engine_driver:       sends stimuli to the engine, collects what it logs and writes
- comparison:          production against the engine: the first divergence
- explanation:         the steps up to the stimuli, for all incarnations of a group
- replay:              the remaining steps, and the verdicts
- divergence_hints:    likely reasons of a divergence
- story:               the incident as sentences
- modern:              all of this for consumer, share and streams groups
"""

from coordinator_core.incident.evidence import Incarnation, incarnations
from coordinator_core.incident.explanation import ExplainedGroup, ExplainedIncarnation, explain
from coordinator_core.incident.replay import GroupReplay, ReplayedGeneration, ReplayVerdict, replay

__all__ = [
    "ExplainedGroup",
    "ExplainedIncarnation",
    "GroupReplay",
    "Incarnation",
    "ReplayVerdict",
    "ReplayedGeneration",
    "explain",
    "incarnations",
    "replay",
]
