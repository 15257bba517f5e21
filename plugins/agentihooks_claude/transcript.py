"""Claude Code's transcripts: recognising one, and reading it in one pass."""

from __future__ import annotations

import os
from contextlib import closing
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, field

from agentihooks.transcript import Block, Lines, Reader, T
from agentihooks_claude.copies import MAX_CARRIED, NO_TIME, Recent, Stored
from agentihooks_claude.entry import (
    ABSENT,
    BACKGROUND,
    KNOWN,
    STAMPED,
    UNDECODABLE,
    ClaudeEntry,
    Undecoded,
    decode,
    decoded,
    recover,
)
from agentihooks_claude.files import agent_id_of, id_of, sidecar_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from agentihooks.files import FilePath

# By what a line that names no session is recognised: hand-made or stripped ones, and bookkeeping. Type -> its keys.
_SHAPES = {
    "user": {"message", "timestamp"},
    "assistant": {"message", "timestamp"},
    "system": {"subtype", "timestamp"},
    "attachment": {"attachment", "timestamp"},
    "summary": {"summary", "leafUuid"},
    "file-history-snapshot": {"messageId", "snapshot"},
    "file-history-delta": {"messageId", "trackingPath"},
}

# The result of EnterWorktree is a path, a branch and a sentence; only what is no longer is searched for them.
_MAX_RESULT_BYTES = 2048

# In-file sidechains hang on lines just above them, so the oldest links can go.
_MAX_LINKS = 512


def is_claude(value: Mapping[str, Any]) -> bool:
    """Tell whether a JSON object is a line of a Claude Code transcript."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if isinstance(value.get("sessionId"), str):
        return kind in KNOWN or isinstance(value.get("uuid"), str)
    return kind in _SHAPES and value.keys() >= _SHAPES[kind]


class Worktree(msgspec.Struct, omit_defaults=True):
    """
    A worktree as recorded. `branch` is "" if none was: then what the lines say stands.

    `frozen` is the branch that the session came from, "" if that is not known.
    """

    path: str
    name: str
    branch: str = ""
    frozen: str = ""


class _Record(msgspec.Struct, rename="camel"):
    """What `worktreeSession`, the result of a tool and an agent's sidecar say about a worktree, in shared words."""

    worktree_path: str | None = None
    worktree_name: str | None = None
    worktree_branch: str | None = None
    original_branch: str | None = None
    inherited_worktree_path: str | None = None
    action: Raw = ABSENT
    agent_id: Raw = ABSENT


class Memory(msgspec.Struct, omit_defaults=True):
    """What a reader knows about the lines above: the state between two passes. JSON values."""

    recent: Recent = field(default_factory=Recent)
    worktree: Worktree | None = None
    relocated: str = ""
    relocated_last: str = ""
    session_id: str = ""
    """The last that a line named; most bookkeeping names none."""
    is_begun: bool = False
    inherited_until: str = ""
    """The last entry of the history that this file's session was forked off with, "" once that has been read."""
    roots: dict[str, str] = field(default_factory=dict)
    """Entries of in-file sidechains -> the root of theirs, newest last."""
    position: int = 0
    """Bytes read."""

    @property
    def is_plain(self) -> bool:
        """Whether nothing said above bears on the lines to come."""
        return self.is_begun and self.worktree is None and not self.relocated and not self.inherited_until


class _Counted:
    """Lines of a plain iterable, with the places that `Lines` has; each is taken to have had a newline."""

    def __init__(self, lines: Iterable[bytes], offset: int = 0) -> None:
        self.begin = self.offset = offset
        self._lines = lines

    def decoded(self, decode: Callable[[Block], list[T]]) -> Iterator[list[T]]:
        """See `Lines.decoded`."""
        for line in self._lines:
            self.begin, self.offset = self.offset, self.offset + len(line.removesuffix(b"\n")) + 1
            yield decode(line)


class ClaudeReader(Reader):
    """
    Reads the transcript of a session or a subagent.

    Args:
        path: The file. It, its sidecar and its siblings are looked into where a line alone cannot tell.
    """

    agent = "claude"

    def __init__(self, path: FilePath) -> None:
        super().__init__()
        self._path = os.fspath(path)
        self._memory = Memory()
        self._source: Lines | _Counted | None = None
        self._agent_id = agent_id_of(self._path)
        self._session_id = "" if self._agent_id else id_of(self._path)
        self._assigned: Worktree | None = None

    def entries(self, lines: Iterable[bytes]) -> Iterator[ClaudeEntry]:
        """Yield every entry that has something to say, as `Reader.entries` promises; bookkeeping stays silent."""
        self._source = source = lines if isinstance(lines, Lines) else _Counted(lines, self._memory.position)
        self._assigned = self._sidecar()
        self._memory.worktree = self._memory.worktree or self._assigned
        memory = self._memory
        with closing(Stored(self._path, lambda: source.begin)) as stored:
            for block in source.decoded(decode):
                ids, floor, is_plain = memory.recent.ids, memory.recent.floor, memory.is_plain
                for entry in block:
                    if (
                        # Told without a call, since it is nearly every line: an entry that is new, and nothing special.
                        is_plain
                        and entry.type in STAMPED
                        and entry.forked_from is ABSENT
                        and ((result := entry.tool_use_result) is ABSENT or not _names_worktree(result))
                        and entry.session_id
                        and (entry_id := entry.entry_id)
                        and floor < (at := entry.at) < NO_TIME
                        # Noted if it is new; else what was noted is another text, if only a copy of this one.
                        and ids.setdefault(entry_id, at) is at
                    ):
                        if entry.is_sidechain or entry.agent_id:
                            entry.agent_id = self._emitter(entry)
                        yield entry
                        continue
                    if isinstance(entry, Undecoded):
                        yield from (found for found in self._recovered(entry.line) if self._is_own(found, stored))
                    elif self._is_own(entry, stored):
                        yield entry
                    ids, floor, is_plain = memory.recent.ids, memory.recent.floor, memory.is_plain
                memory.recent.limit(stored)

    def state(self) -> dict[str, Any]:
        """Return the state as JSON values: some 35 kB of ids, in full."""
        memory, source = self._memory, self._source
        state: dict[str, Any] = msgspec.to_builtins(
            msgspec.structs.replace(
                memory,
                recent=memory.recent.last(MAX_CARRIED),
                position=memory.position if source is None else source.offset,
            )
        )
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state; one that is damaged counts as none."""
        try:
            self._memory = msgspec.convert(dict(state), Memory)
        except ValueError:  # of msgspec, or over half an emoji
            self._memory = Memory()

    def _is_own(self, entry: ClaudeEntry, stored: Stored) -> bool:
        """Complete an entry by what is known from elsewhere; tell whether it is this file's own and worth yielding."""
        memory = self._memory
        if entry.type not in STAMPED and not self._is_informative(entry):
            return False
        # In a stripped or hand-made file no line names a session; then its name is all there is to go by.
        memory.session_id = entry.session_id or memory.session_id
        entry.session_id = memory.session_id or self._session_id
        entry_id = entry.entry_id
        if entry_id:
            if memory.recent.is_copy(entry_id, entry.at, stored):
                self.skipped["copy"] += 1
                return False
            if not memory.is_begun:
                self._begin(entry)
        if entry.is_sidechain or entry.agent_id:
            entry.agent_id = self._emitter(entry)
        if entry.tool_use_result is not ABSENT and _names_worktree(entry.tool_use_result):
            self._note_result(entry.tool_use_result)
        if memory.worktree is not None or memory.relocated:
            self._place(entry)
        if memory.inherited_until or entry.forked_from is not ABSENT:
            return not self._is_inherited(entry)
        return True

    def _is_informative(self, entry: ClaudeEntry) -> bool:
        """Note what bookkeeping says about the lines to follow, and tell whether an entry says anything by itself."""
        kind = entry.type
        if kind == "worktree-state":
            self._memory.worktree = _worktree(_record(entry.worktree_session)) or self._assigned
        elif kind == "relocated":
            # Written again and again with other bookkeeping; only another folder than the last is a move.
            if entry.relocated_cwd != self._memory.relocated_last:
                self._memory.relocated = self._memory.relocated_last = entry.relocated_cwd
        elif kind == "progress" and not (entry.agent_id or entry.is_sidechain):
            # Some are written on behalf of a running subagent, and keep its older stamps (4931d45a in the facts).
            entry.cwd = entry.branch = None
        elif kind not in KNOWN:
            self.skipped["unknown" if entry.session_id or entry.entry_id else "foreign"] += 1
            return bool(entry.session_id and entry.at and entry.cwd)
        return bool(entry.at or entry.entry_id)

    def _begin(self, root: ClaudeEntry) -> None:
        """Look, at the file's first identified entry, for history that a background session was forked off with."""
        self._memory.is_begun = True
        if root.session_kind == BACKGROUND:
            from agentihooks_claude.forks import last_inherited

            self._memory.inherited_until = last_inherited(self._path, root.entry_id)

    def _is_inherited(self, entry: ClaudeEntry) -> bool:
        """Tell, and count, a copy of another session's entry."""
        is_inherited = self._memory.inherited_until != "" or decoded(entry.forked_from) is not None
        self.skipped["inherited"] += is_inherited
        if entry.entry_id == self._memory.inherited_until:
            self._memory.inherited_until = ""
        return is_inherited

    def _emitter(self, entry: ClaudeEntry) -> str:
        """Return the name of the subagent that wrote an entry; in-file sidechains go by the id of their root."""
        if entry.agent_id or self._agent_id:
            return (entry.agent_id or self._agent_id).removeprefix("agent-")
        roots = self._memory.roots
        root = roots.get(entry.parent_id or "", entry.entry_id or entry.parent_id or "sidechain")
        if entry.entry_id:
            roots[entry.entry_id] = root
            if len(roots) > _MAX_LINKS:
                self._memory.roots = dict(islice(roots.items(), _MAX_LINKS // 2, None))
        return root

    def _note_result(self, result: Raw) -> None:
        """Take up the worktree that EnterWorktree reports, and drop it when ExitWorktree does."""
        record = _record(result)
        if record is None or record.agent_id is not ABSENT:  # a finished agent's result names its own
            return
        known, entered = self._memory.worktree, _worktree(record) if record.action is ABSENT else self._assigned
        if known is not None and entered is not None and known.path == entered.path and not entered.frozen:
            return  # the state written before it says the same, and more
        self._memory.worktree = entered

    def _place(self, entry: ClaudeEntry) -> None:
        """Complete where an entry stands: by the folder moved to before it, and by the worktree around it."""
        memory = self._memory
        if memory.relocated and entry.at and not entry.agent_id and entry.type != "progress":
            entry.cwd = memory.relocated if entry.cwd is None else entry.cwd
            memory.relocated = ""
        worktree = memory.worktree
        if worktree is not None and entry.cwd and _is_within(entry.cwd, worktree.path):
            entry.worktree = worktree.name
            # Some versions keep writing the branch that the session came from. Git lets no branch be checked out twice,
            # so here it is never the true one; any other is, and says that the branch was changed in the worktree.
            if worktree.branch and (not worktree.frozen or entry.branch in (None, "", worktree.frozen)):
                entry.branch = worktree.branch

    def _sidecar(self) -> Worktree | None:
        """Return the worktree that this file's subagent was given: only its sidecar names it reliably."""
        try:
            if not self._agent_id:
                return None
            with open(sidecar_of(self._path), "rb") as file:
                return _worktree(_record(file.read()))
        except OSError:
            return None

    def _recovered(self, line: bytes) -> list[ClaudeEntry]:
        entries, reason = recover(line)
        if reason:
            self.skipped[reason] += 1
        return entries


def _names_worktree(result: Raw) -> bool:
    """Tell whether a tool's result may be of EnterWorktree or ExitWorktree."""
    # `rfind` passes over such text faster than `find`, and that faster than `in`.
    return len(result) < _MAX_RESULT_BYTES and bytes(result).rfind(b'"worktreePath"') > 0


def _record(text: bytes | Raw) -> _Record | None:
    try:
        return msgspec.json.decode(text, type=_Record)
    except UNDECODABLE:
        return None


def _worktree(record: _Record | None) -> Worktree | None:
    if record is None:
        return None
    if record.worktree_path:
        name = record.worktree_name or _basename(record.worktree_path)
        branch, frozen = record.worktree_branch or "", record.original_branch or ""
        return Worktree(path=record.worktree_path, name=name, branch=branch, frozen=frozen)
    if record.inherited_worktree_path:  # its parent's: the sidecar does not repeat the branch
        return Worktree(path=record.inherited_worktree_path, name=_basename(record.inherited_worktree_path))
    return None


def _basename(path: str) -> str:
    return _slashed(path).rpartition("/")[2]


@lru_cache(maxsize=256)
def _is_within(cwd: str, root: str) -> bool:
    cwd, root = _slashed(cwd), _slashed(root)
    return cwd == root or cwd.startswith(root + "/")


def _slashed(path: str) -> str:
    """Return a native path with slashes only; the case of a drive letter varies from line to line."""
    path = path.replace("\\", "/").rstrip("/")
    return path[0].lower() + path[1:] if path[1:2] == ":" else path
