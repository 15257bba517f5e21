"""A task change in mid-session, by an orchestrator, a script, or the agent itself."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from agentihooks import logbook, session_state
from agentihooks.clock import instant_or_none, now
from agentihooks.errors import ScopeRefused
from agentihooks.live import newest_transcript, note_refusal, task_of
from agentihooks.model import Scope
from agentihooks.observe import MAX_AHEAD, without_task
from agentihooks.record import unsafe_session_id
from agentihooks.session_ids import agent_of, is_safe_session_id, session_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentihooks.engine import Engine
    from agentihooks.model import Transition


def change_task(
    home: str,
    engine: Engine,
    task: Mapping[str, str | None],
    environ: Mapping[str, str],
    *,
    session_id: str | None = None,
    at: str | None = None,
) -> Transition | None:
    """
    Record that a session, and the subagents at work for it, are on another task from *at* on. Where stays as it is.

    Their transcripts are observed first, so that moves older than the change are not lost to it.

    Args:
        home: The home directory; refusals are noted in its log.
        engine: On that home.
        task: The task fields; one that is None stays as it is, but for a new task's revision, which is then none.
        environ: The process's.
        session_id: None for the session in whose shell this runs.
        at: ISO 8601 text, or None for now.

    Returns:
        The transition; None if the session's scope says so already.

    Raises:
        ScopeRefused: As for `record_scope`.
        ValueError: No session was named, and this is no agent's shell; or *at* lies ahead.
        OSError: The log or the transcript cannot be read or written.
    """
    if session_id is None:
        session_id = _session_of_shell(engine, environ)
    else:
        environ = without_task(environ)
    if not is_safe_session_id(session_id):
        raise unsafe_session_id()
    if at is not None and (ahead := instant_or_none(at)) is not None and ahead > now() + MAX_AHEAD:
        raise ValueError(f"{at} lies ahead: whatever happens until then could not be recorded any more")
    changed = partial(_changed, {name: value for name, value in task.items() if value is not None})
    subagents = _running_subagents(home, session_id) if at is None else []
    try:
        for own_id in (session_id, *subagents):
            _catch_up(home, engine, own_id, environ)
        before = engine.log.history(session_id).latest
        if at is None:
            transition = engine.amend_scope(session_id, changed, now())
        else:
            transition = engine.record_scope(session_id, changed(before), at)
    except ScopeRefused as refusal:
        note_refusal(home, session_id, refusal)
        raise
    if transition is not None:
        for own_id in subagents:
            _follow(engine, own_id, before, changed)
    return transition


def _session_of_shell(engine: Engine, environ: Mapping[str, str]) -> str:
    session_id: str | None = engine.plugins.first("agentihooks_session_of_shell", environ=environ)
    if session_id is None:
        raise ValueError("no session: name one with --session, or run this in an agent's shell")
    return session_id


def _changed(task: Mapping[str, str], latest: Transition | None) -> Scope:
    if latest is None:
        return Scope(**task)
    # A revision is that of one task.
    revision = latest.task_revision if task.get("task") == latest.task else ""
    return Scope.of({**latest.scope.as_dict(), "task_revision": revision, **task})


def _running_subagents(home: str, session_id: str) -> list[str]:
    return [
        own_id
        for own_id, state, _ in session_state.known(home)
        if own_id != session_id == session_of(own_id) and not state.get("is_ended")
    ]


def _follow(
    engine: Engine, own_id: str, before: Transition | None, changed: Callable[[Transition | None], Scope]
) -> None:
    """Take a subagent along to its session's new task, unless it has one of its own."""

    def follow(latest: Transition | None) -> Scope:
        is_on_it = latest is not None and before is not None and task_of(latest) == task_of(before)
        return changed(latest) if is_on_it else Scope.of(latest or {})

    if engine.log.history(own_id).latest is not None:
        engine.amend_scope(own_id, follow, now())


def _catch_up(home: str, engine: Engine, own_id: str, environ: Mapping[str, str]) -> None:
    session_id = session_of(own_id)
    known = session_state.read(home, own_id).get("transcript_path", "")
    path = known if os.path.isfile(known) else newest_transcript(engine.plugins, session_id, agent_of(own_id))
    if path is None:
        return
    try:
        # Agents name a transcript before there is anything in it.
        if os.path.getsize(path):
            engine.read_on(session_id, path, environ)
    except (OSError, ValueError) as error:
        # A transcript that cannot be read must not keep a task from being changed.
        logbook.write(home, "error", f"{type(error).__name__}: {error}", session_id=own_id)
