"""Likely reasons of a divergence, by what differs."""

from __future__ import annotations

from coordinator_core.incident.replay import ReplayedGeneration, ReplayVerdict

_FROM_RECORDS_ALONE = {
    "leader": "records do not show which member joined or left first, which decides the leader",
    "members": "a member may have joined and left between two records",
    "record": "earlier generations left no record, so their requests are assumed",
}
_FROM_LOG_ALONE = (
    "evidence too thin: without records, session timeouts, rejoins and metadata are assumed"
)
_BY_DIFFERENCE = {
    "commit": "a client other than the partition's owner committed, or the group was rebalancing",
    "what happened": "no log line or record shows a member that joined, left or delayed the join",
    "time": "the broker's timer fired late, its clock was changed, or another timeout applied",
    "leader": "the join that made this member the leader is not logged, or the record was altered",
    "protocol": "members preferred other protocols than in all other records",
    "members": "a join or departure is missing from the evidence, or the record was altered",
    "order of members": "the broker is of another era, or the record was altered",
    "record": "an append failed or was removed without a log line, or the record was altered",
    "bytes": "a broker of another era wrote the record",
    "protocol_type": "clients of another protocol type used the group",
}


def likely_reason(generation: ReplayedGeneration) -> str | None:
    """Returns None for a reproduced generation."""
    divergence = generation.comparison.divergence
    if divergence is None:
        return None
    if generation.verdict is ReplayVerdict.UNDECIDED:
        return _FROM_LOG_ALONE
    if generation.evidence == "records" and divergence.what in _FROM_RECORDS_ALONE:
        return _FROM_RECORDS_ALONE[divergence.what]
    return _BY_DIFFERENCE.get(divergence.what, "the client sent another value in another request")
