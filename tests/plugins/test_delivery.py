"""Delivery to a real HTTP server on the loopback: up, down, slow, full of errors, and in disguise."""

from __future__ import annotations

import json
import math
import os
import re
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from msgspec import structs

from agentihooks.ids import marker_key, preceding_marker_key
from agentihooks.log import locked
from agentihooks.outgoing import Delivery, Outgoing
from agentihooks.plugins import Plugins
from agentihooks.sinks import deliver
from agentihooks_outbox import delivery
from agentihooks_outbox.brain import Brain, retry_at
from agentihooks_outbox.delivery import drain
from agentihooks_outbox.outbox import brain_outbox
from agentihooks_outbox.testing import FakeBrain, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 10, 8, 12, tzinfo=UTC)


@pytest.fixture
def brain() -> Iterator[FakeBrain]:
    """Return a brain that is up."""
    with FakeBrain() as brain:
        yield brain


def marker(number: int = 0, **fields: Any) -> Outgoing:
    """Return a marker of minute *number*, with a key of its own."""
    outgoing = Outgoing(
        type="lesson",
        content=f"lesson {number}",
        attrs={"attribution": "scoped", "task": "first", "session_id": "s1", "source": "agent"},
        idempotency_key=f"k2:{number:064x}",
        session_id="s1",
        agent_name="agent",
        project="",
        at=f"2026-10-08T10:{number:02}:00Z",
    )
    return structs.replace(outgoing, **fields)


def wait_for(home: Path, count: int = 1) -> list[str]:
    """Put *count* markers into the outbox; return their keys, in order."""
    markers = [marker(number) for number in range(count)]
    brain_outbox(str(home)).write(markers)
    return [each.idempotency_key for each in markers]


def send(home: Path, brain: FakeBrain | str, budget_s: float = 30.0, **environ: str) -> Delivery:
    """Drain the outbox to a brain, or to an address."""
    url = brain if isinstance(brain, str) else brain.url
    return drain(str(home), {"BRAIN_URL": url, **environ}, budget_s, clock=lambda: NOW)


def left(home: Path) -> list[str]:
    """Return what is left in the outbox, the backlog's files first."""
    folders = (home / "brain-outbox-backlog", home / "brain-outbox")
    return [path.name for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]


def put(home: Path, row: Any, name: str = "20260101T000000-lesson-00000000.json", folder: str = "brain-outbox") -> None:
    """Put a file of an earlier version into the outbox."""
    (home / folder).mkdir(parents=True, exist_ok=True)
    (home / folder / name).write_text(row if isinstance(row, str) else json.dumps(row))


def test_sent(home: Path, brain: FakeBrain) -> None:
    """A brain that is up gets every marker, the oldest first, and the files are gone."""
    keys = wait_for(home, 3)
    assert Delivery(sent=tuple(keys)) == send(home, brain)
    assert keys == brain.keys
    assert [] == left(home)


def test_request(home: Path, brain: FakeBrain) -> None:
    """The request is the documented one, and the marker's own time rides in its attributes."""
    (key,) = wait_for(home)
    send(home, f"{brain.url}/kb/api/", BRAIN_HTTP_TOKEN="sesame\n")
    (request,) = brain.received
    expected = {**marker().attrs, "ts": "2026-10-08T10:00:00Z"}
    assert "/kb/api/marker" == request.path
    assert {"type": "lesson", "content": "lesson 0", "attrs": expected} == request.body
    assert ("Bearer sesame", key, "application/json") == tuple(
        request.headers[name] for name in ("Authorization", "X-Idempotency-Key", "Content-Type")
    )


def test_documented_request(home: Path, brain: FakeBrain) -> None:
    """The documented file makes the documented request."""
    page = (Path(__file__).parents[2] / "docs/reference/brain-protocol.md").read_text("utf-8")
    body, row = map(json.loads, re.findall(r"```json\n(.*?)```", page, re.DOTALL))
    put(home, row)
    send(home, brain)
    (request,) = brain.received
    assert (body, row["idempotency_key"]) == (request.body, request.key)
    assert f"X-Idempotency-Key: {request.key}\n" in page
    names = [row["session_id"], row["type"], row["attrs"]["project_id"], row["attrs"]["task"], row["content"]]
    assert marker_key(*names) == request.key


def test_no_token(home: Path, brain: FakeBrain) -> None:
    """Without a token there is no Authorization; a query in the address is kept."""
    wait_for(home)
    send(home, f"{brain.url}?tenant=1")
    assert "/marker?tenant=1" == brain.received[0].path
    assert "Authorization" not in brain.received[0].headers


def test_no_time(home: Path, brain: FakeBrain) -> None:
    """A marker without a time is sent without one."""
    brain_outbox(str(home)).write([marker(at="")])
    send(home, brain)
    assert "ts" not in brain.received[0].body["attrs"]


def test_progress(home: Path, brain: FakeBrain) -> None:
    """Whoever drains hears of each file that is done with, sent or set aside, and of none that waits."""
    wait_for(home, 4)
    brain.say(Reply(), Reply(status=400), Reply(), Reply(status=503))
    left_then: list[int] = []
    environ = {"BRAIN_URL": brain.url}
    drain(
        str(home), environ, clock=lambda: NOW, advance=lambda: left_then.append(len(brain_outbox(str(home)).waiting()))
    )
    assert [3, 2, 1] == left_then


def test_orphans(home: Path, brain: FakeBrain) -> None:
    """A drain clears away what a process that died has left half written long ago."""
    wait_for(home)
    orphan = home / "brain-outbox" / ".20261008T100000-lesson-00000000.json.1-1.tmp"
    orphan.touch()
    os.utime(orphan, (0, 0))
    send(home, brain)
    assert [] == left(home)


def test_one_connection(home: Path, brain: FakeBrain) -> None:
    """All markers of a drain go over one connection."""
    wait_for(home, 3)
    threads = set()
    brain.default = Reply(before=lambda: threads.add(threading.get_ident()))
    send(home, brain)
    assert 1 == len(threads)


def test_connection_closed_between(home: Path, brain: FakeBrain) -> None:
    """A brain may close its connection after each answer, announced or not."""
    keys = wait_for(home, 3)
    brain.say(Reply(headers={"Connection": "close"}), Reply(is_closing=True))
    assert Delivery(sent=tuple(keys)) == send(home, brain)


def test_down(home: Path) -> None:
    """Where nobody answers, nothing is lost."""
    wait_for(home, 2)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    result = send(home, f"http://127.0.0.1:{port}")
    assert (0, 2) == (len(result.sent), result.kept)
    assert result.reason.startswith("no answer: ")
    assert 2 == len(left(home))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 401, 403, 408, 409, 429, 500, 502, 503])
def test_stops(home: Path, brain: FakeBrain, status: int) -> None:
    """A status that is about us, or about the brain, ends the drain; the next one starts with the same marker."""
    keys = wait_for(home, 3)
    brain.say(Reply(), Reply(status=status, body=b"try\nlater"))
    result = send(home, brain)
    assert (keys[:1], 2) == ([*result.sent], result.kept)
    assert f"the brain answered {status}" in result.reason
    assert keys[1:] == [*send(home, brain).sent]


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_refused(home: Path, brain: FakeBrain, status: int) -> None:
    """A marker that the brain will never take is set aside, and the rest goes on."""
    keys = wait_for(home, 3)
    brain.say(Reply(), Reply(status=status, body=b"no"))
    assert Delivery(sent=(keys[0], keys[2]), bad=1, refused=(keys[1],)) == send(home, brain)
    assert ["20261008T100100-lesson-00000001.json.bad"] == left(home)


@pytest.mark.parametrize(
    "row", ["{", "[]", {"type": "lesson"}, {"type": "x", "content": "x", "idempotency_key": "a\r\nb"}]
)
def test_unreadable(home: Path, brain: FakeBrain, row: Any) -> None:
    """A file that cannot be read is set aside, and the rest goes on."""
    keys = wait_for(home)
    put(home, row)
    assert Delivery(sent=tuple(keys), bad=1) == send(home, brain)
    assert ["20260101T000000-lesson-00000000.json.bad"] == left(home)


def test_no_permission(home: Path, brain: FakeBrain, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be read is set aside."""
    wait_for(home)

    def read(path: str) -> Outgoing:
        raise PermissionError(path)

    monkeypatch.setattr(delivery, "read", read)
    assert Delivery(bad=1) == send(home, brain)


def test_reset_in_mid_body(home: Path, brain: FakeBrain) -> None:
    """Half an answer is none: the marker waits, and is stored once although it is sent twice."""
    keys = wait_for(home)
    brain.say(Reply(is_cut=True))
    result = send(home, brain)
    assert ((), 1) == (result.sent, result.kept)
    assert keys == [*send(home, brain).sent]
    assert (keys * 2, keys) == (brain.keys, [*brain.stored])


def test_end_in_mid_body(home: Path, brain: FakeBrain) -> None:
    """An answer shorter than it says it is, is half an answer."""
    wait_for(home)
    brain.say(Reply(headers={"Content-Length": "100"}, is_closing=True))
    assert 1 == send(home, brain).kept


def test_answer_lost(home: Path, brain: FakeBrain) -> None:
    """A marker whose answer was lost after it was stored is sent again, and stored once."""
    keys = wait_for(home, 2)
    brain.say(Reply(is_lost=True))
    assert "no answer" in send(home, brain).reason
    assert keys == [*send(home, brain).sent]
    assert keys == [*brain.stored]


def test_slow(home: Path, brain: FakeBrain) -> None:
    """A brain that does not answer is not waited for beyond its timeout."""
    wait_for(home)
    done = threading.Event()
    brain.say(Reply(before=done.wait))
    result = send(home, brain, BRAIN_HTTP_TIMEOUT="0.2")
    done.set()
    assert Delivery(kept=1, reason="no answer within 0.2 s") == result


def test_dead_network(home: Path, brain: FakeBrain) -> None:
    """Nor is it beyond the time allowed, whatever the timeout."""
    wait_for(home)
    done = threading.Event()
    brain.say(Reply(before=done.wait))
    result = send(home, brain, budget_s=0.5, BRAIN_HTTP_TIMEOUT="600")
    done.set()
    assert result.reason.startswith("no answer within 0.")


@pytest.mark.parametrize(
    "headers", [{}, {"Connection": "close"}, {"X": "-" * 60}], ids=["kept open", "closing", "in the headers"]
)
def test_drip(home: Path, brain: FakeBrain, headers: dict[str, str]) -> None:
    """An answer that drips for ever, each byte in time, does not take longer than one that never comes."""
    wait_for(home)
    done = threading.Event()
    brain.say(Reply(headers=headers, body=b"x" * 10_000, drip=lambda: not done.wait(0.01)))
    result = send(home, brain, budget_s=0.5)
    done.set()
    assert 1 == result.kept
    assert "no answer within" in result.reason


def test_drip_that_ends(home: Path, brain: FakeBrain) -> None:
    """An answer that drips and is complete in time is an answer."""
    keys = wait_for(home)
    brain.say(Reply(drip=lambda: True))
    assert Delivery(sent=tuple(keys)) == send(home, brain)


def test_drip_left_behind(home: Path, brain: FakeBrain) -> None:
    """Whoever was left waiting for an answer that drips gives up as well."""
    receiver = Brain(str(home), {"BRAIN_URL": brain.url})
    with pytest.raises(TimeoutError):
        receiver._exchange(b"{}", "key", deadline=0.0)
    receiver.close()


def test_slow_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a name that nobody resolves."""
    wait_for(home)
    done = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: done.wait() and [])
    result = send(home, "http://brain.invalid", budget_s=0.5)
    done.set()
    assert "no answer within" in result.reason


def test_no_time_left(home: Path, brain: FakeBrain) -> None:
    """Without time nothing is sent."""
    wait_for(home)
    assert Delivery(kept=1, reason="the time allowed is used up") == send(home, brain, budget_s=0)
    assert [] == brain.received


def test_long_answer(home: Path, brain: FakeBrain) -> None:
    """Of a very long answer only the beginning is read, and the next marker gets its own."""
    keys = wait_for(home, 2)
    brain.say(Reply(body=b"x" * 1_000_000))
    assert Delivery(sent=tuple(keys)) == send(home, brain)


def test_chunked_answer(home: Path, brain: FakeBrain) -> None:
    """An answer may come in chunks."""
    keys = wait_for(home, 2)
    brain.say(Reply(headers={"Transfer-Encoding": "chunked"}, body=b"2\r\nok\r\n0\r\n\r\n"))
    assert Delivery(sent=tuple(keys)) == send(home, brain)


def test_what_it_says(home: Path, brain: FakeBrain) -> None:
    """The beginning of what the brain says is part of the reason, in one line and without control characters."""
    wait_for(home)
    brain.say(Reply(status=500, body=b"<b>\x1b[31mout of\n disk\xff</b>" + b"x" * 1000))
    reason = send(home, brain).reason
    assert reason.startswith("the brain answered 500: <b>?[31mout of disk\N{REPLACEMENT CHARACTER}</b>x")
    assert len(reason) < 250


@pytest.fixture
def authority() -> trustme.CA:
    """Return a certificate authority that nobody trusts."""
    return trustme.CA()


@pytest.fixture
def tls_brain(authority: trustme.CA) -> Iterator[FakeBrain]:
    """Return a brain that speaks TLS, with a certificate of that authority."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with FakeBrain(context) as brain:
        yield brain


def test_bad_certificate(home: Path, tls_brain: FakeBrain) -> None:
    """A brain that cannot prove who it is gets nothing, the token least of all."""
    wait_for(home)
    result = send(home, tls_brain, BRAIN_HTTP_TOKEN="sesame")
    assert "CERTIFICATE_VERIFY_FAILED" in result.reason
    assert ([], 1) == (tls_brain.received, result.kept)


def test_good_certificate(
    home: Path, tls_brain: FakeBrain, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that can gets everything; whom to trust is OpenSSL's to say."""
    keys = wait_for(home)
    with authority.cert_pem.tempfile() as file:
        monkeypatch.setenv("SSL_CERT_FILE", file)
        assert Delivery(sent=tuple(keys)) == send(home, tls_brain)


def test_redirect(home: Path, brain: FakeBrain) -> None:
    """A redirect is not followed, so that the token goes to no other host."""
    wait_for(home)
    with FakeBrain() as other:
        brain.say(Reply(status=307, headers={"Location": f"{other.url}/marker"}))
        result = send(home, brain, BRAIN_HTTP_TOKEN="sesame")
    assert [] == other.received
    assert "the brain answered 307, a redirect; set BRAIN_URL to where it is now" == result.reason


def test_proxy(home: Path, brain: FakeBrain, monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy is asked: the token goes to the host that was named."""
    wait_for(home)
    with FakeBrain() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        send(home, brain)
    assert ([], 1) == (proxy.received, len(brain.received))


@pytest.mark.parametrize(
    "url",
    [
        "brain",
        "ftp://brain",
        "http://",
        "http://brain:port",
        "http://[::1",
        "http://user:sesame@brain",
        "http://bra in",
        "http://brain/ü",
    ],
)
def test_no_address(home: Path, url: str) -> None:
    """An address that is none stops the drain, and is not repeated: it may hold a secret."""
    wait_for(home)
    result = send(home, url)
    assert 1 == result.kept
    assert result.reason.startswith("BRAIN_URL is no address such as")
    assert "sesame" not in result.reason


def test_bad_token(home: Path, brain: FakeBrain) -> None:
    """A token that no header can hold stops the drain, and is not repeated."""
    wait_for(home)
    result = send(home, brain, BRAIN_HTTP_TOKEN="ses\name")
    assert Delivery(kept=1, reason="BRAIN_HTTP_TOKEN holds characters that a header cannot") == result


@pytest.mark.parametrize("text", ["", "soon", "0", "-1", "nan"])
def test_bad_timeout(home: Path, brain: FakeBrain, text: str) -> None:
    """A timeout that is none is the default one."""
    wait_for(home)
    assert 1 == len(send(home, brain, BRAIN_HTTP_TIMEOUT=text).sent)


@pytest.mark.parametrize("environ", [{}, {"BRAIN_URL": " "}])
def test_no_brain(home: Path, environ: dict[str, str]) -> None:
    """Without a brain the files wait."""
    wait_for(home, 2)
    assert Delivery(kept=2, reason="BRAIN_URL is not set") == drain(str(home), environ)


def test_nothing_waits(home: Path, brain: FakeBrain) -> None:
    """Where nothing waits, nothing is created."""
    assert Delivery() == send(home, brain)
    assert not home.exists()


@pytest.mark.parametrize(("count", "environ"), [(0, {"BRAIN_URL": "http://127.0.0.1:1"}), (1, {})])
def test_imports_nothing(home: Path, count: int, environ: dict[str, str]) -> None:
    """Where there is nothing to send, or nobody to send it to, nothing of HTTP is imported."""
    wait_for(home, count)
    code = (
        "import sys; known = {*sys.modules};"
        "from agentihooks.plugins import Plugins; from agentihooks.sinks import deliver;"
        "deliver(Plugins.bundled(['outbox']), sys.argv[1], eval(sys.argv[2]), 2.0);"
        "print(*{'http', 'http.client', 'urllib', 'email', 'ssl', 'socket', 'pathlib'} & ({*sys.modules} - known))"
    )
    arguments = [sys.executable, "-c", code, str(home), repr(environ)]
    assert "\n" == subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


HOLDS = {
    "seconds": ("90", timedelta(seconds=90)),
    "date": ("Thu, 08 Oct 2026 12:01:30 GMT", timedelta(seconds=90)),
    "too long": ("99999999999999999999", timedelta(days=1)),
    "too late": ("Fri, 08 Oct 2027 12:00:00 GMT", timedelta(days=1)),
}


@pytest.mark.parametrize(("text", "wait"), HOLDS.values(), ids=HOLDS)
def test_retry_after(text: str, wait: timedelta) -> None:
    """A brain may ask to be left alone, for a number of seconds or until a date, a day at most."""
    assert NOW + wait == retry_at(text, NOW)


@pytest.mark.parametrize(
    "text", ["", "0", "-5", "soon", "\u0661", "Thu, 08 Oct 2026 11:00:00 GMT", f"Thu, 08 Oct {'9' * 30} 11:00:00 GMT"]
)
def test_no_retry_after(text: str) -> None:
    """Anything else asks for nothing."""
    assert None is retry_at(text, NOW)


@pytest.mark.parametrize("status", [429, 503])
def test_held(home: Path, brain: FakeBrain, status: int) -> None:
    """Until the time that the brain asked for, it is not asked again; then it is."""
    keys = wait_for(home)
    brain.say(Reply(status=status, headers={"Retry-After": "60"}, body=b"full"))
    send(home, brain)
    reason = f"the brain answered {status}: full; it asked to wait until 2026-10-08T12:01:00Z"
    assert Delivery(kept=1, reason=reason) == send(home, brain)
    assert 1 == len(brain.received)
    later = drain(str(home), {"BRAIN_URL": brain.url}, clock=lambda: NOW + timedelta(seconds=60))
    assert tuple(keys) == later.sent


def test_other_brain_is_not_held(home: Path, brain: FakeBrain) -> None:
    """What one brain asked for does not hold for another."""
    wait_for(home)
    brain.say(Reply(status=429, headers={"Retry-After": "60"}))
    send(home, brain)
    assert 1 == len(send(home, f"{brain.url}/other").sent)


def test_clock_put_back(home: Path, brain: FakeBrain) -> None:
    """A wait that lies further ahead than any can be is over: the clock was put back."""
    wait_for(home)
    brain.say(Reply(status=429, headers={"Retry-After": "60"}))
    send(home, brain)
    before = drain(str(home), {"BRAIN_URL": brain.url}, clock=lambda: NOW - timedelta(days=2))
    assert 1 == len(before.sent)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"receiver": "x"}', '{"receiver": 1, "reason": 1, "retry_at": 1, "bad": []}']
)
def test_damaged_state(home: Path, brain: FakeBrain, text: str) -> None:
    """A state that cannot be read holds nobody up."""
    wait_for(home)
    put(home, text, "brain-outbox.json", "state")
    assert 1 == len(send(home, brain).sent)


def test_backlog_first(home: Path, brain: FakeBrain) -> None:
    """What lies in the sibling for older files goes first."""
    wait_for(home)
    put(home, {"type": "lesson", "content": "old"}, "20991231T000000-lesson-0.json", "brain-outbox-backlog")
    send(home, brain)
    assert ["old", "lesson 0"] == [request.body["content"] for request in brain.received]
    assert [] == left(home)


def test_added_meanwhile(home: Path, brain: FakeBrain) -> None:
    """A marker that is added while others are sent is sent as well."""
    wait_for(home)
    brain.say(Reply(before=lambda: brain_outbox(str(home)).write([marker(5)])))
    assert 2 == len(send(home, brain).sent)


def test_gone_meanwhile(home: Path, brain: FakeBrain) -> None:
    """A file that somebody removes is not missed."""
    wait_for(home, 3)

    def remove() -> None:
        for name in left(home)[:2]:
            (home / "brain-outbox" / name).unlink()

    brain.say(Reply(before=remove))
    assert 2 == len(send(home, brain).sent)


def test_another_drain(home: Path, brain: FakeBrain) -> None:
    """Where somebody else is draining, the work is left to them."""
    wait_for(home)
    (home / "state").mkdir()
    with locked(home / "state" / "brain-outbox.json.lock", 0):
        assert Delivery(kept=1, reason="another drain is at work") == send(home, brain)
    assert [] == brain.received


EARLIER = {
    "type": "lesson",
    "content": "x" * 5000,
    "attrs": {"project": "mine"},
    "session_id": "old",
    "agent_name": "root",
    "project": "/work/old",
    "ts": "2026-01-01T00:00:00+00:00",
}


def test_earlier_version(home: Path, brain: FakeBrain) -> None:
    """A file without attribution and key is completed by the preceding rules, and has the preceding key."""
    put(home, EARLIER)
    row = {"session_id": "old", "project": "alpha", "repo": "fixture/alpha", "cwd": "/work/alpha"}
    put(home, row, "project-sessions.jsonl", "brain")
    send(home, brain, AGENTICORE_AGENT_NAME="eng-1")
    (request,) = brain.received
    expected = {
        "project": "mine",
        "repo": "fixture/alpha",
        "worktree": "",
        "cwd": "/work/alpha",
        "remote": "",
        "project_id": "unknown",
        "session_id": "old",
        "source": "eng-1",
        "ts": "2026-01-01T00:00:00+00:00",
    }
    assert {"type": "lesson", "content": "x" * 4096, "attrs": expected} == request.body
    assert preceding_marker_key("old", "lesson", "x" * 4096) == request.key


def test_earlier_version_without_session(home: Path, brain: FakeBrain) -> None:
    """Where nothing is known of the session, nothing is made up; the folder of whoever sends is none of its business."""
    put(home, EARLIER)
    send(home, brain, CLAUDE_PROJECT_DIR=str(Path(__file__).parents[2]))
    expected = {"project": "mine", "session_id": "old", "source": "agent", "ts": EARLIER["ts"]}
    assert expected == brain.received[0].body["attrs"]


def test_as_written(home: Path, brain: FakeBrain) -> None:
    """A file that carries an attribution is sent as it was written, with the key that it carries."""
    attributes = {"attribution": "unknown", "ts": "earlier", "extra": 1}
    put(home, {**EARLIER, "attrs": attributes, "idempotency_key": "abc"})
    put(home, {"session_id": "old", "project": "alpha"}, "project-sessions.jsonl", "brain")
    send(home, brain)
    assert ("x" * 5000, attributes) == tuple(brain.received[0].body[name] for name in ("content", "attrs"))
    assert "abc" == brain.received[0].key


def test_bundled_sink(home: Path, brain: FakeBrain) -> None:
    """The engine delivers through the plugin's hook."""
    keys = wait_for(home)
    assert Delivery(sent=tuple(keys)) == deliver(Plugins.bundled(["outbox"]), str(home), {"BRAIN_URL": brain.url}, 30.0)


def test_nothing_comes_of_nothing(home: Path, brain: FakeBrain) -> None:
    """With nothing to send, nothing comes of it."""
    assert deliver(Plugins.bundled(["outbox"]), str(home), {"BRAIN_URL": brain.url}, 30.0) is None


def test_disk_fails(home: Path) -> None:
    """What goes wrong on the disk is a fault of the plugin, and stops nobody."""
    wait_for(home)
    (home / "state").write_text("no directory")
    plugins = Plugins.bundled(["outbox"])
    assert deliver(plugins, str(home), {"BRAIN_URL": "http://x"}, 2.0) is None
    assert ["agentihooks_deliver_markers raised NotADirectoryError"] == [
        str(fault).partition("(")[0].removeprefix("plugin outbox: ") for fault in plugins.faults
    ]


def test_budget_may_be_endless(home: Path, brain: FakeBrain) -> None:
    """There may be no limit."""
    wait_for(home)
    assert 1 == len(send(home, brain, math.inf).sent)
