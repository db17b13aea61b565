"""Traces and metrics for an OpenTelemetry collector that the operator names (extra `telemetry`).

A span has the route, method, status, refusal, model and version; metrics have route, status and outcome:
names from fixed lists and of our own models. Nothing that a caller sent is in them, and nothing about who
asked, but for the id of the trace: a `traceparent` that comes with a request is carried on, and goes back
with the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import MissingExtraError
from sfumato.service.metrics import ROUTES

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from sfumato.service.middleware import Note

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Telemetry:
    """What is sent to one collector."""

    def __init__(self, endpoint: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError:
            raise MissingExtraError("traces and metrics", "telemetry") from None
        base = endpoint.rstrip("/")
        about = Resource({"service.name": "sfumato"})  # nothing of the machine or its environment
        self._traces = TracerProvider(resource=about, shutdown_on_exit=False)
        self._traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces")))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{base}/v1/metrics"))
        self._meters = MeterProvider([reader], resource=about, shutdown_on_exit=False)
        self._tracer = self._traces.get_tracer("sfumato.service")
        meter = self._meters.get_meter("sfumato.service")
        self._seconds = meter.create_histogram(
            "http.server.request.duration", "s", "Time from request to answer."
        )
        self._scores = meter.create_counter("sfumato.scores", "1", "Scores by how they came about.")
        self._carried = TraceContextTextMapPropagator()

    def begin(self, headers: list[tuple[bytes, bytes]]) -> tuple[Span, list[tuple[bytes, bytes]]]:
        """A span for a request, within the caller's trace if there is one; and the header that goes back."""
        from opentelemetry.trace import SpanKind, set_span_in_context

        given = [v.decode("latin-1") for n, v in headers if n == b"traceparent"]
        context = self._carried.extract({"traceparent": given[0]}) if len(given) == 1 else None
        span = self._tracer.start_span("request", context, kind=SpanKind.SERVER)
        back: dict[str, str] = {}
        self._carried.inject(back, set_span_in_context(span))
        return span, [(b"traceparent", back["traceparent"].encode())] if "traceparent" in back else []

    def end(self, span: Span, method: str, note: Note, seconds: float) -> None:
        """What may be told of a request."""
        from opentelemetry.trace import StatusCode

        method = method if method in _METHODS else "other"
        route = note.route if note.route in ROUTES else "other"
        told: dict[str, str | int] = {
            "http.request.method": method, "http.route": route, "http.response.status_code": note.status
        }  # fmt: skip
        self._seconds.record(seconds, told)
        span.update_name(f"{method} {route}")
        named = {"error.type": note.code, "sfumato.model": note.model, "sfumato.version": note.version}
        span.set_attributes({**told, **{name: value for name, value in named.items() if value}})
        if note.status >= 500:
            span.set_status(StatusCode.ERROR)
        span.end()

    def scored(self, outcome: str, number: int) -> None:
        """So many scores came about so."""
        self._scores.add(number, {"outcome": outcome})

    def close(self) -> None:
        """Send what is left, as far as the collector is there."""
        self._traces.shutdown()
        self._meters.shutdown(timeout_millis=3000)


def trace_of(span: Span) -> str:
    """The id of the trace a span belongs to, for the log."""
    return format(span.get_span_context().trace_id, "032x")
