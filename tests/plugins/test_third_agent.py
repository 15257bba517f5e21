"""A third agent, added by a stranger: an entry point and a module, and not a line of the engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentihooks import Engine, NotATranscript
from agentihooks.plugins import GROUP, Plugins
from agentihooks.testing import ReaderContract, write_lines

if TYPE_CHECKING:
    from types import ModuleType

SOURCE = Path(__file__).with_name("acme") / "agentihooks_acme.py"
ROWS = [
    {"acme": 1, "session": "s"},
    {"n": 1, "ms": 1791453600000, "by": "lead", "dir": "/work/alpha", "rev": "main", "asked": "fix it"},
    {"n": 2, "ms": 1791453660000, "by": "lead", "dir": "/work/alpha", "rev": "main", "said": "I will"},
    {"n": 3, "ms": 1791453720000, "by": "7", "dir": "/work/alpha/seven", "rev": "seven", "ran": "make"},
    {"n": 4, "ms": 1791453780000, "by": "lead", "dir": "/work/beta", "rev": "fix", "ran": "make"},
    {"n": 4, "ms": 1791453780000, "by": "lead", "dir": "/work/beta", "rev": "fix", "ran": "make"},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a transcript of Acme's."""
    return write_lines(tmp_path / "s.acme", ROWS)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory on the path in which the plugin's distribution is installed, as pip leaves it."""
    site = tmp_path / "site"
    info = site / "agentihooks_acme-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(SOURCE, site)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agentihooks-acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nacme = agentihooks_acme\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "agentihooks_acme", raising=False)
    return site


@pytest.mark.usefixtures("site")
def test_its_transcripts_are_observed(engine: Engine, path: Path) -> None:
    """Once the distribution is installed an engine reads the agent's transcripts like any other's."""
    assert 3 == engine.observe_transcript("s", path, {})
    found = [(each.at, each.cwd, each.branch) for each in engine.transitions("s")]
    expected = [
        ("2026-10-08T10:00:00+00:00", "/work/alpha", "main"),
        ("2026-10-08T10:03:00+00:00", "/work/beta", "fix"),
    ]
    assert expected == found
    assert ["/work/alpha/seven"] == [each.cwd for each in engine.transitions("s.agent-7")]
    assert 0 == engine.observe_transcript("s", path, {})


def test_without_it_they_are_not(engine: Engine, path: Path) -> None:
    """Without the distribution nobody knows the file, and the message names the agents that are known."""
    with pytest.raises(NotATranscript, match="claude"):
        engine.observe_transcript("s", path, {})


@pytest.mark.usefixtures("site")
def test_its_transcripts_are_found(path: Path) -> None:
    """The plugin's files are among those of this machine."""
    plugins = Plugins.installed({"AGENTIHOOKS_PLUGINS": "acme"})
    environ = {"ACME_HOME": str(path.parent)}
    found = [
        file
        for session_id in ("", "s", "t")
        for files in plugins.each("agentihooks_find_transcripts", environ=environ, session_id=session_id)
        for file in files
    ]
    assert [(str(path), "acme", "s")] * 2 == [(file.path, file.agent, file.session_id) for file in found]


def test_the_command_shows_them(site: Path, path: Path) -> None:
    """The command attributes the agent's transcript, in a process that knows it by its entry point alone."""
    program = "import sys; from agentihooks.__main__ import main; sys.exit(main(sys.argv[1:]))"
    child = subprocess.run(
        [sys.executable, "-P", "-c", program, "attribute", str(path)],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(word in child.stdout for word in ("acme", "/work/alpha", "/work/beta", "seven"))


class TestAcmeReader(ReaderContract):
    """The plugin keeps the contract that its author is given."""

    @pytest.fixture(autouse=True)
    def load(self, acme: ModuleType) -> None:
        """Use the plugin."""
        type(self).plugin = acme

    @pytest.fixture
    def transcript(self, path: Path) -> Path:
        """Return a transcript of Acme's."""
        return path
