"""Inferred stimuli: their evidence, basis and uncertainty; and the story."""

from collections import Counter

from coordinator_core.incident import incarnations, replay
from coordinator_core.incident.divergence_hints import likely_reason
from coordinator_core.incident.stimuli import Basis, StimulusKind
from coordinator_core.incident.story import story
from tests.core.incident.incident_rows import of_example

SESSION_MS = 10_000


def replayed(group, version="3.9.1", **options):
    evidence = of_example(version)
    return replay(incarnations(group, evidence.events[group], evidence.records[group]), **options)


def generation(result, number):
    return next(each for each in result.generations if each.number == number)


def test_a_leave_and_the_rejoins_it_causes():
    """billing-1 leaves in the rolling restart: a logged leave, and five members that rejoin."""
    made = generation(replayed("billing-eager"), 2)

    acts = Counter((each.kind, each.basis) for each in made.stimuli)
    assert acts == {
        (StimulusKind.LEAVE, Basis.LOG): 1,
        (StimulusKind.REJOIN, Basis.RECORD): 5,
        (StimulusKind.SYNC, Basis.ASSUMED): 4,  # The syncs of followers are never logged.
        (StimulusKind.SYNC, Basis.LOG): 1,
        # billing-1 asks again for an id, for the next generation.
        (StimulusKind.ASK_ID, Basis.LOG): 1,
    }


def test_a_stimulus_has_its_evidence_and_its_uncertainty():
    """A log line is exact except for its delay; a rejoin lies between two lines 754 ms apart."""
    made = generation(replayed("billing-eager"), 2)
    leave = next(each for each in made.stimuli if each.kind is StimulusKind.LEAVE)
    rejoin = next(each for each in made.stimuli if each.kind is StimulusKind.REJOIN)

    assert leave.evidence.startswith("broker 1 log ")
    assert leave.uncertainty_ms == 10
    assert rejoin.evidence.startswith("__consumer_offsets-3@")
    assert 700 < rejoin.uncertainty_ms < 760
    assert rejoin.earliest_ms <= rejoin.at_ms <= rejoin.latest_ms


def test_an_expired_member_sends_nothing_and_the_engine_removes_it():
    """The engine's own timer removes billing-3, one session timeout after its last contact."""
    made = generation(replayed("billing-eager"), 13)
    session = made.explained.expired_sessions[0]
    expired = next(
        e for e in made.engine_outputs if e.event and e.event.kind == "HEARTBEAT_EXPIRED"
    )

    assert session.member_id.startswith("billing-3-")
    assert expired.at_ms == session.last_contact_ms + SESSION_MS
    assert not any(each.kind is StimulusKind.LEAVE for each in made.stimuli)


def test_a_window_starts_from_the_previous_record():
    """The generation of that record has no verdict: its evidence is outside the window."""
    whole = replayed("billing-eager")
    first, last = generation(whole, 5), generation(whole, 7)

    result = replayed(
        "billing-eager",
        from_ms=first.explained.evidence.begins_ms,
        to_ms=last.explained.evidence.begins_ms,
    )

    numbers = [each.number for each in result.generations]
    assert numbers[-1] == 7
    assert numbers[0] in (4, 5)
    assert result.resumed_from == [(1, numbers[0] - 1)]
    assert all(each.is_reproduced for each in result.generations)


def test_a_compacted_incarnation_starts_from_its_first_record():
    """The topic was compacted, the log deleted: the evidence begins with generation 5."""
    evidence = of_example("3.9.1")
    start = next(row for row in evidence.events["billing-eager"]
                 if row["event"] == "REBALANCE_START" and row["generation"] == 4)  # fmt: skip
    events = [
        row for row in evidence.events["billing-eager"] if row["position"] >= start["position"]
    ]
    records = [row for row in evidence.records["billing-eager"] if (row.get("generation") or 9) > 4]

    result = replay(incarnations("billing-eager", events, records))

    assert result.resumed_from == [(1, 5)]
    assert [each.number for each in result.generations] == list(range(6, 17))
    assert all(each.is_reproduced for each in result.generations)


def test_the_evidence_of_another_era_diverges():
    """The Java coordinator of 4.1 writes other first records than the one of 3.9."""
    result = replayed("billing-eager", "4.1.2", era="3.9")

    diverged = [each for each in result.generations if not each.is_reproduced]
    assert result.era.why == "as requested"
    assert diverged
    assert all(likely_reason(each) for each in diverged)


def test_a_commit_is_sent_by_the_owner_of_its_partition():
    """The owner by the last record; the engine accepts each commit."""
    evidence = of_example("3.9.1")
    commits = evidence.commits["billing-eager"]

    result = replayed("billing-eager", committed=commits)

    made = [
        each for g in result.generations for each in g.stimuli if each.kind is StimulusKind.COMMIT
    ]
    assert sum(len(each.offsets) for each in made) == len(commits)
    assert all(each.is_reproduced for each in result.generations)


def test_a_commit_between_join_and_sync_is_refused():
    """Production cannot have accepted it: the row was altered, or the group's state differed."""
    evidence = of_example("3.9.1")
    synced = next(row for row in evidence.records["billing-eager"] if row["generation"] == 6)
    commits = list(evidence.commits["billing-eager"])
    place = max(n for n, row in enumerate(commits) if row["log_offset"] < synced["log_offset"])
    commits[place] = commits[place] | {"at_ms": synced["state_timestamp_ms"] + 5}

    result = replayed("billing-eager", committed=commits)

    diverged = [each for each in result.generations if not each.is_reproduced]
    difference = diverged[0].comparison.divergence
    assert diverged[0].number == 6
    assert (difference.what, difference.replay) == ("commit", "refused: REBALANCE_IN_PROGRESS")
    assert difference.evidence == f"__consumer_offsets-3@{commits[place]['log_offset']}"


def test_the_story_names_processes_and_durations():
    lines = [line.text for line in story(replayed("inventory-static"))]

    assert "a new process replaces static member inventory-pod-1 without a rebalance" in lines
    assert (
        "no heartbeat from inventory-pod-2 (127.0.0.1) for 20.0 s: session expired, member removed"
        in lines
    )
    assert "join of generation 2 completes with 3 members after 2.6 s" in lines
    assert (
        "leader inventory-pod-1 (127.0.0.1) sends the assignment (SyncGroup) after 14 ms;"
        " the rebalance took 2.6 s" in lines
    )
    assert lines[-1] == "no members left: generation 5 is empty"


def test_without_evidence_there_are_no_generations():
    result = replay([])

    assert list(result.generations) == []
