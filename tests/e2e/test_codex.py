"""Codex itself, with our hooks in its settings: the log holds the right scope on both sides of each change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .model_server import bash, call, say

if TYPE_CHECKING:
    from pathlib import Path

    from agentihooks_outbox.testing import FakeBrain

    from .agents import Codex, Command
    from .model_server import Answer, ModelServer

FIRST = {"AGENTIHOOKS_SWARM_TASK": "first"}
LESSON = "<!-- @lesson -->Pin the version.<!-- @/lesson -->"


def test_launch(codex: Codex, agentihooks: Command, alpha: Path) -> None:
    """A session starts in the project it was launched in, on the task that its environment names."""
    environ = {
        **FIRST,
        "AGENTIHOOKS_SWARM_TASK_REVISION": "1",
        "AGENTIHOOKS_SWARM": "fixture",
        "AGENTIHOOKS_SWARM_LANE": "eng",
    }
    session = codex.run(alpha, say("Done."), environ=environ)
    fields = ("project_id", "repo", "cwd", "branch", "swarm", "task", "task_revision", "lane")
    scope = ("github.com/fixture/alpha", "fixture/alpha", str(alpha), "main", "fixture", "first", "1", "eng")
    assert [scope] == agentihooks.scopes(session.id, *fields)
    assert {scope: {"scoped": 2}} == agentihooks.labels(session, *fields)


def test_resume_elsewhere(codex: Codex, agentihooks: Command, alpha: Path, beta: Path) -> None:
    """A session that is resumed in another project leaves what it did in the first one there."""
    session = codex.run(alpha, bash("pwd"), say("Done."))
    codex.run(beta, bash("pwd"), say("Done."), resume=session.id)
    launched, resumed = ("alpha", "main", str(alpha)), ("beta", "main", str(beta))
    # Codex tells the folder before its hook runs, and never the branch, which only the hook can look up.
    told = ("beta", "", str(beta))
    assert [launched, told, resumed] == agentihooks.scopes(session.id, "project", "branch", "cwd")
    labels = agentihooks.labels(session, "project", "branch", "cwd")
    assert {launched: {"scoped": 3}, resumed: {"scoped": 3}} == labels


def test_command_elsewhere(codex: Codex, agentihooks: Command, alpha: Path) -> None:
    """A command that runs in a folder of its own does not move the session."""
    session = codex.run(alpha, call("exec_command", cmd="pwd", workdir="sub"), bash("pwd"), say("Done."))
    assert [(str(alpha),)] == agentihooks.scopes(session.id, "cwd")


def test_subagent(codex: Codex, model: ModelServer, agentihooks: Command, alpha: Path) -> None:
    """A subagent works on its parent's task, in its parent's folder."""

    def wait(spawned: str) -> Answer:
        return call("wait_agent", targets=[json.loads(spawned)["agent_id"]])

    spawn = call("spawn_agent", message=model.prompt(bash("pwd"), say("Done.")))
    session = codex.run(alpha, spawn, wait, say("Done."), environ=FIRST)
    scope = ("alpha", "main", "first")
    assert [scope] == agentihooks.scopes(session.id, "project", "branch", "task")
    assert {scope: {"scoped": 4 + 3}} == agentihooks.labels(session, "project", "branch", "task")


def test_compaction(codex: Codex, agentihooks: Command, alpha: Path) -> None:
    """A compaction in mid-turn leaves the task, whatever the launch said."""
    change = bash(agentihooks.line("scope", "set", "--task", "second"))
    session = codex.run(alpha, change, bash("pwd", tokens=400_000), bash("pwd"), say("Done."), environ=FIRST)
    assert '"type":"compacted"' in session.transcript.read_text()
    before, after = ("first", str(alpha)), ("second", str(alpha))
    assert [before, after] == agentihooks.scopes(session.id, "task", "cwd")
    assert {before: {"scoped": 2}, after: {"scoped": 3}} == agentihooks.labels(session, "task", "cwd")


def test_task_change_by_the_agent(codex: Codex, agentihooks: Command, alpha: Path) -> None:
    """An agent changes its task in its own shell, which knows the session."""
    change = bash(agentihooks.line("scope", "set", "--task", "second", "--revision", "2"))
    session = codex.run(alpha, change, bash("pwd"), say("Done."), environ=FIRST)
    before, after = ("first", ""), ("second", "2")
    assert [before, after] == agentihooks.scopes(session.id, "task", "task_revision")
    assert {before: {"scoped": 2}, after: {"scoped": 2}} == agentihooks.labels(session, "task", "task_revision")


def test_task_change_from_outside(codex: Codex, agentihooks: Command, alpha: Path) -> None:
    """An orchestrator changes a session's task while the agent waits for the model."""

    def change(output: str) -> Answer:
        agentihooks("scope", "set", "--task", "second", "--revision", "2", "--session", output.splitlines()[-1])
        return bash("pwd")

    session = codex.run(alpha, bash("echo $CODEX_SESSION_ID"), change, say("Done."), environ=FIRST)
    before, after = ("first", ""), ("second", "2")
    assert [before, after] == agentihooks.scopes(session.id, "task", "task_revision")
    assert {before: {"scoped": 2}, after: {"scoped": 2}} == agentihooks.labels(session, "task", "task_revision")


def test_markers(codex: Codex, agentihooks: Command, brain: FakeBrain, alpha: Path) -> None:
    """The same lesson under two tasks of one session reaches the brain twice, each time with its own task."""
    change = bash(agentihooks.line("scope", "set", "--task", "second"), saying=LESSON)
    codex.run(alpha, change, say(LESSON), environ={**FIRST, "BRAIN_URL": brain.url})
    markers = {(body["attrs"]["task"], body["attrs"]["attribution"], body["content"]) for body in brain.stored.values()}
    assert {("first", "scoped", "Pin the version."), ("second", "scoped", "Pin the version.")} == markers
    assert 2 == len(brain.stored)


def test_marker_in_a_summary(codex: Codex, brain: FakeBrain, alpha: Path) -> None:
    """A marker that a compaction's summary repeats leaves once, where it was written."""
    marked = bash("pwd", saying=LESSON)
    codex.run(alpha, marked, bash("pwd", tokens=400_000), say("Done."), environ={"BRAIN_URL": brain.url})
    assert ["Pin the version."] == [request.body["content"] for request in brain.received]


def test_kill(codex: Codex, agentihooks: Command, alpha: Path, beta: Path) -> None:
    """A sweep completes the log of a session that was killed in mid-turn."""

    def kill(_: str) -> Answer:
        codex.kill()
        return say("Nobody hears this.")

    session = codex.run(alpha, bash("pwd"), say("Done."))
    codex.run(beta, bash("pwd"), kill, resume=session.id)
    agentihooks("sweep")
    before, after = ("alpha", "main"), ("beta", "main")
    assert [before, ("beta", ""), after] == agentihooks.scopes(session.id, "project", "branch")
    assert {before: {"scoped": 3}, after: {"scoped": 2}} == agentihooks.labels(session, "project", "branch")
