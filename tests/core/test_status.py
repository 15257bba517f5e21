"""Where every session is now: what is known of it, whether it is at work, and who is in whose way."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import Engine, session_state
from agentihooks.status import LIVE_FOR, RECENT, Status, status
from agentihooks.testing import scope
from tests.sessions import at, repository, worktree

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def session(
    engine: Engine, own_id: str, heard: datetime | None = NOW, *, is_ended: bool = False, **fields: Any
) -> None:
    """Have a session recorded, in alpha unless *fields* say otherwise, and heard of."""
    home = os.environ["AGENTIHOOKS_HOME"]
    if fields:
        engine.record_scope(own_id, scope(**fields), at("10:00"))
    if heard is not None:
        session_state.write(home, own_id, {"agent": "claude", "is_ended": is_ended})
        path = f"{home}/state/sessions/{own_id}.json"
        os.utime(path, (heard.timestamp(), heard.timestamp()))


def found(engine: Engine) -> Status:
    """Return what is known at noon."""
    return status(os.environ["AGENTIHOOKS_HOME"], engine, NOW)


def test_nothing(engine: Engine, home: Path) -> None:
    """Without sessions there is nothing to tell, and asking leaves nothing behind."""
    assert Status(sessions=[], warnings=[]) == found(engine)
    assert not home.exists()


def test_a_session(engine: Engine) -> None:
    """A session is told with its latest scope, since when it is in force, and when it was last heard of."""
    session(engine, "s", task="first")
    engine.record_scope("s", scope("beta", task="second"), at("11:00"))
    (only,) = found(engine).sessions
    assert ("s", "claude", at("11:00"), "2025-06-01T12:00:00+00:00", True) == (
        *(only.session_id, only.agent, only.since),
        *(only.heard_at, only.is_live),
    )
    assert scope("beta", task="second").nonempty() == only.scope


def test_a_session_that_no_hook_told_of(engine: Engine) -> None:
    """One that is known by its log alone was heard of when that says, and is not taken to be at work."""
    session(engine, "s", heard=None, name="alpha")
    (only,) = found(engine).sessions
    assert ("", "2025-06-01T10:00:00+00:00", False) == (only.agent, only.heard_at, only.is_live)


def test_a_session_without_a_log(engine: Engine) -> None:
    """One that was heard of, and has no scope, has none."""
    session(engine, "s")
    (only,) = found(engine).sessions
    assert ({}, "", True) == (only.scope, only.since, only.is_live)


@pytest.mark.parametrize(
    ("heard", "is_ended", "expected"),
    [
        (NOW - LIVE_FOR + timedelta(seconds=1), False, True),
        (NOW - LIVE_FOR, False, False),
        (NOW + timedelta(hours=1), False, True),
        (NOW, True, False),
    ],
    ids=["recently", "long ago", "ahead of the clock", "over"],
)
def test_at_work(engine: Engine, heard: datetime, is_ended: bool, expected: bool) -> None:
    """A session is taken to be at work until it is over, or was not heard of for half an hour."""
    session(engine, "s", heard, is_ended=is_ended, name="alpha")
    assert [expected] == [each.is_live for each in found(engine).sessions]


def test_the_order(engine: Engine) -> None:
    """The session heard of last comes last, where the eye ends up."""
    session(engine, "b", NOW, name="alpha")
    session(engine, "a", NOW - timedelta(days=1), name="alpha")
    session(engine, "c", None, name="alpha")
    session(engine, "d", NOW - timedelta(seconds=1), name="alpha")
    assert ["a", "c", "d", "b"] == [each.session_id for each in found(engine).sessions]


def test_subagents_stand_below_their_session(engine: Engine) -> None:
    """However long ago a session was heard of itself, it is as fresh as its subagents."""
    session(engine, "b", NOW - timedelta(minutes=1), name="alpha")
    session(engine, "a", NOW - timedelta(hours=1), name="alpha")
    session(engine, "a.agent-2", NOW, name="alpha")
    session(engine, "a.agent-1", NOW - timedelta(hours=2), name="alpha")
    assert ["b", "a", "a.agent-1", "a.agent-2"] == [each.session_id for each in found(engine).sessions]


def test_what_is_old_is_left_out(engine: Engine) -> None:
    """Sessions and subagents not heard of for long are counted, and shown if asked for."""
    session(engine, "a", NOW - timedelta(days=8), name="alpha")
    session(engine, "b", NOW - timedelta(days=6), name="alpha")
    recent = status(os.environ["AGENTIHOOKS_HOME"], engine, NOW, RECENT)
    assert (["b"], 1) == ([each.session_id for each in recent.sessions], recent.older)
    assert (["a", "b"], 0) == ([each.session_id for each in found(engine).sessions], found(engine).older)


class TestWarnings:
    """Sessions at work that are in each other's way."""

    @pytest.fixture
    def alpha(self, tmp_path: Path) -> Path:
        """Return a checkout with a folder in it."""
        alpha = repository(tmp_path / "alpha")
        (alpha / "sub").mkdir()
        return alpha

    @pytest.mark.parametrize("other", ["", "sub", "sub/gone"])
    def test_one_checkout(self, engine: Engine, alpha: Path, other: str) -> None:
        """Two sessions anywhere in one checkout share it."""
        session(engine, "a", cwd=alpha)
        session(engine, "b", cwd=alpha / other)
        assert [f"a and b share the checkout {alpha}"] == found(engine).warnings

    def test_checkouts_of_one_project(self, engine: Engine, tmp_path: Path, alpha: Path) -> None:
        """Two checkouts of one project, worktrees or clones, are two."""
        session(engine, "a", cwd=alpha)
        session(engine, "b", cwd=worktree(alpha, tmp_path / "one", "topic"))
        session(engine, "c", cwd=worktree(alpha, alpha / ".claude" / "two", "other"))
        session(engine, "d", cwd=repository(tmp_path / "clone"))
        assert [] == found(engine).warnings

    def test_a_folder_of_no_project(self, engine: Engine) -> None:
        """Outside any checkout it is the folder that is shared."""
        session(engine, "a", cwd="/nowhere/a")
        session(engine, "b", cwd="/nowhere/a")
        session(engine, "c", cwd="/nowhere")
        session(engine, "d", cwd="/nowhere/\0")
        assert ["a and b share the checkout /nowhere/a"] == found(engine).warnings

    def test_one_task(self, engine: Engine) -> None:
        """A task is shared within one swarm."""
        session(engine, "a", cwd="/a", task="t", swarm="w")
        session(engine, "b", cwd="/b", task="t", swarm="w")
        session(engine, "c", cwd="/c", task="t", swarm="v")
        session(engine, "d", cwd="/d", task="t")
        session(engine, "e", cwd="/e", task="t")
        assert ["a and b share task w/t", "d and e share task t"] == found(engine).warnings

    def test_more_than_two(self, engine: Engine) -> None:
        """All that share are named at once."""
        for own_id in ("a", "b", "c"):
            session(engine, own_id, cwd="/a", task="t")
        assert ["a and b and c share the checkout /a", "a and b and c share task t"] == found(engine).warnings

    def test_whoever_is_not_at_work(self, engine: Engine) -> None:
        """A session that is over, or was not heard of for long, is in nobody's way; nor is one without a scope."""
        session(engine, "a", cwd="/a", task="t")
        session(engine, "b", is_ended=True, cwd="/a", task="t")
        session(engine, "c", NOW - timedelta(days=1), cwd="/a", task="t")
        session(engine, "d", None, cwd="/a", task="t")
        session(engine, "e")
        session(engine, "f")
        assert [] == found(engine).warnings

    def test_subagents(self, engine: Engine) -> None:
        """Nor is a subagent, which works in its session's place."""
        session(engine, "a", cwd="/a", task="t")
        session(engine, "a.agent-1", cwd="/a", task="t")
        session(engine, "b.agent-1", cwd="/a", task="t")
        assert [] == found(engine).warnings
