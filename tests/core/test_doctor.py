"""What the doctor finds: everything that would otherwise be found out too late, and what to do about it."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import Engine, logbook
from agentihooks.clock import now
from agentihooks.doctor import Finding, examine, log_faults
from agentihooks.hookspecs import hookimpl
from agentihooks.plugins import Plugins
from agentihooks.sweep import known_transcripts, sweep
from tests.sessions import SESSION, Claude, Codex, files, repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@pytest.fixture
def alpha(tmp_path: Path) -> Path:
    """Return a checkout of the project alpha."""
    return repository(tmp_path / "alpha")


def found(about: str | None = None, later: timedelta = timedelta(), plugins: Plugins | None = None) -> list[Finding]:
    """Return what is found, of one thing or of all, some time from now."""
    home = os.environ["AGENTIHOOKS_HOME"]
    findings = examine(home, plugins or Plugins({}), os.environ, now() + later)
    return [finding for finding in findings if about in (None, finding.about)]


def levels(about: str, later: timedelta = timedelta()) -> list[str]:
    """Return the levels of what is found of one thing."""
    return [finding.level for finding in found(about, later)]


class TestHome:
    """Whether there is a place to write to, and nobody else's."""

    @pytest.mark.parametrize("below", [".", "a/b"])
    def test_a_link_to_nowhere(self, home: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
        """Behind a link to nowhere there will never be a home."""
        home.symlink_to(home.parent / "nowhere")
        monkeypatch.setenv("AGENTIHOOKS_HOME", str(home / below))
        assert ["problem"] == levels("home")

    def test_none_yet(self, home: Path) -> None:
        """A home that is yet to be made is no problem, and is not made."""
        (finding,) = found("home")
        assert ("note", f"{home} does not exist yet; the first hook creates it") == (finding.level, finding.text)
        assert not home.exists()

    def test_a_good_one(self, home: Path) -> None:
        """One that can be written to is as it should be; the probe is gone afterwards."""
        Claude().fire("Stop", "/")
        before = files(home)
        assert [Finding(level="ok", about="home", text=f"{home} can be written to")] == found("home")
        assert before == files(home)

    @pytest.mark.parametrize("folder", ["", "brain", "brain/session-scopes", "state", "logs"])
    def test_an_open_one(self, home: Path, folder: str) -> None:
        """A directory that others may look into is a problem, and how to close it is said."""
        (home / folder).mkdir(parents=True, mode=0o700)
        (home / folder).chmod(0o755)
        advice = [finding.advice for finding in found("home") if finding.level == "problem"]
        assert f"chmod 700 '{home / folder}'" in advice

    @pytest.mark.parametrize("name", ["file", "file/home"], ids=["is a file", "under a file"])
    def test_a_file_in_its_place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        """Where no home can be, that is the problem, said once."""
        (tmp_path / "file").write_text("mine")
        monkeypatch.setenv("AGENTIHOOKS_HOME", str(tmp_path / name))
        assert "problem" in levels("home")
        assert len({finding.text for finding in found()}) == len(found())

    @pytest.mark.parametrize("operation", ["touch", "write_bytes"])
    def test_one_that_cannot_be_written_to(self, home: Path, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
        """A full or read-only disk is a problem, and leaves no probe behind."""

        def fail(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        home.mkdir(mode=0o700)
        monkeypatch.setattr(f"pathlib.Path.{operation}", fail)
        (finding,) = found("home")
        assert ("problem", f"{home}: No space left on device") == (finding.level, finding.text)
        assert [] == list(home.iterdir())

    def test_one_that_cannot_be_read(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What cannot be read is named, and the rest is looked at all the same."""
        Claude().fire("Stop", "/")
        log = home / "brain" / "session-scopes" / f"{SESSION}.jsonl"
        log.unlink()
        log.mkdir()
        assert [f"{log}: Is a directory"] == [each.text for each in found("home") if each.level == "problem"]
        assert ["ok"] == levels("events")


def test_the_rollback(monkeypatch: pytest.MonkeyPatch) -> None:
    """That scopes are switched off is worth knowing."""
    assert [] == levels("rollback")
    monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
    assert ["note"] == levels("rollback")


class Stranger:
    """A plugin with something to say, and one of its hooks broken."""

    @staticmethod
    @hookimpl
    def agentihooks_examine() -> Iterator[Finding]:
        """Say one thing, then break."""
        yield Finding(level="problem", about="strange hooks", text="none", advice="install them")
        raise RuntimeError("broken")


def test_plugins() -> None:
    """What the plugins find is told, and what is wrong with the plugins themselves."""
    plugins = Plugins({"stranger": Stranger})  # type: ignore[dict-item] # any object can be a plugin
    told = [finding for finding in found(plugins=plugins) if finding.about in ("strange hooks", "plugins")]
    fault = "plugin stranger: agentihooks_examine raised RuntimeError('broken')"
    assert [("problem", "none"), ("problem", fault)] == [(finding.level, finding.text) for finding in told]


class TestEvents:
    """Whether hooks fire."""

    def test_none(self) -> None:
        """That none ever did is said."""
        assert ["no hook has fired yet"] == [finding.text for finding in found("events")]

    def test_some(self, home: Path) -> None:
        """Of each agent it is told how many sessions were heard of, and when last."""
        Claude().fire("Stop", "/")
        Claude(agent_id="a1").fire("SubagentStart", "/")
        Codex("codex").fire("Stop", "/")
        for path in (home / "state" / "sessions").iterdir():
            os.utime(path, (0, 0))
        expected = [
            "claude: sessions and subagents heard of: 2, last at 1970-01-01T00:00:00+00:00",
            "codex: sessions and subagents heard of: 1, last at 1970-01-01T00:00:00+00:00",
        ]
        assert expected == [finding.text for finding in found("events")]


class TestTranscripts:
    """Whether everything was read."""

    HOURS = timedelta(hours=2)

    @pytest.fixture
    def claude(self, alpha: Path) -> Claude:
        """Return a session that has written more than was read."""
        claude = Claude()
        claude.write("10:00", alpha)
        claude.fire("Stop", alpha)
        claude.write("10:05", alpha)
        return claude

    def test_at_work(self, claude: Claude) -> None:
        """While a session is at work its transcript is ahead of what was read."""
        assert [] == levels("transcripts")

    def test_left_behind(self, claude: Claude) -> None:
        """One that was left behind is a problem, until a sweep has read it."""
        (finding,) = found("transcripts", self.HOURS)
        assert ("problem", "agentihooks sweep") == (finding.level, finding.advice)
        assert finding.text.endswith(f"1, such as that of {SESSION}")
        engine = Engine.at_home(os.environ["AGENTIHOOKS_HOME"])
        sweep(engine, os.environ["AGENTIHOOKS_HOME"], os.environ, known_transcripts(engine, os.environ), lambda: None)
        assert [] == levels("transcripts", self.HOURS)

    def test_over(self, claude: Claude, alpha: Path) -> None:
        """That of a session that is over should have been read to its end."""
        claude.fire("SessionEnd", alpha)
        assert [] == levels("transcripts")
        claude.write("10:06", alpha)
        assert ["problem"] == levels("transcripts")

    def test_never_read(self, home: Path, claude: Claude) -> None:
        """One of which nothing was read is a problem as well."""
        for path in (home / "state" / "cursors").iterdir():
            path.unlink()
        assert ["problem"] == levels("transcripts", self.HOURS)

    @pytest.mark.parametrize("tail", [b'{"type": "user", "cwd"', b'{"type": "last-prompt"}'], ids=["torn", "open"])
    def test_a_last_line(self, claude: Claude, alpha: Path, tail: bytes) -> None:
        """A last line without its end, on which a session died, is nothing that could be read."""
        claude.append(tail)
        claude.fire("Stop", alpha)
        assert [] == levels("transcripts", self.HOURS)

    @pytest.mark.parametrize("path", ["", "/nowhere", "/", "/a\0b"])
    def test_gone(self, claude: Claude, home: Path, path: str) -> None:
        """Of a transcript that is gone nothing more is to be had."""
        state = home / "state" / "sessions" / f"{SESSION}.json"
        state.write_text(json.dumps({**json.loads(state.read_text()), "transcript_path": path}))
        assert [] == levels("transcripts", self.HOURS)

    def test_a_rollback(self, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
        """Under rollback nothing is to be read."""
        monkeypatch.setenv("AGENTIHOOKS_SESSION_SCOPE", "0")
        assert [] == levels("transcripts", self.HOURS)

    def test_what_was_passed_over(self, claude: Claude, alpha: Path) -> None:
        """What readers passed over is told: what is in the nature of transcripts, and what is worth knowing."""
        claude.append(claude.path.read_bytes() + b"}{\n" + b'{"type": "unheard-of", "sessionId": "s"}\n')
        claude.fire("Stop", alpha)
        told = {finding.text: finding.level for finding in found("passed over")}
        assert "note" == told["1x damaged lines, or parts of lines, that are not JSON"]
        assert {"ok"} == {level for text, level in told.items() if "damaged" not in text}


class TestLogs:
    """Whether the scope logs are whole."""

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            ([0, 1, 2], (0, 0, 0)),
            ([0, None, 1], (1, 0, 0)),
            ([0, 3, 4], (0, 2, 0)),
            ([0, 1, 1, 2], (0, 0, 1)),
            ([2, 0, 1, 3], (0, 2, 2)),
            ([], (0, 0, 0)),
        ],
        ids=["whole", "unreadable", "gap", "repeat", "disorder", "empty"],
    )
    def test_faults(self, tmp_path: Path, lines: list[int | None], expected: tuple[int, int, int]) -> None:
        """Unreadable lines, missing numbers and repeated ones are counted."""
        path = tmp_path / "s.jsonl"
        row = {"session_id": "s", "at": "2025-06-01T10:00:00Z"}
        texts = ["torn" if number is None else json.dumps({**row, "sequence": number}) for number in lines]
        path.write_text("".join(text + "\n\n" for text in texts))
        assert expected == log_faults(path)

    def test_findings(self, conformance: Engine, logs: Path) -> None:
        """A log with faults is named; a whole one is only counted."""
        assert ["sessions and subagents with one: 1"] == [finding.text for finding in found("scope log")]
        with (logs / "first.jsonl").open("a") as file:
            file.write("torn\n")
        expected = "first.jsonl: 1 unreadable lines, 0 missing and 0 repeated sequence numbers"
        assert ("note", expected) == (found("scope log")[0].level, found("scope log")[0].text)


class TestLogbook:
    """What the engine's own log says."""

    def test_refusals_and_errors(self, home: Path) -> None:
        """Refusals are worth knowing, errors need a person; each is told once, with how often it came."""
        for _ in range(3):
            logbook.write(home, "warning", "too old", code="older_revision")
        logbook.write(home, "error", "no disk")
        logbook.write(home, "info", "hello")
        expected = [("note", "refused", "3x older_revision: too old"), ("problem", "errors", "1x no disk")]
        assert expected == [
            (each.level, each.about, each.text) for each in found() if each.about in ("refused", "errors")
        ]

    def test_last_week_s(self, home: Path) -> None:
        """What has not come again for a day needs nobody, and what is a week old is not worth a word."""
        logbook.write(home, "error", "no disk")
        assert ["problem"] == levels("errors", timedelta(hours=23))
        assert ["note"] == levels("errors", timedelta(days=6))
        assert [] == levels("errors", timedelta(days=8))

    @pytest.mark.parametrize("row", ["torn", "[]", "1", "{}", '{"at": "now", "level": "error", "message": "m"}'])
    def test_other_lines(self, home: Path, row: str) -> None:
        """A line that is not one of the log's is passed over."""
        logbook.write(home, "error", "no disk")
        with (home / "logs" / "agentihooks.log").open("a") as file:
            file.write(f"{row}\n")
        assert ["1x no disk"] == [finding.text for finding in found("errors")]

    def test_the_most_frequent(self, home: Path) -> None:
        """Of very many the ten most frequent are told."""
        for number in range(12):
            for _ in range(2 if number else 1):
                logbook.write(home, "error", f"error {number}")
        assert 10 == len(found("errors"))
        assert "1x error 0" not in [finding.text for finding in found("errors")]


def test_nothing_is_written(home: Path, alpha: Path, conformance: Engine, user_files: Mapping[str, Any]) -> None:
    """A look changes nothing, of the engine's nor of the agents'."""
    Claude().fire("Stop", alpha)
    before = files(home)
    found(plugins=Plugins.installed())
    assert before == files(home)
    assert user_files == files(alpha.parent / "user")


@pytest.fixture
def user_files(tmp_path: Path) -> Mapping[str, bytes]:
    """Return the files in the user's directory, in which both agents are at home."""
    for name in (".claude/settings.json", ".codex/hooks.json"):
        path = tmp_path / "user" / name
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    return files(tmp_path / "user")
