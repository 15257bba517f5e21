"""What was done for which task: the history of a transcript, and everything that happened in it, each thing once."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentihooks import Engine, NotATranscript
from agentihooks.engine import engine_at
from agentihooks.plugins import Plugins
from agentihooks.report import KINDS, TranscriptReport, report
from agentihooks.testing import scope
from tests.sessions import SESSION, Claude, Codex, at, files, repository

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentihooks.report import EmitterReport

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def attributed(
    path: Path, recorded: Engine | None = None, environ: Mapping[str, str] | None = None
) -> TranscriptReport:
    """Return what `agentihooks attribute` knows of a transcript."""
    return report(path, recorded or Engine.in_memory(), Plugins.bundled(), os.environ if environ is None else environ)


def stretches(emitter: EmitterReport, *fields: str) -> list[tuple[Any, ...]]:
    """Return, for each stretch, some fields of its scope, and the number of events in it."""
    return [
        (*(stretch.scope.get(field, "") for field in fields), stretch.events.total()) for stretch in emitter.stretches
    ]


@pytest.fixture
def claude() -> Claude:
    """Return a session that was in two folders, on two branches."""
    claude = Claude()
    claude.write("10:00", "/a", "user")
    claude.write("10:01", "/a")
    claude.write("10:05", "/a", branch="topic")
    claude.write("10:10", "/b")
    return claude


def test_a_history(claude: Claude) -> None:
    """Without a recorded log the history is the transcript's: from when to when, where, and what happened."""
    found = attributed(claude.path)
    (emitter,) = found.emitters
    assert (str(claude.path), "claude", SESSION, "", False) == (
        *(found.path, found.agent),
        *(emitter.session_id, emitter.agent_id, emitter.is_recorded),
    )
    times = [(stretch.begin, stretch.end, stretch.last_event) for stretch in emitter.stretches]
    clock = [at(time) for time in ("10:00", "10:05", "10:10")]
    assert [(clock[0], clock[1], at("10:01")), (clock[1], clock[2], clock[1]), (clock[2], "", clock[2])] == times
    assert [("/a", "main", 2), ("/a", "topic", 1), ("/b", "main", 1)] == stretches(emitter, "cwd", "branch")
    assert {"prompt": 1, "message": 1} == emitter.stretches[0].events


def test_a_codex_session() -> None:
    """So it is with Codex, whether or not the file was compressed since."""
    codex = Codex()
    codex.write("10:00", "/a")
    codex.write("10:05", "/b")
    plain = attributed(codex.path)
    compressed = codex.path.with_name(f"{codex.path.name}.zst")
    compressed.write_bytes(zstd.compress(codex.path.read_bytes()))
    codex.path.unlink()
    assert "codex" == plain.agent
    assert [("/a", 1), ("/b", 1)] == stretches(plain.emitters[0], "cwd")
    assert stretches(plain.emitters[0], "cwd", "branch") == stretches(
        attributed(compressed).emitters[0], "cwd", "branch"
    )


def test_a_recorded_log(claude: Claude, home: Path) -> None:
    """A session with a log has the history of the log, whatever the transcript says; nothing is written to it."""
    engine_at(home).record_scope(SESSION, scope("alpha", task="first"), at("09:00"))
    engine_at(home).record_scope(SESSION, scope("alpha", task="second"), at("10:01"))
    before = files(home)
    found = attributed(claude.path, Engine.at_home(home))
    assert found.emitters[0].is_recorded
    assert [("alpha", "first", 1), ("alpha", "second", 3)] == stretches(found.emitters[0], "project", "task")
    assert {"scoped": 4} == {label: count for label, count in found.labels.items() if count}
    assert before == files(home)


def test_nothing_is_written(claude: Claude, home: Path, tmp_path: Path) -> None:
    """Nor is anything where there is no log."""
    before = files(tmp_path)
    attributed(claude.path, Engine.at_home(home))
    assert before == files(tmp_path)


def test_the_environment_s_task(claude: Claude) -> None:
    """A history from the transcript is on the task that the environment names."""
    found = attributed(claude.path, environ={"AGENTIHOOKS_SWARM_TASK": "first"})
    assert {"first"} == {stretch.scope["task"] for stretch in found.emitters[0].stretches}


def test_before_the_log_begins(claude: Claude, home: Path) -> None:
    """What precedes the log is unknown, in a stretch of its own."""
    engine_at(home).record_scope(SESSION, scope("alpha"), at("10:05"))
    found = attributed(claude.path, Engine.at_home(home))
    assert [("", 2), ("alpha", 2)] == stretches(found.emitters[0], "project")
    assert (2, 2) == (found.labels["unknown"], found.labels["scoped"])


def test_a_project(tmp_path: Path) -> None:
    """What was done in a checkout was done for its project."""
    claude = Claude()
    claude.write("10:00", repository(tmp_path / "alpha"))
    assert {"scoped": 1} == {label: count for label, count in attributed(claude.path).labels.items() if count}


class TestEvents:
    """What counts as something that was done."""

    def test_kinds(self) -> None:
        """Prompts, messages, tool calls and markers are counted apart."""
        claude = Claude()
        text = "<!-- @lesson -->Pin the version.<!-- @/lesson -->"
        tool = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
        claude.write("10:00", "/a", "user")
        claude.write("10:01", "/a", message={"id": "m1", "content": [{"type": "text", "text": text}, tool]})
        assert set(KINDS) == {*attributed(claude.path).emitters[0].stretches[0].events}

    def test_each_once(self) -> None:
        """A message that is told on several lines, block by block, is one; so is a line that is there again."""
        claude = Claude()
        for text in ("One.", "Two."):
            claude.write("10:00", "/a", message={"id": "m1", "content": [{"type": "text", "text": text}]})
        claude.append(claude.path.read_bytes())
        found = attributed(claude.path)
        assert (1, {"copy": 2}) == (found.events, found.skipped)

    @pytest.mark.parametrize(
        ("attributes", "label"),
        [("", "unknown"), (" project_id=github.com/x/y", "explicit"), (" share=fleet", "fleet")],
    )
    def test_markers(self, attributes: str, label: str) -> None:
        """A marker's own claim counts."""
        claude = Claude()
        text = f"<!-- @lesson{attributes} -->Pin the version.<!-- @/lesson -->"
        claude.write("10:00", "/a", message={"content": [{"type": "text", "text": text}]})
        found = attributed(claude.path)
        expected = {label: 2} if label == "unknown" else {"unknown": 1, label: 1}
        assert expected == {name: count for name, count in found.labels.items() if count}

    def test_a_turn_s_end(self) -> None:
        """A marker that its turn leaves open is none."""
        claude = Claude()
        parts = ("<!-- @lesson -->Pin", "the version.<!-- @/lesson -->")
        claude.write("10:00", "/a", message={"content": [{"type": "text", "text": parts[0]}]})
        claude.write("10:01", "/a", "user")
        claude.write("10:02", "/a", message={"content": [{"type": "text", "text": parts[1]}]})
        assert "marker" not in attributed(claude.path).emitters[0].stretches[0].events

    @pytest.mark.parametrize("time", ["", "yesterday", None], ids=repr)
    def test_no_time(self, claude: Claude, time: object) -> None:
        """What happened at no readable time is unknown, in a stretch of its own."""
        claude.write("10:11", "/b", timestamp=time)
        found = attributed(claude.path)
        assert [("", 1), ("/a", 2), ("/a", 1), ("/b", 1)] == stretches(found.emitters[0], "cwd")
        assert ("", "", "") == (
            *(found.emitters[0].stretches[0].begin, found.emitters[0].stretches[0].end),
            *(found.emitters[0].stretches[0].last_event,),
        )

    def test_many(self) -> None:
        """However many there are, all are counted."""
        claude = Claude()
        claude.append(b"".join(claude.line(f"10:{number % 60:02}", "/a") for number in range(2500)))
        found = attributed(claude.path)
        assert (2500, 2500) == (found.events, sum(found.labels.values()))


class TestSubagents:
    """Whoever worked for the session."""

    def test_under_their_session(self, claude: Claude) -> None:
        """A subagent has a history of its own, after its session's, by its beginning; where it was, it alone was."""
        for agent_id, clock in (("late", "10:30"), ("early", "10:02")):
            Claude(agent_id=agent_id).write(clock, f"/{agent_id}")
        found = attributed(claude.path)
        assert ["", "early", "late"] == [emitter.agent_id for emitter in found.emitters]
        assert [[("/early", 1)], [("/late", 1)]] == [stretches(emitter, "cwd") for emitter in found.emitters[1:]]
        assert 6 == found.events

    def test_their_task(self, claude: Claude, home: Path) -> None:
        """A subagent without a log works on its session's task."""
        Claude(agent_id="a1").write("10:02", "/c")
        engine_at(home).record_scope(SESSION, scope("alpha", task="first"), at("10:00"))
        found = attributed(claude.path, Engine.at_home(home))
        assert [("/c", "first", 1)] == stretches(found.emitters[1], "cwd", "task")

    def test_before_their_first_move(self, claude: Claude, home: Path) -> None:
        """Before its own log begins a subagent is where its session is."""
        Claude(agent_id="a1").write("10:02", "/c")
        engine_at(home).record_scope(SESSION, scope("alpha"), at("10:00"))
        engine_at(home).record_scope(f"{SESSION}.agent-a1", scope("beta"), at("10:30"))
        found = attributed(claude.path, Engine.at_home(home))
        assert [("alpha", 1), ("beta", 0)] == stretches(found.emitters[1], "project")

    def test_in_the_same_file(self, claude: Claude) -> None:
        """A side chain in the session's own file is apart as well."""
        claude.write("10:03", "/c", isSidechain=True, parentUuid=None)
        found = attributed(claude.path)
        assert [SESSION, SESSION] == [emitter.session_id for emitter in found.emitters]
        assert [("/c", 1)] == stretches(found.emitters[1], "cwd")

    def test_alone(self) -> None:
        """A subagent's own file may be asked for."""
        agent = Claude(agent_id="a1")
        agent.write("10:02", "/c")
        found = attributed(agent.path)
        assert [("a1", [("/c", 1)])] == [(each.agent_id, stretches(each, "cwd")) for each in found.emitters]

    def test_of_two_sessions(self) -> None:
        """Where a file tells of several sessions, each has its subagents beneath it."""
        one, two = Claude("one"), Claude("two")
        for session in (two, one):
            one.append(session.line("10:00" if session is one else "10:05", "/a"))
            Claude(session.session_id, agent_id="a1").write("10:10", "/b")
        found = attributed(one.path)
        expected = [("one", ""), ("one", "a1"), ("two", ""), ("two", "a1")]
        assert expected == [(emitter.session_id, emitter.agent_id) for emitter in found.emitters]


class TestBadInput:
    """What is no transcript, or is damaged."""

    @pytest.mark.parametrize("content", [b"", b"[1, 2]\n", b"no JSON", b"\xff\xfe\x00", b'{"a": 1}\n'], ids=repr)
    def test_no_transcript(self, tmp_path: Path, content: bytes) -> None:
        """A file that is none is refused."""
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(NotATranscript):
            attributed(tmp_path / "file")

    @pytest.mark.parametrize("name", ["", "missing"])
    def test_no_file(self, tmp_path: Path, name: str) -> None:
        """So is what is no file."""
        with pytest.raises(OSError, match=r"directory"):
            attributed(tmp_path / name)

    @pytest.mark.parametrize("agent", [Claude, Codex])
    def test_cut_anywhere(self, tmp_path: Path, agent: type[Claude | Codex]) -> None:
        """However short a transcript is cut, what is left is attributed, or the file is none; events never get fewer."""
        session = agent()
        session.write("10:00", "/a")
        session.write("10:05", "/b\u00e9")
        data = session.path.read_bytes()
        cut, before = tmp_path / session.path.name, 0
        for length in range(len(data) + 1):
            cut.write_bytes(data[:length])
            try:
                found = attributed(cut)
            except NotATranscript:
                assert 0 == before
                continue
            assert found.events == sum(found.labels.values()) >= before
            before = found.events
        assert before == attributed(session.path).events == 2

    def test_what_was_passed_over(self, claude: Claude) -> None:
        """What could not be read is counted under its reason."""
        claude.append(b"\xff\xfe{]\n" + claude.line("10:20", "/c").replace(b"Line", b"\xff"))
        found = attributed(claude.path)
        assert ({"damaged": 1}, 5) == (found.skipped, found.events)


lines: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    clock=st.integers(0, 59).map(lambda minute: f"10:{minute:02}"),
    cwd=st.sampled_from(["/a", "/b", None, 1]),
    kind=st.sampled_from(["user", "assistant", "system"]),
    timestamp=st.sampled_from([at("10:00"), at("10:30"), "", None]),
    isSidechain=st.booleans(),
    uuid=st.sampled_from(["u1", "u2", "u3", "u4", None]),
    sessionId=st.sampled_from([SESSION, "other", None]),
)


@given(st.lists(lines, max_size=8), st.lists(st.integers(0, 59), max_size=3).map(sorted))
def test_the_labels_add_up(tmp_path_factory: pytest.TempPathFactory, entries: list[Any], minutes: list[int]) -> None:
    """Whatever a transcript holds, scoped + explicit + fleet + unknown + refused are its events, in all and in each stretch."""
    recorded = Engine.in_memory()
    for number, minute in enumerate(minutes):
        recorded.record_scope(SESSION, scope(("alpha", "")[number % 2], branch=str(number)), at(f"10:{minute:02}"))
    claude = Claude()
    path = tmp_path_factory.getbasetemp() / "law.jsonl"
    path.write_bytes(claude.line("10:00", "/a") + b"".join(claude.line(**entry) for entry in entries))
    found = attributed(path, recorded)
    told = [stretch for emitter in found.emitters for stretch in emitter.stretches]
    assert found.events == sum(found.labels.values()) == sum(stretch.events.total() for stretch in told)
    assert all(stretch.events.total() == stretch.labels.total() for stretch in told)
