"""The command: what each verb prints, how it exits, and that bad input costs one line."""

from __future__ import annotations

import importlib.metadata
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import __version__, cli, scope_at
from agentihooks.__main__ import main
from agentihooks.engine import Engine, engine_at
from agentihooks.plugins import Plugins
from agentihooks.testing import scope
from tests.sessions import SESSION, Claude, Codex, at, files, repository, scopes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HOSTILE = "\x1b]0;title\x07\x1b[31mred\n\u202egnp.exe\x9b2J"


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    """Return a session that was in two folders."""
    claude = Claude()
    claude.write("10:00", repository(tmp_path / "alpha"))
    claude.write("10:05", tmp_path)
    return claude


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command in a folder of no project."""
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Return how a command exits, what it prints, and what it complains of."""
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert len(err.splitlines()) <= max(1, len(arguments))
    return code, out, err


def listed(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """Return what a command prints for programs."""
    code, out, err = run(capsys, *arguments, "--json")
    assert (0, "") == (code, err)
    return json.loads(out)


class TestAttribute:
    """`agentihooks attribute`."""

    def test_people(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """People get a history in a table."""
        code, out, err = run(capsys, "attribute", claude.path)
        assert (0, "") == (code, err)
        assert f"claude  {claude.path}" == out.splitlines()[0]
        assert "  1 scoped + 0 explicit + 0 fleet + 1 unknown + 0 refused = 2 events" in out.splitlines()

    def test_programs(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """Programs get all of it in JSON."""
        (found,) = listed(capsys, "attribute", claude.path)["transcripts"]
        assert (str(claude.path), "claude", 2) == (found["path"], found["agent"], found["events"])
        (emitter,) = found["emitters"]
        assert [at("10:00"), at("10:05")] == [stretch["begin"] for stretch in emitter["stretches"]]
        assert "alpha" == emitter["stretches"][0]["scope"]["project"]

    def test_several(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """Files that cannot be read are named; the others are shown."""
        codex = Codex("5e551010-0000-7000-8000-000000000002")
        codex.write("10:00", "/a")
        code, out, err = run(capsys, "attribute", claude.path, "/missing", codex.path)
        assert (2, "agentihooks: /missing: No such file or directory\n") == (code, err)
        assert ["claude", "codex"] == [line.split()[0] for line in out.splitlines() if ".jsonl" in line]

    def test_the_recorded_log(self, claude: Claude, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A recorded log is used, and not written to."""
        engine_at(home).record_scope(SESSION, scope("beta", task="second"), at("09:00"))
        before = files(home)
        (found,) = listed(capsys, "attribute", claude.path)["transcripts"]
        assert [("beta", "second")] == [
            (stretch["scope"]["project"], stretch["scope"]["task"]) for stretch in found["emitters"][0]["stretches"]
        ]
        assert before == files(home)

    def test_the_newest(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a path it is the newest sessions of both agents, the newest last, their subagents beneath them."""
        codex = Codex("5e551010-0000-7000-8000-000000000002")
        codex.write("10:00", "/a")
        Claude(agent_id="a1").write("10:01", "/a")
        old = Claude("old")
        old.write("09:00", "/a")
        paths = [old.path, claude.path, codex.path]
        for seconds, path in enumerate(paths):
            os.utime(path, (0, seconds))
        everything = listed(capsys, "attribute")["transcripts"]
        assert [*map(str, paths)] == [found["path"] for found in everything]
        assert ["", "a1"] == [emitter["agent_id"] for emitter in everything[1]["emitters"]]
        newest = listed(capsys, "attribute", "--limit", 2)["transcripts"]
        assert [*map(str, paths[1:])] == [found["path"] for found in newest]

    def test_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Where there are none, how to name one is said."""
        assert (0, "no transcripts found; name one: agentihooks attribute PATH\n", "") == run(capsys, "attribute")
        assert {"transcripts": []} == listed(capsys, "attribute")

    @pytest.mark.parametrize("limit", ["0", "-1", "x", "", "1.5"])
    def test_limits(self, capsys: pytest.CaptureFixture[str], limit: str) -> None:
        """A limit is a number from 1 on."""
        with pytest.raises(SystemExit) as caught:
            main(["attribute", f"--limit={limit}"])
        assert 2 == caught.value.code
        complaint = (
            f"agentihooks: argument --limit: not a number from 1 on: {limit}; see agentihooks attribute --help\n"
        )
        assert complaint == capsys.readouterr().err

    def test_a_faulty_plugin(
        self, claude: Claude, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A plugin that cannot be used is complained of, and does not keep the others from their work."""

        def broken() -> list[Any]:
            point = importlib.metadata.EntryPoint("broken", "no_such_module_anywhere", "agentihooks.plugins")
            return [point]

        monkeypatch.setattr("agentihooks.plugins._entry_points", broken)
        code, _, err = run(capsys, "attribute", claude.path)
        assert (0, True) == (code, err.startswith("agentihooks: plugin broken: cannot be imported: "))


def test_nobody_s_own_environment(
    tmp_path: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What whoever looks at a session works on is not what the session worked on; what it may name is."""
    monkeypatch.setenv("AGENTIHOOKS_SWARM_TASK", "mine")
    monkeypatch.setenv("AGENTIHOOKS_GRANT", "")
    claude.say("10:20", tmp_path, "<!-- @lesson project_id=local:x -->Pin it.<!-- @/lesson -->")
    (found,) = listed(capsys, "attribute", claude.path)["transcripts"]
    assert {None} == {stretch["scope"].get("task") for stretch in found["emitters"][0]["stretches"]}
    assert 1 == found["labels"]["refused"]


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_an_install_says_nothing_to_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: Sequence[str]
) -> None:
    """What a folder is named, and what its settings hold, is printed without control sequences."""
    folder = tmp_path / "ev\x1b]0;pwn\x07il"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / "settings.json").write_text('{"a": "\x9b2J", // \x1b[31m\n"b": 1}')
    monkeypatch.chdir(folder)
    code, out, _ = run(capsys, "install", "claude", "--scope", "project", *options)
    assert (0, set()) == (code, {"\x1b", "\x07", "\x9b"} & {*out})


def test_bad_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """What the command does not know is told in one line, without control sequences."""
    with pytest.raises(SystemExit, match="2"):
        main(["attribute", "--\x1b[31m.jsonl"])
    complaint = "agentihooks: unrecognized arguments: --?[31m.jsonl; see agentihooks --help\n"
    assert ("", complaint) == capsys.readouterr()


def test_a_transcript_named_twice(claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
    """What happened in it has not happened twice."""
    (found,) = listed(capsys, "attribute", claude.path, claude.path.parent / "." / claude.path.name)["transcripts"]
    assert str(claude.path) == found["path"]


class TestBadTranscripts:
    """Files that are none, or damaged: exit 2 and one line, or what could be read."""

    @pytest.mark.parametrize(
        "content",
        [b"", b"[1, 2]\n", b"no transcript\n", b"\xff\xfe\x00\x80\n", b'{"a": 1}\n', b"{}\n" * 100, b"\x00" * 5000],
        ids=["empty", "array", "text", "not UTF-8", "foreign", "objects", "zeros"],
    )
    def test_no_transcript(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
        """A file that is none is named, and said to be none."""
        path = tmp_path / "file.jsonl"
        path.write_bytes(content)
        code, out, err = run(capsys, "attribute", path)
        assert (2, "", True) == (code, out, err.startswith(f"agentihooks: {path}: no transcript"))

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("", "Is a directory"),
            ("missing", "No such file or directory"),
            ("file/below", "Not a directory"),
            ("n" * 300, "File name too long"),
            ("a\0b", "embedded null byte"),
        ],
        ids=["directory", "missing", "below a file", "long", "NUL"],
    )
    def test_no_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, reason: str) -> None:
        """What is no file is named, and the reason."""
        (tmp_path / "file").write_text("")
        code, out, err = run(capsys, "attribute", f"{tmp_path}/{name}")
        assert (2, "", True) == (code, out, err.endswith(f"{reason}\n"))

    def test_a_long_line(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """A line of 50 MB is read like any other."""
        text = [{"type": "text", "text": "x" * 50_000_000}]
        claude.write("10:06", "/c", message={"content": text})
        claude.write("10:07", "/c")
        (found,) = listed(capsys, "attribute", claude.path)["transcripts"]
        assert (4, {}) == (found["events"], found["skipped"])

    def test_a_longer_line(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """One that is longer than any that was ever seen is passed over, and counted."""
        claude.append(b"x" * 65 * 1024 * 1024 + b"\n")
        claude.write("10:07", "/c")
        (found,) = listed(capsys, "attribute", claude.path)["transcripts"]
        assert (3, {"oversized": 1}) == (found["events"], found["skipped"])

    @pytest.mark.parametrize("agent", [Claude, Codex])
    def test_cut(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], agent: type[Claude | Codex]) -> None:
        """A transcript that is cut anywhere gives what is left of it, or that it is none; never a traceback."""
        session = agent()
        session.write("10:00", "/a")
        data = session.path.read_bytes()
        cut = tmp_path / session.path.name
        for length in range(0, len(data), 37):
            cut.write_bytes(data[:length])
            code, _, err = run(capsys, "attribute", cut)
            assert (0, "") == (code, err) or (2, True) == (code, "no transcript" in err)

    def test_hostile_text(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """What could steer a terminal is taken out of everything that is shown or complained of."""
        claude.write("10:06", f"/{HOSTILE}", branch=HOSTILE, gitBranch=HOSTILE)
        hostile = claude.path.with_name(f"{HOSTILE}.jsonl")
        hostile.write_bytes(claude.path.read_bytes())
        said = [run(capsys, "attribute", path) for path in (hostile, f"/{HOSTILE}")]
        assert [0, 2] == [code for code, _, _ in said]
        assert not {"\x1b", "\x9b", "\u202e", "\x07"} & {*"".join(text for _, *texts in said for text in texts)}


class TestScopeShow:
    """`agentihooks scope show`."""

    def test_people(self, conformance: Engine, capsys: pytest.CaptureFixture[str]) -> None:
        """People get a line for each transition."""
        code, out, err = run(capsys, "scope", "show", "first")
        assert (0, "") == (code, err)
        assert ["0", "1", "2", "3"] == [line.split()[0] for line in out.splitlines()[1:]]

    def test_programs(self, conformance: Engine, capsys: pytest.CaptureFixture[str]) -> None:
        """Programs get the log's lines."""
        expected = [transition.as_dict() for transition in conformance.transitions("first")]
        assert expected == listed(capsys, "scope", "show", "first")

    @pytest.mark.parametrize("session", ["unknown", "../first", "", HOSTILE, "s" * 129])
    def test_no_log(self, home: Path, capsys: pytest.CaptureFixture[str], session: str) -> None:
        """A session without a log, and one that could have none, is named; nothing is made for it."""
        code, out, err = run(capsys, "scope", "show", session)
        assert (2, "", True) == (code, out, err.startswith("agentihooks: no scope log for session "))
        assert not home.exists()


class TestScopeAt:
    """`agentihooks scope at`."""

    def test_people(self, conformance: Engine, capsys: pytest.CaptureFixture[str]) -> None:
        """People get the fields that say something."""
        code, out, _ = run(capsys, "scope", "at", "first", "2026-10-08T12:15:00+02:00")
        assert 0 == code
        found = scope_at("first", "2026-10-08T10:15:00Z")
        assert found is not None
        assert found.nonempty() == dict(line.split(maxsplit=1) for line in out.splitlines())

    def test_programs(self, conformance: Engine, capsys: pytest.CaptureFixture[str]) -> None:
        """Programs get all of them, or null."""
        found = scope_at("first", "2026-10-08T10:15:00Z")
        assert found is not None
        assert found.as_dict() == listed(capsys, "scope", "at", "first", "2026-10-08T10:15:00Z")
        assert listed(capsys, "scope", "at", "first", "2026-10-08T09:00:00Z") is None

    def test_before_it_begins(self, conformance: Engine, capsys: pytest.CaptureFixture[str]) -> None:
        """Before the first transition there is none."""
        code, out, _ = run(capsys, "scope", "at", "first", "2026-10-08T09:00:00Z")
        assert (0, "unknown  no scope was in force\n") == (code, out)

    @pytest.mark.parametrize("time", ["yesterday", "", "2026-10-08", "2026-13-01T10:00:00Z", "10:00", HOSTILE])
    def test_no_time(self, conformance: Engine, capsys: pytest.CaptureFixture[str], time: str) -> None:
        """A time that cannot be read is bad input."""
        code, out, err = run(capsys, "scope", "at", "first", time)
        assert (2, "", 1) == (code, out, len(err.splitlines()))

    def test_no_log(self, capsys: pytest.CaptureFixture[str]) -> None:
        """So is a session that is not known."""
        code, out, err = run(capsys, "scope", "at", "unknown", "2026-10-08T10:00:00Z")
        assert (2, "", "agentihooks: no scope log for session unknown\n") == (code, out, err)


class TestScopeSet:
    """`agentihooks scope set`."""

    def set(self, capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
        """Set a task."""
        return run(capsys, "scope", "set", *arguments)

    def test_from_outside(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """A session that is named is on the task from now on, and what is in force is said."""
        said = self.set(capsys, "--task", "T1", "--revision", 2, "--swarm", "w", "--lane", "eng", "--session", SESSION)
        assert (0, f"{SESSION}: swarm w, task T1, task_revision 2, lane eng\n", "") == said
        assert ("w", "T1", "2", "eng") == scopes(SESSION, "swarm", "task", "task_revision", "lane")[-1]

    def test_from_an_agent_s_shell(
        self, claude: Claude, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """In an agent's shell the session need not be named; its next Stop keeps the task."""
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
        assert (0, f"{SESSION}: task T1\n", "") == self.set(capsys, "--task", "T1")
        claude.write("10:30", "/a")
        claude.fire("Stop", "/a")
        assert {("T1",)} == {*scopes(SESSION, "task")[2:]}

    def test_the_caller_s_launch(
        self, claude: Claude, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What the caller's own environment says of a task is not the session's."""
        for name in ("SWARM", "SWARM_TASK", "SWARM_TASK_REVISION", "SWARM_LANE"):
            monkeypatch.setenv(f"AGENTIHOOKS_{name}", "mine")
        self.set(capsys, "--task", "T1", "--session", SESSION)
        assert [("", "", ""), ("", "", ""), ("T1", "", "")] == scopes(SESSION, "task", "swarm", "lane")

    def test_again(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Setting what is set changes nothing; no task is one, too."""
        arguments = ("--task", "T1", "--session", SESSION)
        assert [0, 0] == [self.set(capsys, *arguments)[0] for _ in range(2)]
        assert (0, "unchanged\n", "") == self.set(capsys, *arguments)
        assert (0, f"{SESSION}: no task\n", "") == self.set(capsys, "--task", "", "--session", SESSION)

    @pytest.mark.parametrize(
        ("code", "arguments"),
        [
            ("older_revision", ("--task", "T1", "--revision", "1", "--session", SESSION)),
            ("older_transition", ("--task", "T2", "--at", "2025-06-01T09:00:00Z", "--session", SESSION)),
            ("bad_time", ("--task", "T2", "--at", "yesterday", "--session", SESSION)),
            ("bad_scope", ("--task", "x" * 5000, "--session", SESSION)),
            ("unsafe_session_id", ("--task", "T2", "--session", "../s")),
        ],
    )
    def test_refusals(self, code: str, arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
        """A refusal exits 3, with its code and what to do in one line; nothing is recorded."""
        self.set(capsys, "--task", "T1", "--revision", "2", "--session", SESSION)
        before = scopes(SESSION, "task", "at")
        exit_code, out, err = self.set(capsys, *arguments)
        assert (3, "", True) == (exit_code, out, err.startswith(f"agentihooks: {code}: "))
        assert (1, before) == (len(err.splitlines()), scopes(SESSION, "task", "at"))

    def test_no_session(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Outside an agent's shell a session has to be named: bad input."""
        expected = "agentihooks: no session: name one with --session, or run this in an agent's shell\n"
        assert (2, "", expected) == self.set(capsys, "--task", "T1")
        assert not home.exists()

    def test_no_task(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A task has to be named."""
        with pytest.raises(SystemExit) as caught:
            self.set(capsys, "--session", SESSION)
        assert 2 == caught.value.code

    def test_hostile_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        """What is said of the scope steers no terminal."""
        _, out, _ = self.set(capsys, "--task", HOSTILE, "--session", SESSION)
        assert out.rstrip("\n").isprintable()
        assert [(HOSTILE,)] == scopes(SESSION, "task")

    def test_a_rollback(self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Under rollback nothing is recorded, that is said, and whoever called goes on."""
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        code, out, err = self.set(capsys, "--task", "T1", "--session", SESSION)
        assert (0, "", "nothing recorded: AGENTIHOOKS_SESSION_SCOPE=0\n") == (code, out, err)
        assert not home.exists()


class TestStatus:
    """`agentihooks status`."""

    def test_people(self, claude: Claude, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """People get a line for each session, and what is worth a look."""
        for session_id in ("one", "two"):
            Claude(session_id).fire("SessionStart", tmp_path / "alpha")
        code, out, err = run(capsys, "status")
        assert (0, "") == (code, err)
        assert "fixture/alpha" in out
        assert f"warning: one and two share the checkout {tmp_path / 'alpha'}" == out.splitlines()[-1]

    def test_programs(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Programs get it in JSON."""
        Claude().fire("SessionStart", tmp_path)
        found = listed(capsys, "status")
        assert {"sessions", "warnings", "older"} == found.keys()
        assert [(SESSION, "claude", True)] == [
            (each["session_id"], each["agent"], each["is_live"]) for each in found["sessions"]
        ]

    def test_none(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Where there are none that is said, and nothing made."""
        assert (0, "no session is known yet\n", "") == run(capsys, "status")
        assert not home.exists()


class TestSweep:
    """`agentihooks sweep`."""

    def test_people(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """What came of it is told; again, nothing does."""
        expected = "transcripts read: 1; transitions added: {}; markers put by: 0\n"
        assert (0, expected.format(2), "") == run(capsys, "sweep")
        assert (0, expected.format(0), "") == run(capsys, "sweep")

    def test_programs(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """Programs get it in JSON."""
        assert {"transcripts": 1, "recorded": 2, "markers": 0, "failed": {}} == listed(capsys, "sweep")

    def test_failures(self, claude: Claude, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that cannot be read is named, and needs a person."""
        broken = Codex("5e551010-0000-7000-8000-000000000002").path.with_suffix(".jsonl.zst")
        broken.parent.mkdir(parents=True)
        broken.write_bytes(b"no zstd")
        code, out, err = run(capsys, "sweep")
        assert (1, True) == (code, err.startswith(f"agentihooks: {broken}: cannot decompress"))
        assert out.startswith("transcripts read: 1;")


class TestDoctor:
    """`agentihooks doctor`."""

    def test_healthy(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Where nothing needs a person it exits 0."""
        Claude().fire("SessionStart", tmp_path)
        code, out, err = run(capsys, "doctor")
        assert (0, "", True) == (code, err, out.startswith("ok       home: "))

    def test_sick(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Where something does, it exits 1; programs get the same findings."""
        home.mkdir(mode=0o755)
        code, out, err = run(capsys, "doctor", "--json")
        assert (1, "") == (code, err)
        problems = [finding for finding in json.loads(out)["findings"] if finding["level"] == "problem"]
        assert [f"chmod 700 '{home}'"] == [finding["advice"] for finding in problems]


class TestHome:
    """Where everything lies."""

    @pytest.mark.parametrize("verb", ["status", "sweep", "doctor"])
    def test_relative(self, verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """A home that is another one in each folder is none."""
        monkeypatch.setenv("AGENTIHOOKS_HOME", "state")
        expected = "agentihooks: AGENTIHOOKS_HOME is state, which is not absolute: give the whole path\n"
        assert (2, "", expected) == run(capsys, verb)

    def test_nobody_s(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Whoever has no directory has to name one."""
        monkeypatch.delenv("AGENTIHOOKS_HOME")
        monkeypatch.delenv("HOME")
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
        assert (2, "", "agentihooks: nothing tells the user's directory: set HOME\n") == run(capsys, "status")

    def test_under_a_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Where none can be made, that is one line."""
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("AGENTIHOOKS_HOME", str(tmp_path / "file" / "home"))
        code, out, err = run(capsys, "scope", "set", "--task", "T1", "--session", SESSION)
        assert (2, "", 1) == (code, out, len(err.splitlines()))


class TestMain:
    """The frame around all verbs."""

    @pytest.mark.parametrize(
        "arguments", [[], ["unheard-of"], ["scope"], ["attribute", "--what"], ["install"]], ids=str
    )
    def test_usage(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        """Words that are none of the command's are bad input."""
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert (2, "") == (caught.value.code, capsys.readouterr().out)

    def test_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Every verb has a line in the help."""
        with pytest.raises(SystemExit) as caught:
            main(["--help"])
        out = capsys.readouterr().out
        assert 0 == caught.value.code
        verbs = {"attribute", "scope", "status", "sweep", "outbox", "doctor", "install", "uninstall", "hook"}
        assert verbs <= {line.split()[0] for line in out.splitlines() if line.startswith("    ")}

    def test_the_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The command tells its version."""
        with pytest.raises(SystemExit):
            main(["--version"])
        assert f"agentihooks {__version__}\n" == capsys.readouterr().out

    def test_an_interruption(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Whoever presses Ctrl-C gets no traceback."""

        def interrupt(_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(cli, "_status", interrupt)
        assert (130, "", "") == run(capsys, "status")

    def test_the_hook_s_help(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Whoever asks what the hook is gets an answer; no event is taken from that."""
        with pytest.raises(SystemExit, match="0"):
            main(["hook", "--help"])
        assert "Read one event's payload from standard input." in capsys.readouterr().out
        assert not home.exists()

    def test_the_hook(self, home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """The hook is reached through the command, with whatever arguments, and says nothing."""
        monkeypatch.setattr("sys.stdin", None)
        assert [0, 0, 0] == [main(["hook", *arguments]) for arguments in ([], ["claude"], ["claude", "--what"])]
        assert ("", "") == capfd.readouterr()

    def test_the_process_s_arguments(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Without arguments of its own it takes the process's."""
        monkeypatch.setattr("sys.argv", ["agentihooks", "status"])
        assert 0 == main()
        assert "no session is known yet\n" == capsys.readouterr().out


def test_newest_transcripts(claude: Claude) -> None:
    """Subagents' files are not sessions."""
    Claude(agent_id="a1").write("10:00", "/a")
    assert [str(claude.path)] == cli.newest_transcripts(Plugins.bundled(), 5)
