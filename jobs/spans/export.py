"""Send spans to a collector by OTLP over HTTP, with the exporter of OpenTelemetry's SDK.

The SDK's own environment variables apply: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS,
OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_EXPORTER_OTLP_COMPRESSION, OTEL_EXPORTER_OTLP_TIMEOUT.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jobs import __version__
from jobs.console.errors import RunFailed, UsageError
from jobs.spans.rebalances import Span

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_BATCH = 512  # number of spans per request, as in the SDK
_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PATH = "/v1/traces"


def export(spans: Iterable[Span], endpoint: str | None) -> int:
    """Send all spans; their number.  ``endpoint`` is the endpoint of the collector; None means the
    endpoint of the environment.

    Raises UsageError without the SDK or an endpoint, and RunFailed if the collector does not take
    the spans.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import SpanExportResult
    except ImportError:
        raise UsageError(
            "spans need OpenTelemetry's exporter: pip install 'regroup[otel]'"
        ) from None
    exporter = OTLPSpanExporter(endpoint=_address(endpoint))
    reason = _Reason()
    readable = map(_readable, spans)
    sent = 0
    try:
        while batch := list(islice(readable, _BATCH)):
            if exporter.export(batch) != SpanExportResult.SUCCESS:
                raise RunFailed(
                    f"the collector refused the spans ({reason.text}); {sent} were sent before:"
                    " check --endpoint and the collector, then repeat the command"
                )
            sent += len(batch)
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]  # as the SDK has it
    return sent


class _Reason(logging.Handler):
    """The reason why the collector took nothing, which the exporter logs but does not return."""

    text = "no reason logged"

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._was_retried = False
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """The last attempt's message only says that there were too many."""
        if record.levelno == logging.WARNING or not self._was_retried:
            self.text = " ".join(record.getMessage().split())
        self._was_retried = record.levelno == logging.WARNING


def _address(endpoint: str | None) -> str | None:
    if endpoint is None:
        if not any(os.environ.get(name) for name in _VARIABLES):
            raise UsageError(
                f"no collector: give --endpoint http://HOST:4318, or set {_VARIABLES[1]}"
            )
        return None
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--endpoint {endpoint}: not an address; give http://HOST:4318")
    return endpoint if parts.path.strip("/") else endpoint.rstrip("/") + _PATH


def _readable(span: Span) -> ReadableSpan:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

    def context(span_id: int) -> SpanContext:
        return SpanContext(span.trace_id, span_id, False, TraceFlags(TraceFlags.SAMPLED))

    return ReadableSpan(
        name=span.name,
        context=context(span.span_id),
        parent=None if span.parent_id is None else context(span.parent_id),
        resource=Resource({"service.name": "regroup", "service.version": __version__}),
        attributes=span.attributes,
        events=[Event(each.name, each.attributes, _ns(each.time)) for each in span.events],
        status=Status(StatusCode.ERROR if span.has_failed else StatusCode.UNSET),
        start_time=_ns(span.start),
        end_time=_ns(span.end),
        instrumentation_scope=InstrumentationScope("regroup", __version__),
    )


def _ns(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000) * 1000
