"""A task change in mid-session: what changes, what stays, and for whom."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import Engine, ScopeRefused
from agentihooks.change import change_task
from agentihooks.testing import refusal_of
from tests.sessions import SESSION, Claude, Codex, at, reasons, repository, rows, scopes, set_clock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentihooks import Transition

TASK = ("swarm", "task", "task_revision", "lane")


@pytest.fixture
def alpha(tmp_path: Path) -> Path:
    """Return a checkout of the project alpha."""
    return repository(tmp_path / "alpha")


@pytest.fixture
def claude(alpha: Path, monkeypatch: pytest.MonkeyPatch) -> Claude:
    """Return a session that runs since 10:00, in alpha, on the first revision of a swarm's first task."""
    claude = Claude()
    with monkeypatch.context() as environment:
        for name, value in {"": "w", "_TASK": "first", "_TASK_REVISION": "1", "_LANE": "eng"}.items():
            environment.setenv(f"AGENTIHOOKS_SWARM{name}", value)
        set_clock(environment, "10:00")
        claude.fire("SessionStart", alpha)
    return claude


def change(
    task: str = "second",
    revision: str | None = None,
    session: str | None = SESSION,
    when: str | None = None,
    environ: Mapping[str, str] = os.environ,
    **fields: str,
) -> Transition | None:
    """Change a task, as `agentihooks scope set` does."""
    values = {"task": task, "task_revision": revision, "lane": None, "swarm": None, **fields}
    home = os.environ["AGENTIHOOKS_HOME"]
    return change_task(home, Engine.at_home(home), values, environ, session_id=session, at=when)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"task": "second"}, ("w", "second", "", "eng")),
        ({"task": "second", "revision": "7"}, ("w", "second", "7", "eng")),
        ({"task": "first", "revision": "2"}, ("w", "first", "2", "eng")),
        ({"task": "first", "lane": "ci"}, ("w", "first", "1", "ci")),
        ({"task": "first", "swarm": "v"}, ("v", "first", "1", "eng")),
        ({"task": "", "swarm": "", "lane": ""}, ("", "", "", "")),
    ],
    ids=["task", "task and revision", "revision", "lane", "swarm", "none"],
)
def test_what_changes(claude: Claude, alpha: Path, fields: Mapping[str, Any], expected: tuple[str, ...]) -> None:
    """What is named changes, what is not stays, but that a new task's revision is not the old one's; so does the place."""
    assert change(**fields) is not None
    assert [("w", "first", "1", "eng"), expected] == scopes(SESSION, *TASK)
    assert {("alpha", str(alpha), "main")} == {*scopes(SESSION, "project", "cwd", "branch")}


def test_a_time_ahead(claude: Claude) -> None:
    """Nothing is recorded for a time to come: until then nothing else could be."""
    with pytest.raises(ValueError, match="2999-01-01T00:00:00Z lies ahead"):
        change(when="2999-01-01T00:00:00Z")
    assert 1 == len(scopes(SESSION, "at"))


def test_nothing_changes(claude: Claude) -> None:
    """A change to what is in force is none."""
    assert change("first") is None
    assert 1 == len(scopes(SESSION, "at"))


def test_the_next_stop_keeps_it(claude: Claude, alpha: Path, tmp_path: Path) -> None:
    """Neither a turn that ends nor a move brings the old task back."""
    change()
    claude.write("10:30", alpha)
    claude.fire("Stop", alpha)
    claude.fire("CwdChanged", tmp_path)
    assert ["first", "second", "second"] == [task for (task,) in scopes(SESSION, "task")]


def test_catching_up_first(claude: Claude, alpha: Path, tmp_path: Path) -> None:
    """Moves that are older than the change are recorded before it, on the old task."""
    claude.write("10:01", alpha)
    claude.write("10:05", tmp_path)
    change()
    expected = [(str(alpha), "first"), (str(tmp_path), "first"), (str(tmp_path), "second")]
    assert expected == scopes(SESSION, "cwd", "task")
    assert at("10:05") == scopes(SESSION, "at")[1][0]


def test_catching_up_with_a_transcript_that_moved(claude: Claude, tmp_path: Path) -> None:
    """The transcript is found wherever it has gone."""
    moved = Claude(project="-moved")
    moved.write("10:05", tmp_path)
    change()
    assert [("first",), ("first",), ("second",)] == scopes(SESSION, "task")


@pytest.mark.parametrize("content", [b"no JSON\n", b"", None], ids=["no transcript", "empty", "a directory"])
def test_a_transcript_that_cannot_be_read(home: Path, claude: Claude, content: bytes | None) -> None:
    """A transcript that cannot be read does not keep a task from being changed; of one that should be, the log tells."""
    if content is None:
        claude.path.mkdir(parents=True)
    else:
        claude.append(content)
    change()
    assert [("first",), ("second",)] == scopes(SESSION, "task")
    assert bool(content) == len(reasons(home))


@pytest.mark.parametrize("agent", [Claude, Codex])
def test_a_session_that_no_hook_told_of(tmp_path: Path, agent: type[Claude | Codex]) -> None:
    """A session is known by its transcript alone."""
    agent().write("10:00", tmp_path)
    change()
    assert [("", str(tmp_path)), ("second", str(tmp_path))] == scopes(SESSION, "task", "cwd")


def test_a_session_that_nobody_knows() -> None:
    """A session of which nothing is known yet may have a task, and no place."""
    change("second", "1", swarm="w")
    assert [("w", "second", "1", "", "")] == scopes(SESSION, *TASK, "cwd")


def test_the_time(claude: Claude, tmp_path: Path) -> None:
    """A change may be dated, at the latest transition's time or later; its text is kept."""
    change(when="2025-06-01T12:30:00+02:00")
    assert "2025-06-01T12:30:00+02:00" == scopes(SESSION, "at")[-1][0]


def test_a_clock_that_was_set_back(claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change now is in force from now on, whatever a clock of yesterday dated the latest transition."""
    set_clock(monkeypatch, "09:00")
    change()
    assert [("first",), ("second",)] == scopes(SESSION, "task")


REFUSALS: Mapping[str, Mapping[str, Any]] = {
    "older_revision": {"task": "first", "revision": "0"},
    "older_transition": {"when": at("09:59")},
    "bad_time": {"when": "yesterday"},
    "bad_scope": {"task": "x" * 5000},
    "unsafe_session_id": {"session": "../s"},
}


@pytest.mark.parametrize(("code", "arguments"), REFUSALS.items(), ids=REFUSALS)
def test_refusals(home: Path, claude: Claude, code: str, arguments: Mapping[str, Any]) -> None:
    """What is refused changes nothing, and the engine's log says what was, unless it was about nobody."""
    refusal = refusal_of(lambda: change(**arguments))
    assert refusal is not None
    assert code == refusal.code
    assert [("first",)] == scopes(SESSION, "task")
    noted = [row["code"] for row in rows(home / "logs" / "agentihooks.log")]
    assert ([] if code == "unsafe_session_id" else [code]) == noted


class TestWhose:
    """Whose task changes."""

    @pytest.mark.parametrize("name", ["CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID"])
    def test_an_agent_s_shell(self, claude: Claude, name: str) -> None:
        """In an agent's shell it is that of the agent's session."""
        change(session=None, environ={name: SESSION})
        assert ("second",) == scopes(SESSION, "task")[-1]

    def test_a_name_is_stronger(self, claude: Claude) -> None:
        """A session that is named is meant, in whatever shell."""
        change(session="another", environ={"CLAUDE_CODE_SESSION_ID": SESSION})
        assert [("first",)] == scopes(SESSION, "task")
        assert [("second",)] == scopes("another", "task")

    @pytest.mark.parametrize("environ", [{}, {"CLAUDE_CODE_SESSION_ID": ""}], ids=["none", "empty"])
    def test_no_shell(self, home: Path, environ: Mapping[str, str]) -> None:
        """Anywhere else a session has to be named."""
        with pytest.raises(ValueError, match="no session: name one with --session"):
            change(session=None, environ=environ)
        assert not home.exists()

    def test_a_shell_with_an_unsafe_session(self, home: Path) -> None:
        """An environment is not believed to name a file."""
        with pytest.raises(ScopeRefused):
            change(session=None, environ={"CLAUDE_CODE_SESSION_ID": "../s"})
        assert not home.exists()

    @pytest.mark.parametrize("is_named", [True, False], ids=["from outside", "in its shell"])
    def test_the_launch_of_whoever_asks(self, tmp_path: Path, *, is_named: bool) -> None:
        """An orchestrator's own task is not that of the session it names; in the session's shell it is the session's."""
        Claude().write("10:00", tmp_path)
        own = {"AGENTIHOOKS_SWARM": "own", "AGENTIHOOKS_SWARM_TASK": "own", "AGENTIHOOKS_SWARM_LANE": "own"}
        environ = {**os.environ, **own, "CLAUDE_CODE_SESSION_ID": SESSION}
        change(session=SESSION if is_named else None, environ=environ)
        before, after = scopes(SESSION, *TASK)
        assert (("", "", "", "") if is_named else ("own", "own", "", "own")) == before
        assert (("", "second", "", "") if is_named else ("own", "second", "", "own")) == after


class TestSubagents:
    """Whoever works for the session."""

    @pytest.fixture
    def agent(self, claude: Claude, alpha: Path) -> Claude:
        """Return a subagent at work."""
        agent = Claude(agent_id="a1")
        agent.fire("PreToolUse", alpha / ".git")
        return agent

    def test_they_come_along(self, agent: Claude, alpha: Path) -> None:
        """A subagent at work goes on to its session's new task, where it is."""
        change("second", "5")
        place = str(alpha / ".git")
        expected = [("first", "1", place), ("second", "5", place)]
        assert expected == scopes(f"{SESSION}.agent-a1", "task", "task_revision", "cwd")

    def test_one_that_just_began(self, claude: Claude, alpha: Path) -> None:
        """One of whom nothing is recorded yet began on the task of that time, and comes along from there."""
        agent = Claude(agent_id="a1")
        agent.write("10:30", alpha)
        agent.fire("SubagentStart", alpha)
        change()
        agent.fire("PreToolUse", alpha)
        assert [("first",), ("second",)] == scopes(f"{SESSION}.agent-a1", "task")

    def test_one_that_has_stopped(self, agent: Claude, alpha: Path) -> None:
        """One that has stopped does not."""
        agent.fire("SubagentStop", alpha / ".git")
        change()
        assert [("first",)] == scopes(f"{SESSION}.agent-a1", "task")

    def test_one_with_a_task_of_its_own(self, agent: Claude) -> None:
        """Nor does one that was given a task of its own."""
        change("own", session=f"{SESSION}.agent-a1")
        change()
        assert [("first",), ("own",)] == scopes(f"{SESSION}.agent-a1", "task")
        assert [("first",), ("second",)] == scopes(SESSION, "task")

    def test_a_change_of_another_time(self, agent: Claude) -> None:
        """A change that is dated is the session's alone: where its subagents were then is not known."""
        change(when="2026-01-01T00:00:00Z")
        assert [("first",)] == scopes(f"{SESSION}.agent-a1", "task")

    def test_one_of_another_session(self, agent: Claude, alpha: Path) -> None:
        """Other sessions' subagents are none of its business."""
        Claude("another", agent_id="a1").fire("PreToolUse", alpha)
        change()
        assert [("",)] == scopes("another.agent-a1", "task")

    def test_one_without_a_log(self, home: Path, agent: Claude) -> None:
        """One that has no log follows its session anyway."""
        (home / "brain" / "session-scopes" / f"{SESSION}.agent-a1.jsonl").unlink()
        change()
        assert [] == scopes(f"{SESSION}.agent-a1", "task")
