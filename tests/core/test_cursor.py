"""Where passes leave off: a cache that is believed only while the file before it is as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentihooks.cursor import Cursor, Cursors, Point, point_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONTENT = b"".join(b"%05d\n" % number for number in range(2000))


@pytest.fixture
def cursors(tmp_path: Path) -> Cursors:
    """Return the cursors of a directory that does not exist yet."""
    return Cursors(str(tmp_path / "state" / "cursors"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a transcript of 12,000 bytes."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(CONTENT)
    return path


def save(cursors: Cursors, path: Path, observed: int = 9000, followed: int = 6000) -> Cursor:
    """Keep a cursor for a session, and return it."""
    with path.open("rb") as file:
        cursor = Cursor(
            observed=point_at(file, observed, {"seen": ["a"]}),
            positions={"": 3, "7": 0},
            followed=point_at(file, followed, {"seen": []}),
            companion={"open": "text"},
            skipped={"copy": 2},
        )
        cursors.save("s", file, cursor)
    return cursor


def load(cursors: Cursors, path: Path, session_id: str = "s") -> Cursor:
    """Return what is known of a transcript."""
    with path.open("rb") as file:
        return cursors.load(session_id, file)


def test_what_was_kept_is_known(cursors: Cursors, path: Path) -> None:
    """A cursor is there for the next pass, and for the file under another name."""
    cursor = save(cursors, path)
    assert cursor == load(cursors, path)
    assert cursor == load(cursors, path.rename(path.with_name("moved.jsonl")))


def test_a_session_has_its_own(cursors: Cursors, path: Path) -> None:
    """Another session's pass over the same file begins at its beginning, and so does one over another file."""
    save(cursors, path)
    other = path.with_name("other.jsonl")
    other.write_bytes(CONTENT)
    assert Cursor() == load(cursors, path, "t") == load(cursors, other)


def test_appending_changes_nothing(cursors: Cursors, path: Path) -> None:
    """A file that grew is the same one."""
    cursor = save(cursors, path)
    with path.open("ab") as file:
        file.write(b"more\n")
    assert cursor == load(cursors, path)


@pytest.mark.parametrize(
    ("change", "is_observed", "is_followed"),
    [
        (lambda content: content[:8999], False, True),
        (lambda content: content[:5000], False, False),
        (lambda content: b"", False, False),
        (lambda content: content[:8000] + b"x" + content[8001:], False, True),
        (lambda content: content[:4000] + b"x" + content[4001:], True, False),
        (lambda content: content[:9000] + b"x" * 3000, True, True),
    ],
    ids=["cut", "cut short", "emptied", "rewritten before one point", "rewritten before the other", "rewritten behind"],
)
def test_a_rewritten_file_is_read_anew(
    cursors: Cursors, path: Path, change: Callable[[bytes], bytes], is_observed: bool, is_followed: bool
) -> None:
    """A point is believed while the bytes before it are as they were; each for itself, with what belongs to it."""
    cursor = save(cursors, path)
    path.write_bytes(change(CONTENT))
    found = load(cursors, path)
    assert (cursor.observed if is_observed else Point()) == found.observed
    assert (cursor.positions if is_observed else {}) == found.positions
    assert (cursor.followed if is_followed else Point()) == found.followed
    assert (cursor.companion if is_followed else {}) == found.companion


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"null", b"[]", b'{"observed": 7}', b'{"observed": {"offset": "9"}}', b"\xff", b"[" * 100_000],
    ids=lambda damage: repr(damage[:20]),
)
def test_a_damaged_cursor_is_none(cursors: Cursors, path: Path, tmp_path: Path, damage: bytes) -> None:
    """A cursor that cannot be read costs one pass from the beginning."""
    save(cursors, path)
    [kept] = (tmp_path / "state" / "cursors").iterdir()
    kept.write_bytes(damage)
    assert Cursor() == load(cursors, path)
    assert [] == [*cursors.known()]


def test_half_a_character_can_be_kept(cursors: Cursors, path: Path) -> None:
    """An agent's text may hold half of a surrogate pair; a cursor keeps it."""
    cursor = Cursor(companion={"open": "cut \ud83d"})
    with path.open("rb") as file:
        cursors.save("s", file, cursor)
    assert cursor.companion == load(cursors, path).companion


def test_cursors_are_private(cursors: Cursors, path: Path, tmp_path: Path) -> None:
    """Cursors hold pieces of transcripts, and are for their owner alone."""
    save(cursors, path)
    directory = tmp_path / "state" / "cursors"
    assert [0o700, 0o600] == [each.stat().st_mode & 0o777 for each in (directory, *directory.iterdir())]


def test_all_cursors(cursors: Cursors, path: Path, tmp_path: Path) -> None:
    """Every readable cursor is listed with its session and its file's inode; other files are not."""
    assert [] == [*cursors.known()]
    cursor = save(cursors, path)
    for name in ("s.lock", "x.json", "s.5.json", "s.x.json"):
        (tmp_path / "state" / "cursors" / name).write_text("")
    assert [("s", path.stat().st_ino, cursor)] == [*cursors.known()]


def test_the_lock_has_a_directory(cursors: Cursors, tmp_path: Path) -> None:
    """Whoever is to lock a session's passes finds the directory made."""
    assert f"{tmp_path}/state/cursors/s.lock" == cursors.lock_path("s")
    assert (tmp_path / "state" / "cursors").is_dir()
