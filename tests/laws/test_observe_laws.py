"""Laying observations into a history loses nothing, and does nothing twice."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agentihooks import Engine, Scope
from agentihooks.clock import instant
from agentihooks.model import TASK_FIELDS
from agentihooks.observe import Observation, Surroundings, place
from agentihooks.testing import refusal_of

from .strategies import NOW, few_scopes, observations, recordings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentihooks import Transition

live = st.lists(recordings, max_size=6)
"""What hooks and orchestrators record before and while something is observed."""

later = st.lists(few_scopes, max_size=3)
"""What they record after all that was observed."""


def engine_with(recorded: Iterable[tuple[Scope, str]]) -> Engine:
    """Return an engine with the live transitions recorded that its log admits."""
    engine = Engine.in_memory()
    for scope, at in recorded:
        refusal_of(engine.record_scope, "s", scope, at)
    return engine


def record_later(engine: Engine, scopes: Iterable[Scope]) -> None:
    """Record live transitions of now."""
    for number, scope in enumerate(scopes):
        at = NOW + timedelta(minutes=number)
        refusal_of(engine.record_scope, "s", scope, at)


def lay(engine: Engine, moves: list[Observation], position: int = -1) -> int:
    """Lay observations into the log of session `s`; return the position reached."""
    surroundings = Surroundings(environ={}, identify=lambda _: None)
    with engine.log.writing("s") as writer:
        transitions, position = place("s", moves, writer.history, surroundings, position)
        writer.append(transitions)
    return position


def task_of(transition: Transition) -> list[str]:
    """Return what a transition says of the task."""
    return [getattr(transition, name) for name in TASK_FIELDS]


@given(live, observations, later)
def test_twice_is_once(recorded: list[tuple[Scope, str]], moves: list[Observation], since: list[Scope]) -> None:
    """Laying the same observations again adds nothing, whatever was recorded live meanwhile."""
    engine = engine_with(recorded)
    lay(engine, moves)
    record_later(engine, since)
    before = engine.transitions("s")
    lay(engine, moves)
    assert before == engine.transitions("s")


@given(live, observations, st.integers(0, 8))
def test_a_part_again_is_nothing(recorded: list[tuple[Scope, str]], moves: list[Observation], cut: int) -> None:
    """Laying the rest of a file again, from where the walk stood before it or ended after it, adds nothing."""
    engine = engine_with(recorded)
    position = lay(engine, moves[:cut])
    end = lay(engine, moves[cut:], position)
    before = engine.transitions("s")
    lay(engine, moves[cut:], position)
    assert before == engine.transitions("s")
    lay(engine, moves[len(moves) - 1 :], end)
    assert before == engine.transitions("s")


@given(live, observations)
def test_a_task_is_never_lost(recorded: list[tuple[Scope, str]], moves: list[Observation]) -> None:
    """Whatever is observed, the task that was recorded last stays in force, and so does every one before it."""
    engine = engine_with(recorded)
    before = engine.transitions("s")
    lay(engine, moves)
    after = engine.transitions("s")
    assert before == after[: len(before)]
    for added in after[len(before) :] if before else []:
        assert task_of(before[-1]) == task_of(added)


@given(live, observations)
def test_the_last_move_is_in_force(recorded: list[tuple[Scope, str]], moves: list[Observation]) -> None:
    """In the end the session stands where it was last observed, unless something as late had been recorded."""
    engine = engine_with(recorded)
    latest = engine.log.history("s").latest
    lay(engine, moves)
    after = engine.log.history("s").latest
    if moves and (latest is None or instant(latest.at) < instant(moves[-1].at)):
        assert after is not None
        assert moves[-1].cwd == after.cwd
        assert moves[-1].branch in (None, after.branch)


@given(live, observations)
def test_the_log_stays_in_order(recorded: list[tuple[Scope, str]], moves: list[Observation]) -> None:
    """Instants never decrease, sequence numbers count on, and no transition is there twice."""
    engine = engine_with(recorded)
    lay(engine, moves)
    transitions = engine.transitions("s")
    assert sorted(instant(each.at) for each in transitions) == [instant(each.at) for each in transitions]
    assert list(range(len(transitions))) == [each.sequence for each in transitions]
    assert len(transitions) == len({each.transition_id for each in transitions})


@given(live, observations)
def test_no_move_before_its_time(recorded: list[tuple[Scope, str]], moves: list[Observation]) -> None:
    """A transition that is added for a move never takes effect before a move to that place was observed."""
    engine = engine_with(recorded)
    known = len(engine.transitions("s"))
    lay(engine, moves)
    for added in engine.transitions("s")[known:]:
        told = [move for move in moves if move.cwd == added.cwd and move.branch in (None, added.branch)]
        assert any(instant(move.at) <= instant(added.at) for move in told)
