"""
Figures of each pass that found or sent markers: a `brain.marker_write` span where OpenTelemetry is set up, else a line
in the engine's log.

The span needs `agentihooks[otel]` and an endpoint; it gets a small time of its own, whatever becomes of the endpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from agentihooks import logbook

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

EXPORT_BUDGET_S = 0.5
"""How long an agent may be kept waiting for an export."""

SPAN = "brain.marker_write"


@attrs.frozen(kw_only=True)
class MarkerWrite:
    """
    What one pass did with markers.

    Of those `found` in it, `sent` reached the brain and `kept` wait. `drained` counts all that the pass sent, earlier
    ones included. `unattributed` counts those found that are `unknown` or `refused`.
    """

    session_id: str
    agent: str
    began: datetime
    ended: datetime
    found: int = 0
    sent: int = 0
    kept: int = 0
    drained: int = 0
    unattributed: int = 0

    def attributes(self) -> dict[str, str | int]:
        """Return the figures under their documented names."""
        return {
            "session_id": self.session_id,
            "agent": self.agent,
            "markers_found": self.found,
            "markers_sent": self.sent,
            "markers_kept": self.kept,
            "markers_drained": self.drained,
            "unattributed_session_events_total": self.unattributed,
        }


def report(home: str, environ: Mapping[str, str], figures: MarkerWrite, budget_s: float = EXPORT_BUDGET_S) -> None:
    """
    Export *figures* within *budget_s* seconds, or write them to the log. Never raises.

    Claude Code hides `OTEL_*` from its hooks, so `AGENTIHOOKS_OTLP_ENDPOINT` counts first. Either is the collector's
    base address; `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is the whole one. Nothing is reported if nothing happened.
    """
    if not figures.found and not figures.drained:
        return
    failure = ""
    endpoint = _endpoint(environ)
    if endpoint:
        failure = _export(endpoint, figures, budget_s)
        if not failure:
            return
    fields = {**figures.attributes(), **({"export": failure} if failure else {})}
    logbook.write(home, "warning" if failure else "info", SPAN, **fields)


def _endpoint(environ: Mapping[str, str]) -> str:
    whole = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
    base = environ.get("AGENTIHOOKS_OTLP_ENDPOINT", "")
    if whole and not base:
        return whole
    base = (base or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")).rstrip("/")
    return base if not base or base.endswith("/v1/traces") else f"{base}/v1/traces"


def _export(endpoint: str, figures: MarkerWrite, budget_s: float) -> str:
    """Return why the span was not exported, "" if it was."""
    from agentihooks.deadline import within

    def export() -> bool:
        # Also the import takes its time.
        from agentihooks.otlp import export_span

        return export_span(endpoint, SPAN, figures.attributes(), (figures.began, figures.ended), budget_s)

    try:
        return "" if within(budget_s, export) else "the endpoint did not take it"
    except Exception as error:  # noqa: BLE001 - a report must not stop what it is about
        return str(error) or type(error).__name__
