"""Whether everything is wired, fires, and was read: what a person would otherwise find out too late."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

from agentihooks import logbook, session_state
from agentihooks.clock import instant_or_none
from agentihooks.codec import decode_transition
from agentihooks.cursor import Cursor, Cursors
from agentihooks.home import cursor_directory, is_rolled_back, scope_log_directory
from agentihooks.session_ids import session_of
from agentihooks.transcript import SKIPS, open_binary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agentihooks.plugins import Plugins

LOOK_BACK = timedelta(days=7)
"""How far back the engine's own log is read."""

FRESH_FOR = timedelta(days=1)
"""An error that has not come again for longer needs nobody any more."""

_MAKE_ROOM = "make room, or make it writable; until then nothing is recorded"

# Reasons that are in the nature of transcripts and need nobody.
_HARMLESS = frozenset({"copy", "inherited", "foreign", "unknown", "session", "torn"})


@attrs.frozen(kw_only=True)
class Finding:
    """One thing that was looked at: `ok`, `note` worth knowing, or `problem` that needs a person; and what to do."""

    level: Literal["ok", "note", "problem"]
    about: str
    text: str
    advice: str = ""


def examine(home: str, plugins: Plugins, environ: Mapping[str, str], now: datetime) -> list[Finding]:
    """Look at everything, in the order in which it goes wrong. Writes nothing but a probe file, removed at once."""
    looks: tuple[Iterator[Finding], ...] = (
        _home(home, environ),
        _hooks(plugins, environ),
        _heard(home, environ, now),
        _logs(home),
        _cursors(home),
        _logbook(home, now),
    )
    findings: list[Finding] = []
    for look in looks:
        try:
            findings.extend(look)
        except OSError as error:
            # What stops one look stops the next as well, as often as not: once is enough.
            text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            problem = Finding(level="problem", about="home", text=text, advice=_MAKE_ROOM)
            findings += [problem] if problem not in findings else []
    return findings


def _home(home_path: str, environ: Mapping[str, str]) -> Iterator[Finding]:
    home = Path(home_path)
    if is_rolled_back(environ):
        text = "AGENTIHOOKS_SESSION_SCOPE=0: no transitions are written, markers take the preceding lookup"
        yield Finding(level="note", about="rollback", text=text, advice="unset it to go back; see rollback.md")
    if not home.exists():
        # A link to nowhere is in the way of all that would be made behind it.
        ground = next(path for path in (home, *home.parents) if path.is_symlink() or path.exists())
        if ground.is_dir() and os.access(ground, os.W_OK | os.X_OK):
            yield Finding(level="note", about="home", text=f"{home} does not exist yet; the first hook creates it")
        else:
            text = f"{home} cannot be made: {ground} is no directory that can be written to"
            yield Finding(level="problem", about="home", text=text, advice="set AGENTIHOOKS_HOME to another place")
        return
    for directory in (home, home / "brain", home / "brain" / "session-scopes", home / "state", home / "logs"):
        if directory.is_dir() and directory.stat().st_mode & 0o077:
            text = f"{directory} is open to other users"
            yield Finding(level="problem", about="home", text=text, advice=f"chmod 700 '{directory}'")
    probe = home / f".doctor.{os.getpid()}"
    try:
        probe.touch(mode=0o600)
        try:
            # On a full disk there may be room for a name, and for nothing else.
            probe.write_bytes(b"\0" * 4096)
        finally:
            probe.unlink()
    except OSError as error:
        yield Finding(level="problem", about="home", text=f"{home}: {error.strerror}", advice=_MAKE_ROOM)
    else:
        yield Finding(level="ok", about="home", text=f"{home} can be written to")


def _hooks(plugins: Plugins, environ: Mapping[str, str]) -> Iterator[Finding]:
    for findings in plugins.each("agentihooks_examine", environ=environ):
        yield from findings
    for fault in plugins.faults:
        yield Finding(level="problem", about="plugins", text=str(fault))


def _heard(home: str, environ: Mapping[str, str], now: datetime) -> Iterator[Finding]:
    last: dict[str, float] = {}
    sessions: Counter[str] = Counter()
    behind: list[str] = []
    offsets = {(session_id, inode): cursor.observed.offset for session_id, inode, cursor in _known_cursors(home)}
    for own_id, state, heard_at in session_state.known(home):
        agent = str(state.get("agent", ""))
        sessions[agent] += 1
        last[agent] = max(heard_at, last.get(agent, 0))
        # While a session is at work its transcript is always ahead; what counts is one that was left behind.
        is_left = state.get("is_ended") or now.timestamp() - heard_at > timedelta(hours=1).total_seconds()
        if is_left and _holds_more(str(state.get("transcript_path", "")), session_of(own_id), offsets):
            behind.append(own_id)
    for agent, heard_at in sorted(last.items()):
        when = datetime.fromtimestamp(heard_at, UTC).isoformat(timespec="seconds")
        text = f"{agent}: sessions and subagents heard of: {sessions[agent]}, last at {when}"
        yield Finding(level="ok", about="events", text=text)
    if not last:
        yield Finding(
            level="note",
            about="events",
            text="no hook has fired yet",
            advice="agentihooks install claude, or codex; then start a session, and look again",
        )
    if behind and not is_rolled_back(environ):
        text = f"transcripts that hold more than was read: {len(behind)}, such as that of {behind[0]}"
        yield Finding(level="problem", about="transcripts", text=text, advice="agentihooks sweep")


def _holds_more(path: str, session_id: str, offsets: Mapping[tuple[str, int], int]) -> bool:
    """Return whether a transcript has a whole line behind the first byte that was not read."""
    try:
        with open_binary(path) as file:
            file.seek(offsets.get((session_id, os.fstat(file.fileno()).st_ino), 0))
            return file.readline().endswith(b"\n")
    except (OSError, ValueError):
        return False


def _logs(home: str) -> Iterator[Finding]:
    count = 0
    for path in sorted(Path(scope_log_directory(home)).glob("*.jsonl")):
        count += 1
        unreadable, gaps, repeats = log_faults(path)
        if unreadable or gaps or repeats:
            text = f"{path.name}: {unreadable} unreadable lines, {gaps} missing and {repeats} repeated sequence numbers"
            advice = (
                "nothing to do: readable lines count, in file order; some other program wrote there, or a disk failed"
            )
            yield Finding(level="note", about="scope log", text=text, advice=advice)
    yield Finding(level="ok", about="scope log", text=f"sessions and subagents with one: {count}")


def log_faults(path: Path) -> tuple[int, int, int]:
    """
    Return how many lines of a scope log cannot be read, and how many sequence numbers are missing and repeated.

    Raises:
        OSError: The file cannot be read.
    """
    unreadable = gaps = repeats = 0
    expected = 0
    for line in path.read_bytes().split(b"\n"):
        if not line.strip():
            continue
        decoded = decode_transition(line, path.stem, expected)
        if decoded is None:
            unreadable += 1
            continue
        sequence = decoded[0].sequence
        gaps += max(0, sequence - expected)
        repeats += sequence < expected
        expected = max(expected, sequence + 1)
    return unreadable, gaps, repeats


def _cursors(home: str) -> Iterator[Finding]:
    skipped: Counter[str] = Counter()
    for _, _, cursor in _known_cursors(home):
        skipped.update(cursor.skipped)
    for reason, count in sorted(skipped.items()):
        level: Literal["ok", "note"] = "ok" if reason in _HARMLESS else "note"
        yield Finding(level=level, about="passed over", text=f"{count}x {SKIPS.get(reason, reason)}")


def _known_cursors(home: str) -> Iterable[tuple[str, int, Cursor]]:
    return Cursors(cursor_directory(home)).known()


def _logbook(home: str, now: datetime) -> Iterator[Finding]:
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], datetime] = {}
    path = Path(logbook.path_of(home))
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        lines = []
    for line in lines:
        try:
            row = json.loads(line)
            moment = instant_or_none(row["at"])
            if row["level"] in ("warning", "error") and moment is not None and now - moment < LOOK_BACK:
                reason = str(row.get("code", "")), str(row["message"])
                counts[reason] += 1
                last[reason] = moment
        except (ValueError, KeyError, TypeError):
            continue
    for (code, message), count in counts.most_common(10):
        moment = last[code, message]
        is_fresh = not code and now - moment < FRESH_FOR
        about = "refused" if code else "errors"
        text = f"{count}x {code + ': ' if code else ''}{message}"
        advice = f"last at {moment.isoformat(timespec='seconds')}; see {path}"
        yield Finding(level="problem" if is_fresh else "note", about=about, text=text, advice=advice)
