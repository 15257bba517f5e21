"""Which transition is in force."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import attrs
import pytest

from agentihooks import Scope
from agentihooks.clock import END_OF_TIME, instant
from agentihooks.record import transition
from agentihooks.scope import History, revision_number
from agentihooks.testing import at, conformance_transitions, scope

if TYPE_CHECKING:
    from agentihooks import Transition

MICROSECOND = timedelta(microseconds=1)


def history(*clocks: str) -> History:
    """Return a history with a transition at each time of day, its branch named for its place."""
    return History(transition("s", n, scope(branch=str(n)), at(clock)) for n, clock in enumerate(clocks))


def in_force(log: History, clock: str) -> int:
    """Return the index of the transition in force at a time of day."""
    return log.in_force(instant(at(clock)))


def test_an_empty_history() -> None:
    """Of nothing, nothing is in force."""
    assert (0, None, -1) == (len(History()), History().latest, in_force(History(), "10:00"))


def test_from_its_own_instant_on() -> None:
    """A transition is in force from its own instant, to the microsecond, until the next."""
    log = History(conformance_transitions("s"))
    second = instant(at("10:10"))
    assert [0, 1, 1] == [log.in_force(second + step * MICROSECOND) for step in (-1, 0, 1)]


@pytest.mark.parametrize(
    ("clock", "expected"), [("09:59", -1), ("10:00", 0), ("10:19", 1), ("10:20", 2), ("10:30", 3), ("23:59", 3)]
)
def test_the_conformance_history(clock: str, expected: int) -> None:
    """Before the first transition none is in force; after the last, that is."""
    assert expected == in_force(History(conformance_transitions("s")), clock)


def test_instants_compare_across_zones() -> None:
    """A transition written in one zone is in force at an instant written in another."""
    log = History([transition("s", 0, scope(), "2026-10-08T12:00:00+02:00")])
    assert [-1, 0] == [log.in_force(instant(text)) for text in ("2026-10-08T09:59:59Z", "2026-10-08T05:00:00-05:00")]


@pytest.mark.parametrize(
    ("clock", "expected"),
    [("09:50", -1), ("09:55", -1), ("10:00", 2), ("10:05", 2), ("10:10", 2), ("10:15", 3), ("10:20", 3)],
)
def test_file_order_is_the_authority(clock: str, expected: int) -> None:
    """In a foreign log that goes back in time, the last line that is not later is in force."""
    assert expected == in_force(history("10:05", "10:10", "10:00", "10:15"), clock)


def test_stretches_meet() -> None:
    """A transition's stretch begins at its instant and ends where the next begins; the last one's never ends."""
    log = history("10:00", "10:10")
    ten, ten_past = instant(at("10:00")), instant(at("10:10"))
    assert [(ten, ten_past), (ten_past, END_OF_TIME)] == [log.stretch(0), log.stretch(1)]


def test_the_same_scope_at_the_same_instant() -> None:
    """A history holds a scope at an instant however its time is spelled, and among others of that instant."""
    log = History(transition("s", n, scope(branch=str(n)), "2026-10-08T10:00:00Z") for n in range(3))
    ten = instant(at("10:00"))
    found = [log.holds(ten, scope(branch=branch)) for branch in ("0", "2", "3")]
    assert [True, True, False] == found
    assert not log.holds(ten + MICROSECOND, scope(branch="0"))


def test_the_same_in_a_foreign_log() -> None:
    """In a log that goes back in time, too, a scope is found at its own instant only."""
    log = history("10:05", "10:00")
    assert [True, False] == [log.holds(instant(at(clock)), scope(branch="0")) for clock in ("10:05", "10:00")]


def test_the_highest_revision() -> None:
    """A history knows the highest revision of each task of a swarm, wherever it stands."""
    said = [("w", "t", "9"), ("w", "t", "10"), ("w", "t", "2"), ("w", "u", "1"), ("x", "t", "0"), ("w", "t", "draft")]
    log = History(
        transition("s", n, Scope(swarm=swarm, task=task, task_revision=revision), at("10:00"))
        for n, (swarm, task, revision) in enumerate(said)
    )
    tasks = [("w", "t"), ("w", "u"), ("x", "t"), ("x", "u")]
    assert [10, 1, 0, None] == [log.highest_revision(*task) for task in tasks]


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        ("7", 7),
        ("007", 7),
        ("0", 0),
        ("", None),
        ("v7", None),
        ("-7", None),
        ("7.0", None),
        (" 7", None),
        ("\N{ARABIC-INDIC DIGIT SEVEN}", None),
        ("²", None),
    ],
    ids=repr,
)
def test_which_revisions_are_numbers(revision: str, expected: int | None) -> None:
    """Only ASCII digits are compared."""
    assert expected == revision_number(Scope(task="t", task_revision=revision))


def test_a_revision_without_a_task() -> None:
    """Without a task there is nothing a revision could be of."""
    assert revision_number(Scope(swarm="w", task_revision="7")) is None


def test_a_revision_beyond_all_numbers() -> None:
    """A foreign line's revision may be of any length, and is then no number."""
    assert revision_number(Scope(task="t", task_revision="7" * 5000)) is None


def test_appending() -> None:
    """A history grows at its end."""
    log = History()
    added: list[Transition] = conformance_transitions("s")
    for each in added:
        log.append(each, instant(each.at))
    assert (4, added[3]) == (len(log), log.latest)
    assert attrs.evolve(added[3]) == log.transitions[3]
