"""What people see: tables that fit, colour where there is a terminal, and nothing that could steer it."""

from __future__ import annotations

import io
import sys
import unicodedata
from collections import Counter
from datetime import UTC, datetime
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agentihooks import terminal
from agentihooks.doctor import Finding
from agentihooks.record import transition
from agentihooks.report import EmitterReport, Stretch, TranscriptReport
from agentihooks.status import SessionStatus, Status
from agentihooks.terminal import (
    console,
    printable,
    progress,
    show_fields,
    show_findings,
    show_reports,
    show_status,
    show_transitions,
)
from agentihooks.testing import scope
from tests.sessions import at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
HOSTILE = "\x1b]0;title\x07\x1b[31mred\n\u202egnp.exe\x9b2J\x00\u2066"


def screen(width: int = 80, color: str | None = None) -> Console:
    """Return a terminal of some width, without colour unless it is asked for."""
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system=color,  # type: ignore[arg-type] # a name that rich knows
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )


def shown(show: Callable[[Console], None], out: Console | None = None) -> list[str]:
    """Return the lines that are shown, on 80 columns unless another screen is given."""
    out = screen() if out is None else out
    show(out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue().splitlines()


def reported(**changes: str) -> TranscriptReport:
    """Return a report of a session in two stretches, and of its subagent."""
    named = {
        "project_id": "github.com/fixture/alpha",
        "repo": "fixture/alpha",
        "worktree": "one",
        "branch": "feature/a-branch-with-a-long-name",
        "task": "TASK-1",
        **changes,
    }
    main = EmitterReport(session_id="5e551010-0000-7000-8000-000000000001", is_recorded=True)
    main.stretches = [
        Stretch(
            begin=at("10:00"), end=at("10:10"), scope=named, events=Counter(prompt=1, message=5, tool=1234, marker=1)
        ),
        Stretch(begin=at("10:10"), last_event=at("10:30"), scope={"cwd": "/work/scratch/x"}, events=Counter(message=2)),
    ]
    subagent = EmitterReport(session_id=main.session_id, agent_id="a1")
    return TranscriptReport(
        path="/transcripts/one.jsonl",
        agent="claude",
        emitters=[main, subagent],
        events=1243,
        labels={"scoped": 1241, "explicit": 0, "fleet": 0, "unknown": 2, "refused": 0},
        skipped={"damaged": 3},
    )


class TestPrintable:
    """Text from elsewhere."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("plain \u00e9\u6f22\U0001f600", "plain \u00e9\u6f22\U0001f600"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x9b31mred", "red"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;https://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x9d0;title\x9ctext", "text"),
            ("\x1bP1$r\x1b\\text", "text"),
            ("\x1b_application\x1b\\text\x1b^private\x1b\\", "text"),
            ("\x1b]0;never ended", ""),
            ("\x1b\x1b[31m[31mtext", "[31mtext"),
            ("\x1bctext\x1b", "text"),
            ("one\ntwo\tthree\r\x08\x07", "one two three"),
            ("\u202eexe.txt\u202c \u2066a\u2069\u200f", "exe.txt a"),
            ("soft\u00adhyphen\u200bzero\ufeff", "softhyphenzero"),
            ("line\u2028para\u2029\x85", "linepara"),
            ("half \ud83d", "half "),
            ("\x00\x7f\x80\x9f", ""),
        ],
        ids=repr,
    )
    def test_texts(self, text: str, expected: str) -> None:
        """Whatever could steer a terminal, hide or reorder text is taken out; lines and tabs become spaces."""
        assert expected == printable(text)

    @given(st.text(st.one_of(st.characters(exclude_categories=()), st.sampled_from("\x1b\x9b[]0;m\x07\\P"))))
    def test_any(self, text: str) -> None:
        """Nothing remains that is not printed; and what remains is left alone."""
        remains = printable(text)
        assert not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {unicodedata.category(char) for char in remains}
        assert remains == printable(remains)


class TestReports:
    """`agentihooks attribute`."""

    def test_80_columns(self) -> None:
        """On 80 columns nothing is wider, numbers are whole, and texts share what is left."""
        expected = """\
            claude  /transcripts/one.jsonl
              session 5e551010-0000-7000-8000-000000000001  2025-06-01 UTC, recorded
                from     to       project… worktree branch   task   prompts msgs tools marks
                10:00:00 10:10:00 fixture… one      feature… TASK-1       1    5  1234     1
                10:10:00 10:30:00 …/scrat… -        -        -            -    2     -     -
              subagent a1  no times
              1241 scoped + 0 explicit + 0 fleet + 2 unknown + 0 refused = 1243 events
              passed over: 3x damaged lines, or parts of lines, that are not JSON

            all by task and project
              task    project or folder  prompts  msgs  tools  marks
              TASK-1  fixture/alpha            1     5   1234      1
              -       …/scratch/x              -     2      -      -
            """
        lines = shown(lambda out: show_reports(out, [reported()]))
        assert dedent(expected).splitlines() == lines
        assert max(map(len, lines)) <= 80

    def test_a_wide_screen(self) -> None:
        """Where there is room, all is there."""
        lines = shown(lambda out: show_reports(out, [reported()]), screen(160))
        assert any("feature/a-branch-with-a-long-name" in line for line in lines)

    def test_a_narrow_screen(self) -> None:
        """Where there is too little room, texts keep a few characters, and lines run on."""
        lines = shown(lambda out: show_reports(out, [reported()]), screen(40))
        assert any("10:00:00 10:10:00 fixtu… one    featu…" in line for line in lines)

    def test_no_terminal(self) -> None:
        """A file or a pipe gets the whole text, however wide, and no colour."""
        out = Console(file=io.StringIO(), width=80)
        lines = shown(lambda out: show_reports(out, [reported()]), out)
        assert any("feature/a-branch-with-a-long-name" in line for line in lines)
        assert "\x1b" not in "".join(lines)

    def test_colour(self) -> None:
        """A terminal that has colour gets it."""
        assert "\x1b[1m" in "".join(shown(lambda out: show_reports(out, [reported()]), screen(color="standard")))

    def test_hostile_text(self) -> None:
        """No text from a transcript, a repository or a file name reaches the terminal with a control sequence."""
        report = reported(branch=HOSTILE, task=HOSTILE, repo=HOSTILE, worktree=HOSTILE)
        report.path = report.emitters[0].session_id = report.emitters[1].agent_id = HOSTILE
        lines = shown(lambda out: show_reports(out, [report]))
        assert not {"\x1b", "\x9b", "\u202e", "\x00"} & {*"".join(lines)}
        assert len(shown(lambda out: show_reports(out, [reported()]))) == len(lines)

    def test_days(self) -> None:
        """A session of several days has its days in the heading, and dates in the table."""
        report = reported()
        report.emitters[0].stretches[1].last_event = "2025-06-03T09:00:00Z"
        lines = shown(lambda out: show_reports(out, [report]))
        assert lines[1].endswith("2025-06-01/06-03 UTC, recorded")
        assert lines[3].split()[:4] == ["06-01", "10:00", "06-01", "10:10"]

    def test_wide_characters(self) -> None:
        """Characters that take two columns keep the table straight."""
        lines = shown(lambda out: show_reports(out, [reported(branch="\u6f22" * 30)]))
        ends = {console().render_str(line, markup=False).cell_len for line in lines[2:5]}
        assert 1 == len(ends)

    def test_nothing_in_it(self) -> None:
        """A transcript without entries says so; sums of nothing are not shown."""
        report = TranscriptReport(path="/one.jsonl", agent="codex", labels=dict.fromkeys(("scoped", "unknown"), 0))
        expected = ["codex  /one.jsonl", "  no entries of a session", "  0 scoped + 0 unknown = 0 events", ""]
        assert expected == shown(lambda out: show_reports(out, [report]))

    def test_sums(self) -> None:
        """What was done under one task in one place is added up over all transcripts, the most first."""
        lines = shown(lambda out: show_reports(out, [reported(), reported()]))
        assert ["TASK-1", "fixture/alpha", "2", "10", "2468", "2"] == lines[-2].split()

    def test_places_that_look_alike(self) -> None:
        """Folders that look alike in a table are still two."""
        report = reported()
        for number, stretch in enumerate(report.emitters[0].stretches):
            stretch.scope = {"cwd": f"/{number}/scratch/x"}
        lines = shown(lambda out: show_reports(out, [report]))
        assert ["…/scratch/x", "…/scratch/x"] == [line.split()[1] for line in lines[-2:]]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"repo": "fixture/alpha", "project_id": "github.com/fixture/alpha"}, "fixture/alpha"),
        ({"project_id": "local:mine"}, "local:mine"),
        ({"cwd": "/"}, "-"),
        ({"cwd": "/one"}, "/one"),
        ({"cwd": "/one/two/"}, "/one/two"),
        ({"cwd": "/one/two/three"}, "…/two/three"),
        ({"cwd": "C:\\one\\two\\three"}, "…/two/three"),
        ({}, "-"),
    ],
    ids=str,
)
def test_places(fields: Mapping[str, str], expected: str) -> None:
    """A place is its project, or else the end of its folder's path."""
    report = reported()
    report.emitters[0].stretches[0].scope = dict(fields)
    assert expected == shown(lambda out: show_reports(out, [report]))[3].split()[2]


class TestStatus:
    """`agentihooks status`."""

    def test_none(self) -> None:
        """Without sessions that is said."""
        status = Status(sessions=[], warnings=[])
        assert ["no session is known yet"] == shown(lambda out: show_status(out, status, NOW))
        older = Status(sessions=[], warnings=[], older=3)
        assert ["3 not heard of for a week: agentihooks status --all"] == shown(
            lambda out: show_status(out, older, NOW)
        )

    def test_some(self) -> None:
        """Each session has a line; warnings stand below."""
        session = SessionStatus(
            session_id="s1",
            agent="claude",
            scope=scope(worktree="one", branch="main", task=HOSTILE).nonempty(),
            since=at("10:00"),
            heard_at=at("11:59"),
            is_live=True,
        )
        silent = SessionStatus(session_id="s2", agent="", scope={}, since="", heard_at="", is_live=False)
        agent = SessionStatus(session_id="s1.agent-a1", agent="", scope={}, since="", heard_at="", is_live=False)
        warnings = [f"s1 and s2 share task {HOSTILE}"]
        status = Status(sessions=[silent, session, agent], warnings=warnings, older=2)
        expected = [
            "heard of  since  session        project or folder    branch  task",
            "-         -      s2             -                    -       -",
            "1m        2h     s1             fixture/alpha [one]  main    red gnp.exe",
            "-         -        subagent a1  -                    -       -",
            "2 not heard of for a week: agentihooks status --all",
            "warning: s1 and s2 share task red gnp.exe",
        ]
        assert expected == shown(lambda out: show_status(out, status, NOW))

    @pytest.mark.parametrize(
        ("time", "expected"),
        [
            ("2025-06-01T12:00:00Z", "0s"),
            ("2025-06-01T12:00:30Z", "0s"),
            ("2025-06-01T11:59:15Z", "45s"),
            ("2025-06-01T11:58:55Z", "1m 5s"),
            ("2025-06-01T10:00:30Z", "1h 59m"),
            ("2025-05-29T08:00:00Z", "3d 4h"),
            ("2025-05-29T11:00:00Z", "3d 1h"),
            ("2025-05-29T12:00:00Z", "3d"),
            ("2023-01-01T00:00:00Z", "882d 12h"),
            ("yesterday", "-"),
        ],
    )
    def test_ages(self, time: str, expected: str) -> None:
        """How long ago something was is told in its two largest units."""
        assert expected == terminal._ago(time, NOW)


def test_transitions() -> None:
    """A history has a line for each transition, and a column for each field that it uses."""
    history = [
        transition("s", 0, scope(branch="main", task="first", task_revision="3"), "2025-06-01T12:00:00+02:00"),
        transition("s", 1, scope("beta", branch="x" * 80, task="first"), at("10:30")),
    ]
    expected = [
        "# from (UTC)          project or folder branch                         task  rev",
        "0 2025-06-01 10:00:00 fixture/alpha     main                           first 3",
        f"1 2025-06-01 10:30:00 fixture/beta      {'x' * 29}… first -",
    ]
    assert expected == shown(lambda out: show_transitions(out, history))


def test_findings() -> None:
    """Each finding has a line, and below it what to do."""
    findings = [
        Finding(level="ok", about="home", text="fine"),
        Finding(level="problem", about="hooks", text=HOSTILE, advice=HOSTILE),
    ]
    expected = ["ok       home: fine", "problem  hooks: red gnp.exe", "         red gnp.exe"]
    assert expected == shown(lambda out: show_findings(out, findings))


def test_long_lines() -> None:
    """On a terminal, a line that is too long goes on below where it began; a program gets it whole."""
    finding = Finding(level="note", about="hooks", text=f"they are {'not ' * 8}there", advice="look again, " * 4)
    expected = [
        "note     hooks: they are not not not",
        "         not not not not not there",
        "         look again, look again, look again,",
        "         look again,",
    ]
    assert expected == shown(lambda out: show_findings(out, [finding]), screen(46))
    out = Console(file=io.StringIO(), width=46, force_terminal=False)
    assert [46 < len(line) for line in shown(lambda out: show_findings(out, [finding]), out)] == [True, True]


def test_fields() -> None:
    """Names and values stand in two columns; without any there is nothing."""
    expected = ["cwd     /work", "branch  red gnp.exe"]
    assert expected == shown(lambda out: show_fields(out, {"cwd": "/work", "branch": HOSTILE}))
    assert [] == shown(lambda out: show_fields(out, {}))


class TestConsole:
    """Where it is shown."""

    def test_markup_is_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        """What looks like markup or an emoji's name is text."""
        console().print("[red]:smile:[/red] 123")
        assert "[red]:smile:[/red] 123\n" == capsys.readouterr().out


class TestProgress:
    """A bar for what takes long."""

    @pytest.mark.parametrize(
        ("is_terminal", "times", "expected"),
        [(True, (0.0, 0.1, 0.9), False), (True, (0.0, 0.5, 1.5), True), (False, (0.0, 5.0, 10.0), False)],
        ids=["quick", "slow", "no terminal"],
    )
    def test_bars(
        self, monkeypatch: pytest.MonkeyPatch, is_terminal: bool, times: tuple[float, ...], expected: bool
    ) -> None:
        """What takes longer than a second shows one, where somebody looks."""
        stream, clock = io.StringIO(), iter(times)
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(terminal, "monotonic", lambda: next(clock))
        with progress("reading", 2) as advance:
            advance()
            advance()
        assert expected == ("reading" in stream.getvalue())
        assert expected or not stream.getvalue()
