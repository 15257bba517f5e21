"""Real processes that record: at the same time, until they are killed, and where there is no room."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

from agentihooks import Engine, LogBusy
from agentihooks.codec import encode_transition
from agentihooks.log import FileLog
from agentihooks.record import transition
from agentihooks.testing import at, conformance_transitions, scope

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITERS, EACH = 4, 40

# Nothing waits for this long, but for a test that hangs.
DEADLINE_S = 60


class Writer:
    """A process that waits for a word to record."""

    def __init__(self, logs: Path, name: str = "w", count: int = EACH, **environ: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("recorder.py")), str(logs), name, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environ},
        )
        assert "ready\n" == self.output.readline()

    @property
    def output(self) -> IO[str]:
        """Where it prints the ids that it has recorded."""
        assert self.process.stdout is not None
        return self.process.stdout

    def start(self) -> None:
        """Give the word."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def finish(self) -> tuple[int, list[str], str]:
        """Wait for its end; return its exit status, the ids it has recorded since, and its complaints."""
        output, complaints = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, output.split(), complaints


@pytest.fixture
def path(logs: Path) -> Path:
    """Return where the log of session `s` is to be."""
    return logs / "s.jsonl"


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, every one of which is JSON."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def writers(logs: Path) -> Iterator[list[Writer]]:
    """Return processes that have recorded at the same time, and are done."""
    started = [Writer(logs, str(number)) for number in range(WRITERS)]
    for writer in started:
        writer.start()
    yield started
    for writer in started:
        writer.process.kill()
        writer.process.communicate()


def test_writers_lose_nothing(writers: list[Writer], path: Path) -> None:
    """Of processes that record at the same time each succeeds, and every acknowledged transition is there once."""
    results = [writer.finish() for writer in writers]
    assert [0] * WRITERS == [status for status, _, _ in results]
    acknowledged = [transition_id for _, ids, _ in results for transition_id in ids]
    assert WRITERS * EACH == len(acknowledged)
    assert sorted(acknowledged) == sorted(row["transition_id"] for row in rows(path))
    assert list(range(WRITERS * EACH)) == [row["sequence"] for row in rows(path)]


@pytest.mark.parametrize("after", [1, 7, 30])
def test_a_killed_writer_loses_nothing_it_acknowledged(logs: Path, path: Path, after: int) -> None:
    """Of a process that is killed while it records, what it acknowledged is there, and the next line is a fresh one."""
    writer = Writer(logs, count=1_000_000)
    writer.start()
    acknowledged = [writer.output.readline().strip() for _ in range(after)]
    writer.process.send_signal(signal.SIGKILL)
    status, more, _ = writer.finish()
    assert -signal.SIGKILL == status
    added = Engine(FileLog(logs, lock_timeout_s=0)).record_scope("s", scope(), at("11:00"))
    kept = [each.transition_id for each in FileLog(logs).history("s").transitions]
    # The last line of the output may have been cut, too.
    assert {*acknowledged, *(each for each in more if len(each) == 64)} <= set(kept)
    assert added is not None
    assert added.transition_id == kept[-1] == json.loads(path.read_bytes().splitlines()[-1])["transition_id"]


def test_a_stopped_writer_keeps_its_lock(logs: Path, path: Path) -> None:
    """While a process that holds a log is stopped the log is busy for others; once it is dead the log is free."""
    holder = (
        "import sys; from agentihooks.log import *\nwith FileLog(sys.argv[1]).writing('s'): print(flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", holder, str(logs)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert "\n" == process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    engine = Engine(FileLog(logs, lock_timeout_s=0))
    with pytest.raises(LogBusy):
        engine.record_scope("s", scope(), at("10:00"))
    assert not path.exists()
    process.kill()
    process.communicate(timeout=DEADLINE_S)
    assert engine.record_scope("s", scope(), at("10:00")) is not None


def test_a_short_write_is_no_acknowledgement(logs: Path, path: Path) -> None:
    """A line that was written only in part is an error; it stays torn, costs itself alone, and can be recorded again."""
    line = len(encode_transition(transition("s", 0, scope(lane="w", branch="0"), "2026-10-08T10:00:00Z")))
    writer = Writer(logs, FILE_SIZE=str(line * 2))
    writer.start()
    status, acknowledged, complaints = writer.finish()
    assert 1 == status
    assert "bytes were written" in complaints
    assert line * 2 == path.stat().st_size
    assert not path.read_bytes().endswith(b"\n")
    assert acknowledged == [each.transition_id for each in FileLog(logs).history("s").transitions]
    again = Writer(logs, "v", count=1)
    again.start()
    assert 0 == again.finish()[0]
    assert len(acknowledged) + 1 == len(FileLog(logs).history("s").transitions)
    assert len(acknowledged) + 2 == len(path.read_bytes().splitlines())


def test_a_full_disk_is_no_acknowledgement(logs: Path, path: Path) -> None:
    """Where there is no room at all, the error of the file system is the caller's, and nothing counts as recorded."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    logs.mkdir(parents=True)
    path.symlink_to("/dev/full")
    engine = Engine(FileLog(logs))
    with pytest.raises(OSError, match="No space") as caught:
        engine.record_scope("s", scope(), at("10:00"))
    assert errno.ENOSPC == caught.value.errno
    path.unlink()
    assert engine.record_scope("s", scope(), at("10:00")) is not None
    assert [0] == [row["sequence"] for row in rows(path)]


def test_a_failing_fsync_is_no_acknowledgement(logs: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may not be durable is an error; recording it again is safe, and leaves it there once."""

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    engine = Engine(FileLog(logs))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="the disk is gone"):
            engine.record_scope("s", scope(), at("10:00"))
    assert [0] == [row["sequence"] for row in rows(path)]
    assert engine.record_scope("s", scope(), at("10:00")) is None
    assert [0] == [row["sequence"] for row in rows(path)]


def test_what_is_acknowledged_was_synced(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append syncs its file, the first one the directory as well; several transitions share one write and one sync."""
    synced: list[bool] = []
    written: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode)))

    def write(descriptor: int, data: bytes) -> int:
        written.append(os_write(descriptor, data))
        return written[-1]

    os_write = os.write
    monkeypatch.setattr(os, "write", write)
    with FileLog(logs).writing("s") as writer:
        writer.append(conformance_transitions("s"))
        assert ([False, True], 1) == (synced, len(written))
        writer.append([transition("s", 4, scope(), at("11:00"))])
        assert ([False, True, False], 2) == (synced, len(written))


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sizes of what is read from files through their descriptors, as it goes."""
    sizes: list[int] = []
    for name in ("read", "pread"):
        original = getattr(os, name)

        def counting(*arguments: int, original: Any = original) -> bytes:
            data: bytes = original(*arguments)
            sizes.append(len(data))
            return data

        monkeypatch.setattr(os, name, counting)
    return sizes


def test_an_append_does_not_read_the_log(logs: Path, path: Path, bytes_read: list[int]) -> None:
    """A fresh process that appends reads as much of a log of 5,000 transitions as of one of 20: its end."""
    logs.mkdir(parents=True)
    counts = []
    for length in (20, 5000):
        lines = (transition("s", number, scope(branch=str(number)), at("10:00")) for number in range(length))
        path.write_bytes(b"".join(map(encode_transition, lines)))
        bytes_read.clear()
        assert Engine(FileLog(logs)).record_scope("s", scope(branch="new"), at("10:01")) is not None
        counts.append(sum(bytes_read))
    assert counts[0] == counts[1]
    assert 0 < counts[0] < 10_000


def test_a_kept_log_reads_only_what_is_new(logs: Path, path: Path, bytes_read: list[int]) -> None:
    """A process that keeps its log, and has read all of it, reads what others append, and nothing twice."""
    logs.mkdir(parents=True)
    lines = [
        encode_transition(transition("s", number, scope(branch=str(number)), at("10:00"))) for number in range(500)
    ]
    path.write_bytes(b"".join(lines[:499]))
    log = FileLog(logs)
    counts = []
    for _ in range(2):
        bytes_read.clear()
        assert log.history("s").latest is not None
        counts.append(sum(bytes_read))
    with path.open("ab") as file:
        file.write(lines[499])
    bytes_read.clear()
    log.history("s")
    assert [len(b"".join(lines[:499])), 0, len(lines[499])] == [*counts, sum(bytes_read)]
