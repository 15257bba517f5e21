"""
Codex's hook payloads, in the engine's words.

Field names as in the JSON Schemas of the 0.171.0 binary; what `cwd` and `session_id` mean was measured over versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from agentihooks.model import HookEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    Kind = Literal["start", "move", "work", "stop", "end"]

_KINDS: Mapping[str, Kind] = {
    "SessionStart": "start",
    "SubagentStart": "move",
    "Stop": "stop",
    "SubagentStop": "stop",
    "Interrupt": "stop",
    "SessionEnd": "end",
}

# At a tool call `cwd` is the turn's folder up to 0.158 and the command's own since, which does not outlast the command.
_PASSING_CWD = ("PreToolUse", "PermissionRequest", "PostToolUse")
QUIET_EVENTS = ("UserPromptSubmit", *_PASSING_CWD)

# Within the timeouts that `install` writes; Codex allows SessionEnd and Interrupt 3 s at most.
_BUDGETS_S: Mapping[str, float] = {"SessionStart": 8.0, "Stop": 25.0, "SubagentStop": 25.0}
_SHORT_BUDGET_S = 2.5


def parse(payload: Mapping[str, Any]) -> HookEvent | None:
    """Return the event in *payload*; None if it names no session or no event."""
    name, session_id = _text(payload, "hook_event_name"), _text(payload, "session_id")
    if not name or not session_id:
        return None
    agent_id = _text(payload, "agent_id")
    # At SubagentStop `transcript_path` is the parent's; in a subagent's other events it is the subagent's own.
    transcript = _text(payload, "agent_transcript_path" if name == "SubagentStop" else "transcript_path")
    return HookEvent(
        kind=_KINDS.get(name, "work"),
        name=name,
        session_id=session_id,
        agent_id=agent_id,
        cwd="" if name in _PASSING_CWD else _text(payload, "cwd"),
        transcript_path=transcript,
        source=_text(payload, "source"),
        last_message=_text(payload, "last_assistant_message"),
        budget_s=_BUDGETS_S.get(name, _SHORT_BUDGET_S),
        quiet_events=QUIET_EVENTS,
    )


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""
