"""Why a generation may have diverged: what the kind of the difference points to."""

from __future__ import annotations

from coordinator_core.incident.replay import ReplayedGeneration

_OF_RECORDS_ALONE = {
    "leader": "who came or went first is in no record, and the leader hangs on it",
    "members": "somebody came and went between two records",
    "record": "generations before it left no record; what happened in them is assumed",
}
_BY_KIND = {
    "commit": "another than the partition's owner made it, or the group was elsewhere by then",
    "what happened": "somebody came, went or held the join up of whom no line and no record tells",
    "time": "the broker's timer fired late, or its clock was set, or another timeout was in force",
    "leader": "the join that made it leader is not in the log, or the record is not as written",
    "protocol": "members wanted other protocols than in all other records",
    "members": "a join or a departure is not in the evidence, or the record is not as written",
    "order of members": "a broker of another era, or the record is not as written",
    "record": "an append failed or was removed without a line, or the record is not as written",
    "bytes": "a broker of another era wrote it",
    "protocol_type": "the group was used by clients of another kind",
}


def likely_reason(generation: ReplayedGeneration) -> str | None:
    """None for a reproduced generation."""
    difference = generation.outcome.difference
    if difference is None:
        return None
    if generation.evidence == "records" and difference.what in _OF_RECORDS_ALONE:
        return _OF_RECORDS_ALONE[difference.what]
    return _BY_KIND.get(difference.what, "the client sent something else in another request")
