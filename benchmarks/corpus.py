"""Large transcripts, made from real ones where there are any: a corpus beside the repository, else an invented one."""

from __future__ import annotations

import itertools
import json
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).parent.parent
_IDS = re.compile(rb'"(uuid|parentUuid)":"([0-9a-f]{8})')
_TIMES = re.compile(rb'"timestamp":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"')
_SESSIONS = re.compile(rb'"sessionId":"[^"]*"')
SESSION = "00000000-0000-4000-8000-000000000001"
"""The session that all lines are made to belong to."""

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_PAUSE = timedelta(hours=1)


def sources() -> list[bytes]:
    """Return the Claude Code transcripts to build from."""
    folder = Path(os.environ.get("AGENTIHOOKS_CORPUS", ROOT.parent / "shared" / "corpus")) / "claude"
    paths = sorted(folder.rglob("*.jsonl"))
    return [text for path in paths if _TIMES.search(text := path.read_bytes())] or [_invented()]


def _invented() -> bytes:
    """
    Return a session that reads this repository's own pages, with lines as long as real ones.

    In the corpus lines of the assistant have 1.4 kB, and results of tools, which are written twice, 5.3 kB on average.
    """
    pages = "".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    lines: list[bytes] = []
    parent = None
    for number, begin in enumerate(range(0, len(pages), 2000)):
        page = pages[begin : begin + 2000]
        told = {"type": "text", "text": page[:600]}
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": "/code/page.md"}}
        result = {"tool_use_id": f"toolu_{number}", "type": "tool_result", "content": page}
        for kind, content, rest in (
            ("assistant", [told, call], {"requestId": f"req_{number}"}),
            ("user", [result], {"toolUseResult": {"type": "text", "file": {"content": page, "totalLines": 60}}}),
        ):
            entry_id = f"{len(lines):08x}-0000-4000-8000-000000000000"
            line = {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/code/ferry",
                "sessionId": SESSION,
                "version": "2.1.240",
                "gitBranch": "main",
                "type": kind,
                "message": {"role": kind, "content": content},
                "uuid": entry_id,
                "timestamp": _text(_BEGIN + timedelta(seconds=len(lines))).decode(),
            }
            lines.append(json.dumps(line | rest, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
            parent = entry_id
    return b"".join(lines)


def write_transcript(path: Path, size: int) -> None:
    """
    Write a transcript of about *size* bytes: the sources one after the other, over and over.

    Each copy has entry ids of its own, and begins an hour after the one before it ended: like a long session, but for
    the content that repeats.
    """
    texts = sources()
    written = 0
    begin = _BEGIN
    with path.open("wb") as file:
        for copy in itertools.count():
            for text in texts:
                times = [_time(match[1]) for match in _TIMES.finditer(text)]
                shift = begin - min(times)
                begin += max(times) - min(times) + _PAUSE
                for line in text.splitlines():
                    if line.strip():
                        written += file.write(_renewed(line, copy, shift) + b"\n")
            if written >= size:
                return


def _renewed(line: bytes, copy: int, shift: timedelta) -> bytes:
    line = _IDS.sub(lambda match: b'"%s":"%08x' % (match[1], (int(match[2], 16) + copy * 7919) & 0xFFFFFFFF), line)
    line = _SESSIONS.sub(b'"sessionId":"%s"' % SESSION.encode(), line)
    return _TIMES.sub(lambda match: b'"timestamp":"%s"' % _text(_time(match[1]) + shift), line)


def _time(text: bytes) -> datetime:
    return datetime.fromisoformat(text.decode())


def _text(moment: datetime) -> bytes:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z".encode()
