"""Where Claude Code keeps its hooks, what the engine wants from it, and the plugin folder that says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentihooks import __version__
from agentihooks.hook_settings import HookSettings, groups
from agentihooks.install import settings_of

PLUGIN = Path(__file__).parents[2] / "integrations" / "claude-plugin"


def user_settings(**environ: str) -> HookSettings:
    """Return the user's settings."""
    return settings_of("claude", {"HOME": "/home/u", **environ}, "user", Path("/w/app"))


def plugin(name: str) -> Any:
    """Return what a JSON file of the plugin folder holds."""
    return json.loads((PLUGIN / name).read_text("utf-8"))


@pytest.mark.parametrize(
    ("environ", "path"),
    [({}, "/home/u/.claude/settings.json"), ({"CLAUDE_CONFIG_DIR": "/etc/claude"}, "/etc/claude/settings.json")],
)
def test_the_users_file(environ: dict[str, str], path: str) -> None:
    """The user's file lies where CLAUDE_CONFIG_DIR says, else in ~/.claude."""
    assert Path(path) == user_settings(**environ).path


def test_the_projects_file() -> None:
    """A project's file lies in its folder, whatever the environment says."""
    found = settings_of("claude", {"CLAUDE_CONFIG_DIR": "/etc/claude"}, "project", Path("/w/app"))
    assert Path("/w/app/.claude/settings.json") == found.path


def test_subscriptions() -> None:
    """Every start of a session counts, moves are caught three ways, and no hook creates worktrees."""
    assert {
        "SessionStart": (None, 10),
        "UserPromptSubmit": (None, 5),
        "CwdChanged": (None, 5),
        "PostToolUse": ("Bash|EnterWorktree|ExitWorktree", 5),
        "SubagentStart": (None, 5),
        "Stop": (None, 30),
        "SubagentStop": (None, 30),
        "SessionEnd": (None, 5),
    } == {each.event: (each.matcher, each.timeout_s) for each in user_settings().subscriptions}


def test_the_plugin_subscribes_to_the_same() -> None:
    """The plugin folder has the events, matchers and timeouts that an install writes, with the program from PATH."""
    wanted = groups(user_settings(), "claude", ("agentihooks",))
    assert {event: [group] for event, group in wanted.items()} == plugin("hooks/hooks.json")["hooks"]


def test_the_plugins_version() -> None:
    """The plugin folder has the engine's version, by which Claude Code tells an update."""
    assert __version__ == plugin(".claude-plugin/plugin.json")["version"]


def test_the_marketplace() -> None:
    """The folder is a marketplace too, with the plugin in it, so that it can be installed from a checkout."""
    listed = [each["name"] for each in plugin(".claude-plugin/marketplace.json")["plugins"]]
    assert [plugin(".claude-plugin/plugin.json")["name"]] == listed
