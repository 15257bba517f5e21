"""What may enter a log: every rule, their order, and what a refusal says."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import Engine, Scope, ScopeRefused
from agentihooks.testing import CONFORMANCE_GRANT, CONFORMANCE_HISTORY, at, recorded, refusal_of, scope

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "github.com/secret-owner/secret-repo"


@pytest.fixture
def memory() -> Engine:
    """Return an engine in memory with the conformance history in session `s`."""
    return recorded(Engine.in_memory().log, "s")


def code_of(engine: Engine, *arguments: Any) -> str | None:
    """Return the code by which a scope is refused, None if it is not."""
    refusal = refusal_of(engine.record_scope, *arguments)
    return None if refusal is None else refusal.code


def task(revision: object, name: str = "t", swarm: str = "w", **fields: Any) -> Scope:
    """Return a scope with a task at a revision."""
    return scope(swarm=swarm, task=name, task_revision=revision, **fields)


REFUSALS = {
    "unsafe_session_id": ("../s", scope(), at("11:00")),
    "bad_scope": ("s", {"color": "red"}, at("11:00")),
    "outside_grant": ("s", scope("gamma"), at("11:00"), CONFORMANCE_GRANT),
    "bad_time": ("s", scope(), "yesterday"),
    "older_transition": ("s", scope(), at("10:29")),
    "older_revision": ("s", scope(swarm="fixture", task="second", task_revision="2"), at("11:00")),
}


@pytest.mark.parametrize(("code", "arguments"), REFUSALS.items(), ids=REFUSALS)
def test_codes(memory: Engine, code: str, arguments: tuple[Any, ...]) -> None:
    """Each rule refuses under its own code, and the log stays as it is."""
    before = memory.transitions("s")
    assert code == code_of(memory, *arguments)
    assert before == memory.transitions("s")


@pytest.mark.parametrize(("code", "arguments"), REFUSALS.items(), ids=REFUSALS)
def test_messages_say_what_to_do(memory: Engine, code: str, arguments: tuple[Any, ...]) -> None:
    """A refusal is a ValueError whose message is one line of advice."""
    with pytest.raises(ScopeRefused) as caught:
        memory.record_scope(*arguments)
    assert isinstance(caught.value, ValueError)
    assert caught.value.message == str(caught.value)
    assert 30 < len(caught.value.message.splitlines()[0]) == len(caught.value.message)


@pytest.mark.parametrize(
    "arguments",
    [
        ("../s", {"project_id": SECRET}, at("11:00")),
        ("s", {"project_id": SECRET, "color": "red"}, at("11:00")),
        ("s", {"project_id": SECRET, "lane": "x" * 5000}, at("11:00")),
        ("s", {"project_id": SECRET * 200}, at("11:00")),
        ("s", {"project_id": SECRET}, at("11:00"), CONFORMANCE_GRANT),
        ("s", {"project_id": SECRET}, "yesterday"),
        ("s", {"project_id": SECRET}, at("09:00")),
        ("s", {"project_id": SECRET, "swarm": "fixture", "task": "second", "task_revision": "1"}, at("11:00")),
    ],
    ids=["id", "field", "long", "long project", "grant", "time", "older", "revision"],
)
def test_messages_never_name_the_project(memory: Engine, arguments: tuple[Any, ...]) -> None:
    """Whatever a scope is refused for, the message does not give its project away."""
    refusal = refusal_of(memory.record_scope, *arguments)
    assert refusal is not None
    assert "secret" not in f"{refusal} {refusal!r}"


@pytest.mark.parametrize("code", ["unsafe_session_id", "bad_scope", "outside_grant", "bad_time"])
def test_early_refusals_touch_nothing(engine: Engine, home: Path, code: str) -> None:
    """A scope that is refused for itself leaves nothing on disk, not even a directory."""
    assert code == code_of(engine, *REFUSALS[code])
    assert not home.exists()


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("unsafe_session_id", ("../s", {"color": "red"}, "yesterday", CONFORMANCE_GRANT)),
        ("unsafe_session_id", ("../s", scope("gamma"), at("11:00"), CONFORMANCE_GRANT)),
        ("bad_scope", ("s", {"color": "red", "project_id": SECRET}, "yesterday", CONFORMANCE_GRANT)),
        ("outside_grant", ("s", scope("gamma"), "yesterday", CONFORMANCE_GRANT)),
        ("bad_time", ("s", CONFORMANCE_HISTORY[3][1], "yesterday")),
        (None, ("s", CONFORMANCE_HISTORY[0][1], at("10:00"))),
        (None, ("s", CONFORMANCE_HISTORY[0][1], "20261008T12+02")),
        ("older_transition", ("s", scope(swarm="fixture", task="second", task_revision="2"), at("10:29"))),
        ("older_transition", ("s", CONFORMANCE_HISTORY[3][1], at("10:29"))),
    ],
    ids=[
        "id before scope",
        "id before grant",
        "scope before grant",
        "grant before time",
        "time before same scope",
        "replay before older",
        "replay under another spelling before older",
        "older before revision",
        "older before same scope",
    ],
)
def test_the_earlier_rule_wins(memory: Engine, code: str | None, arguments: tuple[Any, ...]) -> None:
    """Where two rules apply, the one that comes first in the documented order decides."""
    assert code == code_of(memory, *arguments)
    assert 4 == len(memory.transitions("s"))


def test_a_replay_comes_before_its_revision() -> None:
    """A transition recorded once may be replayed after its task went on to a higher revision, at one instant even."""
    engine = Engine.in_memory()
    for revision in (1, 2):
        engine.record_scope("s", task(revision), at("10:00"))
    assert engine.record_scope("s", task(1), at("10:00")) is None


@pytest.mark.parametrize(
    ("project_id", "expected"),
    [("github.com/fixture/alpha", None), ("", None), ("unknown", None), ("github.com/fixture/gamma", "outside_grant")],
)
def test_the_grant(project_id: str, expected: str | None) -> None:
    """Under a grant a scope may name a project of it, or none."""
    given = {"project_id": project_id, "branch": "main"}
    assert expected == code_of(Engine.in_memory(), "s", given, at("10:00"), CONFORMANCE_GRANT)


@pytest.mark.parametrize("grant", [[], (), set()], ids=repr)
def test_an_empty_grant_allows_nothing(grant: Any) -> None:
    """A grant without projects is one all the same; only None enforces nothing."""
    assert "outside_grant" == code_of(Engine.in_memory(), "s", scope(), at("10:00"), grant)
    assert code_of(Engine.in_memory(), "s", scope(), at("10:00"), None) is None


def test_a_text_for_a_grant_is_a_mistake(engine: Engine, home: Path) -> None:
    """A grant given as one text raises before anything is touched."""
    with pytest.raises(TypeError):
        engine.record_scope("s", scope(), at("10:00"), "github.com/fixture/alpha")
    assert not home.exists()


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        ("4", "older_revision"),
        ("004", "older_revision"),
        ("5", None),
        ("10", None),
        ("", None),
        ("v4", None),
        ("\N{ARABIC-INDIC DIGIT FOUR}", None),
    ],
    ids=repr,
)
def test_revisions(revision: str, expected: str | None) -> None:
    """A number lower than the highest accepted is refused; an equal one, and what is no number, is not."""
    engine = Engine.in_memory()
    for minute, earlier in enumerate(("5", "3a", "")):
        engine.record_scope("s", task(earlier), at(f"10:0{minute}"))
    engine.record_scope("s", task("1", "other"), at("10:05"))
    assert expected == code_of(engine, "s", task(revision), at("10:06"))


@pytest.mark.parametrize(
    "other",
    [task("1", "u"), task("1", swarm="x"), task("1", name=""), task("1", "T")],
    ids=["task", "swarm", "no task", "case"],
)
def test_other_tasks_have_revisions_of_their_own(other: Scope) -> None:
    """Revisions are held against the same task of the same swarm only."""
    engine = Engine.in_memory()
    engine.record_scope("s", task("5"), at("10:00"))
    assert code_of(engine, "s", other, at("10:01")) is None


def test_a_task_outside_any_swarm_has_revisions() -> None:
    """A task without a swarm is held against tasks without one."""
    engine = Engine.in_memory()
    engine.record_scope("s", task("5", swarm=""), at("10:00"))
    assert "older_revision" == code_of(engine, "s", task("4", swarm=""), at("10:01"))


def test_a_refused_revision_leaves_no_trace() -> None:
    """What was refused never counts as accepted."""
    engine = Engine.in_memory()
    engine.record_scope("s", task("5"), at("10:00"))
    assert "older_transition" == code_of(engine, "s", task("9"), at("09:00"))
    assert code_of(engine, "s", task("6"), at("10:01")) is None


@pytest.mark.parametrize("time", ["2026-10-08T10:00:00.123456789Z", "20261008T12+02", "2026-281t24:00"])
def test_the_time_is_kept_verbatim(time: str) -> None:
    """A caller's text for the time is what the log holds."""
    transition = Engine.in_memory().record_scope("s", scope(), time)
    assert transition is not None
    assert time == transition.at


def test_a_datetime_is_written_in_utc() -> None:
    """A datetime is written as UTC."""
    noon = datetime(2026, 10, 8, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    transition = Engine.in_memory().record_scope("s", scope(), noon)
    assert transition is not None
    assert "2026-10-08T10:00:00.000005+00:00" == transition.at


def test_sequences_count_on() -> None:
    """The first transition is 0, each further one the next; what was refused or needless takes no number."""
    engine = Engine.in_memory()
    given = [("alpha", "10:00"), ("alpha", "10:01"), ("beta", "09:00"), ("beta", "10:02")]
    for name, clock in given:
        code_of(engine, "s", scope(name), at(clock))
    assert [0, 1] == [transition.sequence for transition in engine.transitions("s")]
