"""Markers as files: what a file holds, that it is whole, private and durable, and that a marker is one file."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from agentihooks.errors import PluginFault
from agentihooks.outgoing import Outgoing
from agentihooks.plugins import Plugins
from agentihooks.sinks import accept
from agentihooks_outbox.outbox import brain_outbox, decode, encode, sink_outboxes

MARKER = Outgoing(
    type="lesson",
    content="fsync the directory",
    attrs={"attribution": "scoped", "project_id": "github.com/fixture/alpha", "task": "first"},
    idempotency_key="k2:" + "0123456789abcdef" * 4,
    session_id="s1",
    agent_name="eng-1",
    project="/work/alpha",
    at="2026-10-08T10:05:00.250+02:00",
)
NAME = "20261008T080500-lesson-89abcdef.json"


@pytest.fixture
def directory(home: Path) -> Path:
    """Return the brain's outbox, which does not exist yet."""
    return home / "brain-outbox"


def write(home: Path, *markers: Outgoing) -> None:
    """Write markers to the brain's outbox."""
    brain_outbox(str(home)).write(markers or (MARKER,))


def names(directory: Path) -> list[str]:
    """Return the names of everything in a directory."""
    return sorted(path.name for path in directory.iterdir())


def test_file(home: Path, directory: Path) -> None:
    """A file is named for the marker's time in UTC, its type and its key, and holds the documented keys."""
    write(home)
    expected = {
        "type": "lesson",
        "content": "fsync the directory",
        "attrs": MARKER.attrs,
        "idempotency_key": MARKER.idempotency_key,
        "session_id": "s1",
        "agent_name": "eng-1",
        "project": "/work/alpha",
        "ts": "2026-10-08T10:05:00.250+02:00",
    }
    assert [NAME] == names(directory)
    assert expected == json.loads((directory / NAME).read_bytes())


def test_private(home: Path, directory: Path) -> None:
    """Nobody but the owner can read the files, or list them."""
    write(home)
    assert (0o700, 0o600) == tuple(path.stat().st_mode & 0o777 for path in (directory, directory / NAME))


@pytest.mark.parametrize("at", ["", "yesterday"])
def test_no_time(home: Path, directory: Path, at: str) -> None:
    """A marker without a readable time has a name all the same, always the same one."""
    write(home, structs.replace(MARKER, at=at))
    assert ["00000000T000000-lesson-89abcdef.json"] == names(directory)


def test_early_year(home: Path, directory: Path) -> None:
    """The time in a name has the same width in any year, so that names sort by time."""
    write(home, structs.replace(MARKER, at="0001-02-03T04:05:06Z"))
    assert ["00010203T040506-lesson-89abcdef.json"] == names(directory)


def test_twice_is_once(home: Path, directory: Path) -> None:
    """Writing a marker again leaves the file that is there as it is."""
    write(home)
    before = (directory / NAME).stat().st_ino
    write(home)
    assert [NAME] == names(directory)
    assert before == (directory / NAME).stat().st_ino


def test_same_digits(home: Path, directory: Path) -> None:
    """Two markers of one second whose keys end alike are two files."""
    other = structs.replace(MARKER, idempotency_key="k2:" + "f" * 48 + "0123456789abcdef", content="other")
    write(home, MARKER, other)
    write(home, other, MARKER)
    assert ["20261008T080500-lesson-01234567.json", NAME] == names(directory)
    assert "other" == json.loads((directory / "20261008T080500-lesson-01234567.json").read_bytes())["content"]


def test_damaged_file_in_the_way(home: Path, directory: Path) -> None:
    """A damaged file of the same name is not overwritten."""
    directory.mkdir(parents=True)
    (directory / NAME).write_text("{")
    write(home)
    assert ["20261008T080500-lesson-01234567.json", NAME] == names(directory)


def test_all_names_taken(home: Path, directory: Path) -> None:
    """A marker for which no name is left is an error, not a loss."""
    directory.mkdir(parents=True)
    for digits in ("01234567", "89abcdef"):
        (directory / f"20261008T080500-lesson-{digits}.json").write_text("{")
    with pytest.raises(FileExistsError):
        write(home)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_failure_leaves_nothing(home: Path, directory: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A file that cannot be written whole is not there at all; writing again works."""

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(OSError, match="no space left"):
            write(home)
    assert [] == names(directory)
    write(home)
    assert [NAME] == names(directory)


def test_durable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is made durable, then the directory once, then that it exists; only then does writing return."""
    synced: list[str] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write(home, MARKER, structs.replace(MARKER, type="signal"))
    assert ["file", "file", "directory", "directory"] == synced
    write(home, MARKER)
    assert ["directory"] == synced[4:]


def test_whole_before_durable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made durable is the whole file: nothing of it is still in a buffer."""
    sizes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
    write(home)
    assert len(encode(MARKER)) == sizes[0]


def test_order(home: Path) -> None:
    """The backlog beside the outbox comes first, and of each the oldest; only whole files of markers count."""
    for folder in ("brain-outbox", "brain-outbox-backlog"):
        (home / folder / "20200101T000000-lesson-0.json").mkdir(parents=True)
        for name in ("2-lesson-0.json", "1-lesson-0.json", "1-lesson-0.json.bad", ".1-lesson-0.json", "notes.txt"):
            (home / folder / name).touch()
    outbox = brain_outbox(str(home))
    expected = [
        f"{folder}/{day}-lesson-0.json" for folder in ("brain-outbox-backlog", "brain-outbox") for day in (1, 2)
    ]
    assert expected == [str(Path(path).relative_to(home)) for path in outbox.waiting()]
    assert 2 == len(outbox.bad())


def test_empty(home: Path) -> None:
    """An outbox that does not exist is empty."""
    outbox = brain_outbox(str(home))
    assert ([], []) == (outbox.waiting(), outbox.bad())


def test_orphans(home: Path, directory: Path) -> None:
    """What a process left half written goes after an hour, not before: it may still be at it."""
    directory.mkdir(parents=True)
    for name, age in ((".old.json.1-1.tmp", 3700), (".new.json.1-1.tmp", 10)):
        (directory / name).touch()
        written = (directory / name).stat().st_mtime - age
        os.utime(directory / name, (written, written))
    brain_outbox(str(home)).remove_orphans()
    assert [".new.json.1-1.tmp"] == names(directory)


def test_round_trip() -> None:
    """What is written is read back, also text that is not quite Unicode."""
    marker = structs.replace(MARKER, content="h\u00e9 \ud800 \x00")
    assert marker == decode(encode(marker))
    assert encode(marker).isascii()


def test_earlier_version() -> None:
    """A file without key, attributes and session is read; the session may be among the attributes."""
    expected = Outgoing(
        type="lesson", content="x", attrs={}, idempotency_key="", session_id="", agent_name="", project="", at=""
    )
    assert expected == decode(b'{"type": "lesson", "content": "x"}')
    row = {"type": "lesson", "content": "x", "attrs": {"session_id": "s1"}, "cwd": "/c", "project": "/p"}
    marker = decode(json.dumps(row).encode())
    assert ("s1", "/c") == (marker.session_id, marker.project)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"\xff",
        b'{"type": "lesson"}',
        b'{"content": "x"}',
        b'{"type": 1, "content": "x"}',
        b'{"type": "lesson", "content": null}',
        b'{"type": "lesson", "content": "x", "attrs": [1]}',
        b'{"type": "lesson", "content": "x", "attrs": "text"}',
        b'{"type": "lesson", "content": "x", "idempotency_key": 1}',
        b'{"type": "lesson", "content": "x", "idempotency_key": "a\\nb: c"}',
        b"[" * 100_000,
    ],
)
def test_no_marker(data: bytes) -> None:
    """What holds no marker is said to hold none, whatever it is."""
    with pytest.raises(ValueError, match=r".+"):
        decode(data)


@pytest.mark.parametrize(
    ("named", "expected"),
    [("", []), ("a", ["a"]), ("a,b a", ["a", "b"]), ("../a, .b ,c/d,", [])],
)
def test_sinks(home: Path, named: str, expected: list[str]) -> None:
    """Each sink that is named has an outbox of its own; a name that is no plain one is none."""
    assert expected == [outbox.name for outbox in sink_outboxes(str(home), {"AGENTIHOOKS_SINKS": named})]


def test_accept(home: Path) -> None:
    """The bundled sink has each marker in the outbox of the brain and of each sink when it returns."""
    accept(Plugins.bundled(["outbox"]), [MARKER], str(home), {"AGENTIHOOKS_SINKS": "mail"})
    assert [NAME] == names(home / "brain-outbox") == names(home / "sink-outbox" / "mail")


def test_accept_nothing(home: Path) -> None:
    """Where there is no marker nothing is created."""
    accept(Plugins.bundled(["outbox"]), [], str(home), {})
    assert not home.exists()


def test_accept_fails(home: Path) -> None:
    """That a marker could not be kept is raised: the reader must not move on."""
    home.write_text("no directory")
    with pytest.raises(PluginFault, match="agentihooks_accept_markers raised"):
        accept(Plugins.bundled(["outbox"]), [MARKER], str(home), {})


def test_no_sink(home: Path) -> None:
    """Without the bundled plugin nothing is kept, and that is raised, too."""
    with pytest.raises(PluginFault, match="no plugin of this name"):
        accept(Plugins({}), [MARKER], str(home), {})
