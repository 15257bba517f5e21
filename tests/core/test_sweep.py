"""A sweep: what hooks have missed is there afterwards, once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentihooks import Engine
from agentihooks.sweep import SweepResult, known_transcripts, sweep
from tests.sessions import SESSION, Claude, Codex, at, files, reasons, repository, scopes

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "5e551010-0000-7000-8000-000000000002"


@pytest.fixture
def alpha(tmp_path: Path) -> Path:
    """Return a checkout of the project alpha."""
    return repository(tmp_path / "alpha")


def swept(steps: list[None] | None = None, *, takes_markers: bool = True) -> SweepResult:
    """Sweep, as the command does."""
    home = os.environ["AGENTIHOOKS_HOME"]
    engine = Engine.at_home(home)
    transcripts = known_transcripts(engine, os.environ)
    progress = [] if steps is None else steps
    return sweep(engine, home, os.environ, transcripts, lambda: progress.append(None), takes_markers=takes_markers)


def test_nothing(home: Path) -> None:
    """Without transcripts there is nothing to do."""
    assert SweepResult() == swept()
    assert {} == files(home)


def test_sessions_without_hooks(alpha: Path, tmp_path: Path) -> None:
    """Sessions of both agents, and their subagents, are complete afterwards, each move at its own time."""
    claude, agent, codex = Claude(), Claude(agent_id="a1"), Codex(OTHER)
    claude.write("10:00", alpha)
    claude.write("10:05", tmp_path)
    agent.write("10:01", tmp_path)
    codex.write("10:02", alpha)
    steps: list[None] = []
    assert SweepResult(transcripts=3, recorded=4) == swept(steps)
    assert 3 == len(steps)
    assert [(str(alpha), at("10:00")), (str(tmp_path), at("10:05"))] == scopes(SESSION, "cwd", "at")
    assert [(str(tmp_path), at("10:01"))] == scopes(f"{SESSION}.agent-a1", "cwd", "at")
    assert [("alpha", at("10:02"))] == scopes(OTHER, "project", "at")


def test_without_markers(alpha: Path) -> None:
    """Markers may be left for a later sweep, which finds all of them; moves are recorded meanwhile."""
    Claude().say("10:00", alpha, "<!-- @lesson -->Pin it.<!-- @/lesson -->")
    done = [swept(takes_markers=takes_markers) for takes_markers in (False, True, True)]
    assert [(1, 0), (0, 1), (0, 0)] == [(each.recorded, each.markers) for each in done]


def test_a_sink_that_fails(home: Path, alpha: Path) -> None:
    """Where markers cannot be put by, every file's moves are recorded all the same, and each file is named."""
    home.mkdir()
    (home / "brain-outbox").write_text("in the way")
    sessions = [Claude(), Claude(OTHER)]
    for session in sessions:
        session.say("10:00", alpha, "<!-- @lesson -->Pin it.<!-- @/lesson -->")
    result = swept()
    assert {str(session.path) for session in sessions} == result.failed.keys()
    assert [("alpha",)] == scopes(SESSION, "project") == scopes(OTHER, "project")


def test_again(home: Path, alpha: Path, tmp_path: Path) -> None:
    """Sweeping again records nothing, and leaves every log as it is."""
    claude = Claude()
    claude.write("10:00", alpha)
    claude.write("10:05", tmp_path)
    swept()
    before = files(home / "brain")
    assert SweepResult(transcripts=1) == swept()
    assert before == files(home / "brain")


def test_what_a_killed_session_left(alpha: Path, tmp_path: Path) -> None:
    """A session whose last hooks did not run is completed, on the task it had; what they recorded is not repeated."""
    claude = Claude()
    claude.write("10:00", alpha)
    claude.fire("Stop", alpha)
    claude.write("10:05", tmp_path)
    swept()
    assert [(str(alpha), at("10:00")), (str(tmp_path), at("10:05"))] == scopes(SESSION, "cwd", "at")


def test_without_its_cursors(home: Path, alpha: Path, tmp_path: Path) -> None:
    """Nor is it where nothing tells any more how far the hooks had read."""
    claude = Claude()
    claude.write("10:00", alpha)
    claude.write("10:05", tmp_path)
    claude.write("10:06", alpha)
    claude.fire("Stop", alpha)
    before = scopes(SESSION, "cwd", "at", "transition_id")
    for path in (home / "state" / "cursors").iterdir():
        path.unlink()
    assert 0 == swept().recorded
    assert before == scopes(SESSION, "cwd", "at", "transition_id")


def test_a_subagent_s_task(alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A subagent is on its session's task, though its file is the older one; never on that of whoever sweeps."""
    agent, claude = Claude(agent_id="a1"), Claude()
    agent.write("10:01", alpha)
    os.utime(agent.path, (0, 0))
    claude.write("10:00", alpha)
    with monkeypatch.context() as environment:
        environment.setenv("AGENTIHOOKS_SWARM_TASK", "first")
        claude.fire("Stop", alpha)
    monkeypatch.setenv("AGENTIHOOKS_SWARM_TASK", "own")
    swept()
    assert [("first",)] == scopes(f"{SESSION}.agent-a1", "task")


def test_the_task_of_whoever_sweeps(alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that nobody launched on a task is on none."""
    Claude().write("10:00", alpha)
    monkeypatch.setenv("AGENTIHOOKS_SWARM_TASK", "own")
    swept()
    assert [("",)] == scopes(SESSION, "task")


@pytest.mark.parametrize("content", [b"", b"no JSON\n", b'{"some": "thing"}\n'], ids=repr)
def test_other_files(content: bytes) -> None:
    """A file among the transcripts that is none, or not yet, is passed over."""
    Claude().append(content)
    assert SweepResult() == swept()


def test_a_file_that_cannot_be_read(alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be read is named, and the others are read."""
    broken = Codex(OTHER)
    broken.path.parent.mkdir(parents=True)
    broken.path.with_suffix(".jsonl.zst").write_bytes(b"no zstd")
    Claude().write("10:00", alpha)
    result = swept()
    assert (1, [f"{broken.path}.zst"]) == (result.transcripts, list(result.failed))
    assert "cannot decompress" in result.failed[f"{broken.path}.zst"]


def test_a_name_that_is_no_session(home: Path, alpha: Path) -> None:
    """A file whose session could not name a log is left out."""
    Claude("-unsafe").write("10:00", alpha)
    assert SweepResult() == swept()
    assert {} == files(home)


def test_a_rollback(home: Path, alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under rollback a sweep records no transitions; one after it records what was left."""
    Claude().write("10:00", alpha)
    monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
    assert 0 == swept().recorded
    assert [] == scopes(SESSION, "cwd")
    monkeypatch.delenv("AGENTIHOOKS_SESSION_SCOPE")
    assert 1 == swept().recorded
    assert [(str(alpha),)] == scopes(SESSION, "cwd")
    assert [] == reasons(home)
