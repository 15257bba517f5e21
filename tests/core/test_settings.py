"""The settings file: what it fills in, and what it may not hold."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from agentihooks.__main__ import main
from agentihooks.settings import load
from tests.sessions import SESSION, Claude, reasons, scopes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def file(home: Path) -> Path:
    """Return where the settings file goes."""
    home.mkdir()
    return home / "config.toml"


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    """Let a test change the environment as the command does."""
    before = os.environ.copy()
    yield
    os.environ.clear()
    os.environ.update(before)


def loaded(home: Path, **environ: str) -> dict[str, str]:
    """Return the environment with what the file fills in."""
    environ["AGENTIHOOKS_HOME"] = str(home)
    load(environ)
    return environ


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('BRAIN_URL = "http://brain"', "http://brain"),
        ("BRAIN_URL = 3", "3"),
        ("BRAIN_URL = 0.5", "0.5"),
        ("BRAIN_URL = false", "0"),
        ("BRAIN_URL = true", "1"),
        ("# nothing", None),
    ],
)
def test_values(home: Path, file: Path, text: str, expected: str | None) -> None:
    """Text and numbers count as the environment would have them, and what is not said stays unsaid."""
    file.write_text(text)
    assert expected == loaded(home).get("BRAIN_URL")


def test_the_environment_comes_first(home: Path, file: Path) -> None:
    """What the environment says, be it nothing, is not overruled."""
    file.write_text('BRAIN_URL = "http://file"\nBRAIN_HTTP_TOKEN = "file"\nAGENTIHOOKS_SINKS = "mail"')
    found = loaded(home, BRAIN_URL="http://own", BRAIN_HTTP_TOKEN="")
    assert ("http://own", "", "mail") == (found["BRAIN_URL"], found["BRAIN_HTTP_TOKEN"], found["AGENTIHOOKS_SINKS"])


def test_no_file(home: Path) -> None:
    """Without a file, or without a home, the environment is all there is."""
    assert {"AGENTIHOOKS_HOME": str(home)} == loaded(home)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("BRAIN_URL", "Expected '='"),
        (b"\xff", "can't decode"),
        ('BRAIN_URI = "x"', "BRAIN_URI is no setting that this file may hold"),
        ('AGENTIHOOKS_SWARM_TASK = "T-1"', "AGENTIHOOKS_SWARM_TASK is no setting"),
        ("[BRAIN_URL]", "BRAIN_URL must be text or a number"),
        ("BRAIN_URL = []", "BRAIN_URL must be text or a number"),
        ('AGENTIHOOKS_SINKS = "mail"\nx = 1', "x is no setting"),
    ],
)
def test_mistakes(home: Path, file: Path, capsys: pytest.CaptureFixture[str], text: str | bytes, reason: str) -> None:
    """A mistake is told in one line, and nothing in the file counts."""
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    environ = {"AGENTIHOOKS_HOME": str(home)}
    with pytest.raises(ValueError, match=re.escape(reason)):
        load(environ)
    assert ["AGENTIHOOKS_HOME"] == [*environ]
    assert 2 == main(["status"])
    out, complaint = capsys.readouterr()
    assert ("", 1, True) == (out, len(complaint.splitlines()), complaint.startswith(f"agentihooks: {file}: "))


def test_the_doctor(home: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The doctor counts a mistake among what it finds, and looks at everything else."""
    file.write_text("x = 1")
    assert 1 == main(["doctor"])
    first, *others = capsys.readouterr().out.splitlines()
    assert f"problem  settings: {file}: x is no setting that this file may hold" == first
    assert [] != [line for line in others if "scope log: " in line]


def test_a_hook(home: Path, file: Path, claude: Claude) -> None:
    """A hook takes the file's settings, and for each of its events anew."""
    file.write_text("AGENTIHOOKS_SESSION_SCOPE = 0")
    claude.fire("SessionStart", "/a")
    assert [] == scopes(SESSION, "cwd")
    file.unlink()
    os.environ.pop("AGENTIHOOKS_SESSION_SCOPE")
    claude.fire("Stop", "/a")
    assert [("/a",)] == scopes(SESSION, "cwd")


def test_a_mistake_costs_no_move(home: Path, file: Path, claude: Claude) -> None:
    """A hook says what is wrong with the file, and goes on without it."""
    file.write_text("x = 1")
    claude.fire("SessionStart", "/a")
    assert [("/a",)] == scopes(SESSION, "cwd")
    assert [True] == ["x is no setting" in reason for reason in reasons(home)]


@pytest.fixture
def claude() -> Claude:
    """Return a session."""
    return Claude()
