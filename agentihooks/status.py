"""Where every known session is now, since when, and which of them are in each other's way."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from agentihooks import session_state
from agentihooks.clock import instant
from agentihooks.session_ids import session_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentihooks.engine import Engine

LIVE_FOR = timedelta(minutes=30)
"""A session that was not heard of for longer is not taken to be at work."""


@attrs.frozen(kw_only=True)
class SessionStatus:
    """A session's or subagent's latest scope. Times are ISO 8601, "" if not known."""

    session_id: str
    agent: str
    scope: dict[str, str]
    since: str
    heard_at: str
    is_live: bool


@attrs.frozen(kw_only=True)
class Status:
    """The sessions, the one heard of last at the end, and what is worth a look."""

    sessions: list[SessionStatus]
    warnings: list[str]


def status(home: str, engine: Engine, now: datetime) -> Status:
    """Return the state of all sessions that have a scope log or that a hook has told of."""
    heard = {own_id: (state, heard_at) for own_id, state, heard_at in session_state.known(home)}
    sessions = []
    for own_id in sorted({*engine.log.sessions(), *heard}):
        latest = engine.log.history(own_id).latest
        state, seconds = heard.get(own_id, ({}, None))
        last = datetime.fromtimestamp(seconds, UTC) if seconds is not None else None
        if last is None and latest is not None:
            last = instant(latest.at)
        sessions.append(
            SessionStatus(
                session_id=own_id,
                agent=str(state.get("agent", "")),
                scope=latest.nonempty() if latest else {},
                since=latest.at if latest else "",
                heard_at=last.isoformat(timespec="seconds") if last else "",
                is_live=seconds is not None
                and not state.get("is_ended")
                and last is not None
                and now - last < LIVE_FOR,
            )
        )
    sessions.sort(
        key=lambda session: instant(session.heard_at) if session.heard_at else datetime.min.replace(tzinfo=UTC)
    )
    live = [session for session in sessions if session.is_live]
    return Status(
        sessions=sessions,
        warnings=[
            *_shared(live, "the checkout", _checkout),
            *_shared(live, "task", _task),
        ],
    )


def _checkout(session: SessionStatus) -> str:
    """Return what two sessions must not both write to: the checkout around a session's folder, else the folder."""
    cwd = session.scope.get("cwd", "")
    folders = [Path(cwd), *Path(cwd).parents] if cwd else []
    # Unlike the paths' own question this one is answered for every text and whatever may be read.
    return next((str(folder) for folder in folders if os.path.exists(folder / ".git")), cwd)


def _task(session: SessionStatus) -> str:
    task, swarm = session.scope.get("task", ""), session.scope.get("swarm", "")
    return f"{swarm}/{task}" if task and swarm else task


def _shared(sessions: Iterable[SessionStatus], what: str, value: Callable[[SessionStatus], str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for session in sessions:
        # A subagent works in its parent's place, on its parent's task: that is no conflict.
        if session_of(session.session_id) == session.session_id and value(session):
            groups.setdefault(value(session), []).append(session.session_id)
    return [f"{' and '.join(ids)} share {what} {shared}" for shared, ids in groups.items() if len(ids) > 1]
