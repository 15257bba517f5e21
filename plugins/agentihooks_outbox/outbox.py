"""
Markers as files, one each, waiting to be sent: written whole or not at all, and the same marker twice is one file.

The format is docs/reference/brain-protocol; files of earlier versions are read too.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agentihooks.clock import instant_or_none
from agentihooks.files import fsync_directory, make_private_directory
from agentihooks.outgoing import Outgoing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BAD = ".bad"
"""The ending of a file that was refused for good, or cannot be read."""

_KEY = r"[!-~]{1,256}"  # what a header may hold
_SINK = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
_NO_TIME = "00000000T000000"
_ORPHAN_AGE_S = 3600.0


class Outbox:
    """
    A directory of waiting markers. Beside it, one of the same name and `-backlog` may hold older ones.

    `name` is the directory's own name.
    """

    def __init__(self, directory: str) -> None:
        self.name = os.path.basename(directory)
        self._directory = directory
        self._backlog = f"{directory}-backlog"

    def write(self, markers: Sequence[Outgoing]) -> None:
        """
        Add a file for each of *markers*, unless it waits already; all are durable when it returns.

        Raises:
            OSError: Some may not have been written. Writing all of them again is safe.
        """
        is_new = not os.path.isdir(self._directory)
        make_private_directory(self._directory)
        for marker in markers:
            path = self._place(marker)
            if path is not None:
                _write(path, encode(marker))
        fsync_directory(self._directory)
        if is_new:
            fsync_directory(os.path.dirname(self._directory))

    def waiting(self) -> list[str]:
        """Return the files to be sent: the backlog first, and of each directory the oldest first."""
        return [*_files(self._backlog, ".json"), *_files(self._directory, ".json")]

    def bad(self) -> list[str]:
        """Return the files set aside, in the same order."""
        return [*_files(self._backlog, BAD), *_files(self._directory, BAD)]

    def remove_orphans(self) -> None:
        """Remove what a process that died while it wrote has left."""
        for path in _files(self._directory, ".tmp"):
            with suppress(OSError):
                if time.time() - os.stat(path).st_mtime > _ORPHAN_AGE_S:
                    os.unlink(path)

    def _place(self, marker: Outgoing) -> str | None:
        """Return where the marker's file goes; None if it lies there already."""
        for name in _names(marker):
            path = f"{self._directory}/{name}"
            try:
                if read(path).idempotency_key == marker.idempotency_key:
                    return None
            except FileNotFoundError:
                return path
            except ValueError:
                # Somebody else's, and damaged; it is set aside when its turn comes.
                continue
        raise FileExistsError(f"{path}: this name and all others for a marker are taken")


def brain_outbox(home: str) -> Outbox:
    """Return the outbox of the brain."""
    return Outbox(f"{home}/brain-outbox")


def sink_outboxes(home: str, environ: Mapping[str, str]) -> list[Outbox]:
    """Return the outboxes of the sinks that `AGENTIHOOKS_SINKS` names, in its order, each named for its sink."""
    names = environ.get("AGENTIHOOKS_SINKS", "").replace(",", " ").split()
    return [Outbox(f"{home}/sink-outbox/{name}") for name in dict.fromkeys(names) if re.fullmatch(_SINK, name)]


def read(path: str) -> Outgoing:
    """
    Return the marker that the file *path* holds.

    Raises:
        ValueError: It holds none.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        return decode(file.read())


def encode(marker: Outgoing) -> bytes:
    """Return the content of a marker's file. Non-ASCII is escaped, so any text is valid UTF-8."""
    row = {
        "type": marker.type,
        "content": marker.content,
        "attrs": dict(marker.attrs),
        "idempotency_key": marker.idempotency_key,
        "session_id": marker.session_id,
        "agent_name": marker.agent_name,
        "project": marker.project,
        "ts": marker.at,
    }
    return json.dumps(row, indent=2).encode("ascii") + b"\n"


def decode(data: bytes) -> Outgoing:
    """
    Return the marker that a file holds; what an earlier version did not write is "".

    Raises:
        ValueError: It holds none.
    """
    try:
        row = json.loads(data)
        attributes = row.get("attrs") or {}
        marker = Outgoing(
            type=row["type"],
            content=row["content"],
            attrs=dict(attributes),
            idempotency_key=row.get("idempotency_key") or "",
            session_id=_text(row.get("session_id") or attributes.get("session_id")),
            agent_name=_text(row.get("agent_name")),
            # An early version kept the folder under the other name.
            project=_text(row.get("cwd") or row.get("project")),
            at=_text(row.get("ts")),
        )
    except (RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a marker: {error!r}") from error
    if not isinstance(marker.type, str) or not isinstance(marker.content, str):
        raise ValueError("not a marker: its type or content is no text")  # noqa: TRY004 - it is about the file
    if marker.idempotency_key and not (
        isinstance(marker.idempotency_key, str) and re.fullmatch(_KEY, marker.idempotency_key)
    ):
        raise ValueError("not a marker: its key cannot be sent")
    return marker


def _names(marker: Outgoing) -> Iterator[str]:
    """Yield the names that a marker's file may have: time, type and eight digits of the key, mostly the last ones."""
    moment = instant_or_none(marker.at)
    stamp = _NO_TIME if moment is None else re.sub("[:-]", "", moment.isoformat()[:19])
    key = marker.idempotency_key
    # Two markers of one second may share eight digits; neither may take the other's place.
    for end in range(len(key), 7, -8):
        yield f"{stamp}-{marker.type}-{key[end - 8 : end]}.json"


def _files(directory: str, ending: str) -> list[str]:
    """Return the files of a directory by their ending; those whose names begin with a dot are only half written."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(ending) and entry.is_file()]
    except FileNotFoundError:
        return []
    return [f"{directory}/{name}" for name in sorted(names) if name.startswith(".") == (ending == ".tmp")]


def _write(path: str, data: bytes) -> None:
    directory, name = os.path.split(path)
    temporary = f"{directory}/.{name}.{os.getpid()}-{threading.get_ident()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _text(value: Any) -> str:
    return "" if value is None else str(value)
