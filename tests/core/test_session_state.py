"""What is known of a session beside its scopes: a small file that is replaced whole, and may be lost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentihooks import session_state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STATE = {"cwd": "/work", "quiet_events": ["PostToolUse"], "loud_tools": ["EnterWorktree"], "is_ended": False}


@pytest.fixture
def folder(home: Path) -> Path:
    """Return where the states lie."""
    path = home / "state" / "sessions"
    path.mkdir(parents=True)
    return path


def is_quiet(home: Path, event: str = "PostToolUse", cwd: object = "/work", tool: object = "Bash") -> bool:
    """Return whether an event of session `s` is quiet."""
    return session_state.is_quiet(str(home), "s", event, cwd, tool)


def test_a_round_trip(home: Path) -> None:
    """What is written is read, whatever text it holds; the file is its owner's alone."""
    state = {**STATE, "cwd": "/h\u00f6me/\ud83d\n"}
    session_state.write(str(home), "s", state)
    assert state == session_state.read(str(home), "s")
    path = home / "state" / "sessions" / "s.json"
    assert [0o700, 0o700, 0o600] == [each.stat().st_mode & 0o777 for each in (home / "state", path.parent, path)]


def test_unknown(home: Path) -> None:
    """Of a session that was never heard of nothing is known, and asking leaves nothing behind."""
    assert {} == session_state.read(str(home), "s")
    assert [] == list(session_state.known(str(home)))
    assert not home.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"1", b"null", b"\xff\xfe"], ids=repr)
def test_damaged(home: Path, folder: Path, content: bytes) -> None:
    """A file that cannot be read tells nothing: the next hook does the whole work."""
    (folder / "s.json").write_bytes(content)
    assert {} == session_state.read(str(home), "s")
    assert [] == list(session_state.known(str(home)))
    assert not is_quiet(home)


def test_a_write_that_fails(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that cannot be replaced stays what it was, and nothing is left beside it."""

    def replace(*_: object) -> None:
        raise OSError("full")

    session_state.write(str(home), "s", STATE)
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="full"):
        session_state.write(str(home), "s", {})
    assert STATE == session_state.read(str(home), "s")
    assert ["s.json"] == [path.name for path in (home / "state" / "sessions").iterdir()]


def test_known(home: Path, folder: Path) -> None:
    """All sessions and subagents are listed by id, with when each was last heard of; other files are passed over."""
    for seconds, own_id in enumerate(("b", "a", "a.agent-1")):
        session_state.write(str(home), own_id, STATE)
        os.utime(folder / f"{own_id}.json", (0, seconds))
    for name in ("c.json.123", "notes", "-.json"):
        (folder / name).write_text('{"cwd": "/"}')
    expected = [("a", STATE, 1.0), ("a.agent-1", STATE, 2.0), ("b", STATE, 0.0)]
    assert expected == sorted(session_state.known(str(home)), key=lambda known: known[0])


def test_touch(home: Path, folder: Path) -> None:
    """A session that is heard of is so from now on."""
    session_state.write(str(home), "s", STATE)
    os.utime(folder / "s.json", (0, 0))
    session_state.touch(str(home), "s")
    assert [True] == [heard_at > 0 for _, _, heard_at in session_state.known(str(home))]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({}, True),
        ({"tool": None}, True),
        ({"cwd": "/elsewhere"}, False),
        ({"cwd": None}, False),
        ({"cwd": ["/work"]}, False),
        ({"event": "Stop"}, False),
        ({"tool": "EnterWorktree"}, False),
        ({"tool": {"a": []}}, True),
    ],
    ids=str,
)
def test_quiet(home: Path, event: Mapping[str, str], expected: bool) -> None:
    """Quiet is what is of a quiet kind, in the folder that is known, and not about a tool that says more."""
    session_state.write(str(home), "s", STATE)
    assert expected == is_quiet(home, **event)


@pytest.mark.parametrize("state", [{}, {**STATE, "is_ended": True}, {**STATE, "quiet_events": []}], ids=str)
def test_not_quiet(home: Path, state: Mapping[str, object]) -> None:
    """Nothing is quiet in a session that is over, or of which too little is known."""
    session_state.write(str(home), "s", state)
    assert not is_quiet(home)
