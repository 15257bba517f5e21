"""
The engine's own log, `<home>/logs/agentihooks.log`: JSON lines, for whoever asks why something is missing.

Hooks print nothing and never fail; what went wrong in one is said here, and by `agentihooks doctor`.
"""

from __future__ import annotations

import os

from agentihooks.files import make_private_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from agentihooks.files import FilePath

MAX_BYTES = 5_000_000
"""A longer log moves to `agentihooks.log.1`, whose predecessor goes."""


def path_of(home: FilePath) -> str:
    """Return where the log of a home lies."""
    return f"{home}/logs/agentihooks.log"


def write(home: FilePath, level: Literal["info", "warning", "error"], message: str, **fields: Any) -> None:
    """
    Add one line: `at` (UTC), `level`, `message`, then *fields*, whose values are JSON values.

    Never raises: a log that cannot be written must not stop what it is about.
    """
    import json
    from datetime import UTC, datetime

    row = {"at": datetime.now(UTC).isoformat(), "level": level, "message": message, **fields}
    line = json.dumps(row, default=str).encode("ascii") + b"\n"
    path = path_of(home)
    try:
        make_private_directory(os.path.dirname(path))
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            is_full = os.fstat(descriptor).st_size > MAX_BYTES
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
        if is_full:
            os.replace(path, f"{path}.1")
    except OSError:
        pass
