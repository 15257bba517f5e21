"""
Markers on their way out: what leaves for a brain, or any other sink, of a marker that an agent wrote. Pure.

A session with a scope log sends each marker with the scope of its own time, and what the model said of a scope is
dropped. A session without one, or under rollback, sends the preceding body, in which a lookup by session only fills
what the marker leaves out. docs/reference/brain-protocol shows both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from agentihooks.ids import marker_key, preceding_marker_key
from agentihooks.model import SCOPE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentihooks.event import Attribution
    from agentihooks.model import Marker

DEFAULT_AGENT_NAME = "agent"


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """Who sends markers: the session, the agent's name, and the folder of its project ("" if not known)."""

    session_id: str
    agent_name: str = DEFAULT_AGENT_NAME
    folder: str = ""

    @classmethod
    def of(cls, session_id: str, environ: Mapping[str, str], cwd: str = "") -> Sender:
        """Return the sender that the environment names; *cwd* is where the agent stands, by its hook's payload."""
        return cls(
            session_id=session_id,
            agent_name=environ.get("AGENTICORE_AGENT_NAME") or DEFAULT_AGENT_NAME,
            folder=environ.get("CLAUDE_PROJECT_DIR") or cwd,
        )


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """
    A marker as it leaves.

    `attrs` is what a brain receives as such, but for the time: text, or what else an earlier version put there.
    `idempotency_key` is what the brain stores the marker once by, "" where an earlier version wrote none.
    `session_id` is the session's also where a subagent wrote. `project` is the folder of the agent's project. `at` is
    the marker's own time as written, "" if it has none.
    """

    type: str
    content: str
    attrs: Mapping[str, Any]
    idempotency_key: str
    session_id: str
    agent_name: str
    project: str
    at: str


def attributed(marker: Marker, attribution: Attribution, sender: Sender) -> Outgoing:
    """Return *marker* as it leaves a session that has a scope log, with the attribution of its own time."""
    own = {name: value for name, value in marker.attrs.items() if name not in SCOPE_FIELDS}
    project_id, task = (attribution.fields.get(name, "") for name in ("project_id", "task"))
    key = marker_key(sender.session_id, marker.type, project_id, task, marker.content)
    return _outgoing(marker, {**own, **attribution.as_dict()}, key, sender)


def preceding(marker: Marker, identity: Mapping[str, str], sender: Sender) -> Outgoing:
    """
    Return *marker* as it leaves a session without a scope log, or under rollback.

    Args:
        marker: Its own attributes count, whatever they say.
        identity: Fills in the attributes the marker does not have (`preceding.PrecedingLookup`).
        sender: Whose marker it is.
    """
    key = preceding_marker_key(sender.session_id, marker.type, marker.content)
    return _outgoing(marker, {**identity, **marker.attrs}, key, sender)


def _outgoing(marker: Marker, attributes: dict[str, str], key: str, sender: Sender) -> Outgoing:
    source = marker.attrs.get("source") or sender.agent_name
    return Outgoing(
        type=marker.type,
        content=marker.content,
        attrs={**attributes, "session_id": sender.session_id, "source": source},
        idempotency_key=key,
        session_id=sender.session_id,
        agent_name=sender.agent_name,
        project=sender.folder,
        at=marker.at,
    )


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """
    What came of one attempt to deliver: the keys of the markers sent, how many were set aside, how many wait.

    `refused` has the keys of those set aside, as far as they could be read.

    `reason` says why it ended early, "" if it did not.
    """

    sent: tuple[str, ...] = ()
    bad: int = 0
    refused: tuple[str, ...] = ()
    kept: int = 0
    reason: str = ""


class WaitingMarker(msgspec.Struct, frozen=True, kw_only=True):
    """
    A file of an outbox: for whom, what little there is to tell of its marker, and why it is still there.

    `state` is `waiting`, `held` until `next_attempt` because the receiver asked for it, or `bad`: set aside, for a
    person to look at. `since` is when the file was written, `next_attempt` is "" for the next occasion.
    """

    name: str
    receiver: str
    state: Literal["waiting", "held", "bad"]
    type: str
    session_id: str
    project: str
    since: str
    reason: str
    next_attempt: str
