"""
Claude Code: reads its transcripts, and finds those of a session and of its subagents.

Hook implementations only. What they need is imported when they are called: a hook of another agent pays nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentihooks.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from agentihooks.doctor import Finding
    from agentihooks.hook_settings import HookSettings, SettingsScope
    from agentihooks.model import HookEvent
    from agentihooks.transcript import Reader, TranscriptFile


@hookimpl
def agentihooks_open_transcript(path: str, head: Sequence[Mapping[str, Any]]) -> Reader | None:
    """Read any file among whose first objects is a line of Claude Code, messages or not."""
    from agentihooks_claude.transcript import ClaudeReader, is_claude

    return ClaudeReader(path) if any(map(is_claude, head)) else None


@hookimpl
def agentihooks_find_transcripts(environ: Mapping[str, str], session_id: str) -> Iterator[TranscriptFile]:
    """List `$CLAUDE_CONFIG_DIR` and `~/.claude`; see `files.find_transcripts`."""
    from agentihooks_claude.files import find_transcripts

    return find_transcripts(environ, session_id)


@hookimpl
def agentihooks_find_subagents(path: str, session_id: str) -> Iterator[str]:
    """List a session's subagents, those that a move left behind included; see `files.find_subagents`."""
    from agentihooks_claude.files import find_subagents

    return find_subagents(path, session_id)


@hookimpl
def agentihooks_parse_payload(payload: Mapping[str, Any]) -> HookEvent | None:
    """Read every event's payload, known or not; see `payload.parse`."""
    from agentihooks_claude.payload import parse

    return parse(payload)


@hookimpl
def agentihooks_session_of_shell(environ: Mapping[str, str]) -> str | None:
    """Claude Code names the session to its shell commands and hooks, since 2.1.132."""
    return environ.get("CLAUDE_CODE_SESSION_ID") or None


@hookimpl
def agentihooks_examine(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look at the user's settings and the current folder's."""
    from pathlib import Path

    from agentihooks.wiring import hooks_in_place
    from agentihooks_claude.settings import hook_settings, switched_off

    files = hook_settings(environ, "user", Path.cwd()), hook_settings(environ, "project", Path.cwd())
    yield from hooks_in_place("claude", environ, *files)
    yield from switched_off(*files)


@hookimpl
def agentihooks_hook_settings(environ: Mapping[str, str], scope: SettingsScope, folder: Path) -> HookSettings:
    """Claude Code reads hooks from its settings files; see `settings.hook_settings`."""
    from agentihooks_claude.settings import hook_settings

    return hook_settings(environ, scope, folder)
