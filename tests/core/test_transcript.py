"""A transcript's bytes, cut into lines and objects."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from agentihooks.testing import write_lines
from agentihooks.transcript import (
    BLOCK_BYTES,
    MAX_SALVAGE_ATTEMPTS,
    SKIPS,
    Entry,
    Lines,
    Reader,
    head,
    open_binary,
    salvage,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path


def lines_of(content: bytes, **options: int) -> tuple[list[bytes], int, dict[str, int]]:
    """Return what a file's lines are, the offset behind them, and what was skipped."""
    lines = Lines(io.BytesIO(content), **options)
    return list(lines), lines.offset, dict(lines.skipped)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ([], 0, {})),
        (b"{}\n[]\n", ([b"{}", b"[]"], 6, {})),
        (b"\n\r\n{}\n", ([b"", b"\r", b"{}"], 6, {})),
        (b"{}\n{}", ([b"{}", b"{}"], 3, {})),
        (b'{}\n{"a": ', ([b"{}"], 3, {"torn": 1})),
        (b"{}\n\xff", ([b"{}"], 3, {"torn": 1})),
        (b"{}\n" + b"[" * 100_000, ([b"{}"], 3, {"torn": 1})),
        (b"{}\n\0\0 \r", ([b"{}"], 3, {})),
        (b"{}\n\xef\xbb\xbf{}", ([b"{}", b"\xef\xbb\xbf{}"], 3, {})),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_lines(content: bytes, expected: tuple[list[bytes], int, dict[str, int]]) -> None:
    """Whole lines are handed out, and a last one without its newline if it is complete; the offset stays before that."""
    assert expected == lines_of(content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"12345678\n{}\n", ([b"12345678", b"{}"], 12, {})),
        (b"123456789\n{}\n", ([b"{}"], 13, {"oversized": 1})),
        (b"[]\n123456789\n123456789\n{}\n", ([b"[]", b"{}"], 26, {"oversized": 2})),
        (b"1" * 300_000 + b"\n{}\n", ([b"{}"], 300_004, {"oversized": 1})),
        (b"{}\n" + b"1" * 300_000, ([b"{}"], 3, {"torn": 1})),
    ],
    ids=["fits", "one byte too long", "several", "far too long", "far too long and unfinished"],
)
def test_a_line_that_is_too_long(content: bytes, expected: tuple[list[bytes], int, dict[str, int]]) -> None:
    """A line beyond the limit is passed over and counted once it is complete, and the next one is read."""
    assert expected == lines_of(content, max_line_bytes=8)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, BLOCK_BYTES])
def test_blocks_of_any_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However a file is cut into blocks, its lines are the same."""
    monkeypatch.setattr("agentihooks.transcript.BLOCK_BYTES", size)
    content = b'{"a": 1}\n\n[]\n' + b"1" * 100 + b"\n{}\n{"
    assert ([*content.split(b"\n")[:-1]], len(content) - 1, {"torn": 1}) == lines_of(content)


def test_lines_go_on_from_an_offset() -> None:
    """Offsets are those of the file, wherever reading begins."""
    file = io.BytesIO(b"{}\n[]\n1\n")
    file.seek(3)
    lines = Lines(file, 3)
    assert ([b"[]", b"1"], 8) == (list(lines), lines.offset)


def test_lines_are_cut() -> None:
    """No block has lines from before and from behind the cut: the offset tells them apart."""
    file = io.BytesIO(b"{}\n[]\n1\n2\n")
    file.seek(3)
    lines = Lines(file, 3, cut=6)
    assert [(b"[]", 3, 6), (b"1", 6, 10), (b"2", 6, 10)] == [(line, lines.begin, lines.offset) for line in lines]


def test_lines_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has enough gets the rest of the block, no further line, and the offset is behind the last one."""
    monkeypatch.setattr("agentihooks.transcript.BLOCK_BYTES", 6)
    lines = Lines(io.BytesIO(b"{}\n[]\n1\n"))
    taken = []
    for line in lines:
        taken.append(line)
        lines.stop()
    assert ([b"{}", b"[]"], 6, True) == (taken, lines.offset, lines.is_stopped)


def test_an_open_end_is_told() -> None:
    """While a line without its newline is at hand, the lines say so."""
    lines = Lines(io.BytesIO(b"{}\n[]"))
    assert [(False, 0, 3), (True, 3, 3)] == [(lines.is_at_open_end, lines.begin, lines.offset) for _ in lines]


@pytest.mark.parametrize(
    ("line", "starts", "expected"),
    [
        (b'{"a": 1}', (), ([{"a": 1}], False)),
        (b'\xef\xbb\xbf\0{"a": 1} \r\n', (), ([{"a": 1}], False)),
        (b'{"a": 1}{"b": 2}', (), ([{"a": 1}, {"b": 2}], False)),
        (b'{"a": 1} \0\xef\xbb\xbf{"b": 2}\n', (), ([{"a": 1}, {"b": 2}], False)),
        (b'{"a": {"b": 2', (), ([], True)),
        (b'{"a": {"c": 2}{"a": 3}', ('{"a":',), ([{"a": 3}], True)),
        (b'{"a": "x{"b": 3}{"a": 4}', ('{"a":', '{"b":'), ([{"b": 3}, {"a": 4}], True)),
        (b'xx{"a": 3}', ('{"a":',), ([{"a": 3}], True)),
        (b'[1]{"a": 3}', (), ([{"a": 3}], True)),
        (b'{"a": "\xff"}', (), ([{"a": "\ufffd"}], False)),
        (b"", (), ([], False)),
        (b"[" * 100_000, (), ([], True)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_salvage(line: bytes, starts: tuple[str, ...], expected: tuple[list[dict[str, int]], bool]) -> None:
    """The whole objects of a line are taken out; a torn piece is given up, up to where the next entry may begin."""
    assert expected == salvage(line, starts)


def test_salvage_gives_up() -> None:
    """A line that promises entry after entry is tried only so often."""
    found, is_damaged = salvage(b'{"a": ' * 10_000 + b'{"a": 1}', ('{"a":',))
    assert ([], True) == (found, is_damaged)
    found, is_damaged = salvage(b'{"a": 1}' * (MAX_SALVAGE_ATTEMPTS + 1))
    assert (MAX_SALVAGE_ATTEMPTS, True) == (len(found), is_damaged)


def test_the_head_is_the_first_objects(tmp_path: Path) -> None:
    """The first eight objects are the head, whatever damaged lines stand between them."""
    rows = [{"n": number} for number in range(20)]
    path = write_lines(tmp_path / "t", [b"x", b"", *rows[:3], b'{"n": 3}{"n": 4}', b"[1]", *rows[5:]])
    assert rows[:8] == head(path)


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"hello\n" * 1000, b"\xff\xfe\0", b"[]\n1\n"], ids=lambda value: repr(value[:10])
)
def test_a_file_without_objects_has_no_head(tmp_path: Path, content: bytes) -> None:
    """A file that holds no object, or none near its beginning, has no head."""
    path = tmp_path / "t"
    path.write_bytes(content + (b'{"n": 1}\n' if len(content) > 1000 else b""))
    assert [] == head(path)


def test_compressed_files_are_read(tmp_path: Path) -> None:
    """A `.zst` file is read as what it holds."""
    path = tmp_path / "t.jsonl.zst"
    content = b'{"n": 1}\n' * 100_000
    path.write_bytes(zstd.compress(content))
    with open_binary(path) as file:
        assert content == file.read()
    assert [{"n": 1}] * 8 == head(path)


@pytest.mark.parametrize("damage", [b"not zstd", zstd.compress(b"{}\n" * 1000)[:-8]], ids=["no zstd", "cut"])
def test_a_damaged_compressed_file_is_an_error(tmp_path: Path, damage: bytes) -> None:
    """A compressed file that is damaged or cut short cannot be read, and says so as files do."""
    path = tmp_path / "t.jsonl.zst"
    path.write_bytes(damage)
    with pytest.raises(OSError, match="cannot decompress"), open_binary(path) as file:
        file.read()


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.jsonl.zst", "."])
def test_what_is_no_file_is_an_error(tmp_path: Path, name: str) -> None:
    """A missing file and a directory cannot be read."""
    with pytest.raises(OSError, match=r"No such file|directory"):
        head(tmp_path / name)


def test_a_readers_defaults() -> None:
    """A reader has to say what its entries are; state it may do without. An entry says nothing by itself."""
    reader = Reader()
    with pytest.raises(NotImplementedError):
        reader.entries([])
    reader.restore({"unknown": 1})
    assert {} == json.loads(json.dumps(reader.state()))
    assert ((), None) == (Entry().activities(), Entry().cwd)


def test_every_skip_is_explained() -> None:
    """Each reason has a name and a sentence."""
    assert all(name.isidentifier() and len(text.split()) > 3 for name, text in SKIPS.items())
