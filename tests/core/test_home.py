"""Where the home is, and what lies in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentihooks.home import (
    cursor_directory,
    home_directory,
    is_rolled_back,
    project_sessions_path,
    scope_log_directory,
    user_directory,
)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"AGENTIHOOKS_HOME": "/h", "HOME": "/u"}, "/h"),
        ({"HOME": "/u"}, "/u/.agentihooks"),
        ({"AGENTIHOOKS_HOME": "", "HOME": "/u"}, "/u/.agentihooks"),
    ],
)
def test_the_home(environ: dict[str, str], expected: str) -> None:
    """The home is where AGENTIHOOKS_HOME says, else `.agentihooks` in the user's own directory."""
    assert expected == home_directory(environ)


@pytest.mark.parametrize(
    "environ", [{"AGENTIHOOKS_HOME": "relative"}, {"AGENTIHOOKS_HOME": "./h"}, {"HOME": "relative"}]
)
def test_a_home_is_the_same_everywhere(environ: dict[str, str]) -> None:
    """A path that is not absolute would be another home in each folder, and is refused."""
    with pytest.raises(ValueError, match="absolute"):
        home_directory(environ)


def test_a_tilde_is_the_users_own_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home given with a tilde, and a user without HOME, are looked up."""
    monkeypatch.setenv("HOME", "/u")
    assert "/u/h" == home_directory({"AGENTIHOOKS_HOME": "~/h"})
    assert "/u/.agentihooks" == home_directory({})
    assert Path("/u") == user_directory({})


def test_a_user_whom_nothing_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither HOME nor the system knows the user, the home has to be given."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(ValueError, match="set HOME"):
        home_directory({})
    assert "/h" == home_directory({"AGENTIHOOKS_HOME": "/h"})


def test_what_lies_in_it() -> None:
    """The documented places."""
    assert "/h/brain/session-scopes" == scope_log_directory("/h")
    assert "/h/brain/project-sessions.jsonl" == project_sessions_path("/h")
    assert "/h/state/cursors" == cursor_directory(Path("/h"))


@pytest.mark.parametrize(
    ("value", "expected"), [("0", True), ("", False), ("00", False), ("false", False), (None, False)]
)
def test_the_rollback(value: str | None, expected: bool) -> None:
    """Only exactly 0 switches event-time scopes off."""
    environ = {} if value is None else {"AGENTIHOOKS_SESSION_SCOPE": value}
    assert expected is is_rolled_back(environ)
