"""Events as the log lines that the era's broker prints for them."""

from __future__ import annotations

from coordinator_core.coordinator.era import Era
from coordinator_core.jvm.java import partition_for
from coordinator_core.log_lines import render_line, render_reason
from coordinator_core.protocol.messages import Event

_NOT_LOGGED = frozenset({"STATE"})
_OTHER_LINES = {"SUBSCRIPTION_UNREADABLE": "subscription_unreadable"}
_HAS_REASONS = frozenset({"2.5", "3.9", "4.1"})  # from 2.1 on
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
    """The whole line at ``local_ms`` of the broker's wall clock; None where the era prints none.

    ``partitions``: offsets.topic.num.partitions, of which the group's is named in the line.
    """
    if event.kind in _NOT_LOGGED:
        return None
    fields: dict[str, object] = {
        "group_id": event.group_id,
        "generation": event.generation,
        "state": event.state,
        "broker_id": broker_id,
        "topic_partition": f"__consumer_offsets-{partition_for(event.group_id, partitions)}",
        **event.fields,
    }
    kind = event.kind
    if kind in _OTHER_LINES:
        kind, fields["step"] = "OTHER", _OTHER_LINES[kind]
    if kind == "REBALANCE_START":
        _give_reason(fields, era)
    if kind == "STORE_FAILED":
        _give_error(fields)
    return render_line(kind, era.name, local_ms=local_ms, **fields)


def _give_reason(fields: dict[str, object], era: Era) -> None:
    """The reason is told of the state before: the line's own state is the new one."""
    cause, during = str(fields.pop("cause")), fields.pop("during", None)
    step = fields.pop("reason_step", None)
    if era.name in _HAS_REASONS:
        told = fields | ({} if during is None else {"state": during})
        chosen = None if step is None else str(step)
        fields["reason"] = render_reason(cause, era.name, step=chosen, **told)


def _give_error(fields: dict[str, object]) -> None:
    error = str(fields["error"])
    if fields["step"] == "too_large":
        fields["error"] = f"org.apache.kafka.common.errors.{_EXCEPTIONS[error]}"
    else:
        fields["error"] = _MESSAGES.get(error, error)
