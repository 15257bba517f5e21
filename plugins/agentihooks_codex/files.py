"""
Where rollouts lie, and whose they are.

Codex keeps the live ones in `$CODEX_HOME/sessions/YYYY/MM/DD/` and moves them to `archived_sessions/`, which is flat.
A revert adds a further file to its thread; `rollout/compress` turns a `.jsonl` into a `.jsonl.zst`.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from agentihooks.transcript import Lines, TranscriptFile, open_binary
from agentihooks_codex.records import meta_of, parse, uuid7_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agentihooks_codex.records import Meta

_LIVE, _ARCHIVED = "sessions", "archived_sessions"

# The time is the local wall clock's, thus of no use for ordering; the second id is that of a revert's segment.
_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-f-]{36})(?:_[0-9a-f-]{36})?\.jsonl(?:\.zst)?")

_TURN_BEGINS = (b'"task_started"', b'"turn_started"', b'"turn_context"')

# A crash can leave a torn line before the first whole one.
_HEAD_LINES = 4

# Codex lets agents start agents to a depth of 1, unless it is told otherwise.
_MAX_DEPTH = 8


def find_transcripts(environ: Mapping[str, str], session_id: str) -> Iterator[TranscriptFile]:
    """
    Yield the rollouts of this machine, the last written first.

    Finding them costs a walk through the folders; each one's first lines are read only when it is asked for, and with
    a session's id for every rollout that is younger.

    Args:
        environ: Gives CODEX_HOME, or else HOME.
        session_id: Only files whose name has this id, be it a thread's or a segment's, and those of the threads that
            work for it; "" for all.
    """
    found = [
        (modified_at, path)
        for path in _tree(_home(environ))
        if (session_id in os.path.basename(path) or _works_for(path, session_id))
        and (modified_at := _modified_at(path)) is not None
    ]
    for modified_at, path in sorted(found, reverse=True):
        session, agent_id = owner(path)
        yield TranscriptFile(path=path, agent="codex", session_id=session, agent_id=agent_id, modified_at=modified_at)


def find_subagents(path: str, session_id: str) -> Iterator[str]:
    """
    Yield the rollouts, beside *path* or anywhere in its Codex home, of the threads that work for a session.

    Reads the first lines of every rollout whose thread is younger than the session.
    """
    return (file for file in _beside(path) if _works_for(file, session_id))


def _works_for(path: str, session_id: str) -> bool:
    """Tell whether a rollout is of a thread that was started, at whatever remove, by a session's."""
    begun, born = uuid7_ms(session_id), uuid7_ms(thread_of(path))
    if begun is not None and born is not None and born < begun:
        return False
    meta = first_meta(path)
    return meta is not None and meta.root_id != "" and identity(meta, path)[0] == session_id


def owner(path: str) -> tuple[str, str]:
    """Return the session and the agent ("" for the main chain) that a rollout's first lines name, or else its name."""
    meta = first_meta(path)
    return identity(meta, path) if meta and meta.thread_id else (thread_of(path), "")


def identity(meta: Meta, path: str) -> tuple[str, str]:
    """Return the session and the agent ("" for the main chain) that a thread's lines are to be known under."""
    root = meta.root_id
    if not root:
        return meta.thread_id, ""
    if not meta.session_id:
        for _ in range(1, min(meta.spawn.depth or 1, _MAX_DEPTH)):
            # Before 0.145 an agent's agent names its parent alone.
            parents = (first_meta(file) for file in thread_files(path, root))
            root = next((parent.root_id for parent in parents if parent), "") or root
    return root, meta.thread_id


def first_meta(path: str) -> Meta | None:
    """Return the `session_meta` (or bare header) that a file begins with; None if it cannot be read or has none."""
    with suppress(OSError), open_binary(path) as file:
        for data in islice(Lines(file), _HEAD_LINES):
            for line in parse(data)[0]:
                if meta := meta_of(line):
                    return meta
    return None


def has_turn(path: str, thread_id: str, turn_id: str) -> bool:
    """Whether a turn began in one of a thread's rollouts, searched for beside *path*; False if there are none."""
    # Exact, without decoding: inside a string the quotation marks would be escaped.
    needle = f'"turn_id":"{turn_id}"'.encode()
    for file in thread_files(path, thread_id):
        with suppress(OSError), open_binary(file) as lines:
            if any(needle in line and any(kind in line for kind in _TURN_BEGINS) for line in lines):
                return True
    return False


def thread_files(path: str, thread_id: str) -> Iterator[str]:
    """Yield the rollouts of a thread, by their names, beside *path* or anywhere in its Codex home."""
    return (file for file in _beside(path) if thread_of(file) == thread_id != "")


def thread_of(path: str) -> str:
    """Return the thread id in a rollout's name, "" if there is none."""
    found = _NAME.fullmatch(os.path.basename(path))
    return found[1] if found else ""


def _beside(path: str) -> Iterator[str]:
    """Yield the rollouts of the Codex home that *path* lies in, or else of its folder."""
    folder = os.path.dirname(os.path.abspath(path))
    parts = folder.split(os.sep)
    if parts[-1] == _ARCHIVED:
        return _tree(os.sep.join(parts[:-1]))
    if parts[-4:-3] == [_LIVE]:
        return _tree(os.sep.join(parts[:-4]))
    _, _, names = next(os.walk(folder), (None, (), ()))
    return _rollouts(folder, names)


def _home(environ: Mapping[str, str]) -> str:
    if named := environ.get("CODEX_HOME"):
        return named
    return os.path.join(environ["HOME"], ".codex") if environ.get("HOME") else ""


def _tree(home: str) -> Iterator[str]:
    for root in (_LIVE, _ARCHIVED) if home else ():
        for folder, _, names in os.walk(os.path.join(home, root)):
            yield from _rollouts(folder, names)


def _rollouts(folder: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the rollouts among *names*; of a plain file and its compressed twin the plain one, as Codex does."""
    present = {name for name in names if name.startswith("rollout-")}
    for name in present:
        if name.endswith(".jsonl") or (name.endswith(".jsonl.zst") and name.removesuffix(".zst") not in present):
            yield os.path.join(folder, name)


def _modified_at(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None
