"""
Where Codex keeps its hooks, and which of its events the engine wants.

Rests on measurements of 0.171.0. Codex trusts a hash of each handler and its place in the file, so everything here
stays as it is over upgrades: another timeout would make Codex skip the hook in silence until somebody trusts it again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentihooks.home import user_directory
from agentihooks.hook_settings import HookSettings, Subscription

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentihooks.hook_settings import SettingsScope

SUBSCRIPTIONS = (
    Subscription("SessionStart", 10),
    Subscription("UserPromptSubmit", 5),
    Subscription("SubagentStart", 5),
    Subscription("Stop", 30),
    Subscription("SubagentStop", 30),
    # More than 3 s is cut to that, with a warning at every start.
    Subscription("SessionEnd", 3),
    Subscription("Interrupt", 3),
)

TRUST = (
    "Codex runs a hook only when you trust it, and skips it in silence until then: start `codex`, enter /hooks and "
    "trust those of agentihooks. For unattended runs there is `codex exec --dangerously-bypass-hook-trust`, which "
    "trusts every hook. Trust lasts over upgrades, until the command or its place in the file changes."
)


def hook_settings(environ: Mapping[str, str], scope: SettingsScope, folder: Path) -> HookSettings:
    """Return `hooks.json` in `$CODEX_HOME`, by default `~/.codex`; or in a project folder's `.codex`."""
    named = environ.get("CODEX_HOME")
    user = Path(named) if named else user_directory(environ) / ".codex"
    directory = user if scope == "user" else folder / ".codex"
    return HookSettings(path=directory / "hooks.json", subscriptions=SUBSCRIPTIONS, note=TRUST)
