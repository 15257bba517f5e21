"""What each event of a session puts on record: where it is, on what task, and from when on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import pytest

import agentihooks_claude.files
from agentihooks import Scope, live, session_state
from agentihooks.clock import now
from agentihooks.hookspecs import hookimpl
from agentihooks.live import OutOfTime, time_limit
from agentihooks.model import HookEvent
from agentihooks.plugins import Plugins
from tests.sessions import (
    SESSION,
    Claude,
    Codex,
    at,
    fire,
    reasons,
    repository,
    rows,
    scopes,
    set_clock,
    worktree,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentihooks import Engine, Transition

LAUNCH = {
    "AGENTIHOOKS_SWARM": "fixture",
    "AGENTIHOOKS_SWARM_TASK": "first",
    "AGENTIHOOKS_SWARM_TASK_REVISION": "3",
    "AGENTIHOOKS_SWARM_LANE": "eng",
}
TASK = ("swarm", "task", "task_revision", "lane")


@pytest.fixture
def alpha(tmp_path: Path) -> Path:
    """Return a checkout of the project alpha."""
    return repository(tmp_path / "alpha")


@pytest.fixture
def beta(tmp_path: Path) -> Path:
    """Return a checkout of the project beta."""
    return repository(tmp_path / "beta", "beta")


@pytest.fixture
def claude() -> Claude:
    """Return a session of Claude Code."""
    return Claude()


def launch(monkeypatch: pytest.MonkeyPatch, **changes: str) -> None:
    """Set the launch environment."""
    for name, value in {**LAUNCH, **changes}.items():
        monkeypatch.setenv(name, value)


class TestStart:
    """A session that begins, or goes on."""

    @pytest.mark.parametrize("agent", [Claude, Codex])
    def test_the_launch(self, alpha: Path, monkeypatch: pytest.MonkeyPatch, agent: type[Claude | Codex]) -> None:
        """It is in the project and on the branch of its folder, and on the task that its environment names."""
        launch(monkeypatch)
        agent().fire("SessionStart", alpha, source="startup")
        place = ("github.com/fixture/alpha", "alpha", "fixture/alpha", "", str(alpha), "main")
        remote = "https://github.com/fixture/alpha.git"
        fields = ("project_id", "project", "repo", "worktree", "cwd", "branch", "remote", *TASK)
        assert [(*place, remote, "fixture", "first", "3", "eng")] == scopes(SESSION, *fields)

    @pytest.mark.parametrize(
        ("head", "branch"), [("ref: refs/heads/feature/a", "feature/a"), ("a" * 40, "HEAD")], ids=["branch", "detached"]
    )
    def test_the_branch(self, tmp_path: Path, claude: Claude, head: str, branch: str) -> None:
        """A branch is recorded by name, a detached head as HEAD."""
        claude.fire("SessionStart", repository(tmp_path / "gamma", head=head))
        assert [(branch,)] == scopes(SESSION, "branch")

    def test_no_repository(self, tmp_path: Path, claude: Claude) -> None:
        """Outside a repository there is neither a branch nor a project."""
        claude.fire("SessionStart", tmp_path)
        assert [("", "", str(tmp_path))] == scopes(SESSION, "branch", "project_id", "cwd")

    def test_a_linked_worktree(self, tmp_path: Path, alpha: Path, claude: Claude) -> None:
        """A linked worktree belongs to its repository, and is named."""
        claude.fire("SessionStart", worktree(alpha, tmp_path / "one", "topic"))
        assert [("alpha", "one", "topic")] == scopes(SESSION, "project", "worktree", "branch")

    @pytest.mark.parametrize("source", ["startup", "resume", "clear", "fork"])
    def test_a_launch_brings_its_task(
        self, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch, source: str
    ) -> None:
        """However a session is started, the task that its environment names is its task from now on."""
        claude.fire("SessionStart", alpha)
        launch(monkeypatch)
        claude.fire("SessionStart", alpha, source=source)
        assert [("", "", "", ""), ("fixture", "first", "3", "eng")] == scopes(SESSION, *TASK)

    def test_a_resume_without_a_task(self, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """A resume that names no task leaves the session on the one it has."""
        with monkeypatch.context() as environment:
            launch(environment)
            claude.fire("SessionStart", alpha)
        claude.fire("SessionStart", alpha, source="resume")
        assert [("first",)] == scopes(SESSION, "task")

    def test_a_resume_in_a_worktree(self, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """A session goes back into its own worktree when it is resumed, though the hook names the launch's folder."""
        one = worktree(alpha, alpha / ".claude" / "worktrees" / "one", "topic")
        claude.fire("SessionStart", one)
        launch(monkeypatch)
        claude.fire("SessionStart", alpha, source="resume")
        inside = (str(one), "one", "topic")
        assert [(*inside, ""), (*inside, "first")] == scopes(SESSION, "cwd", "worktree", "branch", "task")

    def test_a_resume_of_a_session_that_is_not_known(self, alpha: Path, claude: Claude) -> None:
        """A resume may be the first that is heard of a session."""
        claude.fire("SessionStart", alpha, source="resume")
        assert [("alpha", str(alpha))] == scopes(SESSION, "project", "cwd")

    @pytest.mark.parametrize(
        ("folder", "source"), [("one", "resume"), (".claude/worktrees/one", "clear"), (".claude/worktrees/one", "gone")]
    )
    def test_a_session_that_does_not_go_back(self, alpha: Path, claude: Claude, folder: str, source: str) -> None:
        """It does not into a worktree that it did not make, in another start than a resume, or into one that is gone."""
        one = worktree(alpha, alpha / folder, "topic")
        claude.fire("SessionStart", one)
        if source == "gone":
            shutil.rmtree(one)
            source = "resume"
        claude.fire("SessionStart", alpha, source=source)
        assert [(str(one),), (str(alpha),)] == scopes(SESSION, "cwd")

    def test_a_compaction_is_no_launch(
        self, alpha: Path, claude: Claude, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A compaction keeps the task that was set since the launch, whatever the environment still says."""
        launch(monkeypatch)
        claude.fire("SessionStart", alpha)
        engine.amend_scope(SESSION, lambda latest: _on(latest, task="second"), now())
        claude.fire("SessionStart", alpha, source="compact")
        claude.fire("Stop", alpha)
        assert [("first",), ("second",)] == scopes(SESSION, "task")

    def test_an_older_revision(
        self, home: Path, alpha: Path, beta: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A launch on a revision that the session has left behind is refused; where it is goes on record all the same."""
        launch(monkeypatch)
        claude.fire("SessionStart", alpha)
        launch(monkeypatch, AGENTIHOOKS_SWARM_TASK="second")
        claude.fire("SessionStart", alpha, source="resume")
        launch(monkeypatch, AGENTIHOOKS_SWARM_TASK_REVISION="2")
        claude.fire("SessionStart", beta, source="resume")
        recorded = [("alpha", "first", "3"), ("alpha", "second", "3"), ("beta", "second", "3")]
        assert recorded == scopes(SESSION, "project", "task", "task_revision")
        (row,) = rows(home / "logs" / "agentihooks.log")
        assert ("warning", "older_revision", SESSION) == (row["level"], row["code"], row["session_id"])

    def test_an_older_revision_of_a_log_s_first_task(
        self, home: Path, alpha: Path, claude: Claude, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So it is where the highest revision is the only one that was ever recorded."""
        engine.record_scope(SESSION, {"swarm": "fixture", "task": "first", "task_revision": "4"}, at("10:00"))
        launch(monkeypatch)
        claude.fire("SessionStart", alpha)
        assert [("", "4"), ("alpha", "4")] == scopes(SESSION, "project", "task_revision")
        assert 1 == len(reasons(home))


class TestCatchUp:
    """What a transcript tells is read before something is recorded live."""

    def test_a_resume(
        self, alpha: Path, beta: Path, claude: Claude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Moves that no hook told of are not lost to the resume that follows them."""
        claude.write("10:00", alpha)
        claude.write("10:05", beta)
        set_clock(monkeypatch, "10:10")
        claude.fire("SessionStart", tmp_path, source="resume")
        moves = [(str(alpha), at("10:00")), (str(beta), at("10:05"))]
        assert [*moves, (str(tmp_path), "2025-06-01T10:10:00+00:00")] == scopes(SESSION, "cwd", "at")

    def test_a_resume_before_the_last_stop_ran(
        self, alpha: Path, beta: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A Stop that comes after the resume it should have preceded changes nothing that the resume has read."""
        claude.write("10:00", alpha)
        claude.write("10:05", beta)
        set_clock(monkeypatch, "10:10")
        claude.fire("SessionStart", alpha, source="resume")
        expected = scopes(SESSION, "cwd", "at")
        claude.fire("Stop", alpha)
        assert 3 == len(expected)
        assert expected == scopes(SESSION, "cwd", "at")

    def test_the_resume_goes_on_in_the_same_file(
        self, alpha: Path, beta: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What the transcript then tells of the resumed session is what the hook has recorded, and not told twice."""
        claude.write("10:00", alpha)
        set_clock(monkeypatch, "10:10")
        claude.fire("SessionStart", beta, source="resume")
        claude.write("10:11", beta)
        set_clock(monkeypatch, "10:12")
        claude.fire("Stop", beta)
        assert [(str(alpha),), (str(beta),)] == scopes(SESSION, "cwd")

    def test_the_launch_s_task_is_not_that_of_older_entries(
        self, alpha: Path, claude: Claude, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Entries that are older than a resume keep the task that was in force, not the one the resume brings."""
        engine.record_scope(SESSION, {"task": "old", "cwd": "/work"}, at("09:00"))
        claude.write("10:00", alpha)
        launch(monkeypatch)
        claude.fire("SessionStart", alpha, source="resume")
        assert [("old", "/work"), ("old", str(alpha)), ("first", str(alpha))] == scopes(SESSION, "task", "cwd")


class TestMoves:
    """A session's folder, as soon as a hook can know of it."""

    def test_a_change_of_folder(self, alpha: Path, beta: Path, claude: Claude) -> None:
        """A CwdChanged is a move, and takes the task along."""
        claude.fire("SessionStart", alpha)
        claude.fire("CwdChanged", beta, old_cwd=str(alpha), new_cwd=str(beta))
        assert [("alpha", str(alpha)), ("beta", str(beta))] == scopes(SESSION, "project", "cwd")

    def test_a_change_that_is_taken_back(self, alpha: Path, beta: Path, claude: Claude) -> None:
        """Where the session stands says `cwd`: a `cd` that Claude Code takes back is no move, though it is reported."""
        claude.fire("SessionStart", alpha)
        claude.fire("CwdChanged", alpha, old_cwd=str(alpha), new_cwd=str(beta))
        assert [(str(alpha),)] == scopes(SESSION, "cwd")

    def test_a_worktree(self, tmp_path: Path, alpha: Path, claude: Claude) -> None:
        """Entering and leaving a worktree are moves to where the tools' results say, whatever `cwd` still is."""
        one = worktree(alpha, tmp_path / "one", "topic")
        claude.fire("SessionStart", alpha)
        entered = {"worktreePath": str(one), "worktreeBranch": "topic"}
        claude.fire("PostToolUse", alpha, tool_name="EnterWorktree", tool_response=entered)
        left = {"action": "keep", "originalCwd": str(alpha)}
        claude.fire("PostToolUse", one, tool_name="ExitWorktree", tool_response=left)
        outside = ("", "main", str(alpha))
        assert [outside, ("one", "topic", str(one)), outside] == scopes(SESSION, "worktree", "branch", "cwd")

    @pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "PreCompact", "SomethingNew"])
    def test_any_event_elsewhere(self, alpha: Path, beta: Path, claude: Claude, event: str) -> None:
        """Whatever happens in another folder tells of a move, also an event of a later version."""
        claude.fire("SessionStart", alpha)
        claude.fire(event, beta)
        assert [(str(alpha),), (str(beta),)] == scopes(SESSION, "cwd")

    def test_codex_runs_commands_elsewhere(self, alpha: Path, beta: Path) -> None:
        """The folder of one command is no move of a Codex session; that of the next turn is."""
        codex = Codex()
        codex.fire("SessionStart", alpha)
        codex.fire("PostToolUse", beta, tool_name="Bash")
        assert [(str(alpha),)] == scopes(SESSION, "cwd")
        codex.fire("UserPromptSubmit", beta)
        assert [(str(alpha),), (str(beta),)] == scopes(SESSION, "cwd")

    def test_a_move_keeps_the_task(self, alpha: Path, beta: Path, claude: Claude, engine: Engine) -> None:
        """A move is none to another task."""
        claude.fire("SessionStart", alpha)
        engine.amend_scope(SESSION, lambda latest: _on(latest, task="second", swarm="w"), now())
        claude.fire("CwdChanged", beta)
        assert ("beta", "second", "w") == scopes(SESSION, "project", "task", "swarm")[-1]

    @pytest.mark.parametrize("event", ["CwdChanged", "UserPromptSubmit", "Stop"])
    def test_a_move_is_no_launch(  # noqa: PLR0917 - most are fixtures
        self, alpha: Path, beta: Path, claude: Claude, engine: Engine, monkeypatch: pytest.MonkeyPatch, event: str
    ) -> None:
        """Nor is it one back to the task of the launch, which the environment goes on naming."""
        launch(monkeypatch)
        claude.fire("SessionStart", alpha)
        engine.amend_scope(SESSION, lambda latest: _on(latest, task="second"), now())
        claude.fire(event, beta)
        recorded = [("alpha", "first"), ("alpha", "second"), ("beta", "second")]
        assert recorded == scopes(SESSION, "project", "task")

    def test_a_move_to_what_is_gone(self, tmp_path: Path, alpha: Path, claude: Claude) -> None:
        """A folder that was gone before anybody looked is of no project, least of all of the one that was left."""
        claude.fire("SessionStart", alpha)
        claude.fire("CwdChanged", tmp_path / "gone")
        assert ("", "", "", str(tmp_path / "gone")) == scopes(SESSION, "project_id", "project", "branch", "cwd")[-1]

    def test_a_move_back_to_what_is_gone(self, alpha: Path, beta: Path, claude: Claude) -> None:
        """A folder that is gone is of the project that it was recorded with while it existed."""
        claude.fire("SessionStart", alpha)
        claude.fire("CwdChanged", beta)
        shutil.rmtree(alpha)
        claude.fire("CwdChanged", alpha)
        assert [("alpha",), ("beta",), ("alpha",)] == scopes(SESSION, "project")

    def test_the_clock_was_set_back(self, alpha: Path, beta: Path, claude: Claude, engine: Engine) -> None:
        """A move that the clock dates before the latest one is recorded at that one's instant, not lost."""
        engine.record_scope(SESSION, {"cwd": "/work"}, "2999-01-01T00:00:00Z")
        claude.fire("CwdChanged", alpha)
        claude.fire("CwdChanged", beta)
        assert [("/work",), (str(alpha),), (str(beta),)] == scopes(SESSION, "cwd")
        assert {("2999-01-01T00:00:00Z",)} == {*scopes(SESSION, "at")}

    def test_two_terminals(self, alpha: Path, beta: Path, claude: Claude) -> None:
        """One session that is open in two terminals goes to and fro, as they do."""
        for folder in (alpha, beta, alpha, beta):
            claude.fire("UserPromptSubmit", folder)
        assert [(str(alpha),), (str(beta),)] * 2 == scopes(SESSION, "cwd")


class TestStop:
    """A turn that ends: its transcript is read."""

    @pytest.mark.parametrize("event", ["Stop", "StopFailure", "SessionEnd"])
    def test_claude(self, alpha: Path, beta: Path, claude: Claude, event: str) -> None:
        """Each move of the transcript is recorded at its own time."""
        claude.write("10:00", alpha, branch="main")
        claude.write("10:05", alpha, branch="topic")
        claude.write("10:10", beta)
        claude.fire(event, beta)
        moves = [
            (str(alpha), "main", at("10:00")),
            (str(alpha), "topic", at("10:05")),
            (str(beta), "main", at("10:10")),
        ]
        assert moves == scopes(SESSION, "cwd", "branch", "at")

    @pytest.mark.parametrize("event", ["Stop", "Interrupt", "SessionEnd"])
    def test_codex(self, alpha: Path, beta: Path, event: str) -> None:
        """So it is with Codex, also where a turn was interrupted, which Codex does not call a Stop."""
        codex = Codex()
        codex.write("10:00", alpha)
        codex.write("10:05", beta)
        codex.fire(event, beta)
        assert [(str(alpha), at("10:00")), (str(beta), at("10:05"))] == scopes(SESSION, "cwd", "at")

    def test_again(self, alpha: Path, beta: Path, claude: Claude) -> None:
        """A second Stop records nothing; one after a further move records that move alone."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha)
        claude.fire("Stop", alpha)
        assert [(str(alpha),)] == scopes(SESSION, "cwd")
        claude.write("10:05", beta)
        claude.fire("Stop", beta)
        assert [(str(alpha),), (str(beta),)] == scopes(SESSION, "cwd")

    def test_a_task_set_meanwhile(self, alpha: Path, beta: Path, claude: Claude, engine: Engine) -> None:
        """What is read at a Stop never touches the task, neither before nor after the change of it."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha)
        engine.record_scope(SESSION, _on(engine.transitions(SESSION)[-1], task="second"), at("10:04"))
        claude.write("10:05", beta)
        claude.fire("Stop", beta)
        recorded = [(str(alpha), ""), (str(alpha), "second"), (str(beta), "second")]
        assert recorded == scopes(SESSION, "cwd", "task")

    def test_the_launch_fills_in(self, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where nothing is in force the environment's task is."""
        launch(monkeypatch)
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha)
        assert [("fixture", "first", "3", "eng")] == scopes(SESSION, *TASK)

    def test_a_worktree_that_is_gone(self, tmp_path: Path, alpha: Path, claude: Claude) -> None:
        """What is read after a worktree was removed gets the identity that was recorded while it existed."""
        one = worktree(alpha, tmp_path / "one", "topic")
        claude.write("10:00", one, branch="topic")
        claude.fire("Stop", one)
        claude.write("10:05", alpha)
        shutil.rmtree(one)
        claude.write("10:06", one, branch="topic")
        claude.write("10:07", alpha)
        claude.fire("Stop", alpha)
        inside, outside = ("alpha", "one", "topic"), ("alpha", "", "main")
        assert [inside, outside, inside, outside] == scopes(SESSION, "project", "worktree", "branch")

    def test_a_worktree_that_was_never_seen(self, tmp_path: Path, claude: Claude) -> None:
        """Of a folder that was gone before anybody looked, nothing is known but its path and branch."""
        claude.write("10:00", tmp_path / "one", branch="topic")
        claude.fire("Stop", tmp_path)
        assert ("", str(tmp_path / "one"), "topic") == scopes(SESSION, "project_id", "cwd", "branch")[0]

    @pytest.mark.parametrize("event", ["SessionStart", "Stop", "UserPromptSubmit"])
    def test_a_session_that_stands_in_what_is_gone(
        self, home: Path, tmp_path: Path, alpha: Path, claude: Claude, event: str
    ) -> None:
        """A session whose folder was removed under it stays in the project that the folder belonged to."""
        one = worktree(alpha, tmp_path / "one", "topic")
        claude.fire("SessionStart", one)
        shutil.rmtree(one)
        claude.fire(event, one, source="compact")
        assert [("alpha", "one", "topic")] == scopes(SESSION, "project", "worktree", "branch")
        assert ["alpha"] == [row["project"] for row in rows(home / "brain" / "project-sessions.jsonl")]

    def test_a_shorter_transcript(self, alpha: Path, beta: Path, claude: Claude) -> None:
        """A transcript that was replaced by a shorter one is read from its beginning; old moves are not told again."""
        first = claude.line("10:00", alpha)
        claude.append(first + claude.line("10:01", alpha) + claude.line("10:02", alpha))
        claude.fire("Stop", alpha)
        claude.path.write_bytes(first + claude.line("10:05", beta))
        claude.fire("Stop", beta)
        assert [(str(alpha), at("10:00")), (str(beta), at("10:05"))] == scopes(SESSION, "cwd", "at")

    def test_a_damaged_transcript(self, home: Path, alpha: Path, beta: Path, claude: Claude) -> None:
        """A damaged line costs itself; a torn last one is read when it is whole."""
        torn = claude.line("10:05", beta)
        claude.append(claude.line("10:00", alpha) + b"\xff\0{{\n" + torn[:50])
        claude.fire("Stop", alpha)
        assert [(str(alpha),)] == scopes(SESSION, "cwd")
        claude.append(torn[50:])
        claude.fire("Stop", beta)
        assert [(str(alpha), at("10:00")), (str(beta), at("10:05"))] == scopes(SESSION, "cwd", "at")
        assert [] == reasons(home)


class TestTranscriptElsewhere:
    """A transcript that is not where the payload says."""

    @pytest.mark.parametrize("named", ["/nowhere/else.jsonl", "", None], ids=["moved", "empty", "null"])
    def test_claude(self, home: Path, alpha: Path, named: str | None) -> None:
        """It is found by its session's id, over all project folders."""
        Claude("another").write("10:00", "/elsewhere")
        claude = Claude(project="-some-other-project")
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha, transcript_path=named)
        assert [(str(alpha), at("10:00"))] == scopes(SESSION, "cwd", "at")
        assert [] == reasons(home)

    @pytest.mark.parametrize("folder", ["sessions/2025/07/02", "archived_sessions"])
    def test_codex(self, alpha: Path, folder: str) -> None:
        """So it is with Codex, also where the session was archived."""
        codex = Codex()
        codex.write("10:00", alpha)
        target = codex.path.parents[4] / folder / codex.path.name
        target.parent.mkdir(parents=True)
        codex.path.rename(target)
        codex.fire("Stop", alpha, transcript_path=None)
        assert [(str(alpha), at("10:00"))] == scopes(SESSION, "cwd", "at")

    def test_renamed_under_way(self, alpha: Path, beta: Path, claude: Claude) -> None:
        """A file that was moved to another project goes on where the last pass over it ended."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha)
        moved = claude.path.parents[1] / "-moved" / claude.path.name
        moved.parent.mkdir()
        claude.path.rename(moved)
        old, claude.path = claude.path, moved
        claude.write("10:05", beta)
        claude.fire("Stop", beta, transcript_path=str(old))
        assert [(str(alpha), at("10:00")), (str(beta), at("10:05"))] == scopes(SESSION, "cwd", "at")

    def test_the_newest_of_several(self, alpha: Path, beta: Path, claude: Claude) -> None:
        """Of several files of one session the one that was written to last is read."""
        stub = Claude(project="-stub")
        stub.write("09:00", alpha)
        os.utime(stub.path, (0, 0))
        claude.write("10:00", beta)
        claude.fire("Stop", beta, transcript_path="/nowhere")
        assert [(str(beta),)] == scopes(SESSION, "cwd")

    def test_nowhere(self, home: Path, alpha: Path, claude: Claude) -> None:
        """A session without a transcript is no error: what the payload says is recorded."""
        claude.fire("Stop", alpha)
        assert [(str(alpha),)] == scopes(SESSION, "cwd")
        assert [] == reasons(home)

    def test_the_row_names_the_file_that_was_found(self, home: Path, alpha: Path, beta: Path, claude: Claude) -> None:
        """Claude Code names a file that does not exist when a session is resumed elsewhere: the true one is noted."""
        claude.write("10:00", alpha)
        claude.fire("SessionStart", beta, source="resume", transcript_path="/nowhere.jsonl")
        assert str(claude.path) == rows(home / "brain" / "project-sessions.jsonl")[-1]["transcript_path"]

    def test_empty(self, home: Path, alpha: Path, claude: Claude) -> None:
        """Nor is a transcript that nothing was written to yet."""
        claude.append(b"")
        claude.fire("Stop", alpha)
        assert [(str(alpha),)] == scopes(SESSION, "cwd")
        assert [] == reasons(home)

    @pytest.mark.parametrize("content", [b"not JSON\n", b'{"some": "thing"}\n', b"\0" * 100], ids=repr)
    def test_no_transcript(self, home: Path, alpha: Path, claude: Claude, content: bytes) -> None:
        """A file that is something else is a reason for the log, and does not keep the place from being recorded."""
        claude.append(content)
        claude.fire("Stop", alpha)
        assert [(str(alpha),)] == scopes(SESSION, "cwd")
        assert 1 == len(reasons(home))
        assert reasons(home)[0].startswith(f"NotATranscript: {claude.path}: no transcript")

    def test_a_search_that_fails(self, home: Path, alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A plugin that raises while it searches is named in the log."""

        def find(*_: object) -> None:
            raise RuntimeError("lost")

        monkeypatch.setattr(agentihooks_claude.files, "find_transcripts", find)
        Claude().fire("Stop", alpha)
        assert [(str(alpha),)] == scopes(SESSION, "cwd")
        assert ["plugin claude: agentihooks_find_transcripts raised RuntimeError('lost')"] == reasons(home)


class TestSubagents:
    """Whoever works for a session has a log of its own."""

    def test_a_start(self, alpha: Path, beta: Path, claude: Claude, engine: Engine) -> None:
        """A subagent starts on its session's task, in a folder of its own."""
        claude.fire("SessionStart", alpha)
        engine.amend_scope(SESSION, lambda latest: _on(latest, task="second"), now())
        Claude(agent_id="a1").fire("PreToolUse", beta)
        assert [(str(alpha), ""), (str(alpha), "second")] == scopes(SESSION, "cwd", "task")
        assert [(str(beta), "second")] == scopes(f"{SESSION}.agent-a1", "cwd", "task")

    def test_before_its_session(self, alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a subagent whose session has no scope yet, the launch environment says the task."""
        launch(monkeypatch)
        Claude(agent_id="a1").fire("PreToolUse", alpha)
        assert [("first",)] == scopes(f"{SESSION}.agent-a1", "task")

    def test_before_its_start(self, alpha: Path, beta: Path) -> None:
        """Its first line is older than any of its hooks: where it began is read, not taken from the first of them."""
        agent = Claude(agent_id="a1")
        agent.write("10:00", alpha)
        agent.fire("SubagentStart", alpha)
        assert [] == scopes(f"{SESSION}.agent-a1", "cwd")
        agent.fire("PostToolUse", beta)
        agent.fire("PostToolUse", alpha)
        moves = [(str(alpha), at("10:00")), (str(beta), ANY), (str(alpha), ANY)]
        assert moves == scopes(f"{SESSION}.agent-a1", "cwd", "at")

    def test_its_moves(self, alpha: Path, beta: Path, claude: Claude) -> None:
        """A subagent's folder never moves its session, nor does its session move it."""
        agent = Claude(agent_id="a1")
        claude.fire("SessionStart", alpha)
        agent.fire("PreToolUse", alpha)
        agent.fire("PostToolUse", beta)
        claude.fire("CwdChanged", alpha / ".git")
        assert [(str(alpha),), (str(alpha / ".git"),)] == scopes(SESSION, "cwd")
        assert [(str(alpha),), (str(beta),)] == scopes(f"{SESSION}.agent-a1", "cwd")

    @pytest.mark.parametrize("agent_id", ["a1", "agent-a1"])
    def test_its_end(self, alpha: Path, beta: Path, claude: Claude, agent_id: str) -> None:
        """Its own file is read into its own log, however its id is spelled."""
        claude.write("10:00", alpha)
        agent = Claude(agent_id="a1")
        agent.write("10:01", beta)
        agent.write("10:02", alpha)
        agent.fire("SubagentStop", alpha, agent_id=agent_id)
        assert [] == scopes(SESSION, "cwd")
        moves = [(str(beta), at("10:01")), (str(alpha), at("10:02"))]
        assert moves == scopes(f"{SESSION}.agent-a1", "cwd", "at")

    @pytest.mark.parametrize("agent_id", ["a1", "agent-a1"])
    def test_its_file_is_found(self, alpha: Path, agent_id: str) -> None:
        """Its file is found by the session's and its own id where the payload does not name it."""
        agent = Claude(agent_id="a1")
        agent.write("10:01", alpha)
        Claude(agent_id="a2").write("10:01", "/elsewhere")
        agent.fire("SubagentStop", alpha, agent_id=agent_id, agent_transcript_path=None)
        assert [(str(alpha), at("10:01"))] == scopes(f"{SESSION}.agent-a1", "cwd", "at")

    def test_it_may_go_on(self, home: Path, alpha: Path, beta: Path) -> None:
        """A subagent that has stopped is over until its next event."""
        agent = Claude(agent_id="a1")
        agent.fire("SubagentStop", alpha)
        assert session_state.read(str(home), f"{SESSION}.agent-a1")["is_ended"]
        agent.fire("PostToolUse", beta)
        assert not session_state.read(str(home), f"{SESSION}.agent-a1")["is_ended"]

    def test_whoever_summarises(self, home: Path, logs: Path, alpha: Path, claude: Claude) -> None:
        """An agent that sums up for a compaction has no log, no state, and nothing to say."""
        claude.fire("SessionStart", alpha)
        summary = {"agent_type": "", "last_assistant_message": "<!-- @lesson -->Sum.<!-- @/lesson -->"}
        Claude(agent_id="a1").fire("SubagentStop", alpha, **summary)
        assert [f"{SESSION}.jsonl", f"{SESSION}.lock"] == sorted(path.name for path in logs.iterdir())
        assert [f"{SESSION}.json"] == [path.name for path in (home / "state" / "sessions").iterdir()]
        assert not (home / "brain-outbox").exists()

    def test_no_row(self, home: Path, alpha: Path) -> None:
        """The table of sessions has none for it."""
        Claude(agent_id="a1").fire("SubagentStop", alpha)
        assert [] == rows(home / "brain" / "project-sessions.jsonl")


class TestProjectSessions:
    """The table of sessions, which older programs read."""

    def test_a_row(self, home: Path, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row says what project a session is in, since when it runs, and where its transcript is."""
        set_clock(monkeypatch, "10:00")
        claude.fire("SessionStart", alpha)
        expected = {
            "session_id": SESSION,
            "project": "alpha",
            "repo": "fixture/alpha",
            "worktree": "",
            "cwd": str(alpha),
            "remote": "https://github.com/fixture/alpha.git",
            "project_id": "github.com/fixture/alpha",
            "started_at": "2025-06-01T10:00:00+00:00",
            "agent": "claude",
            "transcript_path": str(claude.path),
        }
        path = home / "brain" / "project-sessions.jsonl"
        assert [expected] == rows(path)
        assert list(expected) == list(rows(path)[0])
        assert 0o600 == path.stat().st_mode & 0o777

    def test_changes(
        self, home: Path, alpha: Path, beta: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """There is one row for each change, the last one counts, and the session's start stays."""
        for clock, folder in (("10:00", alpha), ("10:01", alpha), ("10:02", beta), ("10:03", beta), ("10:04", alpha)):
            set_clock(monkeypatch, clock)
            claude.fire("Stop", folder)
        written = rows(home / "brain" / "project-sessions.jsonl")
        assert ["alpha", "beta", "alpha"] == [row["project"] for row in written]
        assert {"2025-06-01T10:00:00+00:00"} == {row["started_at"] for row in written}

    def test_a_transcript_that_moved(self, home: Path, alpha: Path, claude: Claude) -> None:
        """A new path of the transcript is a change."""
        claude.fire("Stop", alpha)
        claude.fire("Stop", alpha, transcript_path="/elsewhere.jsonl")
        paths = [row["transcript_path"] for row in rows(home / "brain" / "project-sessions.jsonl")]
        assert [str(claude.path), "/elsewhere.jsonl"] == paths

    def test_no_folder(self, home: Path, claude: Claude) -> None:
        """An event without a folder has nothing to say there."""
        claude.fire("Stop", "")
        assert [] == rows(home / "brain" / "project-sessions.jsonl")


class TestRollback:
    """`AGENTIHOOKS_SESSION_SCOPE=0`, and back."""

    EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")

    def test_nothing_is_recorded(
        self, home: Path, logs: Path, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No transition is written, also none that a transcript tells; the row in the table of sessions is."""
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        claude.write("10:00", alpha)
        for event in self.EVENTS:
            claude.fire(event, alpha)
        assert [] == list(logs.glob("*"))
        assert ["alpha"] == [row["project"] for row in rows(home / "brain" / "project-sessions.jsonl")]
        assert [] == reasons(home)

    @pytest.mark.parametrize("value", ["", "1", "00", "0 ", " 0", "false", "no", "off", "0.0"])
    def test_only_0_counts(self, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
        """Any other value leaves scopes on."""
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", value)
        claude.fire("SessionStart", alpha)
        assert [("alpha",)] == scopes(SESSION, "project")

    def test_the_log_stays(
        self, logs: Path, alpha: Path, beta: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was recorded before is history: left as it is to the byte."""
        claude.fire("SessionStart", alpha)
        before = (logs / f"{SESSION}.jsonl").read_bytes()
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        for event in self.EVENTS:
            claude.fire(event, beta)
        assert before == (logs / f"{SESSION}.jsonl").read_bytes()

    def test_and_back(
        self, alpha: Path, beta: Path, tmp_path: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Switched on again, the next Stop records what the transcript tells of the time between, at its own time."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha)
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        claude.write("10:05", beta)
        claude.fire("Stop", beta)
        monkeypatch.delenv("AGENTIHOOKS_SESSION_SCOPE")
        claude.write("10:10", tmp_path)
        claude.fire("Stop", tmp_path)
        moves = [(str(alpha), at("10:00")), (str(beta), at("10:05")), (str(tmp_path), at("10:10"))]
        assert moves == scopes(SESSION, "cwd", "at")

    def test_back_in_the_same_folder(self, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """A session that began under rollback is recorded from its next turn on."""
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        claude.fire("SessionStart", alpha)
        monkeypatch.delenv("AGENTIHOOKS_SESSION_SCOPE")
        claude.fire("Stop", alpha)
        assert [("alpha",)] == scopes(SESSION, "project")


@pytest.mark.parametrize("cwd", [".", "sub", "../x", "~"])
def test_a_relative_folder(home: Path, claude: Claude, alpha: Path, monkeypatch: pytest.MonkeyPatch, cwd: str) -> None:
    """A folder that only the agent could find tells nothing, least of all where the hook's own process is."""
    monkeypatch.chdir(alpha)
    claude.fire("SessionStart", cwd)
    claude.write("10:00", cwd)
    claude.fire("Stop", cwd)
    assert [(cwd, "", "")] == scopes(SESSION, "cwd", "project", "project_id")
    assert [] == reasons(home)


def test_a_swarm_alone_is_no_task(alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who resumes a session within its swarm, and names no task, leaves it on its own."""
    launch(monkeypatch)
    claude.fire("SessionStart", alpha)
    monkeypatch.delenv("AGENTIHOOKS_SWARM_TASK")
    claude.fire("SessionStart", alpha, source="resume")
    assert [("fixture", "first")] == scopes(SESSION, "swarm", "task")
    monkeypatch.setenv("AGENTIHOOKS_SWARM", "another")
    claude.fire("SessionStart", alpha, source="resume")
    assert [("fixture", "first"), ("another", "")] == scopes(SESSION, "swarm", "task")


def test_an_agent_id_of_another_type(alpha: Path, claude: Claude) -> None:
    """An id that is none is as good as not there."""
    claude.fire("PostToolUse", alpha, agent_id=7)
    assert [(str(alpha),)] == scopes(SESSION, "cwd")


def test_each_failure_is_told(home: Path, alpha: Path, claude: Claude) -> None:
    """What fails in one event is told once, all of it."""
    home.mkdir()
    for name in ("brain", "brain-outbox"):
        (home / name).write_text("in the way")
    claude.say("10:00", alpha, "<!-- @lesson -->Pin it.<!-- @/lesson -->")
    claude.fire("Stop", alpha)
    # The scope log, the table of sessions; and the outbox, told of by its plugin.
    blamed = ("brain/session-scopes'", "brain/project-sessions.lock'", "agentihooks_deliver_markers raised NotADir")
    told = reasons(home)
    assert [[True, False, False], [False, True, False], [False, False, True]] == [
        [part in reason for part in blamed] for reason in told
    ]


def test_a_place_that_is_refused(home: Path, claude: Claude) -> None:
    """A folder with a name beyond all measure is refused; that is a reason, and the session is noted all the same."""
    claude.fire("Stop", f"/{'x' * 5000}")
    assert [] == scopes(SESSION, "cwd")
    assert ["ScopeRefused: cwd is longer than 4096 characters; shorten it"] == reasons(home)
    assert 1 == len(rows(home / "brain" / "project-sessions.jsonl"))


class TestTime:
    """What a hook may take."""

    @pytest.mark.parametrize(
        ("value", "expected"), [(None, 2.0), ("0.5", 0.5), ("0", 0.0), ("-1", 0.0), ("x", 2.0), ("", 2.0)]
    )
    def test_the_brain_s_share(self, value: str | None, expected: float) -> None:
        """How much of it a brain may take says the environment; what is no number says nothing."""
        environ = {} if value is None else {"AGENTIHOOKS_DRAIN_BUDGET": value}
        assert expected == live.drain_budget_s(environ)

    def test_the_limit(self) -> None:
        """Whatever waits in it is stopped; afterwards nothing of it is left."""
        with pytest.raises(OutOfTime, match=r"not done within 0\.01 s"), time_limit(0.01):
            threading.Event().wait()
        before = signal.getsignal(signal.SIGALRM)
        with time_limit(60):
            assert before != signal.getsignal(signal.SIGALRM)
        assert (before, 0.0) == (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0])

    def test_a_plugin_cannot_hold_it_up(self, home: Path, alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A plugin that does not come back is stopped as well, and its fault is not mistaken for the reason."""
        monkeypatch.setattr(agentihooks_claude.files, "find_transcripts", lambda *_: threading.Event().wait())
        monkeypatch.setattr("agentihooks_claude.payload._BUDGETS_S", {"stop": 0.01})
        Claude().fire("Stop", alpha)
        assert ["OutOfTime: not done within 0.01 s"] == reasons(home)

    def test_what_is_left_undone(self, alpha: Path, monkeypatch: pytest.MonkeyPatch, claude: Claude) -> None:
        """What a hook had no time for, the next one does."""
        claude.write("10:00", alpha)
        with monkeypatch.context() as patched:
            patched.setattr(live, "find_transcript", lambda *_: threading.Event().wait())
            patched.setattr("agentihooks_claude.payload._BUDGETS_S", {"end": 0.01})
            claude.fire("SessionEnd", alpha)
        assert [] == scopes(SESSION, "at")
        claude.fire("Stop", alpha)
        assert [(at("10:00"),)] == scopes(SESSION, "at")


class Stranger:
    """A plugin for an agent whose payloads have other names for everything."""

    @staticmethod
    @hookimpl
    def agentihooks_parse_payload(payload: Mapping[str, Any]) -> HookEvent | None:
        """Read a payload."""
        if payload["what"] == "nothing":
            return None
        return HookEvent(kind="move", name=payload["what"], session_id=payload["thread"], cwd=payload["dir"])


def test_another_agent(home: Path, alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that the engine does not know is added by a plugin alone, whatever its payloads look like."""
    plugins = Plugins({"stranger": Stranger})  # type: ignore[dict-item] # any object can be a plugin
    monkeypatch.setattr(Plugins, "installed", lambda: plugins)
    fire({"what": "moved", "thread": "t1", "dir": str(alpha)}, "stranger")
    fire({"what": "nothing"}, "stranger")
    assert [("alpha",)] == scopes("t1", "project")
    assert "stranger" == json.loads((home / "state" / "sessions" / "t1.json").read_text())["agent"]
    assert ["info"] == [row["level"] for row in rows(home / "logs" / "agentihooks.log")]


def _on(latest: Transition | None, **task: str) -> Scope:
    """Return the scope in force with another task."""
    assert latest is not None
    return Scope.of({**latest.scope.as_dict(), **task})
