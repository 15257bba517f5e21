"""
Where the last pass over a transcript ended, so that the next costs only what is new.

A cursor is a cache: lost or out of date it costs one pass from the beginning, never an event. The file it belongs to
is known by its inode, since agents rename transcripts, and by the bytes before the offset, since they also truncate and
rewrite them.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from agentihooks.files import make_private_directory, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_TAIL_BYTES = 4096


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A place between two lines of a transcript: the first byte not read, and what its reader knows there."""

    offset: int = 0
    reader: dict[str, Any] = {}
    tail: str = ""
    """A digest of the last bytes before the offset."""


class Cursor(msgspec.Struct, kw_only=True):
    """
    What the passes over one transcript have come to.

    Moves and markers are followed apart: an orchestrator may have the moves read without having the markers sent, and
    under rollback it is the other way round.
    """

    observed: Point = Point()
    """Up to where the moves are in the scope logs."""
    positions: dict[str, int] = {}
    """Where the walk along each emitter's log is, by subagent id (`observe.place`)."""
    followed: Point = Point()
    """Up to where a companion has come, and below, what it has to know there."""
    companion: dict[str, Any] = {}
    taken: list[str] = []
    """The ids of what the companion took from a line behind that point, which was not whole yet."""
    skipped: dict[str, int] = {}
    """What all passes together passed over, by reason."""


class Cursors:
    """The cursors of a home, one for each session and transcript file."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def load(self, session_id: str, file: BinaryIO | None) -> Cursor:
        """
        Return where to go on in an open transcript: at the beginning, unless all before a point is as it was.

        A session may be known before its transcript: with None for that, only a companion has something to go on with.
        The first pass over each of its files begins with that.
        """
        known = _read(self._path(session_id, file))
        if file is None:
            return known or Cursor()
        cursor = known or Cursor(companion=self.load(session_id, None).companion)
        if cursor.observed.tail != _tail(file, cursor.observed.offset):
            cursor.observed, cursor.positions = Point(), {}
        if known is not None and cursor.followed.tail != _tail(file, cursor.followed.offset):
            cursor.followed, cursor.companion, cursor.taken = Point(), {}, []
        return cursor

    def save(self, session_id: str, file: BinaryIO | None, cursor: Cursor) -> None:
        """
        Keep *cursor* for the next pass, whole or not at all.

        Raises:
            OSError: It cannot be written; the next pass starts where the last one kept its cursor.
        """
        # Not in msgspec's JSON: an agent's text may hold half of a character, which that refuses.
        replace_file(self._path(session_id, file), json.dumps(msgspec.to_builtins(cursor)).encode("ascii"))

    def known(self) -> Iterator[tuple[str, int, Cursor]]:
        """Yield every cursor that can be read: its session, its file's inode, and itself."""
        try:
            names = sorted(os.listdir(self._directory))
        except FileNotFoundError:
            return
        for name in names:
            session_id, _, inode = name.removesuffix(".json").rpartition(".")
            if name.endswith(".json") and inode.isdigit() and (cursor := _read(f"{self._directory}/{name}")):
                yield session_id, int(inode), cursor

    def lock_path(self, session_id: str) -> str:
        """Return the file that stands for the lock on a session's passes; its directory exists."""
        make_private_directory(self._directory)
        return f"{self._directory}/{session_id}.lock"

    def _path(self, session_id: str, file: BinaryIO | None) -> str:
        # No file has the inode 0.
        inode = 0 if file is None else os.fstat(file.fileno()).st_ino
        return f"{self._directory}/{session_id}.{inode}.json"


def _read(path: str) -> Cursor | None:
    try:
        with open(path, "rb") as file:
            return msgspec.convert(json.load(file), Cursor)
    except (OSError, ValueError, RecursionError, msgspec.ValidationError):
        return None


def point_at(file: BinaryIO, offset: int, reader: dict[str, Any]) -> Point:
    """Return the point before byte *offset* of an open transcript, where its reader's state is *reader*."""
    return Point(offset=offset, reader=reader, tail=_tail(file, offset))


def _tail(file: BinaryIO, offset: int) -> str:
    """Return a digest of the last bytes before *offset*; of too few bytes if the file has become shorter."""
    if not offset:
        return ""
    start = max(0, offset - _TAIL_BYTES)
    return sha256(os.pread(file.fileno(), offset - start, start)).hexdigest()
