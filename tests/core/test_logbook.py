"""The engine's own log: a line for each reason, and never a reason of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentihooks import logbook
from agentihooks.clock import instant
from tests.sessions import rows


@pytest.fixture
def path(home: Path) -> Path:
    """Return the log's path."""
    return home / "logs" / "agentihooks.log"


def test_a_line(home: Path, path: Path) -> None:
    """A line says when, how bad, what, and whatever else there is to say; it is the owner's alone."""
    before = datetime.now(UTC)
    logbook.write(home, "warning", "h\u00f6lp\n", code="older_revision", session_id="s\ud83d")
    (row,) = rows(path)
    assert before <= instant(row.pop("at")) <= datetime.now(UTC)
    expected = {"level": "warning", "message": "h\u00f6lp\n", "code": "older_revision", "session_id": "s\ud83d"}
    assert expected == row
    assert [0o700, 0o600] == [each.stat().st_mode & 0o777 for each in (path.parent, path)]


def test_lines(home: Path, path: Path) -> None:
    """Lines are appended, whatever the home is given as, and values that JSON does not have become text."""
    logbook.write(str(home), "info", "one", where=Path("/a"))
    logbook.write(home, "error", "two")
    assert [("one", "/a"), ("two", None)] == [(row["message"], row.get("where")) for row in rows(path)]
    assert str(path) == logbook.path_of(home)


def test_a_full_log_is_set_aside(home: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that has grown too long makes room for a new one; only its predecessor is kept."""
    monkeypatch.setattr(logbook, "MAX_BYTES", 10)
    for message in ("one", "two", "three", "four", "five"):
        logbook.write(home, "info", message)
    assert ["agentihooks.log", "agentihooks.log.1"] == sorted(each.name for each in path.parent.iterdir())
    kept = [row["message"] for row in [*rows(path.with_name("agentihooks.log.1")), *rows(path)]]
    assert ["one", "two", "three", "four", "five"][-len(kept) :] == kept


@pytest.mark.parametrize("name", ["", "home"], ids=["is a file", "under a file"])
def test_no_home(tmp_path: Path, name: str) -> None:
    """Where there can be no log, there is none, and nobody is told."""
    (tmp_path / "file").write_text("mine")
    logbook.write(tmp_path / "file" / name, "error", "lost")
    assert ["file"] == [each.name for each in tmp_path.iterdir()]


def test_a_directory_in_its_place(home: Path, path: Path) -> None:
    """Whatever is in the log's place stays there."""
    path.mkdir(parents=True)
    logbook.write(home, "error", "lost")
    assert path.is_dir()
