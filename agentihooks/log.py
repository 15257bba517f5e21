"""
The scope log of each session: bytes, lock, fsync, torn tail. And its twin in memory.

A log is appended to and never rewritten. An append is one `write`, made under a lock between processes and durable
before it returns. A process that dies in mid-write leaves a torn line, which costs nothing but itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from agentihooks.clock import instant
from agentihooks.codec import decode_transition, encode_transition
from agentihooks.errors import LogBusy
from agentihooks.files import fsync_directory, make_private_directory
from agentihooks.scope import History
from agentihooks.session_ids import is_safe_session_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from agentihooks.files import FilePath
    from agentihooks.model import Transition

LOCK_TIMEOUT_S = 10.0
_TAIL_BYTES = 4096


class Writer(Protocol):
    """A session's log, locked against every other writer."""

    @property
    def latest(self) -> Transition | None:
        """The transition accepted last; does not read the whole log."""

    @property
    def history(self) -> History:
        """The whole log."""

    def append(self, transitions: Sequence[Transition]) -> None:
        """
        Add *transitions*, in order, in one write; they are durable when it returns.

        Raises:
            OSError: They may not have been written, or not be durable. Recording them again is safe.
        """


class ScopeLog(Protocol):
    """Where the transitions of all sessions are kept."""

    def history(self, session_id: str) -> History:
        """
        Return a session's transitions; empty for a session without a log, or whose id could not name one.

        The value is shared: look, don't change. It grows when the log does.

        Raises:
            OSError: The log exists and cannot be read.
        """

    def writing(self, session_id: str) -> AbstractContextManager[Writer]:
        """
        Lock the log of a session, whose id has been checked, for one decision and append.

        Raises:
            LogBusy: Somebody else holds it for longer than the timeout.
            OSError: The log cannot be opened or read.
        """

    def sessions(self) -> list[str]:
        """Return the ids of the sessions that have a log, sorted."""


class MemoryLog:
    """A scope log that lives and ends with its process."""

    def __init__(self) -> None:
        self._histories: dict[str, History] = {}
        self._lock = threading.RLock()

    def history(self, session_id: str) -> History:
        """See `ScopeLog.history`."""
        return self._histories.get(session_id) or History()

    @contextmanager
    def writing(self, session_id: str) -> Iterator[Writer]:
        """See `ScopeLog.writing`."""
        with self._lock:
            yield _MemoryWriter(self._histories, session_id)

    def sessions(self) -> list[str]:
        """See `ScopeLog.sessions`."""
        return sorted(self._histories)


class _MemoryWriter:
    def __init__(self, histories: dict[str, History], session_id: str) -> None:
        self._histories = histories
        self._session_id = session_id

    @property
    def latest(self) -> Transition | None:
        return self.history.latest

    @property
    def history(self) -> History:
        return self._histories.get(self._session_id) or History()

    def append(self, transitions: Sequence[Transition]) -> None:
        history = self._histories.setdefault(self._session_id, History())
        for transition in transitions:
            history.append(transition, instant(transition.at))


class FileLog:
    """
    The scope logs under a directory, one `<session_id>.jsonl` each, with a `<session_id>.lock` beside it.

    Keep it for as long as the process lives: it reads only what was appended since it last looked. Threads may share
    one.
    """

    def __init__(self, directory: FilePath, lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
        self._directory = directory
        self._lock_timeout_s = lock_timeout_s
        self._files: dict[str, _LogFile] = {}
        self._threads = threading.RLock()

    def history(self, session_id: str) -> History:
        """See `ScopeLog.history`."""
        if not is_safe_session_id(session_id):
            return History()
        with self._threads:
            return self._file(session_id).history

    @contextmanager
    def writing(self, session_id: str) -> Iterator[Writer]:
        """See `ScopeLog.writing`."""
        with self._threads:
            file = self._file(session_id)
            make_private_directory(self._directory)
            with locked(os.path.join(self._directory, f"{session_id}.lock"), self._lock_timeout_s):
                yield file

    def sessions(self) -> list[str]:
        """See `ScopeLog.sessions`."""
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            return []
        stems = (name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))
        return sorted(filter(is_safe_session_id, stems))

    def _file(self, session_id: str) -> _LogFile:
        file = self._files.get(session_id)
        if file is None:
            file = self._files[session_id] = _LogFile(os.path.join(self._directory, f"{session_id}.jsonl"), session_id)
        return file


class _LogFile:
    """
    One log file, and what this process has read of it.

    Until somebody asks for the history only the last line is read: a hook that appends a transition to a long log
    costs what it costs on a short one.
    """

    def __init__(self, path: str, session_id: str) -> None:
        self._path = path
        self._session_id = session_id
        self._forget()

    def _forget(self) -> None:
        self._history: History | None = None
        self._latest: Transition | None = None
        self._inode = -1
        # Everything before this byte is in `_history`, or, if that is None, behind `_latest`.
        self._offset = 0

    @property
    def history(self) -> History:
        self._refresh(whole=True)
        assert self._history is not None
        return self._history

    @property
    def latest(self) -> Transition | None:
        self._refresh(whole=False)
        return self._latest

    def append(self, transitions: Sequence[Transition]) -> None:
        self._refresh(whole=False)
        try:
            stat = append_bytes(self._path, b"".join(map(encode_transition, transitions)))
        except BaseException:
            # What the file holds now is for the next look to find out.
            self._forget()
            raise
        self._inode, self._offset = stat.st_ino, stat.st_size
        for transition in transitions:
            self._take(transition)

    def _take(self, transition: Transition) -> None:
        self._latest = transition
        if self._history is not None:
            self._history.append(transition, instant(transition.at))

    def _refresh(self, *, whole: bool) -> None:
        """Read what the file has that this process has not."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._forget()
            self._history = History()
            return
        try:
            stat = os.fstat(descriptor)
            if stat.st_ino != self._inode or stat.st_size < self._offset:
                self._forget()
                self._inode = stat.st_ino
            if whole and self._history is None:
                self._offset, self._latest, self._history = 0, None, History()
            if stat.st_size > self._offset:
                if self._history is None and not self._offset:
                    self._read_latest(descriptor, stat.st_size)
                else:
                    self._read_on(descriptor, stat.st_size)
        finally:
            os.close(descriptor)

    def _read_on(self, descriptor: int, size: int) -> None:
        text = _pread(descriptor, self._offset, size)
        *lines, tail = text.split(b"\n")
        end = self._offset + len(text) - len(tail)
        for line in lines:
            self._read_line(line)
        # A line that lost only its newline is whole; any other tail waits for the rest, which may never come.
        if tail and self._read_line(tail):
            end += len(tail)
        self._offset = end

    def _read_line(self, line: bytes) -> bool:
        sequence = self._latest.sequence + 1 if self._latest else 0
        decoded = decode_transition(line, self._session_id, sequence)
        if decoded is None:
            return False
        transition, moment = decoded
        self._latest = transition
        if self._history is not None:
            self._history.append(transition, moment)
        return True

    def _read_latest(self, descriptor: int, size: int) -> None:
        """Find the last readable line, from the end of the file backwards, in steps that double."""
        length = _TAIL_BYTES
        while True:
            start = max(0, size - length)
            lines = _pread(descriptor, start, size).split(b"\n")
            # The first piece may be the end of a longer line.
            for line in reversed(lines if start == 0 else lines[1:]):
                if line and self._read_line(line):
                    self._offset = size
                    return
            if start == 0:
                self._offset = size
                return
            length *= 2


def append_line(path: FilePath, row: Mapping[str, Any]) -> None:
    """
    Append *row* to a file of JSON lines that several processes write to.

    Raises:
        LogBusy: Another process holds its lock.
        OSError: It cannot be written.
    """
    make_private_directory(os.path.dirname(path))
    with locked(f"{os.path.splitext(path)[0]}.lock", LOCK_TIMEOUT_S):
        append_bytes(path, json.dumps(row).encode("ascii") + b"\n")


def append_bytes(path: FilePath, lines: bytes) -> os.stat_result:
    """
    Append *lines* in one write, on a fresh line whatever the file ends with, and make them durable.

    The caller holds the file's lock.

    Returns:
        The file as it is then.

    Raises:
        OSError: They were not written, or only in part, or may not be durable.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        written = os.write(descriptor, lines)
        if written != len(lines):
            raise OSError(f"{path}: only {written} of {len(lines)} bytes were written")
        os.fsync(descriptor)
        if not size:
            fsync_directory(os.path.dirname(path))
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _pread(descriptor: int, start: int, end: int) -> bytes:
    parts = []
    while start < end and (part := os.pread(descriptor, end - start, start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


@contextmanager
def locked(path: FilePath, timeout_s: float) -> Iterator[None]:
    """
    Hold the lock that the file *path* stands for, against all processes and threads. The file is left in place.

    The kernel lets go of it when its holder dies.

    Raises:
        LogBusy: Not to be had within *timeout_s*.
        OSError: The file cannot be created.
    """
    deadline = time.monotonic() + timeout_s
    pause = 0.001
    while (descriptor := _try_lock(path)) is None:
        if time.monotonic() >= deadline:
            raise LogBusy(str(path), timeout_s)
        time.sleep(pause)
        pause = min(pause * 2, 0.025)
    try:
        yield
    finally:
        os.close(descriptor)


def _try_lock(path: FilePath) -> int | None:
    """Return a descriptor that holds the lock, or None if somebody else does."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Somebody may have removed the file between open and flock; its successor is what others lock.
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
