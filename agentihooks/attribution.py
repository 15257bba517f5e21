"""Which label an event gets, and what of the scope in force it carries. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentihooks.clock import END_OF_TIME, instant
from agentihooks.event import Attribution, Event
from agentihooks.grant import SessionGrant
from agentihooks.model import PROJECT_FIELDS, names_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from agentihooks.model import Transition
    from agentihooks.scope import History

_FLEET = Attribution(attribution="fleet")
_REFUSED = Attribution(attribution="refused")
_UNKNOWN = Attribution(attribution="unknown")
_NEVER = END_OF_TIME, END_OF_TIME


def attribute_events(
    events: Iterable[Event | Mapping[str, Any]],
    history: History,
    history_of_agent: Callable[[str], History],
    grant: SessionGrant | Iterable[str] | None = None,
) -> list[Attribution]:
    """
    Return the attribution of each event, in the same order. There always is one: what cannot be told is `unknown`.

    Args:
        events: Values, or mappings with `at`, `attrs` and optionally `agent_id`.
        history: The session's own.
        history_of_agent: Gives a subagent's own history by its id; where it has nothing in force, the session has.
        grant: Holds the events' own claims to these projects; None holds them to nothing.

    Raises:
        TypeError: An event is neither an `Event` nor a mapping.
    """
    allowed = None if grant is None else SessionGrant.of(grant)
    view = _View(history)
    views: dict[str, _View] = {"": view}
    result = []
    for event in events:
        if type(event) is dict or isinstance(event, Mapping):
            at, claims, agent_id = event.get("at"), event.get("attrs"), event.get("agent_id")
        elif isinstance(event, Event):
            at, claims, agent_id = event.at, event.attrs, event.agent_id
        else:
            raise TypeError(f"an event is an Event or a mapping, not {type(event).__name__}")
        in_force = view
        if agent_id:
            agent_id = str(agent_id)
            if agent_id not in views:
                views[agent_id] = _View(history_of_agent(agent_id), fallback=view)
            in_force = views[agent_id]
        attribution = in_force.at(at)
        if claims:
            attribution = _claimed(claims, attribution, allowed)
        result.append(attribution)
    return result


def _claimed(claims: Mapping[str, Any], in_force: Attribution, grant: SessionGrant | None) -> Attribution:
    """Return the attribution of an event that may speak for itself, else the one by the scope in force."""
    if not isinstance(claims, Mapping):
        raise TypeError(f"an event's attrs are a mapping, not {type(claims).__name__}")
    if claims.get("share") == "fleet":
        return _FLEET
    project_id = claims.get("project_id")
    if project_id is None or not names_project(str(project_id)):
        return in_force
    if grant is not None and not grant.allows(str(project_id)):
        return _REFUSED
    own = {name: str(value) for name in PROJECT_FIELDS if (value := claims.get(name)) not in (None, "")}
    scope = {name: value for name, value in in_force.fields.items() if name not in PROJECT_FIELDS}
    return Attribution(attribution="explicit", fields={**own, **scope})


def attribution_of(transition: Transition) -> Attribution:
    """Return the attribution of an event without claims of its own while *transition* is in force."""
    fields = transition.nonempty()
    if transition.names_project:
        return Attribution(attribution="scoped", fields=fields)
    # A path or a folder's name is never promoted to a project.
    return Attribution(
        attribution="unknown", fields={name: value for name, value in fields.items() if name not in PROJECT_FIELDS}
    )


def unattributed_session_events_total(attributions: Iterable[Attribution]) -> int:
    """Return how many events could not be given to a project: those labelled `unknown` or `refused`."""
    return sum(attribution.attribution in ("unknown", "refused") for attribution in attributions)


class _View:
    """
    A history, asked event by event.

    Events mostly come in the order of time, so the stretch that held the last one is tried before the search; and
    all events of a stretch share one value. Both are what makes attribution cheap next to reading the events' times.
    """

    def __init__(self, history: History, fallback: _View | None = None) -> None:
        self._history = history
        self._fallback = fallback
        # By index. The history may grow meanwhile.
        self._attributions: dict[int, Attribution] = {}
        self._begin, self._end = _NEVER
        self._last = _UNKNOWN

    def at(self, at: Any) -> Attribution:
        try:
            moment = instant(at)
        except ValueError:
            return _UNKNOWN
        if self._begin <= moment < self._end:
            return self._last
        index = self._history.in_force(moment)
        if index < 0:
            return self._fallback.at(at) if self._fallback else _UNKNOWN
        self._begin, self._end = self._history.stretch(index)
        attribution = self._attributions.get(index)
        if attribution is None:
            attribution = self._attributions[index] = attribution_of(self._history.transitions[index])
        self._last = attribution
        return attribution
