"""A brain for tests: a real HTTP server on the loopback, which stores each key once and answers as it is told."""

from __future__ import annotations

import json
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

_SUCCESS = 2  # hundred and something


@attrs.frozen(kw_only=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any

    @property
    def key(self) -> str:
        """The idempotency key."""
        return self.headers.get("X-Idempotency-Key", "")


@attrs.frozen(kw_only=True)
class Reply:
    """
    How the brain answers.

    Args:
        status: Of a 2xx the marker is stored.
        headers: In addition to its length.
        body: What it says.
        before: Called when the request was read, and before anything is stored.
        is_lost: The connection is closed instead of answering.
        is_cut: The connection is reset in the middle of the body.
        is_closing: The connection is closed behind the answer, which does not say so.
        drip: Called between the bytes of the answer, which come one by one; it returns whether to go on.
    """

    status: int = 200
    headers: dict[str, str] = attrs.field(factory=dict)
    body: bytes = b'{"ok": true}'
    before: Callable[[], object] = lambda: None
    is_lost: bool = False
    is_cut: bool = False
    is_closing: bool = False
    drip: Callable[[], bool] | None = None


class FakeBrain:
    """
    A brain to be used as a context manager, at `url`.

    `stored` has the bodies by key, in the order of their arrival; `received` every request. Replies that were `say`d
    are given in their order, then `default`.

    Args:
        tls: Makes it speak TLS.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.stored: dict[str, Any] = {}
        self.default = Reply()
        self._replies: list[Reply] = []
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._scheme = "http"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
            self._scheme = "https"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """What to set `BRAIN_URL` to."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    @property
    def keys(self) -> list[str]:
        """The keys of all requests, in the order of their arrival."""
        return [request.key for request in self.received]

    def say(self, *replies: Reply) -> None:
        """Give these replies to the next requests."""
        self._replies += replies

    def answer(self, request: Received) -> Reply:
        """Take note of a request, and return what to answer it with."""
        with self._lock:
            self.received.append(request)
            reply = self._replies.pop(0) if self._replies else self.default
        reply.before()
        with self._lock:
            if reply.status // 100 == _SUCCESS:
                self.stored.setdefault(request.key, request.body)
        return reply

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    def __init__(self, brain: FakeBrain) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.brain = brain

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away in the middle are what tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.server.brain.answer(Received(path=self.path, headers=dict(self.headers), body=body))
        if reply.is_lost:
            self.close_connection = True
            return
        self.close_connection = self.close_connection or reply.is_closing or reply.is_cut
        headers = {"Content-Length": str(len(reply.body)), **reply.headers}
        lines = (f"HTTP/1.1 {reply.status} {self.responses[reply.status][0]}", *map(": ".join, headers.items()), "", "")
        answer = "\r\n".join(lines).encode() + reply.body
        if reply.is_cut:
            self.connection.sendall(answer[: -len(reply.body) // 2])
            # Closed like this, the other side gets a reset, not an end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif reply.drip is not None:
            for byte in answer:
                if not reply.drip():
                    break
                self.connection.sendall(bytes([byte]))
        else:
            self.connection.sendall(answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""
