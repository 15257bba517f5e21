"""`agentihooks outbox`, and the sinks that only it runs: what people and programs see, and the exit codes."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from agentihooks import sinks
from agentihooks.__main__ import main
from agentihooks.clock import now
from agentihooks.hookspecs import hookimpl
from agentihooks.outgoing import Delivery, Outgoing
from agentihooks.plugins import Plugins
from agentihooks_outbox.listing import findings, take_up, waiting_markers
from agentihooks_outbox.outbox import Outbox
from agentihooks_outbox.sinks import drain_sinks
from agentihooks_outbox.testing import FakeBrain, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MARKER = Outgoing(
    type="lesson",
    content="x",
    attrs={"attribution": "scoped", "repo": "fixture/alpha"},
    idempotency_key="k2:" + "0" * 64,
    session_id="s1",
    agent_name="agent",
    project="",
    at="2026-10-08T10:00:00Z",
)
NAME = "20261008T100000-lesson-00000000.json"


@pytest.fixture
def brain(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBrain]:
    """Return a brain that is up, and that the environment names."""
    with FakeBrain() as brain:
        monkeypatch.setenv("BRAIN_URL", brain.url)
        yield brain


@pytest.fixture
def waiting(home: Path) -> Path:
    """Return the one file that waits."""
    accept([MARKER], str(home), {})
    return home / "brain-outbox" / NAME


def accept(markers: Sequence[Outgoing], home: str, environ: Mapping[str, str]) -> None:
    """Put markers by, as the end of a turn does."""
    sinks.accept(Plugins.bundled(["outbox"]), markers, home, environ)


def deliver(home: str, environ: Mapping[str, str]) -> Delivery | None:
    """Send them on, as the end of a turn does."""
    return sinks.deliver(Plugins.bundled(["outbox"]), home, environ, 30.0)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run `agentihooks outbox`; return the exit code, what it printed, and what it complained of."""
    code = main(["outbox", *arguments])
    return code, *capsys.readouterr()


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    """Return the list as programs get it."""
    code, out, _ = run(capsys, "list", "--json")
    assert 0 == code
    markers: list[dict[str, str]] = json.loads(out)["markers"]
    return markers


def test_empty(capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing waits, that is said, and sending it works."""
    assert (0, "nothing waits\n", "") == run(capsys, "list")
    assert (0, "brain: 0 sent, 0 set aside, 0 waiting\n", "") == run(capsys, "drain")


def test_list(waiting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """People see a line for each file, and each reason once."""
    os.utime(waiting, (0, 0))
    code, out, _ = run(capsys, "list")
    heading, line, reason = out.splitlines()
    assert (0, "brain, waiting: BRAIN_URL is not set") == (code, reason)
    assert ["for", "state", "since", "file", "project", "session"] == heading.split()
    assert ["brain", "waiting", NAME, "fixture/alpha", "s1"] == [
        cell for cell in line.split() if not cell.endswith(("d", "h"))
    ]


def test_list_json(waiting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs get the same, with the time since when it waits."""
    os.utime(waiting, (0, 0))
    expected = {
        "name": NAME,
        "receiver": "brain",
        "state": "waiting",
        "type": "lesson",
        "session_id": "s1",
        "project": "fixture/alpha",
        "since": "1970-01-01T00:00:00+00:00",
        "reason": "BRAIN_URL is not set",
        "next_attempt": "",
    }
    assert [expected] == listed(capsys)


def test_drain(waiting: Path, brain: FakeBrain, capsys: pytest.CaptureFixture[str]) -> None:
    """What waits is sent, and counted."""
    assert (0, "brain: 1 sent, 0 set aside, 0 waiting\n", "") == run(capsys, "drain")
    assert not waiting.exists()
    assert 1 == len(brain.stored)


def test_drain_json(waiting: Path, brain: FakeBrain, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs get what was sent by its key."""
    code, out, _ = run(capsys, "drain", "--json")
    expected = {"sent": [MARKER.idempotency_key], "bad": 0, "refused": [], "kept": 0, "reason": ""}
    assert (0, {"brain": expected}) == (code, json.loads(out))


def test_drain_stops(waiting: Path, brain: FakeBrain, capsys: pytest.CaptureFixture[str]) -> None:
    """A drain that ends early exits 1, and says why in one line."""
    brain.say(Reply(status=500, body=b"no\n\x1b[31mroom"))
    code, out, complaint = run(capsys, "drain")
    assert (1, "brain: 0 sent, 0 set aside, 1 waiting\n") == (code, out)
    assert "agentihooks: brain: the brain answered 500: no ?[31mroom\n" == complaint
    assert ("waiting", "the brain answered 500: no ?[31mroom") == tuple(
        listed(capsys)[0][n] for n in ("state", "reason")
    )


def test_reason_goes(waiting: Path, brain: FakeBrain, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    """A reason is forgotten once a drain went through."""
    brain.say(Reply(status=500))
    run(capsys, "drain")
    run(capsys, "drain")
    accept([MARKER], str(home), {})
    assert "" == listed(capsys)[0]["reason"]
    assert 2 == len(run(capsys, "list")[1].splitlines())


def test_held(waiting: Path, brain: FakeBrain, capsys: pytest.CaptureFixture[str]) -> None:
    """While the brain wants to be left alone, files are held, and the list says until when."""
    brain.say(Reply(status=429, headers={"Retry-After": "60"}, body=b"full"))
    run(capsys, "drain")
    (held,) = listed(capsys)
    assert ("held", "the brain answered 429: full") == (held["state"], held["reason"])
    assert held["next_attempt"]
    line = run(capsys, "list")[1].splitlines()[-1]
    assert line.startswith("brain, held: the brain answered 429: full; next attempt after ")


def test_bad(waiting: Path, brain: FakeBrain, capsys: pytest.CaptureFixture[str]) -> None:
    """What was refused is listed with the reason until it is taken up again, and then sent."""
    brain.say(Reply(status=422, body=b"no such task"))
    assert (0, "brain: 0 sent, 1 set aside, 0 waiting\n", "") == run(capsys, "drain")
    (bad,) = listed(capsys)
    assert (NAME + ".bad", "bad", "the brain answered 422: no such task") == (bad["name"], bad["state"], bad["reason"])
    assert (0, "brain: 1 sent, 0 set aside, 0 waiting\n", "") == run(capsys, "retry")
    assert [] == listed(capsys)


@pytest.mark.parametrize("ending", ["", ".bad"])
def test_retry_one(home: Path, brain: FakeBrain, capsys: pytest.CaptureFixture[str], ending: str) -> None:
    """One file can be taken up by its name; the others stay, and keep their reasons."""
    accept([MARKER, structs.replace(MARKER, type="signal")], str(home), {})
    brain.say(Reply(status=422), Reply(status=422))
    run(capsys, "drain")
    assert 0 == run(capsys, "retry", NAME + ending)[0]
    (left,) = listed(capsys)
    assert ("signal", 'the brain answered 422: {"ok": true}') == (left["type"], left["reason"])


def test_retry_unknown(waiting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that there is none of is bad input, and nothing is done."""
    code, out, complaint = run(capsys, "retry", "x.json")
    assert (2, "") == (code, out)
    assert "agentihooks: no file of this name was set aside: x.json\n" == complaint


def test_set_aside_earlier(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that an earlier version set aside is listed, whatever is in it."""
    (home / "brain-outbox").mkdir(parents=True)
    (home / "brain-outbox" / "x.json.bad").write_text("{")
    (bad,) = listed(capsys)
    assert ("", "set aside, nobody noted why") == (bad["type"], bad["reason"])
    assert 1 == take_up(str(home), {})


def test_gone_while_listing(waiting: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that goes while the list is made is left out."""
    monkeypatch.setattr(Outbox, "waiting", lambda _: [str(waiting) + "x"])
    assert [] == list(waiting_markers(str(home), {}, now()))


def examined(home: Path, environ: dict[str, str], after: timedelta = timedelta(0)) -> list[str]:
    """Return the doctor's findings some time from now: level, text."""
    return [f"{finding.level}: {finding.text}" for finding in findings(str(home), environ, now() + after)]


def test_doctor_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing waits the doctor says so."""
    found = [
        finding
        for each in Plugins.bundled(["outbox"]).each("agentihooks_examine", environ=os.environ)
        for finding in each
    ]
    assert [("ok", "nothing waits")] == [(finding.level, finding.text) for finding in found]


def test_doctor_no_brain(home: Path, waiting: Path) -> None:
    """Without a brain files may wait for ever; that is worth a note."""
    os.utime(waiting, (0, 0))
    expected = "note: waiting: 1, the oldest since 1970-01-01T00:00:00+00:00: BRAIN_URL is not set"
    assert [expected] == examined(home, {})


def test_doctor_stuck(home: Path, waiting: Path, brain: FakeBrain) -> None:
    """What waits for hours for a brain that is there is a problem, what waits for minutes is not."""
    environ = {"BRAIN_URL": brain.url}
    assert ["note"] == [line[:4] for line in examined(home, environ)]
    brain.say(Reply(status=500))
    deliver(str(home), environ)
    assert ["note"] == [line[:4] for line in examined(home, environ)]
    (line,) = examined(home, environ, timedelta(hours=2))
    assert line.startswith("problem: waiting: 1, the oldest since ")
    assert "the brain answered 500" in line


def test_doctor_bad(home: Path, waiting: Path, brain: FakeBrain) -> None:
    """What was set aside needs a person."""
    brain.say(Reply(status=422, body=b"no"))
    deliver(str(home), {"BRAIN_URL": brain.url})
    (line,) = examined(home, {"BRAIN_URL": brain.url})
    assert line.startswith("problem: bad: 1, ")
    assert line.endswith(": the brain answered 422: no")


@pytest.mark.parametrize(
    ("url", "count"), [("http://brain", 1), ("http://127.0.0.1:1", 0), ("https://brain", 0), ("http://[", 0), ("", 0)]
)
def test_doctor_unencrypted(home: Path, url: str, count: int) -> None:
    """A token that leaves the machine unencrypted is worth a note."""
    environ = {"BRAIN_URL": url, "BRAIN_HTTP_TOKEN": "sesame"}
    assert count == sum("unencrypted" in line for line in examined(home, environ))


class Mail:
    """A sink: keeps what it is given, or fails."""

    def __init__(self, answer: Any = True) -> None:
        self.taken: list[Outgoing] = []
        self._answer = answer

    @hookimpl
    def agentihooks_accept_markers(self, markers: Sequence[Outgoing], home: str) -> Any:
        """Take the markers."""
        if isinstance(self._answer, Exception):
            raise self._answer
        self.taken += markers
        return self._answer


def plugins_with(mail: Mail) -> Plugins:
    """Return a set of plugins in which *mail* is one."""
    module = ModuleType("mail")
    vars(module)["agentihooks_accept_markers"] = mail.agentihooks_accept_markers
    return Plugins({"mail": module})


SINKS = {"AGENTIHOOKS_SINKS": "mail"}


def test_sink(home: Path) -> None:
    """A sink gets every marker when its outbox is drained, and the files are gone."""
    mail = Mail()
    accept([MARKER], str(home), SINKS)
    assert {"mail": Delivery(sent=(MARKER.idempotency_key,))} == drain_sinks(str(home), SINKS, plugins_with(mail))
    assert [MARKER] == mail.taken
    assert [] == [*(home / "sink-outbox" / "mail").iterdir()]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "plugin mail did not take the marker"),
        (False, "plugin mail did not take the marker"),
        (OSError("full"), "plugin mail: agentihooks_accept_markers raised OSError('full')"),
    ],
)
def test_sink_fails(home: Path, brain: FakeBrain, answer: Any, reason: str) -> None:
    """What a sink did not take waits for it, and keeps nobody else waiting."""
    accept([MARKER], str(home), SINKS)
    assert {"mail": Delivery(kept=1, reason=reason)} == drain_sinks(str(home), SINKS, plugins_with(Mail(answer)))
    assert Delivery(sent=(MARKER.idempotency_key,)) == deliver(str(home), {"BRAIN_URL": brain.url})


def test_no_such_sink(
    home: Path, brain: FakeBrain, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Markers for a sink that is not installed wait, and the list says why."""
    monkeypatch.setenv("AGENTIHOOKS_SINKS", "mail")
    accept([MARKER], str(home), SINKS)
    code, out, _ = run(capsys, "drain")
    assert (1, "brain: 1 sent, 0 set aside, 0 waiting\nmail: 0 sent, 0 set aside, 1 waiting\n") == (code, out)
    (left,) = listed(capsys)
    assert ("mail", "waiting") == (left["receiver"], left["state"])
    assert "no plugin of this name implements agentihooks_accept_markers" in left["reason"]


def test_documented_sink(home: Path, tmp_path: Path) -> None:
    """The documented example works."""
    page = (Path(__file__).parents[2] / "docs/how-to/add-a-sink.md").read_text("utf-8")
    module = ModuleType("journal")
    exec(page.partition("```python\n")[2].partition("```")[0], vars(module))
    environ = {"AGENTIHOOKS_SINKS": "journal", "JOURNAL": str(tmp_path / "journal.jsonl")}
    accept([MARKER], str(home), environ)
    plugins = Plugins({"journal": module})
    assert [] == plugins.faults
    assert 1 == len(drain_sinks(str(home), environ, plugins)["journal"].sent)
    row = json.loads((tmp_path / "journal.jsonl").read_text())
    assert (MARKER.idempotency_key, "x", "fixture/alpha") == (row["key"], row["content"], row["repo"])
