"""
The engine's values. Frozen, without I/O, and without a word about how they are written down.

What a caller of the library holds is an attrs class. What only passes through a hook is a msgspec struct, here as in
other modules: making an attrs class costs about a millisecond at every start, making a struct nothing to speak of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs
import msgspec

from agentihooks.errors import ScopeRefused

MAX_VALUE_CHARS = 4096


@attrs.frozen(kw_only=True, repr=False)
class Scope:
    """
    What a session works on, and where. Every field is text, "" for nothing; None becomes "", anything else its `str`.

    `project_id` is `host/owner/repo` or `local:<id>`; `project`, `repo` and `remote` say the same project in other
    words. `worktree` is a linked worktree's name, "" in the main checkout; `branch` is "HEAD" while detached.
    """

    project_id: str = ""
    project: str = ""
    repo: str = ""
    worktree: str = ""
    cwd: str = ""
    remote: str = ""
    branch: str = ""
    swarm: str = ""
    task: str = ""
    task_revision: str = ""
    lane: str = ""

    def __attrs_post_init__(self) -> None:
        # Not as converters of the fields: attrs would look into their signatures, field by field, at every import.
        for name in SCOPE_FIELDS:
            value = getattr(self, name)
            if type(value) is not str:
                object.__setattr__(self, name, "" if value is None else str(value))

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items() if value != "")
        return f"{type(self).__name__}({said})"

    @classmethod
    def of(cls, value: Scope | Mapping[str, Any]) -> Scope:
        """
        Return *value*, a scope, a transition or a mapping with a scope's field names, as a scope that may be recorded.

        Raises:
            ScopeRefused: `bad_scope`: a field that does not exist, a value that is too long, or no mapping at all.
        """
        if isinstance(value, Scope):
            scope = value if type(value) is Scope else Scope(**{name: getattr(value, name) for name in SCOPE_FIELDS})
        elif isinstance(value, Mapping):
            unknown = [repr(name) for name in value if name not in SCOPE_FIELDS]
            if unknown:
                known = ", ".join(SCOPE_FIELDS)
                raise ScopeRefused("bad_scope", f"a scope has no field {', '.join(unknown)}; its fields are {known}")
            scope = Scope(**value)
        else:
            raise ScopeRefused(
                "bad_scope", f"a scope is a Scope or a mapping of its fields, not {type(value).__name__}"
            )
        for name in SCOPE_FIELDS:
            if len(getattr(scope, name)) > MAX_VALUE_CHARS:
                raise ScopeRefused("bad_scope", f"{name} is longer than {MAX_VALUE_CHARS} characters; shorten it")
        return scope

    @property
    def names_project(self) -> bool:
        """Whether the scope names a project; the words "" and "unknown" name none."""
        return names_project(self.project_id)

    def as_dict(self) -> dict[str, str]:
        """Return all eleven fields, in their documented order."""
        return {name: getattr(self, name) for name in SCOPE_FIELDS}

    def nonempty(self) -> dict[str, str]:
        """Return the fields that say something, in their documented order."""
        return {name: value for name in SCOPE_FIELDS if (value := getattr(self, name))}


SCOPE_FIELDS: tuple[str, ...] = tuple(field.name for field in attrs.fields(Scope))
PROJECT_FIELDS = ("project_id", "project", "repo", "remote")
"""The fields that say which project; the other seven say where in it, and on which task."""

TASK_FIELDS = ("swarm", "task", "task_revision", "lane")
"""The fields that only an orchestrator or the launch environment can know, never a transcript."""


def names_project(project_id: str) -> bool:
    """Return whether *project_id* names a project: "" and "unknown" do not."""
    return project_id not in ("", "unknown")


@attrs.frozen(kw_only=True, repr=False)
class Transition(Scope):
    """
    A scope coming into force in a session, at an instant and until the next transition.

    `at` is the time as the caller wrote it; `sequence` counts from 0; `transition_id` is derived from the session, the
    time's text and the scope (`ids.transition_id`), so that recording the same twice is recording it once.
    """

    session_id: str
    sequence: int
    at: str
    transition_id: str

    @property
    def scope(self) -> Scope:
        """The scope alone, whatever some other program may have written into it."""
        return Scope(**{name: getattr(self, name) for name in SCOPE_FIELDS})

    def as_dict(self) -> dict[str, Any]:
        """Return the transition as its line in the log holds it."""
        own = {"session_id": self.session_id, "sequence": self.sequence, "at": self.at}
        return {**own, "transition_id": self.transition_id, **super().as_dict()}


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """
    A brain marker that an agent wrote: a lesson, milestone, signal or decision, and the entry it stands in.

    `at` is the time of the entry that holds the opening tag, "" if that has none. `entry_id` is that entry's.
    """

    type: str
    content: str
    attrs: Mapping[str, str] = {}
    at: str = ""
    agent_id: str = ""
    entry_id: str = ""


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """
    A hook's payload in the words that all agents share.

    `kind` says what it asks of the engine: `start` a session begins or goes on, `move` or `work` it may have moved,
    `stop` a turn ended and its transcript is worth reading, `end` the session is over. `name` is the agent's own word.
    `cwd` is where the emitter now stands, "" if the payload does not tell. `source` says how a session started.
    `last_message` is the turn's final text, which may not be in the transcript yet.
    """

    kind: Literal["start", "move", "work", "stop", "end"]
    name: str
    session_id: str
    agent_id: str = ""
    cwd: str = ""
    transcript_path: str = ""
    source: str = ""
    last_message: str = ""
    budget_s: float = 5.0
    """How long the agent waits for a hook of this kind, with a margin."""
    quiet_events: tuple[str, ...] = ()
    """The agent's events that matter only if the emitter has moved, unless they are about one of `loud_tools`."""
    loud_tools: tuple[str, ...] = ()
    returns_to: str = ""
    """A resumed session that was in a folder whose path holds this goes back there by itself; "" for none does."""
