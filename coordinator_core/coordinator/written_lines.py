"""Log lines of the era's broker for the coordinator's events."""

from __future__ import annotations

from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.written_values import (
    MISSING_TOPICS_ERROR,
    is_writable,
    unnamed_values,
)
from coordinator_core.jvm.hash_codes import partition_for
from coordinator_core.log_lines import render_line, render_reason
from coordinator_core.protocol.messages import Event

# Changes of the state, and an event whose line contains the exception of a Java parser.
_NOT_LOGGED = frozenset({"STATE", "UPGRADE_FAILED"})
# Lines that the pipeline does not use, and the step of each.
_OTHER_LINES = {
    "ASSIGNMENT_CONFIGS_CHANGED": "configs_changed",
    "MEMBER_UPDATED": "member_updated",
    "REGEXES_SCANNED": "regexes_scanned",
    "SHUTDOWN_CLEARED": "shutdown_cleared",
    "SHUTDOWN_REQUESTED": "shutdown_requested",
    "SUBSCRIPTION_UNREADABLE": "subscription_unreadable",
    "TOPOLOGY_CONFIGURED": "topology_configured",
    "TOPOLOGY_INITIALIZED": "topology_initialized",
    "TOPOLOGY_STALE": "topology_stale",
}
# events whose step is the step of their line
_STEPS_OF_OTHERS = {"METADATA_HASH", "TOPICS_CHECKED"}
_EXCEPTIONS = {
    "MESSAGE_TOO_LARGE": "RecordTooLargeException",
    "RECORD_LIST_TOO_LARGE": "RecordBatchTooLargeException",
    "INVALID_FETCH_SIZE": "InvalidFetchSizeException",
}
_MESSAGES = {
    "COORDINATOR_NOT_AVAILABLE": "The coordinator is not available.",
    "NOT_COORDINATOR": "This is not the correct coordinator.",
    "REBALANCE_IN_PROGRESS": "The group is rebalancing, so a rejoin is needed.",
    "UNKNOWN_SERVER_ERROR": "The server experienced an unexpected error when processing the "
    "request.",
}


def line_of(
    event: Event, era: Era, *, local_ms: int, broker_id: int = 0, partitions: int = 50
) -> str | None:
    """The complete line at ``local_ms`` of the broker's wall clock, or None if the era prints none.

    ``partitions`` are offsets.topic.num.partitions; the line names the group's partition.
    """
    if event.kind in _NOT_LOGGED or not is_writable(event, era):
        return None
    fields: dict[str, object] = {
        "group_id": event.group_id,
        "generation": event.generation,
        "state": event.state,
        "broker_id": broker_id,
        "topic_partition": f"__consumer_offsets-{partition_for(event.group_id, partitions)}",
        **event.fields,
    }
    if values := unnamed_values(event, era):
        fields["_"] = values
    kind = event.kind
    if kind in ("TARGET", "REGEXES_SCANNED", "TOPICS_CHECKED"):
        fields["duration_ms"] = 0  # the engine takes no time for this step
    if kind == "TARGET":
        assignor = event.fields["assignor"]
        fields["assignor"] = era.assignor_texts.get(assignor, assignor)
    if kind == "TOPICS_CHECKED":
        fields["error"] = MISSING_TOPICS_ERROR.format(", ".join(event.fields["topics"]))
    if kind in _STEPS_OF_OTHERS:
        kind = "OTHER"
    if kind in _OTHER_LINES:
        kind, fields["step"] = "OTHER", _OTHER_LINES[kind]
    if kind == "REBALANCE_START":
        _add_reason(fields, era)
    if kind == "STORE_FAILED":
        _add_error(fields)
    return render_line(kind, era.kafka, local_ms=local_ms, **fields)


def _add_reason(fields: dict[str, object], era: Era) -> None:
    """The reason has the group's previous state; the line itself has the new one."""
    cause, during = str(fields.pop("cause")), fields.pop("during", None)
    step = fields.pop("reason_step", None)
    if era.logs_reasons:
        reason_fields = fields | ({} if during is None else {"state": during})
        reason_step = None if step is None else str(step)
        fields["reason"] = render_reason(cause, era.kafka, step=reason_step, **reason_fields)


def _add_error(fields: dict[str, object]) -> None:
    error = str(fields["error"])
    if fields["step"] == "too_large":
        fields["error"] = f"org.apache.kafka.common.errors.{_EXCEPTIONS[error]}"
    else:
        fields["error"] = _MESSAGES.get(error, error)
