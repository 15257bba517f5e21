"""
What is known of each session beside its scopes: agent, transcript, where it was last, when it was last heard of.

One small file for each session and subagent under `<home>/state/sessions`. It is what lets a hook that has nothing to
say end at once, so this module imports next to nothing. The file's time of change is when the session was last heard
of. Like a cursor it is a cache: without it the next hook does the whole work.
"""

from __future__ import annotations

import json
import os

from agentihooks.files import replace_file
from agentihooks.session_ids import is_safe_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


def read(home: str, own_id: str) -> dict[str, Any]:
    """Return the state of a session or subagent; empty if nothing, or nothing readable, is known."""
    try:
        with open(_path(home, own_id), "rb") as file:
            state = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def write(home: str, own_id: str, state: Mapping[str, Any]) -> None:
    """
    Replace a state, whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    replace_file(_path(home, own_id), json.dumps(state).encode("ascii"))


def touch(home: str, own_id: str) -> None:
    """Note that the session was heard of now."""
    os.utime(_path(home, own_id))


def is_quiet(home: str, own_id: str, event: str, cwd: object, tool: object) -> bool:
    """
    Return whether an event changes nothing: of a kind that only a move would make matter, and nothing has moved.

    Args:
        home: The home directory.
        own_id: The session's id, or the subagent's own.
        event: The agent's name for it.
        cwd: The folder it names.
        tool: The tool it is about, if any.
    """
    state = read(home, own_id)
    return (
        state.get("cwd") == cwd
        and event in state.get("quiet_events", ())
        and tool not in state.get("loud_tools", ())
        and not state.get("is_ended")
    )


def known(home: str) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Yield each known session's and subagent's own id, its state, and when it was last heard of (seconds, epoch)."""
    directory = _directory(home)
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return
    for name in names:
        own_id = name.removesuffix(".json")
        if name.endswith(".json") and is_safe_session_id(own_id) and (state := read(home, own_id)):
            yield own_id, state, os.stat(_path(home, own_id)).st_mtime


def _directory(home: str) -> str:
    return f"{home}/state/sessions"


def _path(home: str, own_id: str) -> str:
    return f"{_directory(home)}/{own_id}.json"
