"""The rules for what may enter a scope log, in their order. Pure: the log hands in what it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agentihooks.clock import instant, text_of
from agentihooks.errors import ScopeRefused
from agentihooks.ids import transition_id
from agentihooks.model import Scope, Transition
from agentihooks.scope import revision_number
from agentihooks.session_ids import is_safe_session_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from agentihooks.grant import SessionGrant
    from agentihooks.scope import History


class Recorded(Protocol):
    """What is in a log already."""

    @property
    def latest(self) -> Transition | None:
        """The transition accepted last; cheap, whatever the log's length."""

    @property
    def history(self) -> History:
        """All of it; may have to read the whole log."""


def admit(
    session_id: str, scope: Scope | Mapping[str, Any], at: str | datetime, grant: SessionGrant | Iterable[str] | None
) -> tuple[Scope, str, datetime]:
    """
    Apply the rules that need no log: session id, scope, grant, time. In this order, before anything is touched.

    Returns:
        The scope, the time's text as it will be written, and its instant.

    Raises:
        ScopeRefused: `unsafe_session_id`, `bad_scope`, `outside_grant` or `bad_time`.
    """
    if not is_safe_session_id(session_id):
        raise unsafe_session_id()
    scope = Scope.of(scope)
    if grant is not None:
        from agentihooks.grant import SessionGrant

        if not SessionGrant.of(grant).allows(scope.project_id):
            raise ScopeRefused(
                "outside_grant",
                "the scope's project is outside the session's grant; ask who launched it for a wider one",
            )
    try:
        return scope, text_of(at), instant(at)
    except ValueError as error:
        raise ScopeRefused("bad_time", f"the time is {error}; give one such as 2026-10-08T10:00:00Z") from None


def decide(recorded: Recorded, session_id: str, scope: Scope, at: str, moment: datetime) -> Transition | None:
    """
    Apply the rules that depend on what is in the log already.

    Returns:
        The transition to append, or None if the log says the same already.

    Raises:
        ScopeRefused: `older_transition` or `older_revision`.
    """
    latest = recorded.latest
    if latest is None:
        return transition(session_id, 0, scope, at)
    latest_moment = instant(latest.at)
    if moment <= latest_moment and recorded.history.holds(moment, scope):
        return None
    if moment < latest_moment:
        raise ScopeRefused(
            "older_transition",
            f"the session's latest transition is of {latest.at}; record this one at that time or later",
        )
    revision = revision_number(scope)
    # The latest transition's own revision was held against the whole log when it was accepted.
    if revision is not None and _task(scope) != _task(latest):
        highest = recorded.history.highest_revision(scope.swarm, scope.task)
        if highest is not None and revision < highest:
            raise ScopeRefused(
                "older_revision",
                f"revision {highest} of this task was accepted before; read the task again and use its revision",
            )
    if scope == latest.scope:
        return None
    return transition(session_id, latest.sequence + 1, scope, at)


def transition(session_id: str, sequence: int, scope: Scope, at: str) -> Transition:
    """Return *scope* coming into force at *at*, under its deterministic id."""
    return Transition(
        session_id=session_id,
        sequence=sequence,
        at=at,
        transition_id=transition_id(session_id, at, scope),
        **scope.as_dict(),
    )


def _task(scope: Scope) -> tuple[str, str, str]:
    return scope.swarm, scope.task, scope.task_revision


def unsafe_session_id() -> ScopeRefused:
    """Return the refusal of a session id that cannot name a log."""
    return ScopeRefused(
        "unsafe_session_id",
        "a session id is 1 to 128 letters, digits, '.', '_' or '-' and begins with a letter or digit",
    )
