"""The causes of each rebalance (its trigger and all other causes), and the actions of the
processes.

reads   timeline, generations, generation_members, assignments, committed_offsets, churn
        group_epochs, member_epochs   of consumer, share and streams groups
        client_events                 what clients logged of their departures and returns
writes  rebalance_causes   one row per cause

`jobs.causes` has the kinds of evidence, and how they show what a process did.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.causes.administrators import configurations, deletions
from jobs.causes.arrivals import arrivals
from jobs.causes.clients import expiries_without_group, with_clients
from jobs.causes.departures import departures
from jobs.causes.modern_groups import (
    epoch_causes,
    in_generations,
    logged_members,
    refused_joins,
    static_leaves,
)
from jobs.causes.processes import (
    beside_previous,
    fenced_after_replacement,
    fenced_out,
    seen_before,
    with_lost_session,
    with_neighbors,
    with_process,
)
from jobs.causes.roles import with_role
from jobs.causes.rows import MEMBER_AND_TIME
from jobs.causes.slow_polls import with_slow
from jobs.causes.stories import with_story
from jobs.causes.triggers import other_triggers
from jobs.client_evidence import beside_brokers
from jobs.engine.keeping import computed
from jobs.lake.client_rows import CLIENT_EVENTS
from jobs.lake.group_types import COUNTS_AS_CLASSIC
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY, MEMBER_KEY
from jobs.lake.outages import outages_of
from jobs.lake.scope import RunScope

READS_OF_CLASSIC = ("timeline", "generations", "generation_members", "assignments", "churn")
READS = (*READS_OF_CLASSIC, "committed_offsets", "group_epochs", "member_epochs")


def rebalance_causes(
    timeline: DataFrame,
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    churn: DataFrame,
    committed_offsets: DataFrame | None = None,
    group_epochs: DataFrame | None = None,
    member_epochs: DataFrame | None = None,
    gone_processes: DataFrame | None = None,
    of_clients: DataFrame | None = None,
    outages: DataFrame | None = None,
    client_events: DataFrame | None = None,
) -> DataFrame:
    """``gone_processes`` are processes that left not long before these tables begin; ``of_clients``
    say what clients logged of these generations, see `jobs.causes.clients`; ``client_events``:
    their lines; ``group_epochs`` and ``member_epochs`` are None without modern groups;
    ``committed_offsets`` is None if no cause has a time, so that no commit is before it;
    ``outages``: see `jobs.lake.outages`.
    """
    causes = _causes(timeline, generations, generation_members, group_epochs, member_epochs)
    seen = seen_before(generations, generation_members, gone_processes)
    # All branches below use this small result, so the checkpoint truncates its plan.
    typed = _with_group_type(causes, generations)
    of_processes = with_process(typed, generation_members, timeline)
    named = computed(of_processes.join(seen, on=[*GENERATION_KEY, "member_id"], how="left"))
    compared = with_neighbors(named)
    examined = (
        with_slow(compared, generations, assignments, committed_offsets)
        .join(fenced_after_replacement(timeline), on=[*INCARNATION_KEY, "replaces"], how="left")
        .join(fenced_out(timeline), on=MEMBER_KEY, how="left")
        .join(beside_previous(compared, generation_members), on=MEMBER_AND_TIME, how="left")
    )
    lost = with_lost_session(examined, generation_members, outages)
    with_roles = with_role(with_story(lost, churn, generations), generations)
    if of_clients is None:
        return _numbered(with_roles)
    # The rules about clients read both frames many times: without their rows, the embedded engine
    # plans and computes everything above again for each of these reads.
    with_roles = computed(with_roles)
    if client_events is not None:
        without_group = expiries_without_group(with_roles, client_events)
        of_clients = computed(of_clients.unionByName(without_group, allowMissingColumns=True))
    return _numbered(with_clients(with_roles, of_clients, generations))


def _causes(
    timeline: DataFrame,
    generations: DataFrame,
    generation_members: DataFrame,
    group_epochs: DataFrame | None,
    member_epochs: DataFrame | None,
) -> DataFrame:
    """All causes, see `jobs.causes.rows`."""
    departed = departures(timeline)
    if group_epochs is not None:
        departed = in_generations(departed, generations, group_epochs)
    arrived = arrivals(timeline, generations, generation_members, group_epochs)
    # This frame is read twice below and has a large plan, which engines thus plan only once.
    members = computed(departed.unionByName(arrived))
    causes = members.unionByName(other_triggers(generations.where(COUNTS_AS_CLASSIC), members))
    causes = causes.unionByName(deletions(timeline, generations))
    causes = causes.unionByName(configurations(timeline))
    if group_epochs is None or member_epochs is None:
        return causes
    return (
        causes.unionByName(epoch_causes(group_epochs, generations))
        .unionByName(static_leaves(member_epochs, timeline))
        .unionByName(refused_joins(timeline, generations))
        .unionByName(logged_members(group_epochs, timeline, generations))
    )


def _with_group_type(causes: DataFrame, generations: DataFrame) -> DataFrame:
    return causes.join(
        generations.select(*GENERATION_KEY, (~F.expr(COUNTS_AS_CLASSIC)).alias("is_new_type")),
        on=GENERATION_KEY,
        how="inner",
    )


def _numbered(causes: DataFrame) -> DataFrame:
    order = Window.partitionBy(*GENERATION_KEY).orderBy(
        (F.col("role") != "trigger"), F.col("event_time").asc_nulls_last(), "kind", "member_id"
    )
    return causes.withColumn("cause_seq", F.row_number().over(order)).select(
        *GENERATION_KEY,
        "cause_seq",
        "event_date",
        "event_time",
        "role",
        F.coalesce("cause", F.lit("UNKNOWN")).alias("cause"),
        "story",
        "member_id",
        "instance_id",
        "client_id",
        "client_host",
        "process",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "reason",
        "client_reason",
        "evidence",
        "settings",
    )


def run(scope: RunScope) -> None:
    has_epochs = scope.has_rows("group_epochs")
    epochs = ("group_epochs", "member_epochs") if has_epochs else ()
    tables = {name: scope.read(name) for name in (*READS_OF_CLASSIC, *epochs)}
    # Without log lines, only group epochs give times to causes.
    if has_epochs or scope.has_rows("group_events"):
        tables["committed_offsets"] = scope.read_recent("committed_offsets")
        tables["outages"] = outages_of(scope)
    of_clients = beside_brokers(scope, tables["generations"], tables["assignments"])
    if of_clients is not None:
        tables["client_events"] = scope.lake.read(CLIENT_EVENTS)
    causes = rebalance_causes(
        **tables,
        gone_processes=scope.carried("gone_processes"),
        of_clients=of_clients,
    )
    scope.replace("rebalance_causes", causes)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("rebalance_causes")
