"""
Acme, an agent that nobody has: how a stranger teaches the engine to read another agent's transcripts.

A transcript begins with `{"acme": 1, "session": ID}`. What follows is numbered, tells the time in milliseconds, and says
`{"n": 1, "ms": 1791453600000, "by": "lead", "dir": "/work/alpha", "rev": "main", "asked": "..."}`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentihooks.hookspecs import hookimpl
from agentihooks.transcript import Activity, Entry, Reader, TranscriptFile, salvage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_KINDS: Mapping[str, Literal["prompt", "message", "tool"]] = {"asked": "prompt", "said": "message", "ran": "tool"}


@hookimpl
def agentihooks_open_transcript(head: Sequence[Mapping[str, Any]]) -> Reader | None:
    """Recognise a transcript by its first line."""
    return AcmeReader() if head[0].get("acme") == 1 else None


@hookimpl
def agentihooks_find_transcripts(environ: Mapping[str, str], session_id: str) -> Iterator[TranscriptFile]:
    """List the files under ACME_HOME."""
    for path in Path(environ.get("ACME_HOME", "/nowhere")).glob(f"{session_id or '*'}.acme"):
        yield TranscriptFile(path=str(path), agent="acme", session_id=path.stem, modified_at=path.stat().st_mtime)


class AcmeReader(Reader):
    """Reads entries in their own numbering; a number seen before is a copy."""

    agent = "acme"

    def __init__(self) -> None:
        super().__init__()
        self._session = ""
        self._last = 0

    def state(self) -> dict[str, Any]:
        """Return the session and the last number."""
        return {"session": self._session, "last": self._last}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take them up again."""
        session, last = state.get("session"), state.get("last")
        if isinstance(session, str) and isinstance(last, int):
            self._session, self._last = session, last

    def entries(self, lines: Iterable[bytes]) -> Iterator[Entry]:
        """Yield one entry for each number."""
        for line in lines:
            objects, is_damaged = salvage(line, ('{"n": ', '{"acme": '))
            if is_damaged:
                self.skipped["damaged"] += 1
            for row in objects:
                entry = self._entry(row)
                if entry is not None:
                    yield entry

    def _entry(self, row: Mapping[str, Any]) -> Entry | None:
        number = row.get("n")
        if row.get("acme") == 1 and isinstance(row.get("session"), str):
            self._session = row["session"]
        elif not isinstance(number, int):
            self.skipped["foreign"] += 1
        elif number <= self._last:
            self.skipped["copy"] += 1
        else:
            self._last = number
            return self._numbered(number, row)
        return None

    def _numbered(self, number: int, row: Mapping[str, Any]) -> Entry:
        by = _text(row, "by") or "lead"
        return AcmeEntry(
            at=_time(row.get("ms")),
            session_id=self._session,
            agent_id="" if by == "lead" else by,
            entry_id=str(number),
            cwd=_text(row, "dir"),
            branch=_text(row, "rev"),
            row=row,
        )


class AcmeEntry(Entry, kw_only=True):
    """An entry that keeps its row, for whoever asks what was done."""

    row: Mapping[str, Any]

    def activities(self) -> Iterator[Activity]:
        """Yield what was asked, said and run."""
        for word, kind in _KINDS.items():
            text = _text(self.row, word)
            if text is not None:
                yield Activity(kind=kind, id=self.entry_id, text=text if kind == "message" else "")


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    return value if isinstance(value, str) else None


def _time(ms: object) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat()  # type: ignore[operator] # what else it is raises
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
