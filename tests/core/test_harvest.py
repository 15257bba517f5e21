"""Markers at the end of a turn: found along with the moves, each with the scope of its own time, each leaving once."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import Scope
from agentihooks import engine as engine_module
from agentihooks.cursor import Cursors
from agentihooks.home import cursor_directory
from agentihooks.ids import marker_key, preceding_marker_key
from agentihooks.log import locked
from agentihooks.model import SCOPE_FIELDS
from agentihooks.sweep import known_transcripts, sweep
from agentihooks.transcript import BLOCK_BYTES
from agentihooks_outbox.testing import FakeBrain, Reply
from tests.sessions import (
    SESSION,
    Claude,
    Codex,
    at,
    files,
    reasons,
    repository,
    rows,
    scopes,
    set_clock,
    worktree,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from agentihooks import Engine

ALPHA, BETA = "github.com/fixture/alpha", "github.com/fixture/beta"
FORK = "5e551010-0000-7000-8000-000000000002"
AGENTS = pytest.mark.parametrize("agent", [Claude, Codex])
PADDING = "x" * (2 * BLOCK_BYTES)
"""More than is read of a transcript at once: markers on both sides of it can be of two passes."""


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


@pytest.fixture
def brain(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBrain]:
    """Return a brain that is up, and that the hooks know."""
    with FakeBrain() as brain:
        monkeypatch.setenv("BRAIN_URL", brain.url)
        yield brain


def lesson(content: str = "Pin it.", **attributes: str) -> str:
    """Return a text with one marker in it."""
    written = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"Done.\n<!-- @lesson{written} -->{content}<!-- @/lesson -->\n"


def waiting(home: Path) -> list[dict[str, Any]]:
    """Return what the files of the outbox hold, the oldest marker first."""
    return [json.loads(path.read_bytes()) for path in sorted((home / "brain-outbox").glob("*"))]


def told(home: Path, *names: str) -> list[tuple[str, ...]]:
    """Return of each marker that waits what it says, and some of its attributes, "" for one that it does not have."""
    return [(row["content"], *(row["attrs"].get(name, "") for name in names)) for row in waiting(home)]


def keys(home: Path) -> list[str]:
    """Return the keys of the markers that wait."""
    return [row["idempotency_key"] for row in waiting(home)]


def figures(home: Path, *names: str) -> list[tuple[int, ...]]:
    """Return some figures of each pass that had any to tell."""
    lines = [row for row in rows(home / "logs" / "agentihooks.log") if row["message"] == "brain.marker_write"]
    return [tuple(line[name] for name in names) for line in lines]


def complaints(home: Path) -> list[str]:
    """Return what the log says beside figures."""
    return [reason for reason in reasons(home) if reason != "brain.marker_write"]


def work_on(engine: Engine, task: str, clock: str, own_id: str = SESSION) -> None:
    """Put a session on another task, as an orchestrator would."""
    latest = engine.transitions(own_id)[-1]
    engine.record_scope(own_id, Scope.of({**latest.scope.as_dict(), "task": task}), at(clock))


def begin(session: Claude | Codex, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a session before anything is said in it."""
    set_clock(monkeypatch, "09:58")
    session.fire("SessionStart", folder)


def swept(engine: Engine, home: Path, environ: Mapping[str, str] | None = None) -> int:
    """Sweep; return how many markers were found."""
    environ = os.environ if environ is None else environ
    result = sweep(engine, str(home), environ, known_transcripts(engine, environ), lambda: None)
    assert {} == result.failed
    return result.markers


class TestScope:
    """What a marker is attributed to."""

    @AGENTS
    def test_two_projects(self, home: Path, alpha: Path, beta: Path, agent: type[Claude | Codex]) -> None:
        """Markers of one pass, between which the session moved, are each of the project they were written in."""
        session = agent()
        session.say("10:00", alpha, lesson("In alpha."))
        session.say("10:05", beta, lesson("In beta."))
        session.say("10:10", alpha, lesson("Back."))
        session.fire("Stop", alpha)
        expected = [
            ("In alpha.", "scoped", ALPHA, str(alpha)),
            ("In beta.", "scoped", BETA, str(beta)),
            ("Back.", "scoped", ALPHA, str(alpha)),
        ]
        assert expected == told(home, "attribution", "project_id", "cwd")
        assert [at("10:00"), at("10:05"), at("10:10")] == [row["ts"] for row in waiting(home)]

    @AGENTS
    def test_two_tasks(self, home: Path, alpha: Path, engine: Engine, agent: type[Claude | Codex]) -> None:
        """So is each of the task that was in force when it was written, however late it is read."""
        session = agent()
        session.say("10:00", alpha, lesson("On none."))
        session.fire("Stop", alpha)
        for clock, task in (("10:05", "first"), ("10:10", "second")):
            work_on(engine, task, clock)
        session.say("10:06", alpha, lesson("On the first."))
        session.say("10:10", alpha, lesson("On the second."))
        session.fire("Stop", alpha)
        expected = [("On none.", ""), ("On the first.", "first"), ("On the second.", "second")]
        assert expected == told(home, "task")

    def test_a_worktree_and_its_branch(self, home: Path, tmp_path: Path, alpha: Path, claude: Claude) -> None:
        """The worktree and the branch are those of its time too."""
        one = worktree(alpha, tmp_path / "one", "topic")
        claude.say("10:00", one, lesson("Inside."), branch="topic")
        claude.say("10:05", alpha, lesson("Outside."))
        claude.fire("Stop", alpha)
        expected = [("Inside.", "alpha", "one", "topic"), ("Outside.", "alpha", "", "main")]
        assert expected == told(home, "project", "worktree", "branch")

    @AGENTS
    def test_the_same_words_under_two_tasks(
        self, alpha: Path, engine: Engine, brain: FakeBrain, agent: type[Claude | Codex]
    ) -> None:
        """The same words under two tasks arrive twice, under the key of each."""
        session = agent()
        session.say("10:00", alpha, lesson())
        session.fire("Stop", alpha)
        work_on(engine, "second", "10:05")
        session.say("10:06", alpha, lesson())
        session.fire("Stop", alpha)
        assert [marker_key(SESSION, "lesson", ALPHA, task, "Pin it.") for task in ("", "second")] == brain.keys
        assert ["", "second"] == [body["attrs"].get("task", "") for body in brain.stored.values()]

    def test_what_the_model_wrote_of_it(self, home: Path, alpha: Path, claude: Claude) -> None:
        """What the model wrote of a scope is dropped; what else it wrote leaves as it is."""
        written = {name: "mine" for name in SCOPE_FIELDS if name != "project_id"}
        claude.say("10:00", alpha, lesson(**written, ts="1", attribution="fleet", session_id="s", topic="disks"))
        claude.fire("Stop", alpha)
        expected = {
            "topic": "disks",
            "attribution": "scoped",
            "project_id": ALPHA,
            "project": "alpha",
            "repo": "fixture/alpha",
            "cwd": str(alpha),
            "remote": "https://github.com/fixture/alpha.git",
            "branch": "main",
            "session_id": SESSION,
            "source": "agent",
        }
        assert [expected] == [row["attrs"] for row in waiting(home)]

    @pytest.mark.parametrize(
        ("grant", "written", "expected"),
        [
            (None, {"project_id": BETA}, ("explicit", BETA, "first")),
            (f"{ALPHA}, {BETA}", {"project_id": BETA}, ("explicit", BETA, "first")),
            (ALPHA, {"project_id": BETA}, ("refused", "", "")),
            ("", {"project_id": ALPHA}, ("refused", "", "")),
            ("", {"project_id": "unknown"}, ("scoped", ALPHA, "first")),
            (ALPHA, {"project_id": BETA, "share": "fleet"}, ("fleet", "", "")),
        ],
        ids=["no grant", "granted", "not granted", "nothing granted", "no claim", "fleet"],
    )
    def test_claims(  # noqa: PLR0917 - three are fixtures
        self,
        home: Path,
        alpha: Path,
        claude: Claude,
        monkeypatch: pytest.MonkeyPatch,
        grant: str | None,
        written: dict[str, str],
        expected: tuple[str, ...],
    ) -> None:
        """A marker may name a project that the session's grant allows, or be for everybody."""
        monkeypatch.setenv("AGENTIHOOKS_SWARM_TASK", "first")
        if grant is not None:
            monkeypatch.setenv("AGENTIHOOKS_GRANT", grant)
        claude.say("10:00", alpha, lesson(**written))
        claude.fire("Stop", alpha)
        assert [("Pin it.", *expected)] == told(home, "attribution", "project_id", "task")

    def test_a_refused_name(self, home: Path, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """The name of a project that was refused is on no disk but in the transcript."""
        monkeypatch.setenv("AGENTIHOOKS_GRANT", ALPHA)
        claude.say("10:00", alpha, lesson(project_id="github.com/fixture/secret", repo="fixture/secret"))
        claude.fire("Stop", alpha)
        assert [("Pin it.", "refused")] == told(home, "attribution")
        assert [] == [name for name, data in files(home).items() if b"secret" in data]

    def test_unknown(self, home: Path, tmp_path: Path, claude: Claude) -> None:
        """Outside a repository, and without a time, a marker is of no project; no folder's name is made one."""
        claude.say("10:00", tmp_path, lesson("Outside."))
        claude.say("10:01", tmp_path, lesson("Untimed."), timestamp=None)
        claude.fire("Stop", tmp_path)
        expected = [("Untimed.", "unknown", "", "", ""), ("Outside.", "unknown", "", "", str(tmp_path))]
        assert expected == told(home, "attribution", "project_id", "project", "cwd")

    @AGENTS
    def test_a_subagent(self, home: Path, alpha: Path, beta: Path, engine: Engine, agent: type[Claude | Codex]) -> None:
        """A subagent's markers take the subagent's scope and its session's task, and are the session's."""
        session, subagent = agent(), agent(agent_id="5e551010-0000-7000-8000-0000000000c1")
        session.say("10:00", alpha, lesson("Main."))
        session.fire("Stop", alpha)
        work_on(engine, "second", "10:01")
        subagent.say("10:02", beta, lesson("Sub."))
        subagent.fire("SubagentStop", beta, last_assistant_message=lesson("Sub."))
        assert [("Main.", "alpha", ""), ("Sub.", "beta", "second")] == told(home, "project", "task")
        assert marker_key(SESSION, "lesson", BETA, "second", "Sub.") == keys(home)[1]

    def test_a_subagent_of_a_session_without_a_log(self, home: Path, alpha: Path) -> None:
        """A log of the subagent's own is enough for what the model wrote to be dropped."""
        subagent = Claude(agent_id="a1")
        subagent.say("10:00", alpha, lesson(project="mine", task="mine"))
        subagent.fire("SubagentStop", alpha)
        assert [("Pin it.", "scoped", "alpha", "")] == told(home, "attribution", "project", "task")

    @AGENTS
    def test_a_subagent_whose_transcript_is_not_named(
        self, home: Path, alpha: Path, agent: type[Claude | Codex]
    ) -> None:
        """A subagent's transcript is found by its id where the payload does not name it."""
        subagent = agent(agent_id="5e551010-0000-7000-8000-0000000000c1")
        subagent.say("10:00", alpha, lesson())
        subagent.fire("SubagentStop", alpha, agent_transcript_path=None)
        assert [("Pin it.", "alpha")] == told(home, "project")

    def test_the_folder_of_the_payload(self, home: Path, alpha: Path, beta: Path, claude: Claude) -> None:
        """What only the payload tells is of the folder that the payload names, though nothing told of the move before."""
        claude.fire("SessionStart", alpha)
        claude.fire("Stop", beta, last_assistant_message=lesson())
        assert [("Pin it.", "beta")] == told(home, "project")

    def test_a_subagent_that_stands_nowhere(self, home: Path, alpha: Path, claude: Claude) -> None:
        """A subagent of which no place is known takes its session's scope."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha)
        agent = Claude(agent_id="a1")
        agent.say("10:02", None, lesson("Sub."))
        agent.append(agent.path.read_bytes().replace(b'"cwd": "None"', b'"cwd": null'))
        agent.path.write_bytes(agent.path.read_bytes().splitlines(keepends=True)[1])
        agent.fire("SubagentStop", "")
        assert [("Sub.", "alpha")] == told(home, "project")
        assert [] == scopes(f"{SESSION}.agent-a1", "cwd")

    def test_a_subagent_in_the_session_s_file(self, home: Path, alpha: Path, beta: Path, claude: Claude) -> None:
        """Early versions wrote subagents into the session's own file: those markers are the subagents' all the same."""
        claude.say("10:00", alpha, lesson("Main."))
        claude.say("10:01", beta, lesson("Sub."), isSidechain=True)
        claude.say("10:02", alpha, lesson("Main again."))
        claude.fire("Stop", alpha)
        assert [("Main.", "alpha"), ("Sub.", "beta"), ("Main again.", "alpha")] == told(home, "project")

    def test_what_others_say(self, home: Path, alpha: Path, claude: Claude) -> None:
        """Only the assistant's own words count: not a person's, a tool's, its thoughts, or a summary."""
        claude.say("10:00", alpha, lesson("Said."))
        user = {"kind": "user"}
        claude.write("10:01", alpha, **user, message={"role": "user", "content": lesson("Asked.")})
        result = {"type": "tool_result", "tool_use_id": "t", "content": lesson("Printed.")}
        claude.write("10:02", alpha, **user, message={"role": "user", "content": [result]}, toolUseResult="x")
        summary = {"role": "user", "content": lesson("Summed up.")}
        claude.write("10:03", alpha, **user, message=summary, isCompactSummary=True)
        claude.write("10:04", alpha, kind="system", content=lesson("Noted."))
        thought = {"type": "thinking", "thinking": lesson("Thought.")}
        call = {"type": "tool_use", "id": "t", "name": "Write", "input": {"content": lesson("Written.")}}
        claude.write("10:05", alpha, message={"role": "assistant", "content": [thought, call]})
        claude.fire("Stop", alpha)
        assert [("Said.",)] == told(home)

    def test_the_sender(self, home: Path, alpha: Path, monkeypatch: pytest.MonkeyPatch, claude: Claude) -> None:
        """A marker names the agent and the folder of its project, as the environment does, unless it has a source."""
        monkeypatch.setenv("AGENTICORE_AGENT_NAME", "eng-1")
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/project")
        claude.say("10:00", alpha, lesson("One."))
        claude.say("10:01", alpha, lesson("Two.", source="doc"))
        claude.fire("Stop", alpha)
        assert [("One.", "eng-1"), ("Two.", "doc")] == told(home, "source")
        assert [("eng-1", "/project", SESSION)] * 2 == [
            (row["agent_name"], row["project"], row["session_id"]) for row in waiting(home)
        ]


class TestFigures:
    """What a pass tells of itself."""

    COUNTS = ("markers_found", "unattributed_session_events_total")

    @AGENTS
    def test_unattributed(
        self, home: Path, alpha: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: type[Claude | Codex]
    ) -> None:
        """Each Stop counts its own markers, and those among them that are unknown or refused; without any it is silent."""
        monkeypatch.setenv("AGENTIHOOKS_GRANT", ALPHA)
        session = agent()
        session.say("10:00", alpha, lesson("Scoped.") + lesson("Refused.", project_id=BETA))
        session.say("10:01", tmp_path, lesson("Unknown.") + lesson("Fleet.", share="fleet"))
        session.say("10:02", alpha, lesson("Explicit.", project_id=ALPHA))
        session.fire("Stop", alpha)
        session.write("10:03", alpha)
        session.fire("Stop", alpha)
        session.say("10:04", tmp_path, lesson("Unknown too."))
        session.fire("Stop", tmp_path)
        assert [(5, 2), (1, 1)] == figures(home, *self.COUNTS)
        assert [] == complaints(home)

    def test_a_brain_that_is_down(self, home: Path, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """What a brain does not take is kept, and leaves with the next Stop, which counts it apart from its own."""
        brain.say(Reply(status=503))
        claude.say("10:00", alpha, lesson("One."))
        claude.fire("Stop", alpha)
        claude.say("10:01", alpha, lesson("Two."))
        claude.fire("Stop", alpha)
        counted = figures(home, "markers_found", "markers_sent", "markers_kept", "markers_drained")
        assert [(1, 0, 1, 0), (1, 1, 0, 2)] == counted
        assert ["One.", "Two."] == [body["content"] for body in brain.stored.values()]

    def test_a_marker_that_is_refused(self, home: Path, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """What a brain will never take is neither sent nor kept."""
        brain.say(Reply(status=400))
        claude.say("10:00", alpha, lesson("One."))
        claude.say("10:01", alpha, lesson("Two."))
        claude.fire("Stop", alpha)
        assert [(2, 1, 0)] == figures(home, "markers_found", "markers_sent", "markers_kept")

    def test_a_pass_that_only_sends(self, home: Path, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """A Stop without markers of its own that sends earlier ones counts those, also for another session."""
        brain.say(Reply(status=503))
        claude.say("10:00", alpha, lesson("One."))
        claude.fire("Stop", alpha)
        Claude(FORK).fire("Stop", alpha)
        assert (FORK, 0, 1) == tuple(
            rows(home / "logs" / "agentihooks.log")[-1][name]
            for name in ("session_id", "markers_found", "markers_drained")
        )


class TestOnce:
    """One marker, however often and wherever it is read."""

    @AGENTS
    def test_in_the_transcript_first(
        self, home: Path, alpha: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch, agent: type[Claude | Codex]
    ) -> None:
        """A marker that the payload repeats after the transcript leaves once, as of the transcript's time."""
        session = agent()
        begin(session, alpha, monkeypatch)
        session.say("10:00", alpha, lesson())
        work_on(engine, "second", "10:01")
        set_clock(monkeypatch, "10:02")
        for _ in range(2):
            session.fire("Stop", alpha, last_assistant_message=lesson())
        assert [("Pin it.", "")] == told(home, "task")
        assert [at("10:00")] == [row["ts"] for row in waiting(home)]

    @AGENTS
    def test_in_the_payload_first(
        self, home: Path, alpha: Path, monkeypatch: pytest.MonkeyPatch, agent: type[Claude | Codex]
    ) -> None:
        """One that the transcript has later than the payload leaves once, with the time of the Stop."""
        session = agent()
        session.write("10:00", alpha)
        set_clock(monkeypatch, "10:02")
        session.fire("Stop", alpha, last_assistant_message=lesson())
        session.say("10:01", alpha, lesson())
        session.ask("10:03", alpha)
        session.fire("Stop", alpha, last_assistant_message="")
        assert ["2025-06-01T10:02:00+00:00"] == [row["ts"] for row in waiting(home)]

    @AGENTS
    def test_half_of_the_payload(
        self, home: Path, alpha: Path, monkeypatch: pytest.MonkeyPatch, agent: type[Claude | Codex]
    ) -> None:
        """Of a payload that says more than the transcript does yet, only that leaves at the time of the Stop."""
        session = agent()
        one, two = lesson(), lesson().replace("lesson", "signal")
        session.say("10:00", alpha, one)
        set_clock(monkeypatch, "10:02")
        session.fire("Stop", alpha, last_assistant_message=one + two)
        session.say("10:01", alpha, two)
        session.fire("Stop", alpha)
        expected = [("lesson", at("10:00")), ("signal", "2025-06-01T10:02:00+00:00")]
        assert expected == [(row["type"], row["ts"]) for row in waiting(home)]

    def test_of_a_subagent(self, home: Path, alpha: Path, beta: Path, claude: Claude) -> None:
        """What a subagent's payload says is told apart from what its session says in the same words."""
        claude.say("10:00", alpha, lesson())
        claude.fire("Stop", alpha)
        agent = Claude(agent_id="a1")
        agent.write("10:01", beta)
        agent.fire("SubagentStop", beta, agent_id="agent-a1", last_assistant_message=lesson())
        agent.say("10:02", beta, lesson())
        agent.fire("SubagentStop", beta, last_assistant_message=lesson())
        assert [("Pin it.", "alpha"), ("Pin it.", "beta")] == told(home, "project")

    def test_without_a_transcript(self, home: Path, alpha: Path, claude: Claude) -> None:
        """Where there is no transcript the payload's markers leave with the scope in force."""
        claude.fire("SessionStart", alpha)
        claude.fire("Stop", alpha, last_assistant_message=lesson())
        assert [("Pin it.", "scoped", "alpha")] == told(home, "attribution", "project")
        assert [] == complaints(home)

    @pytest.mark.parametrize("is_there", [False, True], ids=["no file", "an empty file"])
    def test_before_there_is_a_transcript(
        self,
        home: Path,
        alpha: Path,
        claude: Claude,
        engine: Engine,
        monkeypatch: pytest.MonkeyPatch,
        *,
        is_there: bool,
    ) -> None:
        """What a payload tells before there is a transcript leaves once, though another task was in force meanwhile."""
        set_clock(monkeypatch, "09:59")
        claude.fire("SessionStart", alpha)
        work_on(engine, "second", "10:01")
        set_clock(monkeypatch, "10:02")
        if is_there:
            claude.append(b"")
        for _ in range(2):
            claude.fire("Stop", alpha, last_assistant_message=lesson())
        claude.say("10:00", alpha, lesson())
        claude.fire("Stop", alpha, last_assistant_message=lesson())
        assert [("Pin it.", "second")] == told(home, "task")

    def test_before_there_is_anything(self, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """So it does where there is no scope log either, under one key."""
        claude.fire("Stop", alpha, last_assistant_message=lesson())
        claude.say("10:00", alpha, lesson())
        claude.fire("Stop", alpha, last_assistant_message=lesson())
        assert 1 == len(brain.received)

    def test_a_subagent_before_there_is_a_transcript(
        self, home: Path, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nor is it forgotten over a subagent, which has a transcript before its session does."""
        set_clock(monkeypatch, "10:02")
        claude.fire("Stop", alpha, last_assistant_message=lesson())
        subagent = Claude(agent_id="a1")
        subagent.write("10:03", alpha)
        subagent.fire("SubagentStop", alpha)
        claude.say("10:01", alpha, lesson())
        claude.fire("Stop", alpha)
        assert ["2025-06-01T10:02:00+00:00"] == [row["ts"] for row in waiting(home)]

    def test_in_two_payloads_first(
        self, home: Path, alpha: Path, monkeypatch: pytest.MonkeyPatch, claude: Claude
    ) -> None:
        """Two Stops that are both ahead of the transcript, as where hooks are in place twice, tell of one marker."""
        claude.write("10:00", alpha)
        for clock in ("10:01", "10:02"):
            set_clock(monkeypatch, clock)
            claude.fire("Stop", alpha, last_assistant_message=lesson())
        assert ["2025-06-01T10:01:00+00:00"] == [row["ts"] for row in waiting(home)]

    @AGENTS
    def test_in_a_payload_that_is_late(
        self, home: Path, alpha: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch, agent: type[Claude | Codex]
    ) -> None:
        """A Stop that comes when the next prompt is in the transcript already tells nothing again."""
        session = agent()
        begin(session, alpha, monkeypatch)
        session.say("10:00", alpha, lesson())
        work_on(engine, "second", "10:01")
        session.ask("10:02", alpha)
        set_clock(monkeypatch, "10:03")
        session.fire("Stop", alpha, last_assistant_message=lesson())
        assert [("Pin it.", "")] == told(home, "task")

    @AGENTS
    def test_half_of_a_character(self, home: Path, alpha: Path, agent: type[Claude | Codex]) -> None:
        """Half of a character, left over where a client cut a text, reads the same in transcript and payload."""
        session = agent()
        session.say("10:00", alpha, lesson("Half \ud83d."))
        session.fire("Stop", alpha, last_assistant_message=lesson("Half \ud83d."))
        assert [("Half ?.",)] == told(home)

    @AGENTS
    def test_in_two_turns(self, alpha: Path, brain: FakeBrain, agent: type[Claude | Codex]) -> None:
        """The same words in a later turn of the same task are the same marker: the brain stores it once."""
        session = agent()
        for clock, later in (("10:00", "10:01"), ("10:05", "10:06")):
            session.ask(clock, alpha)
            session.say(later, alpha, lesson())
            session.fire("Stop", alpha, last_assistant_message=lesson())
        assert [marker_key(SESSION, "lesson", ALPHA, "", "Pin it.")] == list(brain.stored)

    @AGENTS
    def test_in_two_turns_of_two_tasks(
        self,
        home: Path,
        alpha: Path,
        engine: Engine,
        monkeypatch: pytest.MonkeyPatch,
        agent: type[Claude | Codex],
    ) -> None:
        """What a turn has said is not held against the payload of the next one, which says it of another task."""
        session = agent()
        session.ask("10:00", alpha)
        session.say("10:01", alpha, lesson())
        session.fire("Stop", alpha, last_assistant_message=lesson())
        work_on(engine, "second", "10:02")
        session.ask("10:03", alpha)
        set_clock(monkeypatch, "10:05")
        session.fire("Stop", alpha, last_assistant_message=lesson())
        assert [("Pin it.", ""), ("Pin it.", "second")] == told(home, "task")

    def test_a_payload_that_the_transcript_never_had(
        self, home: Path, alpha: Path, claude: Claude, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nor is a payload of an earlier turn held against what the transcript says of another task later on."""
        claude.write("10:00", alpha)
        set_clock(monkeypatch, "10:01")
        claude.fire("Stop", alpha, last_assistant_message=lesson())
        work_on(engine, "second", "10:02")
        claude.ask("10:03", alpha)
        claude.say("10:04", alpha, lesson())
        claude.fire("Stop", alpha)
        assert [("Pin it.", ""), ("Pin it.", "second")] == told(home, "task")

    def test_twice_in_one_turn_of_two_tasks(
        self, home: Path, alpha: Path, claude: Claude, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A payload stands for one marker of the transcript: one that says the same of another task is another."""
        claude.write("10:00", alpha)
        set_clock(monkeypatch, "10:02")
        claude.fire("Stop", alpha, last_assistant_message=lesson())
        work_on(engine, "second", "10:03")
        claude.say("10:01", alpha, lesson())
        claude.say("10:04", alpha, lesson())
        claude.fire("Stop", alpha)
        assert [("Pin it.", ""), ("Pin it.", "second")] == told(home, "task")

    def test_very_many_in_one_turn(self, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """However many a turn has, its payload adds none to those that the brain has stored."""
        texts = [lesson(f"Lesson {number}.") for number in range(100)]
        for text in texts:
            claude.say("10:00", alpha, text)
        claude.fire("Stop", alpha, last_assistant_message="".join(texts))
        assert 100 == len(brain.stored)

    def test_a_line_that_is_appended_again(self, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """A line that a resume repeats, with the place of the resuming process, sends nothing again."""
        claude.say("10:00", alpha, lesson())
        claude.fire("Stop", alpha)
        claude.append(claude.path.read_bytes().replace(str(alpha).encode(), b"/elsewhere"))
        claude.fire("Stop", alpha)
        assert 1 == len(brain.received)

    def test_a_line_without_its_newline(self, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """A last line that is whole but for its newline is read, and not read again when that has come."""
        claude.write("10:00", alpha)
        claude.say("10:01", alpha, lesson())
        claude.path.write_bytes(claude.path.read_bytes().removesuffix(b"\n"))
        claude.fire("Stop", alpha)
        assert 1 == len(brain.received)
        claude.append(b"\n")
        claude.fire("Stop", alpha)
        assert 1 == len(brain.received)

    def test_a_compaction(self, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """A compaction sends nothing again: neither its summary nor the messages that it keeps."""
        claude.say("10:00", alpha, lesson())
        kept = claude.path.read_bytes()
        claude.fire("Stop", alpha)
        summary = {"role": "user", "content": f"Summary: {lesson()}"}
        claude.write("10:05", alpha, kind="user", message=summary, isCompactSummary=True)
        claude.append(kept)
        claude.fire("Stop", alpha)
        assert 1 == len(brain.received)

    def test_a_fork(self, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """History that a fork was begun with is not the fork's; what it adds is."""
        claude.say("10:00", alpha, lesson("Before."))
        claude.fire("Stop", alpha)
        fork = Claude(FORK)
        fork.say("10:00", alpha, lesson("Before."), forkedFrom={"sessionId": SESSION, "messageUuid": "m"})
        fork.say("10:05", alpha, lesson("After."))
        fork.fire("Stop", alpha)
        assert [(SESSION, "Before."), (FORK, "After.")] == [
            (request.body["attrs"]["session_id"], request.body["content"]) for request in brain.received
        ]

    def test_entries_of_another_session(self, home: Path, alpha: Path, claude: Claude) -> None:
        """What another session wrote into this one's file is not this one's to send."""
        claude.say("10:00", alpha, lesson("Another's."), sessionId=FORK)
        claude.say("10:01", alpha, lesson("Own."))
        claude.fire("Stop", alpha)
        assert [("Own.",)] == told(home)

    def test_a_renamed_transcript(self, alpha: Path, claude: Claude, brain: FakeBrain) -> None:
        """A transcript that moved to another project goes on where it was left."""
        claude.say("10:00", alpha, lesson("One."))
        claude.fire("Stop", alpha)
        moved = Claude(project="-moved").path
        moved.parent.mkdir()
        claude.path = claude.path.rename(moved)
        claude.say("10:01", alpha, lesson("Two."))
        claude.fire("Stop", alpha)
        assert ["One.", "Two."] == [request.body["content"] for request in brain.received]

    @pytest.mark.parametrize("how", ["copied", "rewritten", "without its cursor"])
    def test_a_transcript_that_is_read_again(  # noqa: PLR0917 - all but one are fixtures
        self, home: Path, alpha: Path, beta: Path, engine: Engine, claude: Claude, brain: FakeBrain, how: str
    ) -> None:
        """A transcript that is read from its beginning again gives the same keys, whatever has come into force since."""
        claude.say("10:00", alpha, lesson("One."))
        claude.say("10:05", beta, lesson("Two."))
        claude.fire("Stop", beta)
        work_on(engine, "second", "10:10")
        before, moves = brain.keys, scopes(SESSION, "transition_id")
        if how == "copied":
            original, claude.path = claude.path, Claude(project="-copy").path
            claude.path.parent.mkdir()
            shutil.copy(original, claude.path)
        elif how == "rewritten":
            claude.path.write_bytes(claude.path.read_bytes().replace(b": ", b":"))
        else:
            shutil.rmtree(home / "state" / "cursors")
        claude.fire("Stop", beta)
        assert before * 2 == brain.keys
        assert moves == scopes(SESSION, "transition_id")


class TestOpen:
    """A marker whose closing tag is not where its opening tag is."""

    @AGENTS
    def test_in_one_turn(
        self, home: Path, alpha: Path, beta: Path, engine: Engine, agent: type[Claude | Codex]
    ) -> None:
        """A marker that is closed in a later text of its turn is of the time and place where it was opened."""
        session = agent()
        session.ask("09:59", alpha)
        session.say("10:00", alpha, "<!-- @lesson -->Pin")
        session.say("10:03", alpha, "all of")
        session.say("10:05", beta, "it.<!-- @/lesson -->")
        session.fire("Stop", beta)
        assert [("Pin\nall of\nit.", "alpha")] == told(home, "project")
        assert [at("10:00")] == [row["ts"] for row in waiting(home)]

    @AGENTS
    def test_over_two_stops(self, home: Path, alpha: Path, agent: type[Claude | Codex]) -> None:
        """So is one whose turn goes on after a Stop, as after one that another hook has prevented."""
        session = agent()
        session.say("10:00", alpha, "<!-- @lesson topic=disks -->Pin")
        session.fire("Stop", alpha, last_assistant_message="<!-- @lesson topic=disks -->Pin")
        assert [] == waiting(home)
        session.say("10:05", alpha, "it.<!-- @/lesson -->")
        session.fire("Stop", alpha, last_assistant_message="it.<!-- @/lesson -->")
        assert [("Pin\nit.", "disks")] == told(home, "topic")
        assert [at("10:00")] == [row["ts"] for row in waiting(home)]

    def test_closed_in_the_payload(self, home: Path, alpha: Path, claude: Claude) -> None:
        """One that only the payload closes so far leaves with the time of its opening, and not again."""
        claude.say("10:00", alpha, "<!-- @lesson -->Pin")
        claude.fire("Stop", alpha, last_assistant_message="it.<!-- @/lesson -->")
        (row,) = waiting(home)
        assert ("Pin\nit.", at("10:00")) == (row["content"], row["ts"])
        claude.say("10:01", alpha, "it.<!-- @/lesson -->")
        claude.fire("Stop", alpha)
        assert [row] == waiting(home)

    def test_a_text_without_id_and_newline(self, home: Path, alpha: Path) -> None:
        """A text in a last line that is not quite written, and has no id to be known by, is taken once."""
        codex = Codex()
        codex.say("10:00", alpha, "<!-- @lesson -->Pin")
        codex.say("10:01", alpha, "it.")
        codex.path.write_bytes(codex.path.read_bytes().replace(b'"id": "msg-2", ', b"").removesuffix(b"\n"))
        codex.fire("Stop", alpha)
        with codex.path.open("ab") as file:
            file.write(b"\n")
        codex.say("10:02", alpha, "<!-- @/lesson -->")
        codex.fire("Stop", alpha)
        assert [("Pin\nit.",)] == told(home)

    @AGENTS
    def test_at_the_end_of_a_turn(self, home: Path, alpha: Path, agent: type[Claude | Codex]) -> None:
        """What a turn leaves open is dropped with the next prompt, also in a later pass."""
        session = agent()
        session.say("10:00", alpha, "<!-- @lesson -->Pin")
        session.fire("Stop", alpha)
        session.ask("10:01", alpha)
        session.say("10:02", alpha, f"it.<!-- @/lesson -->{lesson('Whole.')}")
        session.fire("Stop", alpha)
        assert [("Whole.",)] == told(home)

    def test_of_two_emitters(self, home: Path, alpha: Path, claude: Claude) -> None:
        """What a subagent says in the session's own file neither closes the session's marker nor is part of it."""
        claude.say("10:00", alpha, "<!-- @lesson -->Pin")
        claude.say("10:01", alpha, f"Else.<!-- @/lesson -->{lesson('Sub.')}", isSidechain=True)
        claude.say("10:02", alpha, "it.<!-- @/lesson -->")
        claude.fire("Stop", alpha)
        assert [("Pin\nit.",), ("Sub.",)] == told(home)


class TestMany:
    """More markers than one pass may take."""

    def contents(self, claude: Claude, folder: Path, count: int) -> list[str]:
        """Write markers, so far apart that none is read with the one before; return what they say."""
        for _ in range(2):
            claude.say("09:59", folder, PADDING)
        contents = [f"Lesson {number}." for number in range(count)]
        for number, content in enumerate(contents):
            claude.say(f"10:0{number}", folder, lesson(content))
            claude.say(f"10:0{number}", folder, PADDING)
        return contents

    def test_the_next_pass_goes_on(
        self, alpha: Path, beta: Path, claude: Claude, brain: FakeBrain, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each pass takes as many as it may and the next one goes on from there; moves do not wait for it."""
        monkeypatch.setenv("BRAIN_WRITER_MAX_MARKERS", "1")
        contents = self.contents(claude, alpha, 3)
        claude.say("10:05", beta, lesson("In beta."))
        passes = []
        for _ in range(5):
            claude.fire("Stop", beta)
            assert [("alpha",), ("beta",)] == scopes(SESSION, "project")
            passes.append([body["content"] for body in brain.stored.values()])
        contents.append("In beta.")
        assert [contents[:1], contents[:2], contents[:3], contents, contents] == passes
        assert len(brain.stored) == len(brain.received)
        assert "beta" == [*brain.stored.values()][-1]["attrs"]["project"]

    def test_a_payload_of_a_later_turn(
        self, home: Path, alpha: Path, claude: Claude, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A payload that the transcript has behind the end of a pass is not taken for news."""
        monkeypatch.setenv("BRAIN_WRITER_MAX_MARKERS", "1")
        begin(claude, alpha, monkeypatch)
        self.contents(claude, alpha, 4)
        claude.ask("10:05", alpha)
        claude.say("10:06", alpha, lesson())
        work_on(engine, "second", "10:07")
        set_clock(monkeypatch, "10:08")
        claude.fire("Stop", alpha, last_assistant_message=lesson())
        for _ in range(5):
            claude.fire("Stop", alpha)
        assert [("Pin it.", "")] == [row for row in told(home, "task") if row[0] == "Pin it."]

    def test_a_marker_that_is_open_between(
        self, home: Path, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One that is open where a pass ends is closed in the next."""
        monkeypatch.setenv("BRAIN_WRITER_MAX_MARKERS", "1")
        claude.say("10:00", alpha, f"{lesson('First.')}<!-- @signal -->Open")
        claude.write("10:01", alpha, kind="system", content=PADDING)
        claude.say("10:02", alpha, "and closed.<!-- @/signal -->")
        claude.fire("Stop", alpha)
        assert [("First.",)] == told(home)
        claude.fire("Stop", alpha)
        assert [at("10:00")] * 2 == [row["ts"] for row in waiting(home)]
        assert ["First.", "Open\nand closed."] == [row["content"] for row in waiting(home)]

    @pytest.mark.parametrize(
        ("value", "expected"), [("2", 2), ("0", 1), ("-1", 1), ("many", 3), ("", 3), ("1e3", 3), (None, 3)]
    )
    def test_the_limit(  # noqa: PLR0917 - three are fixtures
        self,
        home: Path,
        alpha: Path,
        claude: Claude,
        monkeypatch: pytest.MonkeyPatch,
        value: str | None,
        expected: int,
    ) -> None:
        """A pass takes one at least; what is no number sets no limit of its own."""
        if value is not None:
            monkeypatch.setenv("BRAIN_WRITER_MAX_MARKERS", value)
        self.contents(claude, alpha, 3)
        claude.fire("Stop", alpha)
        assert expected == len(waiting(home))

    def test_a_sweep(
        self, home: Path, alpha: Path, engine: Engine, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So it is with a sweep."""
        monkeypatch.setenv("BRAIN_WRITER_MAX_MARKERS", "2")
        contents = self.contents(claude, alpha, 3)
        assert [3, 0] == [swept(engine, home) for _ in range(2)]
        assert [(content,) for content in contents] == told(home)


def test_a_line_that_is_not_whole_yet(home: Path, alpha: Path, claude: Claude) -> None:
    """What a marker takes from a line without its newline it takes once, at however many stops."""
    claude.say("10:00", alpha, "a <!-- @lesson -->first")
    claude.fire("Stop", alpha)
    message = {"role": "assistant", "content": [{"type": "text", "text": "middle"}]}
    claude.append(claude.line("10:01", alpha, message=message).rstrip(b"\n"))
    for _ in range(3):
        claude.fire("Stop", alpha)
    claude.append(b"\n")
    claude.say("10:02", alpha, "third<!-- @/lesson -->")
    claude.fire("Stop", alpha)
    assert [("first\nmiddle\nthird",)] == told(home)


@pytest.mark.parametrize("block", [{"type": ["text"], "text": "x"}, {"type": {}, "text": "x"}, {"type": None}, 1, None])
def test_an_odd_block(home: Path, alpha: Path, beta: Path, claude: Claude, block: Any) -> None:
    """What one line holds beside its place keeps neither markers nor moves of the others back."""
    claude.say("10:00", alpha, lesson())
    claude.write("10:01", alpha, message={"role": "assistant", "content": [block]})
    claude.write("10:02", beta)
    claude.fire("Stop", beta)
    assert ([("Pin it.",)], []) == (told(home), complaints(home))
    assert [(str(alpha),), (str(beta),)] == scopes(SESSION, "cwd")


class TestRollback:
    """Event-time scopes switched off."""

    BODY: Mapping[str, str] = {
        "project": "alpha",
        "repo": "fixture/alpha",
        "worktree": "",
        "remote": "https://github.com/fixture/alpha.git",
        "project_id": ALPHA,
        "session_id": SESSION,
    }

    @pytest.fixture
    def off(self, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
        """Switch them off; return what switches them on again."""
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        return monkeypatch

    @AGENTS
    def test_the_preceding_body(
        self, home: Path, alpha: Path, beta: Path, off: pytest.MonkeyPatch, agent: type[Claude | Codex]
    ) -> None:
        """A marker has what it says itself, filled in from its session's last row, and the preceding key."""
        off.setenv("AGENTICORE_AGENT_NAME", "eng-1")
        session = agent()
        session.fire("SessionStart", alpha)
        session.say("10:00", beta, lesson(task="mine", branch="mine", worktree="mine", share="fleet"))
        session.fire("Stop", alpha)
        own = {"task": "mine", "branch": "mine", "worktree": "mine", "share": "fleet", "source": "eng-1"}
        expected = {
            "type": "lesson",
            "content": "Pin it.",
            "attrs": {**self.BODY, "cwd": str(alpha), **own},
            "idempotency_key": preceding_marker_key(SESSION, "lesson", "Pin it."),
            "session_id": SESSION,
            "agent_name": "eng-1",
            "project": str(alpha),
            "ts": at("10:00"),
        }
        assert [expected] == waiting(home)
        assert [] == scopes(SESSION, "cwd")

    @pytest.mark.parametrize(
        ("written", "named", "project"),
        [("{beta}", "{alpha}", "beta"), ("", "{alpha}", "alpha"), ("", "", "gamma"), ("beta", "", "gamma")],
        ids=["its own folder", "the project's folder", "the payload's folder", "a relative one"],
    )
    def test_without_a_row(  # noqa: PLR0917 - most are fixtures
        self,
        home: Path,
        tmp_path: Path,
        alpha: Path,
        beta: Path,
        claude: Claude,
        off: pytest.MonkeyPatch,
        written: str,
        named: str,
        project: str,
    ) -> None:
        """At a session's first Stop there is no row yet: a folder stands in, the marker's own first."""
        folders = {"alpha": str(alpha), "beta": str(beta)}
        off.setenv("CLAUDE_PROJECT_DIR", named.format(**folders))
        attributes = {"cwd": written.format(**folders)} if written else {}
        claude.say("10:00", alpha, lesson(**attributes))
        claude.fire("Stop", repository(tmp_path / "gamma", "gamma"))
        assert [("Pin it.", project, "")] == told(home, "project", "attribution")

    def test_a_session_without_a_log(self, home: Path, alpha: Path, claude: Claude) -> None:
        """So has a marker of a session that has no scope log, though nothing is switched off."""
        claude.fire("Stop", "", last_assistant_message=lesson(cwd=str(alpha), task="mine"))
        (row,) = waiting(home)
        own = {"cwd": str(alpha), "task": "mine", "source": "agent"}
        assert {**self.BODY, **own} == row["attrs"]
        assert preceding_marker_key(SESSION, "lesson", "Pin it.") == row["idempotency_key"]

    @AGENTS
    def test_and_back(
        self, home: Path, alpha: Path, beta: Path, monkeypatch: pytest.MonkeyPatch, agent: type[Claude | Codex]
    ) -> None:
        """Switched off and on again, no marker leaves twice and no move is lost."""
        session = agent()
        session.say("10:00", alpha, lesson("On."))
        session.fire("Stop", alpha)
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        session.say("10:05", beta, lesson("Off."))
        session.fire("Stop", beta)
        monkeypatch.delenv("AGENTIHOOKS_SESSION_SCOPE")
        for _ in range(2):
            session.say("10:10", alpha, "Nothing.")
            session.fire("Stop", alpha)
        session.say("10:15", alpha, lesson("On again."))
        session.fire("Stop", alpha)
        expected = [("On.", "scoped", "alpha"), ("Off.", "", "alpha"), ("On again.", "scoped", "alpha")]
        assert expected == told(home, "attribution", "project")
        moves = [(str(alpha), at("10:00")), (str(beta), at("10:05")), (str(alpha), at("10:10"))]
        assert moves == scopes(SESSION, "cwd", "at")

    def test_a_payload_before_its_transcript(
        self, home: Path, alpha: Path, claude: Claude, off: pytest.MonkeyPatch
    ) -> None:
        """Nor does one that a payload told of while they were off, and the transcript when they were on."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha, last_assistant_message=lesson())
        off.delenv("AGENTIHOOKS_SESSION_SCOPE")
        claude.say("10:01", alpha, lesson())
        claude.fire("Stop", alpha)
        assert [preceding_marker_key(SESSION, "lesson", "Pin it.")] == keys(home)

    def test_what_waits(self, alpha: Path, brain: FakeBrain, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was put by with an attribution before they were switched off is sent as it was written."""
        brain.say(Reply(status=503))
        claude.say("10:00", alpha, lesson())
        claude.fire("Stop", alpha)
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        claude.fire("Stop", alpha)
        (body,) = brain.stored.values()
        assert "scoped" == body["attrs"]["attribution"]
        assert [marker_key(SESSION, "lesson", ALPHA, "", "Pin it.")] == list(brain.stored)


class TestSweep:
    """Markers that no hook has read."""

    def write(self, alpha: Path, beta: Path) -> None:
        """Write what a Claude session, its subagent and a Codex session have said."""
        claude, agent, codex = Claude(), Claude(agent_id="a1"), Codex(FORK)
        claude.say("10:00", alpha, lesson("One.", project="mine"))
        claude.say("10:01", beta, lesson("Two.", share="fleet"))
        agent.say("10:02", beta, lesson("Three.", project_id=ALPHA))
        codex.say("10:03", alpha, lesson("Four."))
        codex.say("10:04", alpha, lesson("Five.", project_id=BETA))

    def test_as_the_hooks(  # noqa: PLR0917 - all are fixtures
        self, tmp_path: Path, home: Path, alpha: Path, beta: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine
    ) -> None:
        """A sweep puts by what the hooks would have, in the same words, at the same times, under the same keys."""
        self.write(alpha, beta)
        monkeypatch.setenv("AGENTIHOOKS_GRANT", ALPHA)
        assert 5 == swept(engine, home)
        monkeypatch.setenv("AGENTIHOOKS_HOME", str(tmp_path / "hooks"))
        Claude().fire("Stop", beta)
        Claude(agent_id="a1").fire("SubagentStop", beta)
        Codex(FORK).fire("Stop", alpha)
        by_hooks = waiting(tmp_path / "hooks")
        assert ["scoped", "fleet", "explicit", "scoped", "refused"] == [row["attrs"]["attribution"] for row in by_hooks]
        assert by_hooks == [
            {**row, "project": own["project"]} for row, own in zip(waiting(home), by_hooks, strict=True)
        ]

    def test_again(self, home: Path, alpha: Path, beta: Path, engine: Engine) -> None:
        """Sweeping again puts nothing by, nor does a hook afterwards, though all was sent meanwhile."""
        self.write(alpha, beta)
        swept(engine, home)
        shutil.rmtree(home / "brain-outbox")
        assert 0 == swept(engine, home)
        Claude().fire("Stop", beta)
        assert [] == waiting(home)

    def test_after_a_hook(self, home: Path, alpha: Path, engine: Engine, claude: Claude) -> None:
        """What a payload told of before the transcript did is not put by again."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha, last_assistant_message=lesson("One."))
        claude.say("10:01", alpha, lesson("One."))
        claude.say("10:02", alpha, lesson("Two."))
        assert 1 == swept(engine, home)
        assert ["One.", "Two."] == sorted(row["content"] for row in waiting(home))

    def test_nothing_is_sent(self, home: Path, alpha: Path, beta: Path, engine: Engine, brain: FakeBrain) -> None:
        """A sweep sends nothing: that is the drain's to do."""
        self.write(alpha, beta)
        swept(engine, home)
        assert ([], 5) == (brain.received, len(waiting(home)))

    def test_under_rollback(
        self, home: Path, alpha: Path, beta: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Under rollback the body is the preceding one, by the session's row, and what comes after sends nothing again."""
        Claude().fire("SessionStart", beta)
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        Claude().say("10:00", alpha, lesson())
        assert 1 == swept(engine, home)
        assert [("Pin it.", "beta", "")] == told(home, "project", "attribution")
        assert [preceding_marker_key(SESSION, "lesson", "Pin it.")] == keys(home)
        monkeypatch.delenv("AGENTIHOOKS_SESSION_SCOPE")
        assert 0 == swept(engine, home)


class TestFailures:
    """What goes wrong between a marker and its file."""

    def test_the_outbox_cannot_be_written(self, home: Path, alpha: Path, beta: Path, claude: Claude) -> None:
        """Moves are recorded all the same, the reason is in the log, and the next Stop takes the markers."""
        home.mkdir()
        (home / "brain-outbox").write_text("in the way")
        claude.say("10:00", alpha, lesson())
        claude.write("10:01", beta)
        claude.fire("Stop", beta)
        assert [("alpha",), ("beta",)] == scopes(SESSION, "project")
        assert any("agentihooks_accept_markers" in reason for reason in complaints(home))
        assert str(beta) == rows(home / "brain" / "project-sessions.jsonl")[-1]["cwd"]
        (home / "brain-outbox").unlink()
        claude.fire("Stop", beta)
        assert [("Pin it.", "alpha")] == told(home, "project")

    def test_one_of_two_could_be_written(
        self, home: Path, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where only some could be written, all are handed over again, and each is one file."""
        claude.say("10:00", alpha, lesson("One."))
        claude.say("10:01", alpha, lesson("Two."))
        true = os.replace

        def replace(source: str, target: str) -> None:
            if "100100-lesson" in target:
                raise OSError("no space left")
            true(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", replace)
            claude.fire("Stop", alpha)
        assert [("One.",)] == told(home)
        claude.fire("Stop", alpha)
        assert [("One.",), ("Two.",)] == told(home)

    def test_the_scope_log_cannot_be_read(self, home: Path, logs: Path, alpha: Path, claude: Claude) -> None:
        """Markers that cannot be attributed do not leave as if they were of no scope: they wait for the next Stop."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha)
        log = logs / f"{SESSION}.jsonl"
        content = log.read_bytes()
        log.unlink()
        log.mkdir()
        claude.say("10:01", alpha, lesson())
        claude.fire("Stop", alpha)
        assert [] == waiting(home)
        assert [True] == [reason.startswith("IsADirectoryError") for reason in complaints(home)]
        log.rmdir()
        log.write_bytes(content)
        claude.fire("Stop", alpha)
        assert [("Pin it.", "scoped")] == told(home, "attribution")

    def test_the_transcript_cannot_be_read(self, home: Path, alpha: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A transcript that cannot be read is a reason in the log; once it can, its markers leave."""
        codex = Codex()
        set_clock(monkeypatch, "09:59")
        codex.fire("SessionStart", alpha)
        codex.say("10:00", alpha, lesson())
        compressed = codex.path.with_suffix(".jsonl.zst")
        compressed.write_bytes(b"no zstd")
        codex.fire("Stop", alpha, transcript_path=str(compressed))
        assert [True] == ["cannot decompress" in reason for reason in complaints(home)]
        codex.fire("Stop", alpha)
        assert [("Pin it.", "alpha")] == told(home, "project")

    def test_another_pass_is_at_work(
        self, home: Path, alpha: Path, beta: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where another process reads the transcript and does not end, nothing is recorded out of its order."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha)
        claude.say("10:05", beta, lesson())
        monkeypatch.setattr(engine_module, "LOCK_TIMEOUT_S", 0)
        with locked(Cursors(cursor_directory(str(home))).lock_path(SESSION), 0):
            claude.fire("Stop", beta, last_assistant_message=lesson())
        assert [("alpha",)] == scopes(SESSION, "project")
        assert [True] == [reason.startswith("LogBusy: ") for reason in complaints(home)]
        claude.fire("Stop", beta, last_assistant_message=lesson())
        assert [(str(alpha), at("10:00")), (str(beta), at("10:05"))] == scopes(SESSION, "cwd", "at")
        assert [("Pin it.", "beta")] == told(home, "project")

    def test_a_file_that_is_no_transcript(self, home: Path, alpha: Path, claude: Claude) -> None:
        """Where no reader knows the transcript, the payload's markers leave all the same, once, and the log says so."""
        claude.append(b'{"of": "a later version"}\n')
        for _ in range(2):
            claude.fire("Stop", alpha, last_assistant_message=lesson())
        assert [("Pin it.", "alpha")] == told(home, "project")
        assert [True] * 2 == [reason.startswith("NotATranscript") for reason in complaints(home)]

    @pytest.mark.parametrize(
        "companion",
        [{"open": 1}, {"open": {"": {"lesson": 1}}}, {"told": []}, {"ahead": "x"}, {"sent": [1]}],
        ids=str,
    )
    def test_a_damaged_cursor(
        self, home: Path, alpha: Path, beta: Path, claude: Claude, companion: dict[str, Any]
    ) -> None:
        """What the last pass left for this one is a cache: damaged, it costs neither markers nor moves."""
        claude.say("10:00", alpha, lesson("One."))
        claude.fire("Stop", alpha)
        (path,) = (home / "state" / "cursors").glob("*.json")
        path.write_text(json.dumps({**json.loads(path.read_text()), "companion": companion}))
        claude.say("10:01", beta, f"{lesson('Two.')}<!-- @/lesson -->")
        claude.fire("Stop", beta)
        assert [("One.", "alpha"), ("Two.", "beta")] == told(home, "project")
        assert [] == complaints(home)

    def test_text_that_is_not_quite_unicode(self, home: Path, alpha: Path, claude: Claude) -> None:
        """Half of a character, left over where a client cut a text, neither stops a marker nor what comes after it."""
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha, last_assistant_message=lesson("Half \ud83d."))
        claude.say("10:01", alpha, lesson("Next."))
        claude.fire("Stop", alpha)
        assert ["Half ", "Next."] == sorted(row["content"][:5] for row in waiting(home))
        assert [] == complaints(home)
