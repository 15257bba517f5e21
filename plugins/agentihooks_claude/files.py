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
from pathlib import Path
from typing import TYPE_CHECKING

from agentihooks.transcript import TranscriptFile, head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SUFFIX = ".jsonl"
_AGENT = "agent-"

# The agent that writes a compaction's summary has no work of its own, one that is asked a question on the side
# (`/btw`) replays its parent's messages: their entries would count twice, or for nothing.
_NO_WORK = ("agent-acompact-", "agent-aside_question-")


def agent_id_of(path: Path) -> str:
    """Return the id of the subagent that a transcript's name tells, "" for a main chain's."""
    return path.name.removeprefix(_AGENT).partition(_SUFFIX)[0] if path.name.startswith(_AGENT) else ""


def sidecar_of(path: Path) -> Path:
    """Return where a subagent's `meta.json` lies."""
    return path.with_name(path.name.partition(_SUFFIX)[0] + ".meta.json")


def find_transcripts(environ: Mapping[str, str], session_id: str = "") -> Iterator[TranscriptFile]:
    """
    Yield the transcripts below `$CLAUDE_CONFIG_DIR` and `~/.claude`, a session's stubs in other folders included.

    Opens no file but the subagents' of the older place, since nothing else tells their session; with *session_id*,
    only those that lie beside the session's main transcript. A session may come up in several folders.
    """
    for project in _projects(environ):
        yield from _of_session(project, session_id) if session_id else _of_project(project)


def find_subagents(path: Path, session_id: str) -> Iterator[Path]:
    """
    Yield the transcripts of a session's subagents: in its own folder, beside it, and where a move left them.

    Args:
        path: The session's main transcript, wherever it lies.
        session_id: The session as its entries name it; the file may go by another name.
    """
    names = sorted(filter(_is_name, {path.name.partition(_SUFFIX)[0], session_id}))
    is_at_home = path.parent.parent.name == "projects"
    for project in _children(path.parent.parent) if is_at_home else [path.parent]:
        for name in names:
            yield from _subagents(project / name)
    yield from _older_subagents(path.parent, session_id)


def _projects(environ: Mapping[str, str]) -> Iterator[Path]:
    home = environ.get("HOME") or environ.get("USERPROFILE")
    roots = [Path(environ["CLAUDE_CONFIG_DIR"])] if environ.get("CLAUDE_CONFIG_DIR") else []
    roots += [Path(home, ".claude")] if home else []
    for root in {os.path.realpath(root): root for root in reversed(roots)}.values():
        yield from _children(root / "projects")


def _of_project(project: Path) -> Iterator[TranscriptFile]:
    for path in _children(project):
        if path.suffix != _SUFFIX:
            yield from _described(_subagents(path), path.name)
        elif not path.name.startswith(_AGENT):
            yield from _described([path], path.stem)
        elif _is_subagent(path.name) and (session_id := _named_session(path)):
            yield from _described([path], session_id)


def _of_session(project: Path, session_id: str) -> Iterator[TranscriptFile]:
    if not _is_name(session_id):
        return
    main = project / (session_id + _SUFFIX)
    yield from _described(_subagents(project / session_id), session_id)
    if main.is_file():
        yield from _described([main, *_older_subagents(project, session_id)], session_id)


def _described(paths: Iterable[Path], session_id: str) -> Iterator[TranscriptFile]:
    for path in paths:
        with suppress(OSError):  # gone since it was listed
            status = path.stat()
            if stat.S_ISREG(status.st_mode):
                yield TranscriptFile(
                    path=path,
                    agent="claude",
                    session_id=session_id,
                    agent_id=agent_id_of(path),
                    modified_at=status.st_mtime,
                )


def _subagents(session: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(session / "subagents"):  # passes over what it may not list
        yield from (Path(folder, name) for name in sorted(names) if _is_subagent(name))


def _older_subagents(project: Path, session_id: str) -> Iterator[Path]:
    for path in _children(project):
        if _is_subagent(path.name) and _named_session(path) == session_id:
            yield path


def _is_subagent(name: str) -> bool:
    return name.startswith(_AGENT) and name.endswith(_SUFFIX) and not name.startswith(_NO_WORK)


def _is_name(text: str) -> bool:
    """Tell whether text is the name of one file: an id comes from a payload, and must not lead anywhere else."""
    return text not in {"", ".", ".."} and text == Path(text).name


def _named_session(path: Path) -> str:
    with suppress(OSError):
        return next((id_ for value in head(path, 4) if isinstance(id_ := value.get("sessionId"), str)), "")
    return ""


def _children(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(folder.iterdir())
    return []
