"""Session ids, which are also the names of files. Imports nothing that a hook would have to wait for."""

from __future__ import annotations

import re

# A session id becomes a file name, so it has to be one on every file system and in every shell.
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

_AGENT = ".agent-"


def is_safe_session_id(session_id: object) -> bool:
    """Return whether *session_id* can name a log: letters, digits, `.`, `_` and `-`, 128 at most."""
    return isinstance(session_id, str) and _SAFE.fullmatch(session_id) is not None


def agent_session_id(session_id: str, agent_id: str) -> str:
    """
    Return the id under which a subagent's own transitions are kept; that of the session itself if *agent_id* is "".

    Agents write a subagent's id with and without a leading `agent-`; both mean the same one.
    """
    agent_id = agent_id.removeprefix("agent-")
    return f"{session_id}{_AGENT}{agent_id}" if agent_id else session_id


def session_of(own_id: str) -> str:
    """Return the session that *own_id*, a session's or a subagent's, belongs to."""
    return own_id.partition(_AGENT)[0]


def agent_of(own_id: str) -> str:
    """Return the subagent that *own_id* is of, "" if it is a session's."""
    return own_id.partition(_AGENT)[2]
