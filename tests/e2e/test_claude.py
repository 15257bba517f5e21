"""Claude Code itself, with our hooks in its settings: the log holds the right scope on both sides of each change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .model_server import bash, call, say

if TYPE_CHECKING:
    from agentihooks_outbox.testing import FakeBrain

    from .agents import Claude, Command
    from .model_server import Answer, ModelServer

FIRST = {"AGENTIHOOKS_SWARM_TASK": "first"}
LESSON = "<!-- @lesson -->Pin the version.<!-- @/lesson -->"
PLUGIN = Path(__file__).parents[2] / "integrations" / "claude-plugin"


def test_launch(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """A session starts in the project it was launched in, on the task that its environment names."""
    environ = {
        **FIRST,
        "AGENTIHOOKS_SWARM_TASK_REVISION": "1",
        "AGENTIHOOKS_SWARM": "fixture",
        "AGENTIHOOKS_SWARM_LANE": "eng",
    }
    session = claude.run(alpha, say("Done."), environ=environ)
    fields = ("project_id", "repo", "cwd", "branch", "swarm", "task", "task_revision", "lane")
    scope = ("github.com/fixture/alpha", "fixture/alpha", str(alpha), "main", "fixture", "first", "1", "eng")
    assert [scope] == agentihooks.scopes(session.id, *fields)
    assert {scope: {"scoped": 2}} == agentihooks.labels(session, *fields)


def test_folder(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """A `cd` moves the session; the command that did it belongs to the folder it was called in."""
    session = claude.run(alpha, bash("cd sub"), bash("pwd"), say("Done."))
    before, after = (str(alpha),), (str(alpha / "sub"),)
    assert [before, after] == agentihooks.scopes(session.id, "cwd")
    assert {before: {"scoped": 3}, after: {"scoped": 3}} == agentihooks.labels(session, "cwd")


def test_folder_outside(claude: Claude, agentihooks: Command, alpha: Path, beta: Path) -> None:
    """A `cd` out of the project moves nobody for good: Claude Code takes it back, though it reports one."""
    session = claude.run(alpha, bash(f"cd {beta}"), bash("pwd"), say("Done."))
    # About once in thirty runs a hook is told of the folder outside, before that is taken back.
    told = agentihooks.scopes(session.id, "cwd")
    assert (str(alpha),) == told[0] == told[-1]
    labels = agentihooks.labels(session, "cwd")
    assert 6 == sum(counts["scoped"] for counts in labels.values())
    assert labels[str(alpha),]["scoped"] >= 4


def test_worktree(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """A worktree is entered and left again, with its branch; the transcript moves along, from folder to folder."""
    enter, leave = call("EnterWorktree", name="one"), call("ExitWorktree", action="keep")
    session = claude.run(alpha, enter, bash("pwd"), leave, bash("pwd"), say("Done."))
    fields = ("project_id", "worktree", "branch", "cwd")
    outside = ("github.com/fixture/alpha", "", "main", str(alpha))
    inside = ("github.com/fixture/alpha", "one", "worktree-one", str(alpha / ".claude/worktrees/one"))
    assert [outside, inside, outside] == agentihooks.scopes(session.id, *fields)
    assert {outside: {"scoped": 6}, inside: {"scoped": 4}} == agentihooks.labels(session, *fields)


def test_branch(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """A command switches the branch."""
    session = claude.run(alpha, _switch("other"), bash("pwd"), say("Done."))
    before, after = ("main",), ("other",)
    assert [before, after] == agentihooks.scopes(session.id, "branch")
    assert {before: {"scoped": 3}, after: {"scoped": 3}} == agentihooks.labels(session, "branch")


def test_branch_in_a_worktree(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """A worktree need not keep the branch it was made with."""
    session = claude.run(alpha, call("EnterWorktree", name="one"), _switch("other"), bash("pwd"), say("Done."))
    outside, made, switched = ("", "main"), ("one", "worktree-one"), ("one", "other")
    assert [outside, made, switched] == agentihooks.scopes(session.id, "worktree", "branch")
    labels = agentihooks.labels(session, "worktree", "branch")
    assert {outside: {"scoped": 3}, made: {"scoped": 2}, switched: {"scoped": 3}} == labels


def test_resume_elsewhere(claude: Claude, agentihooks: Command, alpha: Path, beta: Path) -> None:
    """A session that is resumed in another project leaves what it did in the first one there."""
    session = claude.run(alpha, bash("cd sub"), say("Done."))
    claude.run(beta, bash("pwd"), say("Done."), resume=session.id)
    launched, moved, resumed = ("alpha", str(alpha)), ("alpha", str(alpha / "sub")), ("beta", str(beta))
    assert [launched, moved, resumed] == agentihooks.scopes(session.id, "project", "cwd")
    labels = agentihooks.labels(session, "project", "cwd")
    assert {launched: {"scoped": 3}, moved: {"scoped": 1}, resumed: {"scoped": 4}} == labels


def test_resume_of_a_worktree(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """A session that is resumed goes back into its worktree, though it reports the folder of the launch first."""
    session = claude.run(alpha, call("EnterWorktree", name="one"), say("Done."))
    claude.run(alpha, bash("pwd"), say("Done."), resume=session.id)
    labels = agentihooks.labels(session, "worktree", "branch")
    assert {("", "main"): {"scoped": 3}, ("one", "worktree-one"): {"scoped": 1 + 4}} == labels


def test_subagent(claude: Claude, model: ModelServer, agentihooks: Command, alpha: Path) -> None:
    """A subagent in a worktree of its own has its own history, and moves nobody else."""
    task = model.prompt(bash("pwd"), say("Done."))
    spawn = call("Agent", description="Look", prompt=task, isolation="worktree", run_in_background=False)
    session = claude.run(alpha, bash("cd sub"), spawn, bash("pwd"), say("Done."))
    (transcript,) = session.transcript.with_suffix("").glob("subagents/*.jsonl")
    name = transcript.stem
    fields = ("worktree", "branch", "cwd")
    before, after = ("", "main", str(alpha)), ("", "main", str(alpha / "sub"))
    own = (name, f"worktree-{name}", str(alpha / ".claude/worktrees" / name))
    assert [before, after] == agentihooks.scopes(session.id, *fields)
    assert [own] == agentihooks.scopes(f"{session.id}.{name}", *fields)
    labels = agentihooks.labels(session, *fields)
    assert {before: {"scoped": 3}, after: {"scoped": 5}, own: {"scoped": 4}} == labels


def test_subagent_in_the_background(claude: Claude, model: ModelServer, agentihooks: Command, alpha: Path) -> None:
    """A session that moves on leaves its subagent where it was started."""
    spawn = call("Agent", description="Look", prompt=model.prompt(bash("sleep 1"), bash("pwd"), say("Done.")))
    session = claude.run(alpha, spawn, bash("cd sub"), say("Waiting."), say("Done."))
    before, after = (str(alpha),), (str(alpha / "sub"),)
    assert [before, after] == agentihooks.scopes(session.id, "cwd")
    assert {before: {"scoped": 5 + 6}, after: {"scoped": 2}} == agentihooks.labels(session, "cwd")


def test_compaction(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """A compaction in mid-turn changes neither the folder nor the task, whatever the launch said."""
    change = bash(agentihooks.line("scope", "set", "--task", "second"))
    script = (bash("cd sub"), change, bash("pwd", tokens=990_000), bash("pwd"), say("Done."))
    session = claude.run(alpha, *script, environ=FIRST)
    assert "compact_boundary" in session.transcript.read_text()
    launched, moved, changed = ("first", str(alpha)), ("first", str(alpha / "sub")), ("second", str(alpha / "sub"))
    assert [launched, moved, changed] == agentihooks.scopes(session.id, "task", "cwd")
    labels = agentihooks.labels(session, "task", "cwd")
    assert {launched: {"scoped": 3}, moved: {"scoped": 2}, changed: {"scoped": 5}} == labels


def test_task_change_by_the_agent(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """An agent changes its task in its own shell, which knows the session."""
    change = bash(agentihooks.line("scope", "set", "--task", "second", "--revision", "2"))
    session = claude.run(alpha, change, bash("pwd"), say("Done."), environ=FIRST)
    before, after = ("first", ""), ("second", "2")
    assert [before, after] == agentihooks.scopes(session.id, "task", "task_revision")
    assert {before: {"scoped": 3}, after: {"scoped": 3}} == agentihooks.labels(session, "task", "task_revision")


def test_task_change_from_outside(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """An orchestrator changes a session's task while the agent waits for the model."""

    def change(output: str) -> Answer:
        agentihooks("scope", "set", "--task", "second", "--revision", "2", "--session", output.strip())
        return bash("pwd")

    session = claude.run(alpha, bash("echo $CLAUDE_CODE_SESSION_ID"), change, say("Done."), environ=FIRST)
    before, after = ("first", ""), ("second", "2")
    assert [before, after] == agentihooks.scopes(session.id, "task", "task_revision")
    assert {before: {"scoped": 3}, after: {"scoped": 3}} == agentihooks.labels(session, "task", "task_revision")


def test_markers(claude: Claude, agentihooks: Command, brain: FakeBrain, alpha: Path) -> None:
    """The same lesson under two tasks of one session reaches the brain twice, each time with its own task."""
    change = bash(agentihooks.line("scope", "set", "--task", "second"), saying=LESSON)
    claude.run(alpha, change, say(LESSON), environ={**FIRST, "BRAIN_URL": brain.url})
    markers = {(body["attrs"]["task"], body["attrs"]["attribution"], body["content"]) for body in brain.stored.values()}
    assert {("first", "scoped", "Pin the version."), ("second", "scoped", "Pin the version.")} == markers
    assert 2 == len(brain.stored)


def test_marker_in_a_summary(claude: Claude, brain: FakeBrain, alpha: Path) -> None:
    """A marker that a compaction's summary repeats leaves once, where it was written."""
    marked = bash("pwd", saying=LESSON)
    claude.run(alpha, marked, bash("pwd", tokens=990_000), say("Done."), environ={"BRAIN_URL": brain.url})
    assert ["Pin the version."] == [request.body["content"] for request in brain.received]


def test_kill(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """A sweep completes the log of a session that was killed in mid-turn."""

    def kill(_: str) -> Answer:
        claude.kill()
        return say("Nobody hears this.")

    session = claude.run(alpha, bash("cd sub"), _switch("other"), bash("sleep 1"), kill)
    agentihooks("sweep")
    launched, moved, switched = (str(alpha), "main"), (str(alpha / "sub"), "main"), (str(alpha / "sub"), "other")
    assert [launched, moved, switched] == agentihooks.scopes(session.id, "cwd", "branch")
    labels = agentihooks.labels(session, "cwd", "branch")
    assert {launched: {"scoped": 3}, moved: {"scoped": 2}, switched: {"scoped": 2}} == labels


def test_life(claude: Claude, model: ModelServer, agentihooks: Command, alpha: Path, beta: Path) -> None:
    """All of it happens in one session, and each stretch of it keeps its own scope."""
    enter, leave = call("EnterWorktree", name="one"), call("ExitWorktree", action="keep")
    change = bash(agentihooks.line("scope", "set", "--task", "second"))
    spawn = call("Agent", description="Look", prompt=model.prompt(say("Done.")), run_in_background=False)

    def kill(_: str) -> Answer:
        claude.kill()
        return say("Nobody hears this.")

    session = claude.run(alpha, enter, _switch("other"), change, leave, bash("cd sub"), say("Done."), environ=FIRST)
    claude.run(beta, spawn, bash("pwd", tokens=990_000), _switch("more"), bash("sleep 1"), kill, resume=session.id)
    agentihooks("sweep")
    stretches = {
        ("alpha", "", "main", "first", str(alpha)): 3,
        ("alpha", "one", "worktree-one", "first", str(alpha / ".claude/worktrees/one")): 2,
        ("alpha", "one", "other", "first", str(alpha / ".claude/worktrees/one")): 2,
        ("alpha", "one", "other", "second", str(alpha / ".claude/worktrees/one")): 2,
        ("alpha", "", "main", "second", str(alpha)): 2,
        ("alpha", "", "main", "second", str(alpha / "sub")): 1,
        ("beta", "", "main", "second", str(beta)): 9,
        ("beta", "", "more", "second", str(beta)): 2,
    }
    fields = ("project", "worktree", "branch", "task", "cwd")
    assert [*stretches] == agentihooks.scopes(session.id, *fields)
    assert {scope: {"scoped": number} for scope, number in stretches.items()} == agentihooks.labels(session, *fields)


def test_doctor(claude: Claude, agentihooks: Command, alpha: Path) -> None:
    """The doctor finds nothing wrong after a session that the hooks have seen."""
    claude.run(alpha, bash("pwd"), say("Done."))
    assert "last at" in agentihooks("doctor")


def test_plugin(bare_claude: Claude, agentihooks: Command, alpha: Path, tmp_path: Path) -> None:
    """The plugin folder does what an install does, given the command on PATH."""
    command = tmp_path / "agentihooks"
    command.write_text(f'#!/bin/sh\nexec {agentihooks.line()} "$@"\n')
    command.chmod(0o755)
    environ = {"PATH": os.pathsep.join([str(tmp_path), os.defpath])}
    session = bare_claude.run(
        alpha, bash("cd sub"), say("Done."), environ=environ, options=["--plugin-dir", str(PLUGIN)]
    )
    assert [(str(alpha),), (str(alpha / "sub"),)] == agentihooks.scopes(session.id, "cwd")


def _switch(branch: str) -> Answer:
    """Return a command that switches to a new branch. Claude Code looks once a second which one it is on."""
    return bash(f"git switch -q -c {branch} && sleep 3")
