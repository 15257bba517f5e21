"""
What a session in the background copied from the one it was forked off.

`/fork`, `/background` and their keys write the whole history into a new file, with nothing but the session's id
replaced and `sessionKind: "bg"` on every line; neither file points at the other. But copied lines keep their uuid, so
the history is what a sibling file begins with as well.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentihooks.transcript import Lines, open_binary
from agentihooks_claude.entry import BACKGROUND, STAMPED, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentihooks_claude.entry import ClaudeEntry


def last_inherited(path: str, root_id: str) -> str:
    """
    Return the id of the last entry that the background session at *path* has in common with its original, "" if none.

    The original is the sibling with the same root and the longest common beginning. A sibling that is itself in the
    background is left out, for nothing tells which of the two copied the other: better to count an entry in both
    than in neither.

    Args:
        path: The transcript; its root entry is marked as one of the background.
        root_id: The id of that root entry.

    Cost: the heads of the files in the folder, and the history itself once for each sibling that shares it.
    """
    longest, last = 0, ""
    folder, own_name = os.path.split(path)
    for name in os.listdir(folder or "."):
        if name == own_name or not name.endswith(".jsonl"):
            continue
        sibling = os.path.join(folder, name)
        count, entry_id = _common_beginning(path, sibling, root_id)
        if count > longest:
            longest, last = count, entry_id
    return last


def _common_beginning(path: str, sibling: str, root_id: str) -> tuple[int, str]:
    count, last = 0, ""
    try:
        for theirs, ours in zip(_identified(sibling), _identified(path), strict=False):
            is_original = count or (theirs.entry_id == root_id and theirs.session_kind != BACKGROUND)
            if not is_original or theirs.entry_id != ours.entry_id:
                break
            count, last = count + 1, theirs.entry_id
    except OSError:  # one that is gone, or not ours to read, is nobody's original
        return 0, ""
    return count, last


def _identified(path: str) -> Iterator[ClaudeEntry]:
    with open_binary(path) as file:
        for line in Lines(file):
            yield from (entry for entry in read(line) if entry.entry_id and entry.type in STAMPED)
