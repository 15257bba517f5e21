"""What a transcript tells of a session's moves, laid into its history."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from agentihooks import Engine, Scope
from agentihooks.clock import instant
from agentihooks.identity import Identity
from agentihooks.observe import Observation, Observer, Surroundings, place, task_fields, without_task
from agentihooks.scope import History
from agentihooks.testing import at, recorded, scope
from agentihooks.transcript import Entry

if TYPE_CHECKING:
    from agentihooks import Transition

SWARM = {
    "AGENTIHOOKS_SWARM": "w",
    "AGENTIHOOKS_SWARM_TASK": "t",
    "AGENTIHOOKS_SWARM_TASK_REVISION": "3",
    "AGENTIHOOKS_SWARM_LANE": "eng",
}
GONE = Surroundings(environ=SWARM, identify=lambda _: None)
ALPHA = Identity(
    project_id="github.com/fixture/alpha", project="alpha", repo="fixture/alpha", remote="u", worktree="wt"
)


def move(clock: str, cwd: str, branch: str | None = "main", worktree: str | None = None) -> Observation:
    """Return the observation of a move at a time of day."""
    return Observation(at(clock), cwd, branch, worktree)


def history(*live: tuple[str, Scope]) -> History:
    """Return a history of scopes that came into force at times of day."""
    engine = Engine.in_memory()
    for clock, each in live:
        engine.record_scope("s", each, at(clock))
    return engine.log.history("s")


def added(log: History, *moves: Observation, surroundings: Surroundings = GONE) -> list[Transition]:
    """Return the transitions that moves add to a history."""
    return place("s", moves, log, surroundings)[0]


def told(transitions: list[Transition]) -> list[tuple[str, str, str]]:
    """Return the time, folder and branch of transitions."""
    return [(each.at[11:16], each.cwd, each.branch) for each in transitions]


def test_an_observer_sees_moves() -> None:
    """Of entries in one place, the first counts; each emitter is followed apart, and knows only its own."""
    observer = Observer(instant(at("20:00")))
    told = [("", "/a"), ("", "/a"), ("7", "/b"), ("", "/a"), ("", None), ("", "/b"), ("7", "/b"), ("", "/a")]
    for number, (agent_id, cwd) in enumerate(told):
        observer.see(Entry(at=at(f"10:0{number}"), session_id="s", agent_id=agent_id, cwd=cwd))
    seen = {emitter: [(each.at[14:16], each.cwd) for each in moves] for emitter, moves in observer.observations.items()}
    assert {("s", ""): [("00", "/a"), ("05", "/b"), ("07", "/a")], ("s", "7"): [("02", "/b")]} == seen


@pytest.mark.parametrize("time", ["", "Invalid Date", "2099-01-01T00:00:00Z"])
@pytest.mark.parametrize("is_watched", [False, True])
def test_what_cannot_be_dated_waits(time: str, *, is_watched: bool) -> None:
    """Where an entry without a believable time stands counts from the next one that stands there and has one."""
    told = [
        (time, "/a"),
        (at("10:01"), "/a"),
        (time, "/b"),
        (time, "/b"),
        (at("10:05"), "/b"),
        (time, "/c"),
        (time, "/d"),
    ]
    entries = [Entry(at=when, session_id="s", cwd=cwd) for when, cwd in told]
    observer = Observer(instant(at("20:00")))
    if is_watched:
        observer.watch(entries)
    else:
        [observer.see(entry) for entry in entries]
    assert [(at("10:01"), "/a"), (at("10:05"), "/b")] == [
        (each.at, each.cwd) for each in observer.observations["s", ""]
    ]
    assert 2 == observer.untimed


def test_what_no_log_takes_is_no_move() -> None:
    """A folder or branch with a name beyond all measure is passed over; the next one is not."""
    observer = Observer(instant(at("20:00")))
    for cwd, branch in (("/a", "x" * 5000), ("/" + "x" * 5000, "main"), ("/a", "x" * 4096)):
        observer.see(Entry(at=at("10:00"), session_id="s", cwd=cwd, branch=branch))
    assert ["x" * 4096] == [each.branch for each in observer.observations["s", ""]]


MOVES: list[dict[str, Any]] = [{"cwd": "/b"}, {"branch": "two"}, {"branch": ""}, {"cwd": "/b", "branch": None}]
NO_MOVES: list[dict[str, Any]] = [{}, {"branch": None}, {"worktree": "w"}, {"cwd": None, "branch": "two"}]


@pytest.mark.parametrize(
    ("change", "count"), [*((change, 2) for change in MOVES), *((change, 1) for change in NO_MOVES)], ids=str
)
def test_what_makes_a_move(change: dict[str, Any], count: int) -> None:
    """Another folder or branch is a move; saying nothing of them is none."""
    observer = Observer(instant(at("20:00")))
    for fields in ({}, change):
        observer.see(Entry(at=at("10:00"), session_id="s", **{"cwd": "/a", "branch": "main", "worktree": "", **fields}))
    assert count == len(observer.observations["s", ""])


def test_a_first_observation_takes_the_task_from_the_environment() -> None:
    """Where nothing is in force the environment says what the session works on."""
    [first] = added(history(), move("10:00", "/a"))
    expected = Scope(cwd="/a", branch="main", swarm="w", task="t", task_revision="3", lane="eng")
    assert (0, at("10:00"), expected) == (first.sequence, first.at, first.scope)


def test_a_further_observation_keeps_the_task() -> None:
    """Where something is in force the task is the one recorded, whatever the environment says."""
    log = history(("10:00", scope(swarm="x", task="mine", task_revision="9")))
    [second] = added(log, move("10:05", "/b"))
    assert ("x", "mine", "9", "") == (second.swarm, second.task, second.task_revision, second.lane)


def test_an_empty_task_is_kept_too() -> None:
    """A task that was taken away stays away."""
    [second] = added(history(("10:00", scope())), move("10:05", "/b"))
    assert ("", "") == (second.swarm, second.task)


def test_what_is_in_force_is_not_recorded_again() -> None:
    """An observation of what a hook has recorded adds nothing."""
    log = history(("10:00", scope(cwd="/a", branch="main")), ("10:10", scope(cwd="/b", branch="main")))
    moves = move("10:01", "/a"), move("10:10", "/b"), move("10:20", "/b")
    assert [] == added(log, *moves)


def test_moves_before_a_hook_are_found_at_its_time() -> None:
    """A hook that recorded a move a little after the transcript's own time has recorded it."""
    log = history(("10:00", scope(cwd="/a", branch="main")), ("10:10", scope(cwd="/b", branch="main")))
    assert [] == added(log, move("10:00", "/a"), move("10:09", "/b"))


def test_a_return_is_a_move() -> None:
    """A session that goes back to where it was has moved."""
    moves = move("10:00", "/a"), move("10:01", "/b"), move("10:02", "/a")
    expected = [("10:00", "/a", "main"), ("10:01", "/b", "main"), ("10:02", "/a", "main")]
    assert expected == told(added(history(), *moves))


def test_a_step_back_in_time_loses_no_move() -> None:
    """A move whose line is a little older than the one before takes effect as early as the log admits it."""
    moves = move("10:00", "/a"), move("10:05", "/b"), move("10:04", "/c"), move("10:06", "/d")
    expected = [("10:00", "/a"), ("10:05", "/b"), ("10:05", "/c"), ("10:06", "/d")]
    assert expected == [(clock, cwd) for clock, cwd, _ in told(added(history(), *moves))]


def test_a_late_observation_comes_after_what_was_recorded() -> None:
    """A move that a later live transition has overtaken is still recorded, at that transition's time."""
    log = history(("10:00", scope(cwd="/a", branch="main", task="t")))
    assert [("10:00", "/b", "main")] == told(added(log, move("09:00", "/b")))


def test_an_orchestrators_scope_counts_as_a_place() -> None:
    """Who is seen in the old folder after an orchestrator has recorded a new one has not moved there yet."""
    log = history(
        ("10:00", scope(cwd="/a", branch="main", task="1")), ("10:10", scope(cwd="/b", branch="main", task="2"))
    )
    [back] = added(log, move("10:11", "/a"))
    assert ("/a", "2") == (back.cwd, back.task)


@pytest.mark.parametrize(("ahead", "count"), [(5, 1), (6, 0)])
def test_how_far_ahead_is_believed(ahead: int, count: int) -> None:
    """A time up to five minutes ahead of the clock is believed."""
    now = instant(at("10:00"))
    observer = Observer(now)
    observer.see(Entry(at=(now + timedelta(minutes=ahead)).isoformat(), session_id="s", cwd="/a"))
    assert (count, 1 - count) == (len(observer.observations), observer.untimed)


def test_a_new_folder_of_an_agent_that_tells_no_branch() -> None:
    """Without a branch, a new folder has none: the old one's is not its."""
    log = history(("10:00", scope(cwd="/a", branch="old")))
    assert [("10:05", "/b", "")] == told(added(log, move("10:05", "/b", None)))


def test_a_subagent_that_tells_no_branch() -> None:
    """In its parent's folder a subagent that tells no branch has the parent's."""
    surroundings = structs.replace(GONE, histories=[history(("10:00", scope(cwd="/a", branch="old")))])
    moves = move("10:05", "/a", None), move("10:06", "/b", None)
    assert [("10:05", "/a", "old"), ("10:06", "/b", "")] == told(added(history(), *moves, surroundings=surroundings))


def test_there_and_back_within_an_instant() -> None:
    """Two moves at one instant that lead back are both recorded, the last a microsecond later, so that it is no replay."""
    moves = move("10:00", "/a"), move("10:00", "/b"), move("10:00", "/a")
    transitions = added(history(), *moves)
    assert [at("10:00"), at("10:00"), "2026-10-08T10:00:00.000001+00:00"] == [each.at for each in transitions]
    assert [] == added(History(transitions), *moves)


def test_the_branch_stays_while_the_folder_does() -> None:
    """An agent that tells no branch adds nothing while it stays where a hook has seen it."""
    assert [] == added(history(("10:00", scope(cwd="/a", branch="old"))), move("10:05", "/a", None))


def test_the_identity_is_that_of_the_folder() -> None:
    """A folder that exists gives the project; the transcript's worktree outranks the folder's."""
    surroundings = structs.replace(GONE, identify=lambda _: ALPHA)
    first, second = added(history(), move("10:00", "/a"), move("10:01", "/b", worktree=""), surroundings=surroundings)
    assert (ALPHA.project_id, ALPHA.remote, "wt") == (first.project_id, first.remote, first.worktree)
    assert (ALPHA.project_id, "") == (second.project_id, second.worktree)


def test_another_branch_is_the_same_project() -> None:
    """A folder's project is looked up on entering it: by whoever recorded that, be it an orchestrator."""
    log = history(("10:00", scope(cwd="/a", branch="old", project_id="local:own", task="t")))
    surroundings = structs.replace(GONE, identify=lambda _: ALPHA)
    same, entered = added(log, move("10:01", "/a", "new"), move("10:02", "/b", "new"), surroundings=surroundings)
    assert ("local:own", "new", "t") == (same.project_id, same.branch, same.task)
    assert (ALPHA.project_id, "new", "t") == (entered.project_id, entered.branch, entered.task)


def test_the_branch_is_never_todays() -> None:
    """What is checked out now says nothing about then."""
    surroundings = structs.replace(GONE, identify=lambda _: structs.replace(ALPHA, branch="today"))
    assert [""] == [each.branch for each in added(history(), move("10:00", "/a", None), surroundings=surroundings)]


def test_a_folder_that_is_gone_is_what_it_was() -> None:
    """A folder that is gone has the identity recorded for it last, by the session or the one it belongs to."""
    log = history(
        ("10:00", scope("old", cwd="/a")),
        ("10:01", scope("new", cwd="/a", worktree="wt")),
        ("10:02", Scope(cwd="/a")),
        ("10:03", scope(cwd="/b")),
    )
    [back] = added(log, move("10:05", "/a"))
    assert ("github.com/fixture/new", "wt") == (back.project_id, back.worktree)
    elsewhere = structs.replace(GONE, histories=[log])
    assert ["github.com/fixture/new"] == [
        each.project_id for each in added(history(), move("10:05", "/a"), surroundings=elsewhere)
    ]


def test_a_folder_that_never_was_is_unknown() -> None:
    """A folder that is gone and was never recorded names no project."""
    assert [""] == [each.project_id for each in added(history(("10:00", scope())), move("10:05", "/nowhere"))]


@pytest.mark.parametrize(("clock", "expected"), [("10:05", "first"), ("10:25", "second"), ("09:00", "t")])
def test_a_subagent_works_on_its_parents_task(clock: str, expected: str) -> None:
    """An emitter without a task of its own takes its parent's of that instant; before that has one, the environment's."""
    parent = recorded(Engine.in_memory().log, "s").log.history("s")
    surroundings = structs.replace(GONE, histories=[parent])
    assert [expected] == [each.task for each in added(history(), move(clock, "/a"), surroundings=surroundings)]


def test_the_walk_goes_on_where_it_ended() -> None:
    """A later pass finds the place where the last one ended, not an equal one before it."""
    log = history(("10:00", scope(cwd="/a", branch="main")), ("10:01", scope(cwd="/b", branch="main")))
    moves = [Observation(at("09:00"), "/a", "main", None)]
    assert [] == place("s", moves, log, GONE, -1)[0]
    transitions, position = place("s", moves, log, GONE, 1)
    assert ([("10:01", "/a", "main")], 2) == (told(transitions), position)


def test_a_position_beyond_the_log_is_its_end() -> None:
    """A log that was removed meanwhile does not confuse the walk."""
    transitions, position = place("s", [move("10:00", "/a")], history(), GONE, 99)
    assert (1, 0) == (len(transitions), position)


def test_the_launch_environment() -> None:
    """Four variables say what a launch works on, and can be taken away."""
    expected = {"swarm": "w", "task": "t", "task_revision": "3", "lane": "eng"}
    assert expected == task_fields({**SWARM, "HOME": "/"})
    assert dict.fromkeys(expected, "") == task_fields({})
    assert {"HOME": "/"} == without_task({**SWARM, "HOME": "/"})
