"""
Codex: reads its rollouts, and finds those of a session and of its subagents.

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
    """Read every rollout since Codex 0.20: bare items, the legacy and the paginated dialect."""
    from agentihooks_codex.records import is_rollout
    from agentihooks_codex.transcript import CodexReader

    return CodexReader(path) if is_rollout(head) else None


@hookimpl
def agentihooks_find_transcripts(environ: Mapping[str, str], session_id: str) -> Iterator[TranscriptFile]:
    """List `$CODEX_HOME` (default `~/.codex`), live and archived, newest first; see `files.find_transcripts`."""
    from agentihooks_codex.files import find_transcripts

    return find_transcripts(environ, session_id)


@hookimpl
def agentihooks_find_subagents(path: str, session_id: str) -> Iterator[str]:
    """List the rollouts that name the session as the root of their tree; see `files.find_subagents`."""
    from agentihooks_codex.files import find_subagents

    return find_subagents(path, session_id)


@hookimpl
def agentihooks_parse_payload(payload: Mapping[str, Any]) -> HookEvent | None:
    """Read every event's payload, known or not; see `payload.parse`."""
    from agentihooks_codex.payload import parse

    return parse(payload)


@hookimpl
def agentihooks_examine(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look at the user's `hooks.json` and the current folder's, and at Codex's trust in what is there."""
    from pathlib import Path

    from agentihooks.wiring import hooks_in_place
    from agentihooks_codex.settings import hook_settings
    from agentihooks_codex.trust import examine_trust

    files = hook_settings(environ, "user", Path.cwd()), hook_settings(environ, "project", Path.cwd())
    yield from hooks_in_place("codex", environ, *files)
    yield from examine_trust(environ, *files)


@hookimpl
def agentihooks_hook_settings(environ: Mapping[str, str], scope: SettingsScope, folder: Path) -> HookSettings:
    """Codex reads hooks from `hooks.json`, and runs those it trusts; see `settings.hook_settings`."""
    from agentihooks_codex.settings import hook_settings

    return hook_settings(environ, scope, folder)


@hookimpl
def agentihooks_session_of_shell(environ: Mapping[str, str]) -> str | None:
    """Codex 0.171 names the root session to every shell command, and the subagent's thread beside it."""
    return environ.get("CODEX_SESSION_ID") or None
