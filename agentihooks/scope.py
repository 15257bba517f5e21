"""Which transition is in force at an instant."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from agentihooks.clock import END_OF_TIME, instant
from agentihooks.model import MAX_VALUE_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from agentihooks.model import Scope, Transition


class History:
    """
    A session's transitions in the order of its log, and what is in force when.

    File order is the authority: of all transitions that are not later than an instant, the last in the file is in
    force. A log that this engine wrote is in the order of time as well; one that something else wrote may not be.
    """

    def __init__(self, transitions: Iterable[Transition] = ()) -> None:
        self.transitions: list[Transition] = []
        # instants[i] is the earliest instant of transition i or any after it. These never decrease, so the last
        # transition in force is found by bisection even where a foreign log goes back in time.
        self._instants: list[datetime] = []
        self._is_ordered = True
        self._revisions: dict[tuple[str, str], int] = {}
        for transition in transitions:
            self.append(transition, instant(transition.at))

    def __len__(self) -> int:
        return len(self.transitions)

    @property
    def latest(self) -> Transition | None:
        """The transition accepted last."""
        return self.transitions[-1] if self.transitions else None

    def append(self, transition: Transition, moment: datetime) -> None:
        """Add *transition*, which came into force at *moment*, at the end."""
        for index in range(len(self._instants) - 1, -1, -1):
            if self._instants[index] <= moment:
                break
            self._instants[index] = moment
            self._is_ordered = False
        # In this order: another thread that finds the instant finds its transition, too.
        self.transitions.append(transition)
        self._instants.append(moment)
        revision = revision_number(transition)
        if revision is not None:
            key = transition.swarm, transition.task
            self._revisions[key] = max(revision, self._revisions.get(key, revision))

    def in_force(self, moment: datetime) -> int:
        """Return the index of the transition in force at *moment*; -1 if none is. Takes logarithmic time."""
        return bisect_right(self._instants, moment) - 1

    def in_force_before(self, moment: datetime) -> int:
        """Return the index of the transition in force until *moment*, when others may have come; -1 if none was."""
        return bisect_left(self._instants, moment) - 1

    def stretch(self, index: int) -> tuple[datetime, datetime]:
        """Return from when (inclusive) and until when (exclusive) the transition at *index* is in force."""
        following = index + 1
        return self._instants[index], self._instants[following] if following < len(self._instants) else END_OF_TIME

    def holds(self, moment: datetime, scope: Scope) -> bool:
        """Return whether *scope* was already recorded for the instant *moment*, however its time was spelled."""
        first, end = 0, len(self.transitions)
        if self._is_ordered:
            first, end = bisect_left(self._instants, moment), bisect_right(self._instants, moment)
        return any(
            transition.scope == scope and instant(transition.at) == moment for transition in self.transitions[first:end]
        )

    def highest_revision(self, swarm: str, task: str) -> int | None:
        """Return the highest revision number accepted for a task of a swarm; None if none was a number."""
        return self._revisions.get((swarm, task))


def revision_number(scope: Scope) -> int | None:
    """Return the scope's task revision where revisions are compared: in ASCII digits, and with a task; else None."""
    revision = scope.task_revision
    is_number = revision.isascii() and revision.isdigit() and len(revision) <= MAX_VALUE_CHARS
    return int(revision) if scope.task and is_number else None
