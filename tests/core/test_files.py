"""Small private files, whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentihooks.files import make_private_directory, replace_file

if TYPE_CHECKING:
    from pathlib import Path


def modes(*paths: Path) -> list[int]:
    """Return the rights on paths."""
    return [path.stat().st_mode & 0o777 for path in paths]


def test_private_directories(tmp_path: Path) -> None:
    """A directory is made with its missing parents, for its owner alone; making it again changes nothing."""
    for _ in range(2):
        make_private_directory(tmp_path / "a" / "b" / "c")
    assert [0o700] * 3 == modes(tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c")


@pytest.mark.parametrize("made", ["link", "link/a", "link/a/b"])
def test_a_link_to_nowhere(tmp_path: Path, made: str) -> None:
    """Behind a link to nowhere nothing can be made, which is told at once."""
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "at all")
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / made / "file", b"one")


def test_where_nothing_can_be_made() -> None:
    """Some directories say that there is none of a name, and take none either."""
    with pytest.raises(OSError, match="nope"):
        make_private_directory("/proc/nope/a")


def test_a_directory_that_exists_is_left_as_it_is(tmp_path: Path) -> None:
    """Nobody's rights are taken away."""
    (tmp_path / "a").mkdir(mode=0o755)
    make_private_directory(tmp_path / "a" / "b")
    assert [0o755, 0o700] == modes(tmp_path / "a", tmp_path / "a" / "b")


def test_a_file_is_replaced(tmp_path: Path) -> None:
    """A file is made with its directory, private, and replaced by what comes next; nothing else is left behind."""
    path = tmp_path / "a" / "file"
    for content in (b"one", b"two"):
        replace_file(path, content)
        assert content == path.read_bytes()
    assert [0o600] == modes(path)
    assert [path] == [*path.parent.iterdir()]


def test_a_file_that_cannot_be_replaced(tmp_path: Path) -> None:
    """What stands in the way stays, and no half-written file is left beside it."""
    path = tmp_path / "file"
    (path / "in the way").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        replace_file(path, b"one")
    assert [path] == [*tmp_path.iterdir()]
