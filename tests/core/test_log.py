"""The scope log's files; and that its twin in memory answers alike."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import Engine, LogBusy
from agentihooks.codec import encode_transition
from agentihooks.log import FileLog, MemoryLog, append_line, locked
from agentihooks.record import transition
from agentihooks.testing import ScopeLogContract, at, conformance_transitions, recorded, scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentihooks.log import ScopeLog

LINES = [encode_transition(each) for each in conformance_transitions("s")]


class TestMemoryLog(ScopeLogContract):
    """The log in memory."""

    @pytest.fixture
    def open_log(self) -> Callable[[], ScopeLog]:
        """Return a function that gives the same log each time."""
        log = MemoryLog()
        return lambda: log


class TestFileLog(ScopeLogContract):
    """The log in files."""

    @pytest.fixture
    def open_log(self, logs: Path) -> Callable[[], ScopeLog]:
        """Return a function that opens the directory anew each time."""
        return lambda: FileLog(logs)


@pytest.fixture
def path(logs: Path) -> Path:
    """Return the path of the log of session `s`; its directory exists."""
    logs.mkdir(parents=True)
    return logs / "s.jsonl"


def sequences(logs: Path) -> list[int]:
    """Return the numbers of the transitions in the log of session `s`, read afresh."""
    return [transition.sequence for transition in FileLog(logs).history("s").transitions]


def rows(path: Path) -> list[dict[str, Any]]:
    """Return a file's lines, every one of which is JSON."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_the_file_is_what_is_documented(conformance: Engine, logs: Path) -> None:
    """A session's log lies under the home, one line for each transition, as encoded, and nothing else."""
    expected = b"".join(map(encode_transition, conformance.transitions("first")))
    assert expected == (logs / "first.jsonl").read_bytes()
    assert ["first.jsonl", "first.lock"] == sorted(path.name for path in logs.iterdir())


def test_only_the_owner_has_access(conformance: Engine, home: Path, logs: Path) -> None:
    """Each directory the engine creates is 0700, each file 0600."""
    directories = [home, home / "brain", logs]
    assert [0o700] * 3 == [path.stat().st_mode & 0o777 for path in directories]
    assert [0o600] * 2 == [path.stat().st_mode & 0o777 for path in logs.iterdir()]


def test_existing_directories_are_left_as_they_are(engine: Engine, home: Path) -> None:
    """The engine does not take rights away from a directory that was there before."""
    home.mkdir(mode=0o755)
    engine.record_scope("s", scope(), at("10:00"))
    assert 0o755 == home.stat().st_mode & 0o777


def test_reading_creates_nothing(engine: Engine, home: Path) -> None:
    """Questions leave nothing on disk."""
    assert engine.scope_at("s", at("10:00")) is None
    assert [] == engine.transitions("s")
    assert [] == engine.log.sessions()
    assert ["unknown"] == [each.attribution for each in engine.attribute("s", [{"at": at("10:00")}])]
    assert not home.exists()


def test_a_no_op_writes_nothing(conformance: Engine, logs: Path) -> None:
    """A replay, and a scope that is in force already, leave the file as it is."""
    before = (logs / "first.jsonl").stat()
    latest = conformance.transitions("first")[-1]
    for time in (latest.at, at("11:00")):
        conformance.record_scope("first", latest.scope, time)
    assert before == (logs / "first.jsonl").stat()


@pytest.mark.parametrize(
    "foreign",
    [
        b"\n",
        b"\xff\xfe\xfd\n",
        b"\0\0\0\0\n",
        b'{"session_id": "s", "sequ\n',
        b"[1, 2]\n",
        b'{"session_id": "s", "at": "yesterday"}\n',
        b'{"session_id": "other", "at": "2026-10-08T10:00:00Z", "sequence": 99}\n',
        b"<<<<<<< HEAD\n",
        b"x" * 100_000 + b"\n",
    ],
    ids=lambda line: repr(line[:30]),
)
def test_a_line_that_cannot_be_read_costs_only_itself(path: Path, logs: Path, foreign: bytes) -> None:
    """Wherever a foreign or damaged line stands, the others are read, and the next one is appended."""
    for place in range(len(LINES)):
        path.write_bytes(b"".join([*LINES[:place], foreign, *LINES[place:3]]))
        assert [0, 1, 2] == sequences(logs)
        FileLog(logs)
        Engine(FileLog(logs)).record_scope("s", scope("beta"), at("11:00"))
        assert [0, 1, 2, 3] == sequences(logs)


@pytest.mark.parametrize("cut", [1, 20, 300], ids=lambda cut: f"{cut} bytes of a line")
def test_the_next_line_is_a_fresh_one(path: Path, logs: Path, cut: int) -> None:
    """After a torn tail the next transition begins on a line of its own, and the torn one stays as it is."""
    torn = b"".join(LINES[:2]) + LINES[2][:cut]
    path.write_bytes(torn)
    assert Engine(FileLog(logs)).record_scope("s", scope("beta"), at("11:00")) is not None
    assert path.read_bytes().startswith(torn + b"\n{")
    assert [0, 1, 2] == sequences(logs)


def test_a_line_that_lost_only_its_newline_counts(path: Path, logs: Path) -> None:
    """A last line without its newline is whole, to a log that was open before and to one that was not."""
    log = FileLog(logs)
    path.write_bytes(LINES[0])
    history = log.history("s")
    path.write_bytes(LINES[0] + LINES[1].rstrip())
    assert [0, 1] == sequences(logs) == [each.sequence for each in log.history("s").transitions]
    Engine(log).record_scope("s", scope("beta"), at("11:00"))
    assert [0, 1, 2] == [row["sequence"] for row in rows(path)]
    assert history is log.history("s")


def test_a_line_is_read_once_it_is_whole(path: Path, logs: Path) -> None:
    """A reader that comes by in mid-write waits for the rest of the line."""
    log = FileLog(logs)
    counts = []
    for end in (0, 10, len(LINES[0]) + 10, len(LINES[0] + LINES[1])):
        path.write_bytes((LINES[0] + LINES[1])[:end])
        counts.append(len(log.history("s")))
    assert [0, 0, 1, 2] == counts


def test_file_order_is_the_authority(path: Path, logs: Path) -> None:
    """Missing and repeated sequence numbers change nothing, and the next goes on from the last line's."""
    gapped = [line.replace(b'"sequence": 2', b'"sequence": 7') for line in LINES[:3]]
    path.write_bytes(b"".join([*gapped, gapped[1]]))
    assert [0, 1, 7, 1] == sequences(logs)
    added = Engine(FileLog(logs)).record_scope("s", scope("beta"), at("11:00"))
    assert added is not None
    assert 2 == added.sequence


def test_a_log_of_another_version_is_readable(path: Path, logs: Path) -> None:
    """Lines with fields missing or unknown are read, and left as they are by the next append."""
    written = b'{"at": "2026-10-08T10:00:00Z", "branch": "main", "colour": "red"}\n'
    path.write_bytes(written)
    engine = Engine(FileLog(logs))
    assert "main" == engine.transitions("s")[0].branch
    engine.record_scope("s", scope(), at("10:01"))
    assert path.read_bytes().startswith(written)


def test_a_log_that_was_replaced_is_read_anew(path: Path, logs: Path) -> None:
    """When the file is another one, or shorter, what was read before is forgotten."""
    log = FileLog(logs)
    path.write_bytes(b"".join(LINES))
    counts = [len(log.history("s"))]
    path.write_bytes(LINES[0])
    counts.append(len(log.history("s")))
    replacement = path.with_name("new")
    replacement.write_bytes(LINES[0] + LINES[1])
    replacement.replace(path)
    counts.append(len(log.history("s")))
    path.unlink()
    counts.append(len(log.history("s")))
    assert [4, 1, 2, 0] == counts


def test_a_log_that_was_removed_begins_anew(conformance: Engine, logs: Path) -> None:
    """An engine goes on recording after its log was removed, from 0."""
    (logs / "first.jsonl").unlink()
    conformance.record_scope("first", scope(), at("09:00"))
    assert [0] == [row["sequence"] for row in rows(logs / "first.jsonl")]


def test_the_last_line_is_found_however_long(path: Path, logs: Path) -> None:
    """The latest transition is found behind lines of any length, readable or not."""
    long = dict.fromkeys(("cwd", "branch", "lane"), "😀" * 4096)
    path.write_bytes(encode_transition(transition("s", 0, scope(**long), at("10:00"))) + b"x" * 50_000)
    with FileLog(logs).writing("s") as writer:
        assert writer.latest is not None
        assert long["lane"] == writer.latest.lane


def test_a_log_without_a_readable_line_is_empty(path: Path, logs: Path) -> None:
    """Of a file that holds no transition nothing is in force, and the first one is appended to it."""
    path.write_bytes(b"x\n" * 5000)
    log = FileLog(logs)
    with log.writing("s") as writer:
        assert writer.latest is None
        assert 0 == len(writer.history)
    Engine(log).record_scope("s", scope(), at("10:00"))
    assert [0] == sequences(logs)


@pytest.mark.parametrize("act", ["transitions", "record"])
def test_a_log_that_cannot_be_read_is_an_error(engine: Engine, path: Path, act: str) -> None:
    """A log that exists and cannot be read is never taken for an empty one."""
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        engine.transitions("s") if act == "transitions" else engine.record_scope("s", scope(), at("10:00"))


def test_a_home_that_is_a_file_is_an_error(engine: Engine, home: Path) -> None:
    """Where no directory can be made, recording raises."""
    home.write_text("")
    with pytest.raises(OSError, match="home"):
        engine.record_scope("s", scope(), at("10:00"))


def test_sessions_are_the_files_that_name_one(path: Path, logs: Path) -> None:
    """Of the files in the directory only those named for a session count."""
    for name in ("b.jsonl", "a.agent-1.jsonl", "b.lock", ".hidden.jsonl", "a b.jsonl", "b.jsonl.bak", ".jsonl"):
        (logs / name).touch()
    assert ["a.agent-1", "b"] == FileLog(logs).sessions()


def test_a_held_lock_is_waited_for_only_so_long(path: Path, logs: Path) -> None:
    """A log that somebody else holds is busy once the time allowed is up, and nothing is written."""
    with FileLog(logs).writing("s"), pytest.raises(LogBusy, match=r"s\.lock is locked"):
        Engine(FileLog(logs, lock_timeout_s=0.002)).record_scope("s", scope(), at("10:00"))
    assert not path.exists()


def test_a_lock_is_of_one_session(path: Path, logs: Path) -> None:
    """While one session's log is held, another's is free."""
    with FileLog(logs).writing("t"):
        Engine(FileLog(logs, lock_timeout_s=0)).record_scope("s", scope(), at("10:00"))
    assert [0] == sequences(logs)


def test_a_lock_that_was_left_behind_is_free(path: Path, logs: Path) -> None:
    """A lock file without a holder locks nothing."""
    (logs / "s.lock").write_text("4711")
    Engine(FileLog(logs, lock_timeout_s=0)).record_scope("s", scope(), at("10:00"))
    assert [0] == sequences(logs)


@pytest.mark.parametrize("successor", [True, False], ids=["replaced", "removed"])
def test_a_lock_that_was_taken_away_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, successor: bool
) -> None:
    """Whoever locked a file that is no longer the lock tries again, with the one that is."""
    path = tmp_path / "lock"
    opened = []

    def open_and_lose(*arguments: Any) -> int:
        opened.append(os_open(*arguments))
        if len(opened) == 1:
            path.unlink()
            if successor:
                path.write_bytes(b"")
        return opened[-1]

    os_open = os.open
    monkeypatch.setattr(os, "open", open_and_lose)
    with locked(path, 1):
        assert os.path.samestat(os.fstat(opened[1]), path.stat())


def test_a_lock_lets_go_of_its_file_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error while locking is raised, and leaves no file open."""

    def fail(descriptor: int, operation: int) -> None:
        failed.append(descriptor)
        raise OSError("no locks available")

    failed: list[int] = []
    monkeypatch.setattr("fcntl.flock", fail)
    with pytest.raises(OSError, match="no locks available"), locked(tmp_path / "lock", 1):
        pass
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(failed[0])


def test_threads_take_turns(engine: Engine, logs: Path) -> None:
    """Threads that share an engine lose nothing and repeat nothing."""

    def work(name: str) -> None:
        start.wait()
        for number in range(10):
            engine.record_scope("s", scope(name, branch=str(number)), at("10:00"))

    start = threading.Barrier(4)
    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(range(40)) == [row["sequence"] for row in rows(logs / "s.jsonl")]
    assert 40 == len({row["transition_id"] for row in rows(logs / "s.jsonl")})


def test_a_history_grows_with_its_log(conformance: Engine) -> None:
    """The history that was handed out shows what is recorded later."""
    history = conformance.log.history("first")
    conformance.record_scope("first", scope(), at("11:00"))
    assert 5 == len(history)


def test_lines_of_any_kind_are_appended_alike(home: Path) -> None:
    """Other files of JSON lines are locked, private and begun on a fresh line as well."""
    path = home / "brain" / "rows.jsonl"
    append_line(path, {"a": "ü"})
    path.write_bytes(path.read_bytes() + b'{"torn')
    append_line(path, {"b": 1})
    assert b'{"a": "\\u00fc"}\n{"torn\n{"b": 1}\n' == path.read_bytes()
    assert [0o600, 0o600] == [each.stat().st_mode & 0o777 for each in path.parent.iterdir()]


def test_two_homes_are_apart(tmp_path: Path) -> None:
    """Engines on two homes know nothing of each other."""
    one, two = (Engine.at_home(tmp_path / name) for name in ("one", "two"))
    recorded(one.log, "s")
    assert [4, 0] == [len(each.transitions("s")) for each in (one, two)]
