"""
Claude Code's hook payloads, in the engine's words.

Field names and when each event fires: the vendor's hooks reference of 2.1.240.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from agentihooks.model import HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    Kind = Literal["start", "move", "work", "stop", "end"]

# Claude Code reports no CwdChanged for these; their results say where the session has gone.
WORKTREE_TOOLS = ("EnterWorktree", "ExitWorktree")
# Where Claude Code makes worktrees. A resumed session goes back into its own, though SessionStart names another folder.
WORKTREES = "/.claude/worktrees/"
QUIET_EVENTS = ("UserPromptSubmit", "CwdChanged", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Notification")

_KINDS: Mapping[str, Kind] = {
    "SessionStart": "start",
    "CwdChanged": "move",
    "Stop": "stop",
    "StopFailure": "stop",
    "SubagentStop": "stop",
    "SessionEnd": "end",
}

# Within the timeouts that `install` writes. All SessionEnd hooks together have 1.5 s where a plugin configured them.
_BUDGETS_S: Mapping[Kind, float] = {"start": 8.0, "move": 4.0, "work": 4.0, "stop": 25.0, "end": 1.2}


def parse(payload: Mapping[str, Any]) -> HookEvent | None:
    """Return the event in *payload*; None if it names no session or no event, or is about nobody's work."""
    name, session_id = _text(payload, "hook_event_name"), _text(payload, "session_id")
    if not name or not session_id:
        return None
    kind = _KINDS.get(name, "work")
    # Inside a subagent `transcript_path` is still the main session's.
    agent_id = _text(payload, "agent_id")
    transcript = _text(payload, "agent_transcript_path" if agent_id else "transcript_path")
    if agent_id and not _text(payload, "agent_type") and not os.path.isfile(transcript):
        # Who summarises a compaction, or suggests the next prompt, has neither a type nor a file of its own.
        return None
    return HookEvent(
        kind=kind,
        name=name,
        session_id=session_id,
        agent_id=agent_id,
        # A subagent's first line is a little older than this hook, and tells its folder as well.
        cwd="" if name == "SubagentStart" else _destination(payload) or _text(payload, "cwd"),
        transcript_path=transcript,
        source=_text(payload, "source"),
        last_message=_text(payload, "last_assistant_message") if name != "StopFailure" else "",
        budget_s=_BUDGETS_S[kind],
        quiet_events=QUIET_EVENTS,
        loud_tools=WORKTREE_TOOLS,
        returns_to=WORKTREES if payload.get("source") == "resume" else "",
    )


def _destination(payload: Mapping[str, Any]) -> str:
    """Return where the result of a worktree tool says the session has gone; "" for any other event."""
    response = payload.get("tool_response")
    if payload.get("hook_event_name") != "PostToolUse" or not isinstance(response, dict):
        return ""
    if payload.get("tool_name") == "EnterWorktree":
        return _text(response, "worktreePath")
    if payload.get("tool_name") == "ExitWorktree":
        return _text(response, "originalCwd")
    return ""


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""
