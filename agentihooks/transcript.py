"""
A transcript's bytes, cut into lines, and the entries an agent's reader makes of them.

The engine knows lines; what a line means is the agent's own affair and lives in its plugin, as a `Reader`.
`Entry` is what every reader yields, whatever the agent: which session and emitter wrote it, when, and where it stood.
"""

from __future__ import annotations

import errno
import io
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from _typeshed import WriteableBuffer

    from agentihooks.files import FilePath

T = TypeVar("T")
Block = bytes | memoryview

MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is passed over. The longest measured has 2.1 MB (docs/explanation/event-time)."""

# The first block is small, since who recognises a file needs no more; each one after it is twice as long, up to the
# limit. Measured: by 8 KiB, a pass over 200 MB takes a third longer than by 128 KiB, and that 4 % longer than by 1 MiB.
FIRST_BLOCK_BYTES = 64 * 1024
BLOCK_BYTES = 1024 * 1024

MAX_HEAD_LINES = 64

# A torn line may hold any number of braces; trying to decode from each of them would take quadratic time.
MAX_SALVAGE_ATTEMPTS = 64

SKIPS: Mapping[str, str] = {
    "copy": "copies of an entry that was read before (a re-appended, resumed or forked line)",
    "damaged": "damaged lines, or parts of lines, that are not JSON",
    "foreign": "lines that are JSON but no entry of this agent",
    "inherited": "entries copied from the session or agent this one was forked from",
    "oversized": f"lines longer than {MAX_LINE_BYTES // 1024 // 1024} MiB",
    "session": "moves of another session, or of a subagent whose id cannot name a log",
    "torn": "a last line that is not complete yet",
    "unknown": "entries of a kind this reader does not know",
    "untimed": "changes of folder or branch without a believable time",
}
"""Why a line or an entry was passed over. Nothing is passed over without being counted under one of these."""


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """
    Something a session did: a prompt it was given, a message of the assistant, a call of a tool.

    `id` is the agent's own for it ("" if it has none): an activity with an id seen before is the same one, told again.
    `text` is what the assistant said, and only that: never thoughts, tool output, or a compaction's summary.
    """

    kind: Literal["prompt", "message", "tool"]
    id: str = ""
    name: str = ""
    text: str = ""


class Entry(msgspec.Struct, kw_only=True):
    """
    One entry of a transcript, in the words that all agents share.

    `at` is the entry's own time as written, "" if it has none. `agent_id` names the subagent that wrote it, "" for the
    main chain. `cwd`, `branch` and `worktree` say where the emitter stands from this entry on; None says nothing
    about it, while "" says there is none.

    A msgspec struct, not an attrs class: a reader may decode a line straight into a subclass, which is what makes one
    pass over a long transcript cheap.
    """

    cwd: str | None = None
    session_id: str = ""
    branch: str | None = None
    entry_id: str = ""
    at: str = ""
    agent_id: str = ""
    worktree: str | None = None

    def activities(self) -> Iterable[Activity]:
        """Return what was done in this entry. Decoded on demand: a pass for context alone never pays for it."""
        return ()


class Reader:
    """
    Turns the lines of one transcript into entries. One reader reads one file once, in file order.

    Subclass it in a plugin and return an instance from `agentihooks_open_transcript`.
    """

    agent: ClassVar[str]
    """The agent's short name, as in `agentihooks hook NAME`."""

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        """How many lines or entries were passed over, by reason; the reasons are the keys of `SKIPS`."""

    def entries(self, lines: Iterable[bytes]) -> Iterator[Entry]:
        """
        Yield the file's own entries, in file order; never raise over what a line holds.

        Copied and inherited entries are counted in `skipped`, not yielded. All entries of one line are yielded before
        the next line is taken, so that a caller who stops can go on from that line.

        Args:
            lines: Byte lines with or without their newline, beginning wherever the last pass ended.
        """
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return, as JSON values, what a later pass over the rest of this file needs to know."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up the *state* of an earlier pass, before `entries`. Unknown or damaged state is to be ignored."""


class TranscriptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A transcript on this machine: where it lies, whose it is, and when it was last written to (seconds, epoch)."""

    path: str
    agent: str
    session_id: str
    agent_id: str = ""
    modified_at: float = 0.0


class Lines:
    """
    The lines of a transcript file without their newlines, from where the file stands on, however large it is.

    They are read in blocks of whole lines, which is what makes a line cheap; `begin` and `offset` are those of the
    block at hand. The last line is handed out even if it has no newline yet, as long as it is a complete JSON value;
    `offset` then stays before it, since the writer may not be done with it.

    Args:
        file: Stands at the beginning of a line.
        offset: The byte at which it stands.
        cut: The beginning of a line: lines before and behind it are never in one block.
        max_line_bytes: A longer line is passed over.
    """

    def __init__(self, file: BinaryIO, offset: int = 0, *, cut: int = 0, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.begin = offset
        self.offset = offset
        """The first byte that was not handed out yet, at the beginning of a line: where the next pass goes on."""
        self.skipped: Counter[str] = Counter()
        self.is_stopped = False
        self.is_at_open_end = False
        """Whether the line at hand has no newline yet."""
        self._file = file
        self._cut = cut
        self._max_line_bytes = max_line_bytes

    def stop(self) -> None:
        """Hand out nothing behind the block at hand."""
        self.is_stopped = True

    def __iter__(self) -> Iterator[bytes]:
        for lines in self.decoded(split):
            yield from lines

    def decoded(self, decode: Callable[[Block], list[T]]) -> Iterator[list[T]]:
        """
        Yield what *decode* makes of each stretch of lines.

        Args:
            decode: Gets some lines with their newlines, or a last one without.
        """
        position, size = self.offset, min(FIRST_BLOCK_BYTES, BLOCK_BYTES)
        # The parts of a line that has not ended yet, none if it is too long, and its length.
        begun: list[bytes] = []
        length = 0
        while data := self._file.read(self._block_bytes(position, size)):
            position += len(data)
            size = min(2 * size, BLOCK_BYTES)
            first, end = data.find(b"\n") + 1, data.rfind(b"\n") + 1
            length += first or len(data)
            is_too_long = length > self._max_line_bytes + (first > 0)
            if not first:
                begun = [] if is_too_long else [*begun, data]
                continue
            self.begin, self.offset = self.offset, position - len(data) + end
            if is_too_long:
                self.skipped["oversized"] += 1
            else:
                yield decode(b"".join((*begun, data[:first])))
            # The others are not copied: memory is what the fastest decoder waits for.
            yield decode(memoryview(data)[first:end])
            if self.is_stopped:
                return
            begun, length = [data[end:]], len(data) - end
        self.begin = self.offset
        last = b"".join(begun)
        text = last.strip(b" \t\r\0\xef\xbb\xbf")
        if length > self._max_line_bytes or (text and not _is_complete(text)):
            self.skipped["torn"] += 1
        elif text:
            self.is_at_open_end = True
            yield decode(last)

    def _block_bytes(self, position: int, size: int) -> int:
        # Within a block of this size no line is too long.
        size = min(size, self._max_line_bytes)
        return min(size, self._cut - position) if position < self._cut else size


def _is_complete(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def split(block: Block) -> list[bytes]:
    """Return the lines of *block*, each with its newline but perhaps the last, without their newlines."""
    return bytes(block).removesuffix(b"\n").split(b"\n") if block else []


def open_binary(path: FilePath) -> BinaryIO:
    """
    Open a transcript for reading bytes; one compressed with zstd (`.zst`) is decompressed on the way.

    Raises:
        OSError: There is no such file, it is a directory, or it cannot be read.
    """
    if not os.fspath(path).endswith(".zst"):
        return open(path, "rb", buffering=FIRST_BLOCK_BYTES)
    import sys

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return io.BufferedReader(_Decompressed(zstd.open(path, "rb"), zstd.ZstdError, path), FIRST_BLOCK_BYTES)


class _Decompressed(io.RawIOBase):
    """What a compressed file holds; that it is damaged or cut short is an OSError, as with any unreadable file."""

    def __init__(self, file: io.BufferedIOBase, damage: type[Exception], path: FilePath) -> None:
        self._file = file
        self._damage = damage
        self._path = path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        try:
            return self._file.readinto(buffer)
        except (EOFError, self._damage) as error:
            raise OSError(errno.EBADMSG, f"cannot decompress: {error}", self._path) from error

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()
        super().close()


def salvage(line: bytes, starts: Sequence[str] = ()) -> tuple[list[dict[str, Any]], bool]:
    """
    Take the JSON objects out of a line that is not one JSON object.

    Two objects welded together, by a resume after an unclean stop, give two. After a torn piece the search goes on at
    the next text of *starts*, with which this agent's lines begin; nested objects of the torn piece are thus not
    mistaken for entries. Invalid UTF-8 is replaced, a BOM and NUL bytes are dropped.

    Returns:
        The objects in order, and whether any part of the line had to be given up.
    """
    text = line.decode("utf-8", "replace").strip("\ufeff\0 \t\r\n")
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    damaged = False
    position = 0
    for _ in range(MAX_SALVAGE_ATTEMPTS):
        if position >= len(text):
            return found, damaged
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            damaged = True
            nexts = [at for start in starts if (at := text.find(start, position + 1)) >= 0]
            if not nexts:
                return found, damaged
            position = min(nexts)
        else:
            if isinstance(value, dict):
                found.append(value)
            else:
                damaged = True
            while position < len(text) and text[position] in "\0 \t\r\n\ufeff":
                position += 1
    return found, True


def head(path: FilePath, objects: int = 8) -> list[dict[str, Any]]:
    """
    Return the first readable JSON objects of a file, by which its kind is recognised.

    Reads at most `MAX_HEAD_LINES` lines. A file that holds none gives an empty list.

    Raises:
        OSError: As for `open_binary`.
    """
    found: list[dict[str, Any]] = []
    with open_binary(path) as file:
        for number, line in enumerate(Lines(file)):
            found += salvage(line)[0]
            if len(found) >= objects or number >= MAX_HEAD_LINES:
                break
    return found
