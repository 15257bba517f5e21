"""The hook's entry: whatever comes in, nothing comes out, and the reason is where a person looks for it."""

from __future__ import annotations

import io
import json
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import agentihooks_claude.payload
from agentihooks import hook, live, logbook
from tests.sessions import SESSION, Claude, Codex, files, fire, reasons, repository, rows, scopes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Called(Exception):  # noqa: N818 - no error
    """The hook went on to do its work."""


def event(**fields: Any) -> dict[str, Any]:
    """Return the payload of a Stop outside any repository; None takes a field out."""
    values = {"session_id": SESSION, "hook_event_name": "Stop", "cwd": "/", "transcript_path": "/nowhere", **fields}
    return {name: value for name, value in values.items() if value is not None}


UNREADABLE: Mapping[str, Any] = {
    "empty": b"",
    "damaged": b'{"session_id": "s1", "hook_ev',
    "not UTF-8": b'{"session_id": "\xff\xfe"}',
    "deep": b"[" * 100_000,
    "array": [event()],
    "text": "Stop",
    "number": 1,
    "null": None,
    "no session": event(session_id=None),
    "session in a list": event(session_id=[SESSION]),
    "no event": event(hook_event_name=None),
    "event a number": event(hook_event_name=1),
    "unsafe session": event(session_id="../../etc/passwd"),
    "long session": event(session_id="s" * 129),
    "unsafe agent": event(agent_id="../x"),
    "agent makes the name too long": event(session_id="s" * 120, agent_id="a" * 10),
}


@pytest.mark.parametrize("payload", UNREADABLE.values(), ids=UNREADABLE)
def test_a_payload_that_names_nobody(home: Path, capfd: pytest.CaptureFixture[str], payload: object) -> None:
    """It leaves nothing but its reason in the engine's log; the agent sees success, and not a word."""
    fire(payload)
    assert ("", "") == capfd.readouterr()
    assert ["logs/agentihooks.log"] == list(files(home))
    assert ["claude"] == [row["agent"] for row in rows(home / "logs" / "agentihooks.log")]


ODD: Mapping[str, Any] = {
    "unknown event": event(hook_event_name="SomethingNew"),
    "no folder": event(cwd=None),
    "folder a list": event(cwd=["/"]),
    "folder with a NUL": event(cwd="/a\0b"),
    "folder with half an emoji": event(cwd="/a\ud83d"),
    "no such folder": event(cwd="/nowhere/at/all"),
    "no transcript": event(transcript_path=None),
    "transcript a directory": event(transcript_path="/"),
    "transcript with a NUL": event(transcript_path="/a\0b"),
    "tool without a result": event(hook_event_name="PostToolUse", tool_name="EnterWorktree", tool_response=None),
    "10 MB": event(last_assistant_message="x" * 10_000_000),
    "unknown keys": event(new={"deep": [1]}, tool_input=None),
}


@pytest.mark.parametrize("payload", ODD.values(), ids=ODD)
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_an_odd_payload_of_a_session(
    home: Path, capfd: pytest.CaptureFixture[str], agent: str, payload: object
) -> None:
    """Whatever a field holds, nothing is printed, and there is nothing to complain of."""
    fire(payload, agent)
    assert ("", "") == capfd.readouterr()
    assert [] == reasons(home)


def test_no_standard_input(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that is called without any input succeeds."""
    monkeypatch.setattr(sys, "stdin", None)
    assert 0 == hook.main(["claude"])
    assert 1 == len(reasons(home))


@pytest.mark.parametrize("name", ["", "nobody", "outbox"])
def test_a_name_of_no_agent(home: Path, name: str) -> None:
    """A hook that is set up for no agent's name says so in the log."""
    fire(event(), name)
    assert [f"PluginFault: plugin {name}: no plugin of this name implements agentihooks_parse_payload"] == reasons(home)


def test_no_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does one that is set up for none."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(event()).encode())))
    assert 0 == hook.main([])
    assert "no plugin of this name" in reasons(home)[0]


def test_a_plugin_that_raises(home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin's fault is in the log under the plugin's name."""

    def parse(_: object) -> None:
        raise RuntimeError("no idea")

    monkeypatch.setattr(agentihooks_claude.payload, "parse", parse)
    fire(event())
    assert ("", "") == capfd.readouterr()
    assert ["plugin claude: agentihooks_parse_payload raised RuntimeError('no idea')"] == reasons(home)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit(3), MemoryError, RecursionError("deep")], ids=repr)
def test_anything_that_is_raised(home: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Nothing that is raised in a hook gets out of it."""

    def handle(*_: object) -> None:
        raise error

    monkeypatch.setattr(live, "handle", handle)
    fire(event())
    assert 1 == len(reasons(home))


def test_what_a_reason_tells(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason tells whose event failed and why, at a length that fits a log: never the payload, nor the environment."""

    def handle(*_: object) -> None:
        raise ValueError("x" * 5000)

    monkeypatch.setattr(live, "handle", handle)
    monkeypatch.setenv("SOME_TOKEN", "secret")
    fire(event(hook_event_name="e" * 500, prompt="secret", agent_id="a1"))
    (row,) = rows(home / "logs" / "agentihooks.log")
    assert {"at", "level", "message", "agent", "hook_event_name", "session_id", "agent_id"} == row.keys()
    assert (2000, 200) == (len(row["message"]), len(row["hook_event_name"]))
    assert "secret" not in json.dumps(row)


def test_a_log_that_cannot_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even the log may fail."""

    def write(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(logbook, "write", write)
    fire(b"")
    assert not home.exists()


@pytest.mark.parametrize("is_file", [True, False], ids=["under a file", "is a file"])
def test_no_home_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *, is_file: bool
) -> None:
    """Where there is no place for a home, events pass by without a trace."""
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("AGENTIHOOKS_HOME", str(tmp_path / "file" / ("home" if is_file else "")))
    fire(event())
    assert ("", "") == capfd.readouterr()
    assert {"file": b"mine"} == files(tmp_path)


def test_the_user_s_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name of its own the home lies in the user's."""
    monkeypatch.delenv("AGENTIHOOKS_HOME")
    fire(event())
    assert (tmp_path / "user" / ".agentihooks" / "brain" / "project-sessions.jsonl").exists()


class TestQuiet:
    """Events that nobody has to wait for."""

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Return where a session has been heard of; whatever is more than to note that it is still there, raises."""
        folder = repository(tmp_path / "alpha")
        Claude().fire("SessionStart", folder)
        Codex("codex").fire("SessionStart", folder)

        def handle(*_: object) -> None:
            raise Called

        monkeypatch.setattr(live, "handle", handle)
        return folder

    @pytest.mark.parametrize("name", ["UserPromptSubmit", "CwdChanged", "PreToolUse", "PostToolUse", "Notification"])
    def test_nothing_has_moved(self, home: Path, folder: Path, name: str) -> None:
        """An event in the same folder changes nothing, but for when the session was heard of."""
        state = home / "state" / "sessions" / f"{SESSION}.json"
        os.utime(state, (0, 0))
        before = files(home)
        Claude().fire(name, folder, tool_name="Read")
        assert before == files(home)
        assert state.stat().st_mtime > 0

    def test_codex(self, home: Path, folder: Path) -> None:
        """So it is with Codex."""
        Codex("codex").fire("UserPromptSubmit", folder)
        assert [] == reasons(home)

    @pytest.mark.parametrize(
        "fields",
        [
            {"event": "UserPromptSubmit", "cwd": "/"},
            {"event": "UserPromptSubmit", "cwd": None},
            {"event": "PostToolUse", "tool_name": "EnterWorktree"},
            {"event": "PostToolUse", "tool_name": "ExitWorktree"},
            {"event": "SomethingNew"},
            {"event": "SessionStart"},
            {"event": "Stop"},
            {"event": "UserPromptSubmit", "agent_id": "a1"},
            {"event": "UserPromptSubmit", "session_id": "another"},
        ],
        ids=str,
    )
    def test_something_may_have(self, home: Path, folder: Path, fields: Mapping[str, Any]) -> None:
        """Every other event, or one in another folder, or of somebody else, is looked at."""
        Claude().fire(**{"cwd": folder, **fields})
        assert ["Called: "] == reasons(home)

    def test_a_session_that_had_ended(self, home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first event of a session that was over is looked at: it goes on."""
        with monkeypatch.context() as undone:
            undone.undo()
            undone.setenv("AGENTIHOOKS_HOME", str(home))
            Claude().fire("SessionEnd", folder)
        Claude().fire("UserPromptSubmit", folder)
        assert ["Called: "] == reasons(home)

    def test_a_rollback(self, home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Under rollback every event is looked at."""
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        Claude().fire("UserPromptSubmit", folder)
        assert ["Called: "] == reasons(home)


def test_the_hook_s_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the hook's process stands is never recorded: the payload leads, and without a folder nothing is said."""
    monkeypatch.chdir(repository(tmp_path / "beta", "beta"))
    Claude().fire("SessionStart", repository(tmp_path / "alpha"))
    fire(event(session_id="s2", hook_event_name="SessionStart", cwd=None))
    assert [("alpha", str(tmp_path / "alpha"))] == scopes(SESSION, "project", "cwd")
    assert [] == scopes("s2", "cwd")


def test_a_broken_pipe_is_no_concern(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Input that breaks off is a reason like any other."""

    def read(_: int) -> bytes:
        raise OSError("gone")

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=read)))
    assert 0 == hook.main(["claude"])
    assert ["OSError: gone"] == reasons(home)
