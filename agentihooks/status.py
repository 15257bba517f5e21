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

RECENT = timedelta(days=7)
"""What was heard of within this time is shown unless all is asked for."""

LIVE_FOR = timedelta(minutes=30)
"""A session that was not heard of for longer is not taken to be at work."""

_NEVER = datetime.min.replace(tzinfo=UTC)


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
    """
    The sessions, the one heard of last at the end, each before its subagents; and what is worth a look.

    `older` is how many sessions and subagents were left out.
    """

    sessions: list[SessionStatus]
    warnings: list[str]
    older: int = 0


def status(home: str, engine: Engine, now: datetime, within: timedelta | None = None) -> Status:
    """
    Return the state of the sessions that have a scope log or that a hook has told of.

    Args:
        home: The home directory.
        engine: On that home.
        now: The present instant.
        within: Only those heard of within this time; None for all.
    """
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
    count = len(sessions)
    heard_of = {each.session_id: instant(each.heard_at) if each.heard_at else _NEVER for each in sessions}
    if within is not None:
        sessions = [each for each in sessions if now - heard_of[each.session_id] < within]
    latest_of: dict[str, datetime] = {}
    for each in sessions:
        root = session_of(each.session_id)
        latest_of[root] = max(heard_of[each.session_id], latest_of.get(root, _NEVER))
    sessions.sort(
        key=lambda each: (
            latest_of[root := session_of(each.session_id)],
            root,
            each.session_id != root,
            heard_of[each.session_id],
        )
    )
    live = [session for session in sessions if session.is_live]
    return Status(
        older=count - len(sessions),
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
