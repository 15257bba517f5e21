"""Real processes: hooks as agents start them, many at once, killed, on a full disk, and in folders that are gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks.cursor import Cursors
from agentihooks.engine import Engine
from agentihooks.home import cursor_directory
from agentihooks.log import locked
from agentihooks.sweep import known_transcripts, sweep
from tests.sessions import SESSION, Claude, Codex, at, files, fire, reasons, repository, rows, scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

HOOK = (sys.executable, "-m", "agentihooks", "hook", "claude")
SCRIPT = (sys.executable, "-c", "import sys; from agentihooks.__main__ import main; sys.exit(main())", "hook", "claude")
OTHER = "5e551010-0000-7000-8000-000000000002"
DEADLINE_S = 120.0
"""Against hangs alone."""


def start(payload: object, command: Sequence[str] = HOOK, **options: Any) -> subprocess.Popen[bytes]:
    """Start a hook and hand it its payload, if there is any; bytes are sent as they are."""
    hook = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    assert hook.stdin is not None
    hook.stdin.write(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
    hook.stdin.close()
    hook.stdin = None
    return hook


def end(*hooks: subprocess.Popen[bytes]) -> None:
    """Wait for hooks to end; each of them must have succeeded without a word."""
    for hook in hooks:
        assert (b"", b"") == hook.communicate(timeout=DEADLINE_S)
        assert 0 == hook.returncode


def limited(code: str, *arguments: str) -> Sequence[str]:
    """Return the command of a hook that runs *code* first."""
    script = f"{code}; import sys; from agentihooks.__main__ import main; sys.exit(main())"
    return (sys.executable, "-c", script, *(arguments or ("hook", "claude")))


@pytest.fixture
def alpha(tmp_path: Path) -> Path:
    """Return a checkout of the project alpha."""
    return repository(tmp_path / "alpha")


@pytest.fixture
def claude(alpha: Path, tmp_path: Path) -> Claude:
    """Return a session that no hook has told of yet, and that was in two folders."""
    claude = Claude()
    claude.write("10:00", alpha)
    claude.write("10:05", tmp_path, branch="")
    return claude


def moves(alpha: Path) -> list[tuple[str, str]]:
    """Return what is recorded of that session in the end, whatever happened."""
    return [(str(alpha), at("10:00")), (str(alpha.parent), at("10:05"))]


@pytest.mark.parametrize("command", [HOOK, SCRIPT], ids=["module", "script"])
def test_a_hook(alpha: Path, tmp_path: Path, claude: Claude, command: Sequence[str]) -> None:
    """A hook of a real process records what it should, and neither prints nor fails."""
    end(start(claude.payload("Stop", tmp_path), command))
    assert moves(alpha) == scopes(SESSION, "cwd", "at")


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"\xff", {"session_id": "../s", "hook_event_name": "Stop"}, b'{"a": "' + b"x" * 10_000_000],
    ids=["empty", "torn", "array", "not UTF-8", "unsafe", "10 MB"],
)
def test_bad_input(home: Path, payload: object) -> None:
    """Whatever it is fed, a hook says nothing, succeeds, and leaves the reason in its log, and nothing else."""
    end(start(payload))
    assert ["logs/agentihooks.log"] == list(files(home))


def test_a_large_payload(alpha: Path, tmp_path: Path, claude: Claude) -> None:
    """A payload of 10 MB is read to its end."""
    end(start(claude.payload("Stop", tmp_path, last_assistant_message="x" * 10_000_000)))
    assert moves(alpha) == scopes(SESSION, "cwd", "at")


def test_closed_streams(home: Path) -> None:
    """A hook that was given no stream at all succeeds."""
    command = ("/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *HOOK)
    assert 0 == subprocess.run(command, check=False, timeout=DEADLINE_S).returncode
    assert 1 == len(reasons(home))


def test_a_folder_that_is_gone(alpha: Path, tmp_path: Path, claude: Claude) -> None:
    """A hook whose own folder was removed does its work."""
    gone = tmp_path / "gone"
    gone.mkdir()
    command = ("/bin/sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *HOOK)
    end(start(claude.payload("Stop", tmp_path), command, cwd=gone))
    assert moves(alpha) == scopes(SESSION, "cwd", "at")


class TestAtOnce:
    """Many hooks at the same moment."""

    @pytest.mark.parametrize("agent", [Claude, Codex])
    def test_of_one_session(self, home: Path, alpha: Path, tmp_path: Path, agent: type[Claude | Codex]) -> None:
        """Hooks of one session that come together record each move once."""
        session = agent()
        session.write("10:00", alpha)
        session.write("10:05", tmp_path)
        command = (*HOOK[:-1], session.agent)
        end(*[start(session.payload("Stop", tmp_path), command) for _ in range(8)])
        assert moves(alpha) == scopes(SESSION, "cwd", "at")
        assert [("0",), ("1",)] == scopes(SESSION, "sequence")
        assert {str(tmp_path)} == {row["cwd"] for row in rows(home / "brain" / "project-sessions.jsonl")}
        assert [] == reasons(home)

    def test_of_one_session_and_its_subagents(self, home: Path, alpha: Path, tmp_path: Path, claude: Claude) -> None:
        """Nor do subagents that end together with it get in its way."""
        agents = [Claude(agent_id=f"a{number}") for number in range(4)]
        for agent in agents:
            agent.write("10:01", alpha)
        payloads = [agent.payload("SubagentStop", alpha) for agent in agents]
        end(*map(start, [claude.payload("Stop", tmp_path), *payloads]))
        assert moves(alpha) == scopes(SESSION, "cwd", "at")
        for agent in agents:
            assert [(str(alpha), at("10:01"))] == scopes(f"{SESSION}.agent-{agent.agent_id}", "cwd", "at")
        assert [] == reasons(home)

    def test_of_a_hundred_sessions(self, home: Path, alpha: Path) -> None:
        """A hundred sessions that start together are all recorded, each in a log and a row of its own."""
        sessions = [Claude(f"s{number:03}") for number in range(100)]
        end(*[start(session.payload("SessionStart", alpha)) for session in sessions])
        assert {(("alpha",),)} == {tuple(scopes(session.session_id, "project")) for session in sessions}
        written = [row["session_id"] for row in rows(home / "brain" / "project-sessions.jsonl")]
        assert [session.session_id for session in sessions] == sorted(written)
        assert [] == reasons(home)

    def test_and_a_change_of_task(self, alpha: Path, tmp_path: Path, claude: Claude) -> None:
        """A task that is set while hooks come and go is set once, and none of them takes it back."""
        change = subprocess.Popen(
            [*HOOK[:3], "scope", "set", "--task", "T1", "--session", SESSION], stdout=subprocess.DEVNULL
        )
        end(*[start(claude.payload("Stop", tmp_path)) for _ in range(4)])
        assert 0 == change.wait(DEADLINE_S)
        claude.fire("Stop", tmp_path)
        tasks = [task for (task,) in scopes(SESSION, "task")]
        assert ["T1"] == tasks[tasks.index("T1") :]
        assert [cwd for cwd, _ in moves(alpha)] == list(dict.fromkeys(cwd for (cwd,) in scopes(SESSION, "cwd")))

    def test_a_lock_that_is_not_let_go(self, home: Path, alpha: Path, tmp_path: Path, claude: Claude) -> None:
        """A hook that cannot have the session's lock in time gives up; the next one does what it had to."""
        with locked(Cursors(cursor_directory(str(home))).lock_path(SESSION), 1.0):
            end(start(claude.payload("SessionEnd", tmp_path)))
        assert [True] == [reason.startswith("OutOfTime: ") for reason in reasons(home)]
        claude.fire("Stop", tmp_path)
        assert moves(alpha) == scopes(SESSION, "cwd", "at")


STEPS = ("open", "mkdir", "write", "fsync", "replace", "close", "utime")
"""What a process does to the disk, and may be killed before, or in the middle of."""


def killed(step: int, payload: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Kill a hook at one of its steps; return whether it has come so far."""
    pid = os.fork()
    if not pid:
        counter = iter(range(step))
        for name in STEPS:
            monkeypatch.setattr(os, name, _dying(name, counter))
        fire(payload)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == signal.SIGKILL


def _dying(name: str, counter: Iterator[int]) -> Callable[..., Any]:
    true = getattr(os, name)

    def call(*arguments: Any, **options: Any) -> Any:
        if next(counter, None) is None:
            if name == "write":
                true(arguments[0], arguments[1][: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return true(*arguments, **options)

    return call


class TestKilled:
    """A hook that is killed anywhere, as that of a session's end is after a second and a half."""

    @pytest.mark.parametrize("event", ["SessionEnd", "SessionStart"])
    def test_the_next_hook(
        self, tmp_path: Path, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch, event: str
    ) -> None:
        """The next hook completes what it left, and nothing is there twice."""
        step, was_killed = 0, True
        while was_killed:
            home = tmp_path / f"home-{step}"
            monkeypatch.setenv("AGENTIHOOKS_HOME", str(home))
            was_killed = killed(step, claude.payload(event, tmp_path), monkeypatch)
            claude.fire("Stop", tmp_path)
            assert moves(alpha) == scopes(SESSION, "cwd", "at"), f"killed at step {step}"
            assert [("0",), ("1",)] == scopes(SESSION, "sequence")
            assert str(tmp_path) == _last_row(home)["cwd"]
            assert [] == reasons(home)
            step += 1
        assert step > 20

    def test_a_sweep(self, tmp_path: Path, alpha: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """So does a sweep."""
        step, was_killed = 0, True
        while was_killed:
            home = str(tmp_path / f"home-{step}")
            monkeypatch.setenv("AGENTIHOOKS_HOME", home)
            was_killed = killed(step, claude.payload("SessionEnd", tmp_path), monkeypatch)
            engine = Engine.at_home(home)
            result = sweep(engine, home, os.environ, known_transcripts(engine, os.environ), lambda: None)
            assert {} == result.failed
            assert moves(alpha) == scopes(SESSION, "cwd", "at"), f"killed at step {step}"
            step += 1
        assert step > 20


def _last_row(home: Path) -> dict[str, Any]:
    # A row that was torn by the kill stays where it is; readers pass over it.
    lines = (home / "brain" / "project-sessions.jsonl").read_bytes().splitlines()
    row: dict[str, Any] = json.loads(lines[-1])
    return row


class TestDisk:
    """A home that cannot be written to."""

    @pytest.mark.parametrize("size", [0, 1, 100, 450, 600, 1000])
    def test_full(self, home: Path, alpha: Path, tmp_path: Path, claude: Claude, size: int) -> None:
        """On a full disk a hook says nothing and succeeds; once there is room, the next one completes the log."""
        full = limited(f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))")
        # Whoever measures coverage would have no room either.
        environ = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        end(start(claude.payload("Stop", tmp_path), full, env=environ))
        end(start(claude.payload("Stop", tmp_path)))
        assert moves(alpha) == scopes(SESSION, "cwd", "at")
        assert [] == [name for name in files(home / "state") if not name.endswith((".json", ".lock"))]

    def test_read_only(self, tmp_path: Path, claude: Claude) -> None:
        """On a disk that is mounted for reading only, so it does."""
        home = tmp_path / "home"
        home.mkdir()
        mount = 'mount -t tmpfs -o ro tmpfs "$AGENTIHOOKS_HOME"'
        unshare = ("unshare", "--mount", "/bin/sh", "-c")
        if subprocess.run([*unshare, mount], check=False, capture_output=True).returncode:
            pytest.skip("mounting takes rights that we do not have here")
        end(start(claude.payload("Stop", tmp_path), (*unshare, f'{mount} && exec "$@"', "sh", *HOOK)))
        assert {} == files(home)

    def test_in_a_file_s_place(self, tmp_path: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where there is a file in its way, so it does."""
        (tmp_path / "file").write_text("mine")
        monkeypatch.setenv("AGENTIHOOKS_HOME", str(tmp_path / "file" / "home"))
        end(start(claude.payload("Stop", tmp_path)))
        assert "mine" == (tmp_path / "file").read_text()

    @pytest.mark.parametrize("named", [None, "relative", "~nobody-of-this-name/home"])
    def test_no_home(self, tmp_path: Path, claude: Claude, monkeypatch: pytest.MonkeyPatch, named: str | None) -> None:
        """Where nothing tells of a home, or none that is the same in all folders, nothing is made anywhere."""
        payload = claude.payload("Stop", tmp_path)
        own = tmp_path / "own"
        own.mkdir()
        monkeypatch.delenv("HOME")
        monkeypatch.delenv("AGENTIHOOKS_HOME")
        if named is not None:
            monkeypatch.setenv("AGENTIHOOKS_HOME", named)
        before = files(tmp_path)
        # As in a container, for a user that the system does not know.
        end(start(payload, limited("import pwd; pwd.getpwuid = pwd.getpwnam = lambda _: {}['no such user']"), cwd=own))
        assert before == files(tmp_path)


class TestCommand:
    """The command as a process, where that matters."""

    @contextmanager
    def reading(self, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command whose output is read only in part."""
        command = [*HOOK[:3], *map(str, arguments)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            yield process

    @pytest.mark.parametrize("options", [(), ("--json",)], ids=["people", "programs"])
    def test_a_closed_pipe(self, claude: Claude, options: Sequence[str]) -> None:
        """Whoever has read enough may close the pipe: that is no error."""
        with self.reading("attribute", *[claude.path] * 300, *options) as process:
            assert process.stdout is not None
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr is not None
            assert b"" == process.stderr.read()
            assert 0 == process.wait(DEADLINE_S)

    def test_a_terminal_of_few_characters(self, claude: Claude, tmp_path: Path) -> None:
        """A character that the terminal does not have becomes another."""
        claude.write("10:06", "/a/b/\u6f22", branch="f\u00e9")
        environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
        done = subprocess.run(
            [*HOOK[:3], "attribute", str(claude.path)],
            check=False,
            capture_output=True,
            env=environ,
            timeout=DEADLINE_S,
        )
        assert (0, b"") == (done.returncode, done.stderr)
        assert b"f?" in done.stdout

    def test_no_output(self, claude: Claude) -> None:
        """A command whose output is closed does its work all the same."""
        command = ("/bin/sh", "-c", 'exec "$@" >&-', "sh", *HOOK[:3], "sweep")
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, timeout=DEADLINE_S)
        assert (0, b"") == (done.returncode, done.stderr)
        assert 2 == len(scopes(SESSION, "cwd"))

    def test_a_full_output(self, claude: Claude) -> None:
        """A command whose output cannot be written says so in a line."""
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [*HOOK[:3], "status", "--json"], check=False, stdout=full, stderr=subprocess.PIPE, timeout=DEADLINE_S
            )
        assert (2, b"agentihooks: [Errno 28] No space left on device\n") == (done.returncode, done.stderr)
