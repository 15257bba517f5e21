"""The engine's home directory: where everything it keeps lies, and nothing else does."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentihooks.files import FilePath


def home_directory(environ: Mapping[str, str] = os.environ) -> str:
    """
    Return the home directory's path: `AGENTIHOOKS_HOME`, by default `~/.agentihooks`. It need not exist.

    Raises:
        ValueError: It is not absolute. A hook runs wherever its agent is: there would be a home in each of its folders.
    """
    named = environ.get("AGENTIHOOKS_HOME")
    home = os.path.expanduser(named) if named else os.path.join(_user(environ), ".agentihooks")
    if not os.path.isabs(home):
        raise ValueError(f"AGENTIHOOKS_HOME is {home}, which is not absolute: give the whole path")
    return home


def user_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """
    Return the user's own directory: `HOME`, else what the system knows of the user.

    Raises:
        ValueError: Neither knows one.
    """
    from pathlib import Path

    return Path(_user(environ))


def _user(environ: Mapping[str, str]) -> str:
    user = environ.get("HOME") or os.path.expanduser("~")
    if user == "~":
        raise ValueError("nothing tells the user's directory: set HOME")
    return user


def scope_log_directory(home: FilePath) -> str:
    """Return the directory of the scope logs."""
    return f"{home}/brain/session-scopes"


def project_sessions_path(home: FilePath) -> str:
    """Return the file with a row for each session and change of its project; the last row of a session counts."""
    return f"{home}/brain/project-sessions.jsonl"


def cursor_directory(home: FilePath) -> str:
    """Return the directory of the transcripts' cursors; a cache, safe to remove."""
    return f"{home}/state/cursors"


def is_rolled_back(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether event-time scopes are switched off: `AGENTIHOOKS_SESSION_SCOPE` is exactly `0` (rollback.md)."""
    return environ.get("AGENTIHOOKS_SESSION_SCOPE") == "0"
