"""OpenTelemetry traces, for those who turn them on: from the request through the steps into the engine's attempt.

Off, nothing of OpenTelemetry is imported and a span costs a comparison. On (setting ``tracing``, extra ``tracing``),
spans go where the standard ``OTEL_EXPORTER_OTLP_*`` variables say. A job carries the trace context of its request, so
that steps served later, elsewhere, join the same trace. Spans hold ids and numbers, never what a client wrote.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from services.domain.errors import SpokesmodelError, Unavailable
from services.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

_lock: Final = threading.Lock()
_provider: Any = None  # a TracerProvider while traces are kept


def start(settings: Settings, *, exporter: SpanExporter | None = None) -> None:
    """Keep traces from now on, if the settings say so; starting twice is once.

    Args:
        exporter: Takes each span at once, in place of the batched export over OTLP; for tests.

    Raises:
        Unavailable: ``tracing_not_installed``.
    """
    global _provider
    if not settings.tracing:
        return
    with _lock:
        if _provider is None:
            _provider = _new_provider(exporter)


def stop() -> None:
    """Send what is held back, and keep no traces any more."""
    global _provider
    with _lock:
        provider, _provider = _provider, None
    if provider is not None:
        provider.shutdown()


def flush() -> None:
    """Send what is held back: before a function is frozen."""
    if _provider is not None:
        _provider.force_flush(5_000)


@contextmanager
def span(name: str, *, parent: str | None = None, **attributes: str | int | float | None) -> Iterator[None]:
    """A span around a piece of work; an error that passes through ends it as failed, by code or class only.

    Args:
        parent: The W3C ``traceparent`` that it belongs to; None continues the present span, or begins a trace.
    """
    if _provider is None:
        yield
        return
    from opentelemetry.trace import SpanKind, Status, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = None if parent is None else TraceContextTextMapPropagator().extract({"traceparent": parent})
    tracer = _provider.get_tracer("spokesmodel")
    # An exception's own text may quote a client: it is not recorded.
    with tracer.start_as_current_span(
        name, context=context, kind=SpanKind.INTERNAL, record_exception=False, set_status_on_exception=False
    ) as this:
        this.set_attributes({key: value for key, value in attributes.items() if value is not None})
        try:
            yield
        except Exception as error:
            code = error.code if isinstance(error, SpokesmodelError) else type(error).__name__
            this.set_status(Status(StatusCode.ERROR, code))
            raise


def note(**attributes: str | int | float | None) -> None:
    """Add what became known to the present span."""
    if _provider is None:
        return
    from opentelemetry.trace import get_current_span

    get_current_span().set_attributes({key: value for key, value in attributes.items() if value is not None})


def traceparent() -> str | None:
    """The present span as a W3C ``traceparent``; None while no trace is kept."""
    if _provider is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")


def _new_provider(exporter: SpanExporter | None) -> Any:
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        # Resource.create puts OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES over this.
        provider = TracerProvider(resource=Resource.create({SERVICE_NAME: "spokesmodel"}))
        if exporter is not None:
            provider.add_span_processor(SimpleSpanProcessor(exporter))
        else:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except ImportError as error:
        raise Unavailable(
            "Traces need the packages of the extra: pip install 'spokesmodel[tracing]'.",
            code="tracing_not_installed",
            retryable=False,
        ) from error
    return provider
