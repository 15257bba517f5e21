"""
The brain over HTTP: one POST for each marker, on one connection. docs/reference/brain-protocol is the contract.

Imported only when there is something to send. No proxy is used and no redirect followed: the token goes to the host
that `BRAIN_URL` names and to no other. Certificates are verified.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from contextlib import suppress
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from agentihooks import __version__
from agentihooks.clock import instant
from agentihooks.deadline import within
from agentihooks.ids import preceding_marker_key
from agentihooks.marker import MAX_CONTENT_CHARS
from agentihooks.outgoing import Sender
from agentihooks.preceding import PrecedingLookup
from agentihooks_outbox.delivery import MAX_HOLD, Refused, Stopped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from agentihooks.outgoing import Outgoing

DEFAULT_TIMEOUT_S = 3.0
MAX_TIMEOUT_S = 600.0

REFUSALS = frozenset({400, 404, 413, 422})
"""What a brain says about this one marker. Anything else that is no success is about us, or about the brain."""

_MAX_ANSWER_BYTES = 64 * 1024
_MAX_REASON_CHARS = 200
_PRINTABLE = re.compile(r"[!-~]+")


@attrs.frozen(kw_only=True)
class Answer:
    """What the brain said: the status, the `Retry-After` header ("" for none), and the beginning of the body."""

    status: int
    retry_after: str
    text: str


class Brain:
    """
    The receiver of the brain's outbox.

    Args:
        home: Where the preceding lookup finds sessions.
        environ: `BRAIN_URL`, `BRAIN_HTTP_TOKEN`, `BRAIN_HTTP_TIMEOUT`.

    Raises:
        Stopped: The address or the token cannot be used.
    """

    def __init__(self, home: str, environ: Mapping[str, str]) -> None:
        token = environ.get("BRAIN_HTTP_TOKEN", "").strip()
        if token and not _PRINTABLE.fullmatch(token):
            # http.client would say so too, and quote it.
            raise Stopped("BRAIN_HTTP_TOKEN holds characters that a header cannot")
        self._connection, self._path = _connect(environ["BRAIN_URL"].strip())
        self._headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": f"agentihooks/{__version__}",
            **({"Authorization": f"Bearer {token}"} if token else {}),
        }
        self._timeout_s = _timeout_s(environ.get("BRAIN_HTTP_TIMEOUT", ""))
        self._environ = environ
        self._lookup = PrecedingLookup(home, environ)

    def send(self, marker: Outgoing, allowed_s: float, now: datetime) -> None:
        """See `delivery.Receiver.send`."""
        body, key = request(marker, self._lookup, self._environ)
        answer = self._post(body, key, min(self._timeout_s, allowed_s))
        reason = f"the brain answered {answer.status}{answer.text and ': '}{answer.text}"
        if answer.status in REFUSALS:
            raise Refused(reason)
        match answer.status // 100:
            case 2:
                return
            case 3:
                reason = f"the brain answered {answer.status}, a redirect; set BRAIN_URL to where it is now"
        raise Stopped(reason, retry_at(answer.retry_after, now))

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def _post(self, body: bytes, key: str, timeout_s: float) -> Answer:
        try:
            # The timeouts of sockets hold for each operation, and resolving a name has none at all.
            return within(timeout_s, lambda: self._ask(body, key, time.monotonic() + timeout_s))
        except TimeoutError as error:
            self._abandon()
            raise Stopped(f"no answer within {timeout_s:.3g} s") from error
        except (OSError, HTTPException, ValueError) as error:
            raise Stopped(f"no answer: {error or type(error).__name__}") from error

    def _ask(self, body: bytes, key: str, deadline: float) -> Answer:
        connection = self._connection
        is_reused = connection.sock is not None
        connection.timeout = max(deadline - time.monotonic(), 0.001)
        if is_reused:
            connection.sock.settimeout(connection.timeout)
        try:
            return self._exchange(body, key, deadline)
        except ConnectionError:
            # Between two markers a server may close a connection that it kept open. The key makes asking again safe.
            connection.close()
            if not is_reused:
                raise
            return self._exchange(body, key, deadline)

    def _exchange(self, body: bytes, key: str, deadline: float) -> Answer:
        connection = self._connection
        connection.request("POST", self._path, body, {**self._headers, "X-Idempotency-Key": key})
        with connection.getresponse() as response:
            text = b""
            while len(text) < _MAX_ANSWER_BYTES and (part := response.read1(_MAX_ANSWER_BYTES)):
                text += part
                if time.monotonic() > deadline:
                    raise TimeoutError
            if len(text) >= _MAX_ANSWER_BYTES:
                # The rest is of no interest, and in the way of the next answer.
                connection.close()
            elif response.length:
                # Half an answer is none: something on the way may have promised what did not happen.
                raise IncompleteRead(text, response.length)
            said = " ".join(text[: 4 * _MAX_REASON_CHARS].decode("utf-8", "replace").split())
            return Answer(
                status=response.status,
                retry_after=response.headers.get("Retry-After", ""),
                text="".join(char if char.isprintable() else "?" for char in said[:_MAX_REASON_CHARS]),
            )

    def _abandon(self) -> None:
        """Wake the thread that still waits for an answer; what it holds is its own to close."""
        sock = self._connection.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def request(marker: Outgoing, lookup: PrecedingLookup, environ: Mapping[str, str]) -> tuple[bytes, str]:
    """
    Return the body and the idempotency key that a marker is sent with.

    One that carries an `attribution` is sent as it was written. What an earlier version left without is completed by
    the preceding rules. The marker's own time is added as `ts`.
    """
    attributes, content = dict(marker.attrs), marker.content
    if "attribution" not in attributes:
        identity = lookup.identity(marker.session_id, str(attributes.get("cwd", "")), marker.project)
        attributes = {**identity, **attributes}
        attributes.setdefault("session_id", marker.session_id)
        attributes["source"] = attributes.get("source") or Sender.of("", environ).agent_name
        content = content[:MAX_CONTENT_CHARS]
    if marker.at:
        attributes.setdefault("ts", marker.at)
    key = marker.idempotency_key or preceding_marker_key(marker.session_id, marker.type, content)
    return json.dumps({"type": marker.type, "content": content, "attrs": attributes}).encode("ascii"), key


def retry_at(text: str, now: datetime) -> datetime | None:
    """Return when a `Retry-After` header (seconds or an HTTP date) allows to ask again; None if at once, or unclear."""
    text = text.strip()
    try:
        if text.isascii() and text.isdigit():
            moment = now + min(timedelta(seconds=int(text[:9])), MAX_HOLD)
        else:
            moment = min(instant(parsedate_to_datetime(text)), now + MAX_HOLD)
    except (ValueError, OverflowError):
        return None
    return moment if moment > now else None


def _connect(url: str) -> tuple[HTTPConnection, str]:
    """Return the connection, not open yet, and the path to post to."""
    problem = Stopped("BRAIN_URL is no address such as https://brain.example/api; a token goes into BRAIN_HTTP_TOKEN")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise problem from None
    if not host or parts.username is not None or not _PRINTABLE.fullmatch(url):
        raise problem
    path = parts.path.rstrip("/") + "/marker" + (parts.query and f"?{parts.query}")
    if parts.scheme == "https":
        return HTTPSConnection(host, port, context=ssl.create_default_context()), path
    if parts.scheme == "http":
        return HTTPConnection(host, port), path
    raise problem


def _timeout_s(text: str) -> float:
    """Return the seconds that *text* names, or what is sensible."""
    try:
        seconds = float(text)
    except ValueError:
        return DEFAULT_TIMEOUT_S
    return min(seconds, MAX_TIMEOUT_S) if seconds > 0 else DEFAULT_TIMEOUT_S
