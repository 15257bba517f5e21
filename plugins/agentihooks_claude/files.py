"""
Where Claude Code keeps its transcripts.

`projects/<project>/<session>.jsonl` below the configuration folder; beside it `<session>/subagents/**/agent-<id>.jsonl`
with `agent-<id>.meta.json`, and from 2.0.28 to about 2.1.0 `agent-<id>.jsonl`. A project's name is lossy, and a session
can move into another project's folder as a whole or in part, so nothing is read from those names.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from agentihooks.transcript import TranscriptFile, head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SUFFIX = ".jsonl"
_AGENT = "agent-"

# The agent that writes a compaction's summary has no work of its own, one that is asked a question on the side
# (`/btw`) replays its parent's messages: their entries would count twice, or for nothing.
_NO_WORK = ("agent-acompact-", "agent-aside_question-")


def id_of(path: str) -> str:
    """Return the id that a transcript's name tells: the session's, or `agent-` and the subagent's."""
    return os.path.basename(path).partition(_SUFFIX)[0]


def agent_id_of(path: str) -> str:
    """Return the id of the subagent that a transcript's name tells, "" for a main chain's."""
    name = id_of(path)
    return name.removeprefix(_AGENT) if name.startswith(_AGENT) else ""


def sidecar_of(path: str) -> str:
    """Return where a subagent's `meta.json` lies."""
    return os.path.join(os.path.dirname(path), f"{id_of(path)}.meta.json")


def find_transcripts(environ: Mapping[str, str], session_id: str = "") -> Iterator[TranscriptFile]:
    """
    Yield the transcripts below `$CLAUDE_CONFIG_DIR` and `~/.claude`, a session's stubs in other folders included.

    Opens no file but the subagents' of the older place, since nothing else tells their session; with *session_id*,
    only those that lie beside the session's main transcript. A session may come up in several folders.
    """
    for project in _projects(environ):
        yield from _of_session(project, session_id) if session_id else _of_project(project)


def find_subagents(path: str, session_id: str) -> Iterator[str]:
    """
    Yield the transcripts of a session's subagents: in its own folder, beside it, and where a move left them.

    Args:
        path: The session's main transcript, wherever it lies.
        session_id: The session as its entries name it; the file may go by another name.
    """
    names = sorted(filter(_is_name, {id_of(path), session_id}))
    folder = os.path.dirname(path)
    projects = os.path.dirname(folder)
    for project in _children(projects) if os.path.basename(projects) == "projects" else [folder]:
        for name in names:
            yield from _subagents(os.path.join(project, name))
    yield from _older_subagents(folder, session_id)


def _projects(environ: Mapping[str, str]) -> Iterator[str]:
    home = environ.get("HOME") or environ.get("USERPROFILE")
    roots = [environ["CLAUDE_CONFIG_DIR"]] if environ.get("CLAUDE_CONFIG_DIR") else []
    roots += [os.path.join(home, ".claude")] if home else []
    for root in {os.path.realpath(root): root for root in reversed(roots)}.values():
        yield from _children(os.path.join(root, "projects"))


def _of_project(project: str) -> Iterator[TranscriptFile]:
    for path in _children(project):
        name = os.path.basename(path)
        if not name.endswith(_SUFFIX):
            yield from _described(_subagents(path), name)
        elif not name.startswith(_AGENT):
            yield from _described([path], id_of(path))
        elif _is_subagent(name) and (session_id := _named_session(path)):
            yield from _described([path], session_id)


def _of_session(project: str, session_id: str) -> Iterator[TranscriptFile]:
    if not _is_name(session_id):
        return
    main = os.path.join(project, session_id + _SUFFIX)
    yield from _described(_subagents(os.path.join(project, session_id)), session_id)
    if os.path.isfile(main):
        yield from _described([main, *_older_subagents(project, session_id)], session_id)


def _described(paths: Iterable[str], session_id: str) -> Iterator[TranscriptFile]:
    for path in paths:
        with suppress(OSError):  # gone since it was listed
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                yield TranscriptFile(
                    path=path,
                    agent="claude",
                    session_id=session_id,
                    agent_id=agent_id_of(path),
                    modified_at=status.st_mtime,
                )


def _subagents(session: str) -> Iterator[str]:
    for folder, _, names in os.walk(os.path.join(session, "subagents")):  # passes over what it may not list
        yield from (os.path.join(folder, name) for name in sorted(names) if _is_subagent(name))


def _older_subagents(project: str, session_id: str) -> Iterator[str]:
    for path in _children(project):
        if _is_subagent(os.path.basename(path)) and _named_session(path) == session_id:
            yield path


def _is_subagent(name: str) -> bool:
    return name.startswith(_AGENT) and name.endswith(_SUFFIX) and not name.startswith(_NO_WORK)


def _is_name(text: str) -> bool:
    """Tell whether text is the name of one file: an id comes from a payload, and must not lead anywhere else."""
    return text not in {"", ".", ".."} and text == os.path.basename(text) and "\0" not in text


def _named_session(path: str) -> str:
    with suppress(OSError):
        return next((id_ for value in head(path, 4) if isinstance(id_ := value.get("sessionId"), str)), "")
    return ""


def _children(folder: str) -> list[str]:
    with suppress(OSError):
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return []
