"""Where Codex keeps its hooks, and what the engine wants from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentihooks.hook_settings import HookSettings, groups
from agentihooks.install import settings_of


def user_settings(**environ: str) -> HookSettings:
    """Return the user's settings."""
    return settings_of("codex", {"HOME": "/home/u", **environ}, "user", Path("/w/app"))


@pytest.mark.parametrize(
    ("environ", "path"), [({}, "/home/u/.codex/hooks.json"), ({"CODEX_HOME": "/etc/codex"}, "/etc/codex/hooks.json")]
)
def test_the_users_file(environ: dict[str, str], path: str) -> None:
    """The user's file lies where CODEX_HOME says, else in ~/.codex."""
    assert Path(path) == user_settings(**environ).path


def test_the_projects_file() -> None:
    """A project's file lies in its folder, whatever the environment says."""
    found = settings_of("codex", {"CODEX_HOME": "/etc/codex"}, "project", Path("/w/app"))
    assert Path("/w/app/.codex/hooks.json") == found.path


def test_the_handlers_never_change() -> None:
    """
    The handlers are these, and stay these: Codex trusts a hash of each, and skips a changed one without a word.

    SessionEnd and Interrupt have the three seconds that Codex cuts them to.
    """

    def handler(timeout: int) -> dict[str, object]:
        command = "/home/u/.local/bin/agentihooks hook codex"
        return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}

    assert {
        "SessionStart": handler(10),
        "UserPromptSubmit": handler(5),
        "SubagentStart": handler(5),
        "Stop": handler(30),
        "SubagentStop": handler(30),
        "SessionEnd": handler(3),
        "Interrupt": handler(3),
    } == groups(user_settings(), "codex", ("/home/u/.local/bin/agentihooks",))


def test_trust_is_explained() -> None:
    """An install says how to trust the hooks, in a session and without one."""
    note = user_settings().note
    assert [True, True] == [word in note for word in ("/hooks", "--dangerously-bypass-hook-trust")]
