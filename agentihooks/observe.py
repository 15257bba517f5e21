"""
Where a transcript's entries say a session stood, laid into the scope log.

An observation is partial: it knows the folder and maybe the branch, never the task. It comes late, often after a hook
or an orchestrator has recorded what happened since. Laying it into an append-only log without losing a move, moving
twice, or touching a task is what this module is for (docs/explanation/event-time).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from agentihooks.clock import instant, instant_or_none
from agentihooks.model import MAX_VALUE_CHARS, PROJECT_FIELDS, TASK_FIELDS, Scope
from agentihooks.record import transition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from agentihooks.identity import Identity
    from agentihooks.model import Transition
    from agentihooks.scope import History
    from agentihooks.transcript import Entry

MAX_AHEAD = timedelta(minutes=5)
"""How far ahead of this machine's clock an entry's time may be and still be believed."""


TICK = timedelta(microseconds=1)


class Observation(msgspec.Struct, frozen=True):
    """The emitter moved: from `at` on, in file order, it stands in `cwd` on `branch`. None says nothing."""

    at: str
    cwd: str
    branch: str | None
    worktree: str | None


class Observer:
    """
    Folds entries into the moves of each emitter: of each session its main chain ("") and its subagents.

    A move is another folder or another branch. The worktree goes with the folder. An entry whose time cannot be
    believed moves nobody: where it stands counts from the next one on that stands there at a believable time.

    Args:
        now: The present instant.
    """

    def __init__(self, now: datetime) -> None:
        self.observations: dict[tuple[str, str], list[Observation]] = {}
        self._believed_until = now + MAX_AHEAD
        self._untimed: dict[tuple[str, str], tuple[str, str | None]] = {}
        self._lost = 0
        self._last: dict[tuple[str, str], tuple[str, str | None]] = {}

    def watch(self, entries: Iterable[Entry]) -> None:
        """Take all of *entries*, in file order."""
        cwd = branch = agent_id = session_id = None
        for entry in entries:
            if (
                # Told without a call, since it is nearly every entry: it says what the one before it said.
                entry.cwd == cwd
                and entry.branch == branch
                and entry.agent_id == agent_id
                and entry.session_id == session_id
            ):
                continue
            if self.see(entry):
                cwd, branch, agent_id, session_id = entry.cwd, entry.branch, entry.agent_id, entry.session_id

    def see(self, entry: Entry) -> bool:
        """Take the next entry, in file order; return whether another that says the same would add nothing."""
        cwd, branch = entry.cwd, entry.branch
        if cwd is None or len(cwd) > MAX_VALUE_CHARS or len(branch or "") > MAX_VALUE_CHARS:
            return False
        emitter = entry.session_id, entry.agent_id
        last = self._last.get(emitter)
        # What says nothing of the branch does not contradict what was said of it in the same folder.
        if last is not None and last[0] == cwd and branch in (None, last[1]):
            return True
        moment = instant_or_none(entry.at)
        if moment is None or moment > self._believed_until:
            self._lost += self._untimed.get(emitter, (cwd, branch)) != (cwd, branch)
            self._untimed[emitter] = cwd, branch
            return False
        self._lost += self._untimed.pop(emitter, (cwd, branch)) != (cwd, branch)
        self._last[emitter] = cwd, branch
        self.observations.setdefault(emitter, []).append(Observation(entry.at, cwd, branch, entry.worktree))
        return True

    @property
    def untimed(self) -> int:
        """How many moves no believable time was found for."""
        return self._lost + len(self._untimed)


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What an observation is completed with."""

    environ: Mapping[str, str]
    identify: Callable[[str], Identity | None]
    """A folder's identity on today's disk; None if it is gone."""
    histories: Iterable[History] = ()
    """Where the identity of a folder that is gone may have been recorded, the session's own first; and the first in
    force fills in the task of an emitter that has none: a subagent works on its parent's task."""


def place(
    session_id: str,
    observations: Iterable[Observation],
    history: History,
    surroundings: Surroundings,
    position: int = -1,
) -> tuple[list[Transition], int]:
    """
    Return the transitions that *observations* add to *history*, in order, and the position reached.

    File order is the order of the moves, so observations are walked along the log: each is first looked for where the
    walk stands, then ahead of it. What a hook, or an earlier pass, recorded is thereby recognised and not recorded
    twice. Only a move found nowhere is added, at the earliest instant the log admits and never before its own time.

    Args:
        session_id: Under which the transitions are recorded.
        observations: In file order, each with a readable time.
        history: The session's log as it is now.
        surroundings: What completes an observation.
        position: Where an earlier pass over the same file ended; -1 for the first.
    """
    log = list(history.transitions)
    known = len(log)
    places: dict[str, dict[str, str]] = {}
    position = min(position, known - 1)
    reached = ""
    for observation in observations:
        if len(log) == known:
            # Several moves may share an instant, so the walk goes through all that came at it.
            position = max(position, history.in_force_before(instant(observation.at)))
        found = _find(log, observation, position)
        # Neither the log nor the moves above may be overtaken: file order is the order of the moves.
        reached = max(observation.at, reached or observation.at, key=instant)
        if found < 0:
            at = max([reached, *(each.at for each in log[-1:])], key=instant)
            base = log[-1] if log else _in_force_elsewhere(surroundings, at)
            if base is not None and base.cwd == observation.cwd and base.names_project:
                # The project was looked up when the folder was entered. Another branch is no reason to do so again.
                places[observation.cwd] = place_of(base)
            elif observation.cwd not in places:
                places[observation.cwd] = _find_place(observation.cwd, log, surroundings)
            scope = _complete(observation, base, places[observation.cwd], surroundings)
            log.append(_following(session_id, log, scope, at))
            found = len(log) - 1
        position = found
    return log[known:], position


def _following(session_id: str, log: list[Transition], scope: Scope, at: str) -> Transition:
    """
    Return *scope* as the transition after *log*, at *at* or at the earliest instant after it that the log admits.

    There and back again within one instant would repeat a transition, and a repeated one is a replay.
    """
    following = transition(session_id, log[-1].sequence + 1 if log else 0, scope, at)
    moment = instant(at)
    for earlier in reversed(log):
        if instant(earlier.at) != moment:
            break
        if earlier.scope == scope:
            return _following(session_id, log, scope, (moment + TICK).isoformat())
    return following


def _find(log: list[Transition], observation: Observation, position: int) -> int:
    """Return where, from *position* on, the log says what was observed; -1 if nowhere."""
    for index in range(max(position, 0), len(log)):
        if log[index].cwd == observation.cwd and observation.branch in (None, log[index].branch):
            return index
    return -1


def _complete(
    observation: Observation, base: Scope | None, place: Mapping[str, str], surroundings: Surroundings
) -> Scope:
    """Return the whole scope: the observed place, its project, and the task in force."""
    branch = observation.branch
    if branch is None:
        branch = base.branch if base is not None and base.cwd == observation.cwd else ""
    if observation.worktree is not None:
        place = {**place, "worktree": observation.worktree}
    task = task_fields(surroundings.environ) if base is None else {name: getattr(base, name) for name in TASK_FIELDS}
    return Scope(cwd=observation.cwd, branch=branch, **place, **task)


def _find_place(cwd: str, log: list[Transition], surroundings: Surroundings) -> dict[str, str]:
    identity = surroundings.identify(cwd)
    if identity is not None:
        return place_of(identity)
    return recorded_place(cwd, log, *(history.transitions for history in surroundings.histories))


def recorded_place(cwd: str, *logs: Sequence[Transition]) -> dict[str, str]:
    """Return what a folder that is gone was while it existed, as recorded last in the first log that says; else {}."""
    for log in logs:
        for recorded in reversed(log):
            if recorded.cwd == cwd and recorded.names_project:
                return place_of(recorded)
    return {}


def place_of(value: Scope | Identity) -> dict[str, str]:
    """Return which project, and which of its worktrees, a scope or a folder's identity names."""
    return {name: getattr(value, name) for name in (*PROJECT_FIELDS, "worktree")}


def _in_force_elsewhere(surroundings: Surroundings, at: str) -> Scope | None:
    moment = instant(at)
    for history in surroundings.histories:
        index = history.in_force(moment)
        if index >= 0:
            return history.transitions[index]
    return None


_TASK_VARIABLES = {
    "swarm": "AGENTIHOOKS_SWARM",
    "task": "AGENTIHOOKS_SWARM_TASK",
    "task_revision": "AGENTIHOOKS_SWARM_TASK_REVISION",
    "lane": "AGENTIHOOKS_SWARM_LANE",
}


def task_fields(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the launch environment says of the task: swarm, task, revision and lane, "" where it is silent."""
    values = {name: environ.get(variable, "") for name, variable in _TASK_VARIABLES.items()}
    # What no log takes is as good as not said.
    return {name: value if len(value) <= MAX_VALUE_CHARS else "" for name, value in values.items()}


def without_task(environ: Mapping[str, str]) -> dict[str, str]:
    """Return *environ* as somebody else's: what it says of a task is about whoever runs in it, not about a session."""
    return {name: value for name, value in environ.items() if name not in _TASK_VARIABLES.values()}
