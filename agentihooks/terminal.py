"""
What people see: tables and lines for a terminal. Colour appears on a terminal only.

Whatever an agent, a repository or a file name contributed passes through `printable`: a transcript must not be able
to steer the terminal of whoever reads it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from agentihooks.clock import instant, instant_or_none
from agentihooks.report import KINDS
from agentihooks.session_ids import agent_of
from agentihooks.transcript import SKIPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from agentihooks.doctor import Finding
    from agentihooks.model import Transition
    from agentihooks.outgoing import WaitingMarker
    from agentihooks.report import EmitterReport, TranscriptReport
    from agentihooks.status import Status

# ECMA-48 control sequences and strings (CSI, OSC, DCS ...), then single escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[^\x1b\n]?"
)
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NONE = "-"
_MIN_WIDTH = 6
_COUNTS = ("prompts", "msgs", "tools", "marks")


def printable(text: str) -> str:
    """Return *text* without control sequences, control characters, and marks that reorder or hide what is written."""
    text = _ESCAPES.sub("", text)
    return "".join(" " if char in "\t\n" else char for char in text if char in "\t\n" or _is_printable(char))


def _is_printable(char: str) -> bool:
    return unicodedata.category(char) not in _UNPRINTABLE


def console() -> Console:
    """Return the console for standard output."""
    return _Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command, which ends well: whoever read has seen enough."""
        raise BrokenPipeError


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Give a function that counts one step; a bar appears, on a terminal's standard error, once it takes a second."""
    started = monotonic()
    bar = Progress(
        TextColumn(label), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True, disable=True
    )
    task = bar.add_task(label, total=total)

    def advance() -> None:
        if bar.disable and bar.console.is_terminal and monotonic() - started > 1:
            bar.disable = False
            bar.start()
        bar.advance(task)

    try:
        yield advance
    finally:
        bar.stop()


def show_reports(out: Console, reports: Sequence[TranscriptReport]) -> None:
    """Print each transcript's history and what happened in it; then, if there is more than one scope, the sums."""
    for report in reports:
        _show_report(out, report)
    sums: dict[tuple[str, str, str], Counter[str]] = {}
    for stretch in (stretch for report in reports for emitter in report.emitters for stretch in emitter.stretches):
        if stretch.events:
            scope = stretch.scope
            # What people see of a place is not all of it: two may look alike.
            place = scope.get("project_id") or scope.get("cwd", "")
            sums.setdefault((scope.get("task", ""), _where(scope), place), Counter()).update(stretch.events)
    if len(sums) > 1:
        out.print(Text("all by task and project", "bold"))
        table = _Table((), ("task", "project or folder"), _COUNTS)
        for (task, where, _), events in sorted(sums.items(), key=lambda item: -item[1].total()):
            table.add(_cell(task), _cell(where), *_counts(events))
        table.print(out, 2)


def _show_report(out: Console, report: TranscriptReport) -> None:
    _print_line(out, 0, (report.agent, "bold"), "  ", printable(report.path))
    for emitter in report.emitters:
        _show_emitter(out, emitter)
    if not report.emitters:
        _print_line(out, 2, "no entries of a session")
    labels = " + ".join(f"{count} {label}" for label, count in report.labels.items())
    _print_line(out, 2, f"{labels} = {report.events} event{'s' if report.events != 1 else ''}")
    for reason, count in report.skipped.items():
        _print_line(out, 2, (f"passed over: {count}x {SKIPS.get(reason, reason)}", "yellow"))
    out.print()


def _show_emitter(out: Console, emitter: EmitterReport) -> None:
    title = f"subagent {emitter.agent_id}" if emitter.agent_id else f"session {emitter.session_id}"
    days = sorted(
        {
            day
            for stretch in emitter.stretches
            for text in (stretch.begin, stretch.end or stretch.last_event)
            if (day := _day(text))
        }
    )
    span = "/".join(_span(days)) + " UTC" if days else "no times"
    source = ", recorded" if emitter.is_recorded else ""
    _print_line(out, 2, (printable(title), "bold"), f"  {span}{source}")
    if not emitter.stretches:
        return
    columns = ["project or folder"] + [
        name for name in ("worktree", "branch", "task") if any(stretch.scope.get(name) for stretch in emitter.stretches)
    ]
    table = _Table(("from", "to"), columns, _COUNTS)
    for stretch in emitter.stretches:
        cells = [_cell(_where(stretch.scope)), *(_cell(stretch.scope.get(name, "")) for name in columns[1:])]
        table.add(
            _clock(stretch.begin, days),
            _clock(stretch.end or stretch.last_event, days),
            *cells,
            *_counts(stretch.events),
        )
    table.print(out, 4)


def show_status(out: Console, status: Status, now: datetime) -> None:
    """Print where each session is now, a line each, the one heard of last at the end; then what is worth a look."""
    older = f"{status.older} not heard of for a week: agentihooks status --all" if status.older else ""
    if not status.sessions:
        out.print(older or "no session is known yet")
        return
    table = _Table(("heard of", "since", "session"), ("project or folder", "branch", "task"))
    for session in status.sessions:
        style = "" if session.is_live else "dim"
        scope = session.scope
        table.add(
            _ago(session.heard_at, now),
            _ago(session.since, now),
            _cell(f"  subagent {agent_id}" if (agent_id := agent_of(session.session_id)) else session.session_id),
            _cell(_where(scope) + (f" [{scope['worktree']}]" if scope.get("worktree") else "")),
            _cell(scope.get("branch", "")),
            _cell(scope.get("task", "")),
            style=style,
        )
    table.print(out, 0)
    if older:
        _print_line(out, 0, (older, "dim"))
    for warning in status.warnings:
        _print_line(out, 0, (f"warning: {printable(warning)}", "yellow"))


def show_waiting(out: Console, markers: Sequence[WaitingMarker], now: datetime) -> None:
    """Print what the outboxes hold, a line each; below, why it is still there, each reason once."""
    if not markers:
        out.print("nothing waits")
        return
    styles = {"waiting": "", "held": "yellow", "bad": "red"}
    # `outbox retry` takes the file's name as it stands here.
    table = _Table(("for", "state", "since", "file"), ("project", "session"))
    for marker in markers:
        cells = _cell(marker.name), _cell(marker.project), _cell(marker.session_id)
        table.add(_cell(marker.receiver), marker.state, _ago(marker.since, now), *cells, style=styles[marker.state])
    table.print(out, 0)
    for marker in {(marker.receiver, marker.state, marker.reason): marker for marker in markers}.values():
        until = f"; next attempt after {_clock(marker.next_attempt, [])} UTC" if marker.next_attempt else ""
        if marker.reason or until:
            _print_line(out, 0, (f"{marker.receiver}, {marker.state}: {printable(marker.reason)}{until}", "dim"))


def show_findings(out: Console, findings: Iterable[Finding]) -> None:
    """Print what the doctor found, a line each, with what to do below."""
    styles = {"ok": "green", "note": "yellow", "problem": "red"}
    for finding in findings:
        line = f"{finding.about}: {printable(finding.text)}"
        _print_line(out, 0, (f"{finding.level:<7}", styles[finding.level]), "  ", line, hang=9)
        if finding.advice:
            _print_line(out, 9, printable(finding.advice), hang=0)


def show_transitions(out: Console, transitions: Iterable[Transition]) -> None:
    """Print a session's recorded history, a transition a line."""
    transitions = list(transitions)
    titles = {"worktree": "", "branch": "", "swarm": "", "task": "", "task_revision": "rev", "lane": ""}
    titles = {name: title for name, title in titles.items() if any(getattr(each, name) for each in transitions)}
    columns = [title or name for name, title in titles.items()]
    table = _Table(("#", "from (UTC)"), ("project or folder", *columns))
    for transition in transitions:
        cells = [_cell(getattr(transition, name)) for name in titles]
        at = f"{instant(transition.at):%Y-%m-%d %H:%M:%S}"
        table.add(str(transition.sequence), at, _cell(_where(transition.nonempty())), *cells)
    table.print(out, 0)


def show_fields(out: Console, fields: Mapping[str, str]) -> None:
    """Print names and values, one a line."""
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        _print_line(out, 0, (f"{name:<{width}}", "dim"), "  ", printable(value))


class _Table:
    """
    Rows under headings. *fixed* columns are never cut, *cut* ones share what room is left, *counts* are set right.

    On anything but a terminal nothing is cut: a program, or a person with `grep`, wants the whole text.
    """

    def __init__(self, fixed: Sequence[str], cut: Sequence[str], counts: Sequence[str] = ()) -> None:
        self._rows: list[tuple[Sequence[str], str]] = [((*fixed, *cut, *counts), "dim")]
        self._cut = range(len(fixed), len(fixed) + len(cut))
        self._right = range(len(fixed) + len(cut), len(fixed) + len(cut) + len(counts))

    def add(self, *cells: str, style: str = "") -> None:
        self._rows.append((cells, style))

    def print(self, out: Console, indent: int) -> None:
        widths = [max(map(cell_len, column)) for column in zip(*(cells for cells, _ in self._rows), strict=True)]
        room = out.width - indent
        gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= room or not out.is_terminal else " "
        room -= len(gap) * (len(widths) - 1)
        while out.is_terminal and sum(widths) > room:
            widest = max(self._cut, key=lambda column: widths[column])
            if widths[widest] <= _MIN_WIDTH:
                break
            widths[widest] -= 1
        for cells, style in self._rows:
            parts = [self._part(cells[column], width, column) for column, width in enumerate(widths)]
            out.print(Text(" " * indent + gap.join(parts).rstrip(), style), soft_wrap=True)

    def _part(self, cell: str, width: int, column: int) -> str:
        if column in self._right:
            return " " * (width - cell_len(cell)) + cell
        return set_cell_size(cell, width) if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"


def _print_line(out: Console, indent: int, *parts: str | tuple[str, str], hang: int = 2) -> None:
    """Print a line; on a terminal it is wrapped between words, and goes on *hang* columns further to the right."""
    text = Text.assemble(*parts)
    if not out.is_terminal or cell_len(text.plain) <= out.width - indent:
        out.print(Text(" " * indent), text, sep="", soft_wrap=True)
        return
    lines = text.wrap(out, out.width - indent - hang)
    for line in lines:
        line.rstrip()
    first, *others = lines
    out.print(Text(" " * indent), first, sep="", soft_wrap=True)
    for line in others:
        out.print(Text(" " * (indent + hang)), line, sep="", soft_wrap=True)


def _counts(events: Counter[str]) -> list[str]:
    return [str(events[kind] or _NONE) for kind in KINDS]


def _cell(value: str) -> str:
    return printable(value) or _NONE


def _where(scope: Mapping[str, str]) -> str:
    """Return the project if the scope names one, else the end of its folder's path."""
    if scope.get("repo") or scope.get("project_id"):
        return scope.get("repo") or scope["project_id"]
    parts = [part for part in re.split(r"[/\\]", scope.get("cwd", "")) if part]
    return ("…/" if parts[2:] else "/" if parts else "") + "/".join(parts[-2:])


def _ago(text: str, now: datetime) -> str:
    """Return how long ago a time was, in its two largest units: `3d 4h`, `12m`, `45s`."""
    moment = instant_or_none(text)
    if moment is None:
        return _NONE
    seconds = max(0, int((now - moment).total_seconds()))
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s")]
    first = next((number for number, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(f"{count}{unit}" for count, unit in parts[first : first + 2] if count) or "0s"


def _day(text: str) -> str:
    moment = instant_or_none(text)
    return f"{moment:%Y-%m-%d}" if moment else ""


def _span(days: Sequence[str]) -> list[str]:
    """Return the first day and the last, if they differ; without the year that both have (ISO 8601, an interval)."""
    first, last = days[0], days[-1]
    return [first] if first == last else [first, last.removeprefix(first[:5])]


def _clock(text: str, days: Sequence[str]) -> str:
    moment = instant_or_none(text)
    if moment is None:
        return ""
    return f"{moment:%H:%M:%S}" if len(days) == 1 else f"{moment:%m-%d %H:%M}"
