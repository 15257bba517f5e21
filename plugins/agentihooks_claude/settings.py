"""
Where Claude Code keeps its hooks, and which of its events the engine wants.

Rests on the vendor's hooks reference (2.1.240). Left out on purpose: a matcher at SessionStart, since every kind of
start counts; WorktreeCreate, since a hook there replaces the creation of worktrees.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agentihooks.doctor import Finding
from agentihooks.home import user_directory
from agentihooks.hook_settings import HookSettings, Subscription

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentihooks.hook_settings import SettingsScope

SUBSCRIPTIONS = (
    Subscription("SessionStart", 10),
    Subscription("UserPromptSubmit", 5),
    Subscription("CwdChanged", 5),
    # Entering and leaving a worktree is no CwdChanged.
    Subscription("PostToolUse", 5, matcher="Bash|EnterWorktree|ExitWorktree"),
    Subscription("SubagentStart", 5),
    Subscription("Stop", 30),
    Subscription("SubagentStop", 30),
    # Without a timeout in a settings file, all SessionEnd hooks together have 1.5 s.
    Subscription("SessionEnd", 5),
)


def hook_settings(environ: Mapping[str, str], scope: SettingsScope, folder: Path) -> HookSettings:
    """Return `settings.json` in `$CLAUDE_CONFIG_DIR`, by default `~/.claude`; or in a project folder's `.claude`."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    user = Path(named) if named else user_directory(environ) / ".claude"
    directory = user if scope == "user" else folder / ".claude"
    return HookSettings(path=directory / "settings.json", subscriptions=SUBSCRIPTIONS)


def switched_off(*settings: HookSettings) -> Iterator[Finding]:
    """Yield a problem for each file that keeps Claude Code from running any hook."""
    for path in dict.fromkeys(each.path for each in settings):
        with suppress(OSError, ValueError):
            values = json.loads(path.read_bytes())
            if isinstance(values, dict) and values.get("disableAllHooks") is True:
                text = f"{path} switches all hooks off"
                yield Finding(level="problem", about="claude hooks", text=text, advice="take out disableAllHooks")
