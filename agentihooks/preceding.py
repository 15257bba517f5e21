"""
The preceding lookup: which project a whole session belonged to, before there were scopes of an event's own time.

It serves sessions without a scope log, rollback (rollback.md), and outbox files that an earlier version left.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from agentihooks.home import project_sessions_path
from agentihooks.identity import Identity, identify

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("project", "repo", "worktree", "cwd", "remote", "project_id")


class PrecedingLookup:
    """Tells the identity of sessions and folders, each read from disk once."""

    def __init__(self, home: str, environ: Mapping[str, str]) -> None:
        self._path = project_sessions_path(home)
        self._environ = environ
        self._rows: dict[str, dict[str, Any]] | None = None
        self._folders: dict[str, dict[str, str]] = {}

    def identity(self, session_id: str, *folders: str) -> dict[str, str]:
        """
        Return what is known of a session's project: all of `FIELDS`, `project_id` being "unknown" if it is; or nothing.

        Args:
            session_id: Its last row in `project-sessions.jsonl` counts.
            folders: Without a row, the first of these that is a path from the root stands in: the marker's `cwd`
                attribute, then the folder of the agent's project.

        Raises:
            OSError: The rows exist and cannot be read.
        """
        if self._rows is None:
            self._rows = self._read()
        row = self._rows.get(session_id)
        if row is not None:
            return _filled({name: _text(row.get(name)) for name in FIELDS})
        folder = next((folder for folder in folders if os.path.isabs(folder)), "")
        if folder not in self._folders:
            self._folders[folder] = self._of_folder(folder)
        return self._folders[folder]

    def _read(self) -> dict[str, dict[str, Any]]:
        rows = {}
        try:
            with open(self._path, "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return {}
        for line in lines:
            try:
                row = json.loads(line)
                rows[row["session_id"]] = row
            except (ValueError, RecursionError, KeyError, TypeError):
                continue
        return rows

    def _of_folder(self, folder: str) -> dict[str, str]:
        identity = identify(folder, self._environ) if folder else None
        if identity is None or identity == Identity():
            return {}
        return _filled({name: folder if name == "cwd" else getattr(identity, name) for name in FIELDS})


def _filled(fields: dict[str, str]) -> dict[str, str]:
    return {**fields, "project_id": fields["project_id"] or "unknown"}


def _text(value: Any) -> str:
    return "" if value is None else str(value)
