"""The engine's verbs, on a home and on transcripts of an agent that nobody has."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import agentihooks
from agentihooks import Engine, NotATranscript, Scope, ScopeRefused
from agentihooks.clock import instant
from agentihooks.cursor import Cursors
from agentihooks.log import FileLog, MemoryLog
from agentihooks.plugins import Plugins
from agentihooks.testing import (
    CONFORMANCE_EVENTS,
    at,
    conformance_transitions,
    recorded,
    refusal_of,
    scope,
    write_lines,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from agentihooks.transcript import Entry

HEAD = {"acme": 1, "session": "s"}
TEN = datetime(2026, 10, 8, 10, tzinfo=UTC)
SWARM = {"AGENTIHOOKS_SWARM": "w", "AGENTIHOOKS_SWARM_TASK": "t"}


def said(number: int, cwd: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return the entry of a transcript that was written *number* minutes past ten."""
    ms = int((TEN + timedelta(minutes=number)).timestamp() * 1000)
    return {"n": number, "ms": ms, **({} if cwd is None else {"dir": cwd, "rev": "main"}), **fields}


@pytest.fixture
def engine(home: Path, acme: ModuleType) -> Engine:
    """Return an engine on the home that knows Acme, and nobody else."""
    return Engine.at_home(home, Plugins({"acme": acme}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a transcript of two moves."""
    return write_lines(tmp_path / "t.acme", [HEAD, said(1, "/a", asked="hello"), said(2, said="hi"), said(3, "/b")])


def moves(engine: Engine, session_id: str = "s") -> list[tuple[str, str]]:
    """Return the time of day and folder of each transition."""
    return [(each.at[11:16], each.cwd) for each in engine.transitions(session_id)]


def test_the_functions_work_on_the_home(home: Path) -> None:
    """Each verb is a function on the home directory, too."""
    first = agentihooks.record_scope("s", {"branch": "main", **scope().nonempty()}, at("10:00"))
    assert first is not None
    assert [first] == agentihooks.transitions("s") == Engine.at_home(home).transitions("s")
    assert first.scope == agentihooks.scope_at("s", at("10:00"))
    assert ["unknown", "scoped"] == [
        each.attribution for each in agentihooks.attribute("s", [{"at": at(clock)} for clock in ("09:59", "10:00")])
    ]
    assert 1 == agentihooks.unattributed_session_events_total(agentihooks.attribute("s", CONFORMANCE_EVENTS[:2]))


def test_the_home_is_looked_up_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may go from home to home."""
    counts: list[int] = []
    for name in ("one", "two", "one"):
        monkeypatch.setenv("AGENTIHOOKS_HOME", str(tmp_path / name))
        agentihooks.record_scope("s", scope(branch=str(len(counts))), at(f"10:0{len(counts)}"))
        counts.append(len(agentihooks.transitions("s")))
    assert [1, 1, 2] == counts


def test_observing_is_a_function_too(home: Path, tmp_path: Path) -> None:
    """A file that is no transcript is said to be none, by name, and nothing is recorded."""
    path = write_lines(tmp_path / "package.json", [{"name": "package"}])
    with pytest.raises(NotATranscript, match=r"package\.json: no transcript of an agent known here"):
        agentihooks.observe_transcript("s", path)
    assert not home.exists()


@pytest.mark.parametrize("time", ["yesterday", None, "", datetime(2026, 10, 8, 9, 59, tzinfo=UTC)], ids=repr)
def test_no_scope_in_force(conformance: Engine, time: Any) -> None:
    """Before the first transition, and at what is no time, no scope is in force."""
    assert conformance.scope_at("first", time) is None


@pytest.mark.parametrize("session_id", ["../first", "", "a b", "x" * 129])
def test_a_session_that_could_not_have_a_log_has_none(conformance: Engine, home: Path, session_id: str) -> None:
    """Of an id that could not name a log, questions are answered as of a session without one."""
    before = sorted(home.rglob("*"))
    assert (None, []) == (conformance.scope_at(session_id, at("10:00")), conformance.transitions(session_id))
    assert before == sorted(home.rglob("*"))


def test_transitions_are_a_list_of_ones_own(conformance: Engine) -> None:
    """Whoever changes the list that was handed out changes nothing else."""
    conformance.transitions("first").clear()
    assert conformance_transitions("first") == conformance.transitions("first")


def test_a_transcript_is_observed(engine: Engine, path: Path) -> None:
    """A transition is recorded for each move, at its entry's time, with the branch that the transcript tells."""
    assert 2 == engine.observe_transcript("s", path, SWARM)
    assert [("10:01", "/a"), ("10:03", "/b")] == moves(engine)
    expected = Scope(cwd="/a", branch="main", swarm="w", task="t")
    assert expected == engine.scope_at("s", at("10:02"))


def test_the_environment_is_the_processs(engine: Engine, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the process's own environment says what the session works on."""
    monkeypatch.setenv("AGENTIHOOKS_SWARM_TASK", "mine")
    engine.observe_transcript("s", path)
    assert "mine" == engine.transitions("s")[0].task


def test_a_second_pass_records_nothing(engine: Engine, path: Path, home: Path, acme: ModuleType) -> None:
    """Observing again records nothing, also by another process, one that has lost the cursors, and one without any."""
    engine.observe_transcript("s", path, SWARM)
    knows_acme = Plugins({"acme": acme})
    others = [engine, Engine.at_home(home, knows_acme), Engine(engine.log, None, knows_acme)]
    assert [0, 0, 0] == [other.observe_transcript("s", path, SWARM) for other in others]
    for cursor in (home / "state" / "cursors").glob("*.json"):
        cursor.unlink()
    assert 0 == engine.observe_transcript("s", path, SWARM)


def test_a_pass_goes_on_where_the_last_one_ended(engine: Engine, path: Path) -> None:
    """What was appended is read, and only that."""
    engine.observe_transcript("s", path, SWARM)
    with path.open("ab") as file:
        file.write(b'{"n": 4, "ms": 1791453840000, "dir": "/c"}\n{"n": 5, "ms": 17')
    result = engine.read_on("s", path, SWARM)
    assert (1, {"torn": 1}) == (result.recorded, result.skipped)
    assert [("10:01", "/a"), ("10:03", "/b"), ("10:04", "/c")] == moves(engine)


def test_a_compressed_transcript_is_observed(engine: Engine, path: Path) -> None:
    """A compressed transcript is observed like any other, and a second pass records nothing."""
    compressed = path.with_name("t.acme.zst")
    compressed.write_bytes(zstd.compress(path.read_bytes()))
    assert [2, 0] == [engine.observe_transcript("s", compressed, SWARM) for _ in range(2)]


def test_a_folder_is_looked_at_once(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass tells the identity of each folder once, however often the session returns to it."""
    asked: list[str] = []
    monkeypatch.setattr("agentihooks.identity.identify", lambda cwd, environ: asked.append(cwd))
    path = write_lines(tmp_path / "t.acme", [HEAD, said(1, "/a"), said(2, "/b"), said(3, "/a")])
    assert 3 == engine.observe_transcript("s", path, SWARM)
    assert ["/a", "/b"] == asked


def test_a_torn_line_is_read_once_it_is_whole(engine: Engine, path: Path) -> None:
    """A line that was not complete at one pass counts at the next."""
    content = path.read_bytes()
    counts = []
    for end in (len(content) - 20, len(content) - 1, len(content)):
        path.write_bytes(content[:end])
        counts.append(engine.observe_transcript("s", path, SWARM))
    assert [1, 1, 0] == counts


def test_a_rewritten_transcript_is_read_anew(engine: Engine, path: Path) -> None:
    """A file that was truncated or replaced is read from its beginning, and what is known of it is not repeated."""
    engine.observe_transcript("s", path, SWARM)
    write_lines(path, [HEAD, said(1, "/a"), said(4, "/c")])
    assert 1 == engine.observe_transcript("s", path, SWARM)
    assert [("10:01", "/a"), ("10:03", "/b"), ("10:04", "/c")] == moves(engine)


def test_an_orchestrators_task_outlives_a_pass(engine: Engine, path: Path) -> None:
    """A task recorded between two passes is the task of what the second one finds."""
    engine.observe_transcript("s", path, SWARM)
    engine.record_scope("s", scope(cwd="/b", branch="main", task="new", task_revision=4), at("10:05"))
    write_lines(path, [HEAD, said(1, "/a"), said(3, "/b"), said(6, "/c")])
    engine.observe_transcript("s", path, SWARM)
    latest = engine.transitions("s")[-1]
    assert ("/c", "new", "4", "") == (latest.cwd, latest.task, latest.task_revision, latest.swarm)


def test_subagents_are_emitters_of_their_own(engine: Engine, tmp_path: Path) -> None:
    """A subagent's moves go to its own log, on its parent's task, and never move the main session."""
    rows = [
        HEAD,
        said(1, "/a"),
        said(2, "/x", by="7"),
        said(3, "/y", by="agent-7"),
        said(4, "/a"),
        said(5, "/z", by="../8"),
    ]
    path = write_lines(tmp_path / "t.acme", rows)
    result = engine.read_on("s", path, SWARM)
    assert [("10:01", "/a")] == moves(engine)
    assert [("10:02", "/x"), ("10:03", "/y")] == moves(engine, "s.agent-7")
    assert ["t", "t"] == [each.task for each in engine.transitions("s.agent-7")]
    assert (3, {"session": 1}) == (result.recorded, result.skipped)


def test_another_sessions_entries_are_counted(engine: Engine, tmp_path: Path) -> None:
    """Of a file only the session's own entries count, whatever the file is called."""
    path = write_lines(
        tmp_path / "t.acme", [HEAD, said(1, "/a"), {**HEAD, "session": "t"}, said(2, "/b"), said(3, "/c")]
    )
    result = engine.read_on("s", path, SWARM)
    assert (1, {"session": 2}) == (result.recorded, result.skipped)
    assert [("10:01", "/a")] == moves(engine)


@pytest.mark.parametrize("session_id", ["../s", "", None])
def test_an_unsafe_session_is_refused(engine: Engine, path: Path, home: Path, session_id: Any) -> None:
    """A session that could not have a log is refused before the transcript is read."""
    refusal = refusal_of(engine.observe_transcript, session_id, path)
    assert refusal is not None
    assert "unsafe_session_id" == refusal.code
    assert not home.exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "holds no readable JSON line"),
        (b"\xff\xfe\0\0", "holds no readable JSON line"),
        (b'[{"acme": 1}]\n', "holds no readable JSON line"),
        (b'{"acme": 1', "holds no readable JSON line"),
        (b'{"name": "package"}\n', r"known here \(acme\)"),
    ],
    ids=["empty", "binary", "array", "cut", "other"],
)
def test_what_is_no_transcript(engine: Engine, tmp_path: Path, home: Path, content: bytes, reason: str) -> None:
    """A file that no plugin recognises is no transcript, and nothing is recorded of it."""
    path = tmp_path / "t.acme"
    path.write_bytes(content)
    with pytest.raises(NotATranscript, match=reason):
        engine.observe_transcript("s", path)
    assert not home.exists()


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_is_no_file(engine: Engine, tmp_path: Path, name: str) -> None:
    """A missing file and a directory are errors of the file system."""
    with pytest.raises(OSError, match=r"No such file|directory"):
        engine.observe_transcript("s", tmp_path / name)


def test_the_engines_clock_is_what_is_believed(path: Path, acme: ModuleType) -> None:
    """Moves of the future are passed over and counted."""
    plugins = Plugins({"acme": acme})
    engine = Engine(MemoryLog(), None, plugins, clock=lambda: TEN - timedelta(days=1))
    result = engine.read_on("s", path, {})
    assert (0, {"untimed": 2}) == (result.recorded, result.skipped)


def test_a_log_that_cannot_be_written_keeps_the_cursor(engine: Engine, path: Path, logs: Path) -> None:
    """A pass that fails is made again: nothing is skipped because it could not be recorded."""
    logs.parent.mkdir(parents=True)
    logs.write_text("in the way")
    with pytest.raises(OSError, match="session-scopes"):
        engine.observe_transcript("s", path, SWARM)
    logs.unlink()
    assert 2 == engine.observe_transcript("s", path, SWARM)


class Counting:
    """A companion that takes every entry, and has enough after some of them."""

    def __init__(self, enough: int = 99) -> None:
        self.seen: list[str] = []
        self.restored: list[dict[str, Any]] = []
        self.fails = False
        self._enough = enough

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what was handed back."""
        self.restored.append(state)

    def see(self, entry: Entry) -> bool:
        """Take an entry."""
        self.seen.append(entry.entry_id)
        return len(self.seen) >= self._enough

    def finish(self) -> None:
        """Fail if told so."""
        if self.fails:
            raise OSError("no room")

    def state(self) -> dict[str, Any]:
        """Say how much was seen."""
        return {"seen": len(self.seen)}


def test_a_companion_reads_along(engine: Engine, path: Path) -> None:
    """A companion sees every entry once, and gets its state back at the next pass."""
    first, second = Counting(), Counting()
    engine.read_on("s", path, SWARM, first)
    with path.open("ab") as file:
        file.write(b'{"n": 4, "ms": 1791453840000, "dir": "/c"}\n')
    engine.read_on("s", path, SWARM, second)
    assert (["1", "2", "3"], ["4"]) == (first.seen, second.seen)
    assert ([{}], [{"seen": 3}]) == (first.restored, second.restored)


def test_a_companion_that_fails_sees_the_same_again(engine: Engine, path: Path) -> None:
    """What a companion could not make durable is handed to it again; the moves are not recorded twice."""
    failing, next_one = Counting(), Counting()
    failing.fails = True
    with pytest.raises(OSError, match="no room"):
        engine.read_on("s", path, SWARM, failing)
    assert 0 == engine.read_on("s", path, SWARM, next_one).recorded
    assert failing.seen == next_one.seen
    assert 2 == len(engine.transitions("s"))


def test_a_companion_that_has_enough_goes_on_later(engine: Engine, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A companion may end its part of a pass; the moves are read to the end, and it goes on from its own place."""
    monkeypatch.setattr("agentihooks.transcript.BLOCK_BYTES", 2)
    first, second = Counting(enough=1), Counting()
    assert 2 == engine.read_on("s", path, SWARM, first).recorded
    engine.read_on("s", path, SWARM, second)
    assert (["1"], ["2", "3"]) == (first.seen, second.seen)


def test_moves_and_companion_meet_again(engine: Engine, path: Path) -> None:
    """From two places in a file, a pass hands to each what is new to it, wherever the blocks end."""
    engine.observe_transcript("s", path, SWARM)
    write_lines(path, [*map(json.loads, path.read_bytes().splitlines()), said(4, "/d"), said(5, "/e")])
    companion = Counting()
    assert 2 == engine.read_on("s", path, SWARM, companion).recorded
    assert ["1", "2", "3", "4", "5"] == companion.seen


@pytest.mark.parametrize("is_kept", [True, False], ids=["at home", "in memory"])
def test_a_companion_may_be_ahead(engine: Engine, path: Path, *, is_kept: bool) -> None:
    """What a companion finishes before there is a transcript is what it begins with once there is, if it is kept."""
    engine = engine if is_kept else Engine(MemoryLog(), plugins=engine.plugins)
    ahead, again, reading = Counting(), Counting(), Counting()
    ahead.seen.append("0")
    engine.finish_ahead("s", ahead)
    engine.finish_ahead("s", again)
    engine.read_on("s", path, SWARM, reading)
    restored = [[{}], [{"seen": 1}], [{"seen": 0}]] if is_kept else [[{}]] * 3
    assert restored == [companion.restored for companion in (ahead, again, reading)]


def test_a_companion_may_come_late_or_alone(engine: Engine, path: Path) -> None:
    """Moves and companions are followed apart: each sees all of the file, whichever came first."""
    engine.observe_transcript("s", path, SWARM)
    late, alone = Counting(), Counting()
    assert 0 == engine.read_on("s", path, SWARM, late).recorded
    assert ["1", "2", "3"] == late.seen
    write_lines(path, [HEAD, said(1, "/a"), said(9, "/z")])
    assert 0 == engine.read_on("s", path, SWARM, alone, records=False).recorded
    assert 1 == engine.observe_transcript("s", path, SWARM)
    assert ["1", "9"] == alone.seen


def test_an_amended_scope_is_made_from_the_latest(engine: Engine) -> None:
    """Whoever records what is so now may build on what was, nothing at first."""
    given = []

    def change(latest: agentihooks.Transition | None) -> Scope:
        given.append(latest)
        return scope(branch=str(len(given)))

    results = [engine.amend_scope("s", change, TEN + timedelta(minutes=minute)) for minute in range(2)]
    assert [None, results[0]] == given
    assert ["1", "2"] == [each.branch for each in engine.transitions("s")]


def test_a_clock_that_was_set_back_loses_nothing(engine: Engine) -> None:
    """A scope of now comes into force after the latest, even where that is of a later time."""
    for name, minute in (("alpha", 5), ("beta", 3), ("beta", 4)):
        engine.amend_scope("s", lambda _, name=name: scope(name), TEN + timedelta(minutes=minute))  # type: ignore[misc] # the loop's own
    assert [("10:05", "/work/alpha"), ("10:05", "/work/beta")] == moves(engine)


def test_a_return_under_a_clock_that_was_set_back(engine: Engine) -> None:
    """There and back is two moves, even where the log makes one instant of them; the last is in force."""
    for name, minute in (("alpha", 5), ("beta", 3), ("alpha", 4)):
        engine.amend_scope("s", lambda _, name=name: scope(name), TEN + timedelta(minutes=minute))  # type: ignore[misc] # the loop's own
    assert ["/work/alpha", "/work/beta", "/work/alpha"] == [each.cwd for each in engine.transitions("s")]
    assert scope("alpha") == engine.scope_at("s", at("10:06"))


@pytest.mark.parametrize(
    ("session_id", "amended", "code"),
    [
        ("../s", scope("alpha"), "unsafe_session_id"),
        ("s", scope("gamma"), "outside_grant"),
        ("s", scope("alpha", lane="x" * 5000), "bad_scope"),
        ("s", scope("alpha", swarm="fixture", task="second", task_revision="1"), "older_revision"),
    ],
)
def test_amending_is_refused_like_recording(engine: Engine, session_id: str, amended: Scope, code: str) -> None:
    """An amended scope is held to the same rules, but for its time."""
    recorded(engine.log, "s")
    with pytest.raises(ScopeRefused) as caught:
        engine.amend_scope(session_id, lambda _: amended, TEN, ["github.com/fixture/alpha"])
    assert code == caught.value.code
    assert 4 == len(engine.transitions("s"))


def test_an_engine_finds_the_installed_plugins() -> None:
    """Without plugins of its own an engine uses all that are installed, found once."""
    engine = Engine.in_memory()
    assert {"claude", "codex"} <= set(engine.plugins.names())
    assert engine.plugins is engine.plugins


def test_a_path_may_be_text(home: Path, path: Path, acme: ModuleType) -> None:
    """Homes and transcripts are given as paths or as text."""
    engine = Engine(FileLog(f"{home}/logs"), Cursors(f"{home}/cursors"), Plugins({"acme": acme}))
    assert 2 == engine.observe_transcript("s", os.fspath(path), {})
    assert instant(at("10:01")) == instant(engine.transitions("s")[0].at)
