"""The figures of a pass: a span at a real OTLP receiver on the loopback, else a line in the engine's log."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agentihooks.telemetry import MarkerWrite, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BEGAN = datetime(2026, 10, 8, 12, tzinfo=UTC)
FIGURES = MarkerWrite(
    session_id="s1",
    agent="claude",
    began=BEGAN,
    ended=BEGAN + timedelta(milliseconds=250),
    found=3,
    sent=2,
    kept=1,
    drained=5,
    unattributed=1,
)
EXPECTED = {
    "session_id": "s1",
    "agent": "claude",
    "markers_found": 3,
    "markers_sent": 2,
    "markers_kept": 1,
    "markers_drained": 5,
    "unattributed_session_events_total": 1,
}


class Receiver:
    """An OTLP/HTTP receiver that decodes what it gets, and answers when `answers` is set."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, ExportTraceServiceRequest]] = []
        self.status = 200
        self.answers = threading.Event()
        self.answers.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                receiver.requests.append((self.path, ExportTraceServiceRequest.FromString(data)))
                receiver.answers.wait()
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Return a receiver that is up."""
    receiver = Receiver()
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield receiver
    receiver.answers.set()
    receiver.server.shutdown()
    receiver.server.server_close()
    thread.join()


def logged(home: Path) -> list[dict[str, Any]]:
    """Return the lines of the engine's log, without their times."""
    path = home / "logs" / "agentihooks.log"
    lines = path.read_text().splitlines() if path.exists() else []
    return [{name: value for name, value in json.loads(line).items() if name != "at"} for line in lines]


def test_span(home: Path, receiver: Receiver) -> None:
    """The span has the documented name, times and attributes, and the log has no line."""
    report(str(home), {"AGENTIHOOKS_OTLP_ENDPOINT": receiver.url}, FIGURES, 60.0)
    ((path, request),) = receiver.requests
    (resource,) = request.resource_spans
    (span,) = resource.scope_spans[0].spans
    values = {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in span.attributes}
    assert ("/v1/traces", "brain.marker_write", EXPECTED) == (path, span.name, values)
    assert (1_791_460_800_000_000_000, 250_000_000) == (
        span.start_time_unix_nano,
        span.end_time_unix_nano - span.start_time_unix_nano,
    )
    assert "agentihooks" in [pair.value.string_value for pair in resource.resource.attributes]
    assert [] == logged(home)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("AGENTIHOOKS_OTLP_ENDPOINT", "/"),
        ("AGENTIHOOKS_OTLP_ENDPOINT", "/v1/traces"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/v1/traces"),
    ],
)
def test_endpoint(home: Path, receiver: Receiver, name: str, suffix: str) -> None:
    """The endpoint is a base address under our name or the standard one, or the standard name of the whole."""
    report(str(home), {name: receiver.url + suffix}, FIGURES, 60.0)
    assert ["/v1/traces"] == [path for path, _ in receiver.requests]


def test_own_endpoint_first(home: Path, receiver: Receiver) -> None:
    """Our own variable counts before the standard ones."""
    others = dict.fromkeys(("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), "http://127.0.0.1:1")
    report(str(home), {**others, "AGENTIHOOKS_OTLP_ENDPOINT": receiver.url}, FIGURES, 60.0)
    assert 1 == len(receiver.requests)


def test_log_line(home: Path) -> None:
    """Without an endpoint the same figures are one line of the log."""
    report(str(home), {}, FIGURES)
    assert [{"level": "info", "message": "brain.marker_write", **EXPECTED}] == logged(home)


def test_hanging(home: Path, receiver: Receiver) -> None:
    """An endpoint that hangs is not waited for; the figures are in the log, and why they are."""
    receiver.answers.clear()
    report(str(home), {"AGENTIHOOKS_OTLP_ENDPOINT": receiver.url}, FIGURES, 0.2)
    (line,) = logged(home)
    assert "warning" == line["level"]
    assert {**EXPECTED, "export": line["export"]} == {name: line[name] for name in (*EXPECTED, "export")}
    assert line["export"] in ("no answer within 0.2 s", "the endpoint did not take it")


def test_failing(home: Path, receiver: Receiver) -> None:
    """Figures that an endpoint does not take are in the log."""
    receiver.status = 400
    report(str(home), {"AGENTIHOOKS_OTLP_ENDPOINT": receiver.url}, FIGURES, 60.0)
    assert ["the endpoint did not take it"] == [line["export"] for line in logged(home)]


@pytest.mark.parametrize("error", [ImportError("No module named 'opentelemetry'"), ValueError()])
def test_not_installed(home: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Without the library, or whatever it raises, the figures are in the log."""

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr("agentihooks.deadline.within", fail)
    report(str(home), {"AGENTIHOOKS_OTLP_ENDPOINT": "http://127.0.0.1:1"}, FIGURES)
    assert [str(error) or "ValueError"] == [line["export"] for line in logged(home)]


def test_nothing(home: Path, receiver: Receiver) -> None:
    """A pass that found and sent nothing is not reported."""
    figures = attrs.evolve(FIGURES, found=0, drained=0)
    report(str(home), {"AGENTIHOOKS_OTLP_ENDPOINT": receiver.url}, figures)
    assert ([], []) == (receiver.requests, logged(home))


def test_prints_nothing(home: Path) -> None:
    """An agent's hook prints nothing, and no thread keeps it from ending, whatever the library has to say."""
    code = (
        "import sys; from datetime import UTC, datetime; from agentihooks.telemetry import MarkerWrite, report;"
        "now = datetime.now(UTC); figures = MarkerWrite(session_id='s', agent='a', began=now, ended=now, found=1);"
        "report(sys.argv[1], {'AGENTIHOOKS_OTLP_ENDPOINT': 'http://127.0.0.1:1'}, figures, 1.5)"
    )
    result = subprocess.run([sys.executable, "-c", code, str(home)], check=True, capture_output=True, timeout=120)
    assert (b"", b"") == (result.stdout, result.stderr)
    assert 1 == len(logged(home))


def test_imports_nothing(home: Path) -> None:
    """Without an endpoint nothing of OpenTelemetry or HTTP is imported."""
    code = (
        "import sys; known = {*sys.modules};"
        "from datetime import UTC, datetime; from agentihooks.telemetry import MarkerWrite, report;"
        "now = datetime.now(UTC); figures = MarkerWrite(session_id='s', agent='a', began=now, ended=now, found=1);"
        "report(sys.argv[1], {}, figures);"
        "print(*{'opentelemetry', 'requests', 'http', 'logging'} & ({*sys.modules} - known))"
    )
    arguments = [sys.executable, "-c", code, str(home)]
    assert "\n" == subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
