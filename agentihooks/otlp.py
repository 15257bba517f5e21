"""One span over OTLP/HTTP. Needs `agentihooks[otel]`, and is imported only when there is a span to export."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

from agentihooks import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)

# Where nobody has set up logging, the library's warnings would end up on an agent's standard error.
logging.getLogger("opentelemetry").addHandler(logging.NullHandler())


def export_span(
    endpoint: str, name: str, attributes: Mapping[str, str | int], times: tuple[datetime, datetime], timeout_s: float
) -> bool:
    """
    Export a span that began and ended at *times*; return whether the endpoint took it.

    No background thread and no exit handler is left behind, as those of a batching processor would keep a hook alive.
    """
    provider = TracerProvider(
        resource=Resource.create({"service.name": "agentihooks", "service.version": __version__}),
        shutdown_on_exit=False,
    )
    began, ended = ((moment - _EPOCH) // _MICROSECOND * 1000 for moment in times)
    span = provider.get_tracer("agentihooks", __version__).start_span(name, attributes=attributes, start_time=began)
    span.end(ended)
    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=timeout_s)
    try:
        return exporter.export([span]) is SpanExportResult.SUCCESS  # type: ignore[list-item] # sampled, so readable
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call] # it has no annotations
