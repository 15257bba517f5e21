"""
Reads a rollout: which thread wrote it, where it stood, and what was done.

A message that is there several times is taken from one place, whatever the dialect: what the assistant said and the
tools it called from the response items, what was typed from the events.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from agentihooks.transcript import Activity, Entry, Reader
from agentihooks_codex.files import has_turn, identity, thread_of
from agentihooks_codex.records import (
    LINE_TYPES,
    QUIET_EVENTS,
    QUIET_ITEMS,
    Event,
    Item,
    Line,
    Message,
    Meta,
    Metadata,
    Place,
    meta_of,
    parse,
    read,
    uuid7_ms,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agentihooks.files import FilePath

# Copied lines follow each other within a few ms, own ones wait for a person or a model.
_BURST_MS = 50

# A repeated item follows soon after the first, as part of the history that a resume or a migration wrote again.
_MAX_SEEN = 4096
_MAX_SEEN_IN_STATE = 64

_TURN_BEGINS = frozenset({"task_started", "turn_started"})

_NOTHING = msgspec.Raw()

_Kind = Literal["prompt", "message", "tool"]


class _Done(Entry, kw_only=True):
    """An entry in which something was done; its text is decoded when it is asked for."""

    kind: _Kind
    name: str = ""
    payload: msgspec.Raw = _NOTHING

    def activities(self) -> Iterable[Activity]:
        text = read(Message, self.payload).text("output_text") if self.kind == "message" else ""
        return (Activity(kind=self.kind, id=self.entry_id, name=self.name, text=text),)


class Boundary(msgspec.Struct):
    """
    Where a thread's own history begins, in a file that starts with copied lines of another thread.

    Copies keep their turn ids, but are stamped with the time of copying. A thread's own first line is known, in the
    order of trust, by its ordinal; by the thread that an event names; by the time in its turn's id (a UUIDv7; turns
    are older than a fork of them), unless the parent's file has that turn, as after the clock was set back. Forks of
    2025 have none of these: there, the copy ends with the burst in which it was written.

    Whatever remains in doubt is inherited: better to miss the first line of a fork than to tell its parent's again.
    """

    thread_id: str
    parent_id: str
    start_ordinal: int | None = None
    written_ms: float | None = None
    has_turns: bool = False

    def note(self, line: Line) -> bool:
        """Take note of when *line* was written; return whether a burst of lines had ended before."""
        before, self.written_ms = self.written_ms, _epoch_ms(line.timestamp) or self.written_ms
        return before is not None and self.written_ms is not None and self.written_ms - before > _BURST_MS

    def ends_before(self, line: Line, path: str) -> bool:
        """Return whether *line* is the first of the thread's own; asked of every line until it is."""
        is_late = self.note(line)
        if self.start_ordinal is not None and line.ordinal is not None:
            return line.ordinal >= self.start_ordinal
        if line.type in ("event_msg", "turn_context"):
            event = read(Event, line.payload)
            if event.type in ("thread_settings_applied", "item_completed") and event.thread_id:
                return event.thread_id == self.thread_id
            if event.turn_id and (line.type == "turn_context" or event.type in _TURN_BEGINS):
                born, begun = uuid7_ms(self.thread_id), uuid7_ms(event.turn_id)
                if born is not None and begun is not None:
                    self.has_turns = True
                    return begun >= born and not has_turn(path, self.parent_id, event.turn_id)
        return is_late and not self.has_turns


class _State(msgspec.Struct):
    """
    What a pass over the rest of the file has to know, as JSON values once it is stored.

    `cwd` is a folder that was announced, but in which nothing happened yet; `branch` waits for the first folder, as
    does `begun_at`, the time of a bare file's header. `held` has the prompts (time and id) that no event told yet.
    """

    thread_id: str
    session_id: str
    agent_id: str = ""
    is_identified: bool = False
    is_bare: bool = False
    is_begun: bool = False
    boundary: Boundary | None = None
    cwd: str | None = None
    branch: str | None = None
    begun_at: str = ""
    tells_prompts: bool = False
    held: list[tuple[str, str]] = msgspec.field(default_factory=list)
    seen: list[str] = msgspec.field(default_factory=list)


class CodexReader(Reader):
    """
    Reads one rollout of any era.

    Entries are known under the session and agent that the file's first `session_meta` names; until there is one,
    under the thread id in the file's name. Those of a bare file have no time, except that its first folder takes the
    header's.
    """

    agent: ClassVar[str] = "codex"

    def __init__(self, path: FilePath) -> None:
        super().__init__()
        self._path = os.fspath(path)
        self._state = _State(thread_id=thread_of(self._path), session_id=thread_of(self._path))
        self._seen: dict[str, None] = {}

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes; a few hundred bytes to a few KB."""
        state = msgspec.structs.replace(self._state, seen=list(self._seen)[-_MAX_SEEN_IN_STATE:])
        stored: dict[str, Any] = msgspec.to_builtins(state)
        return stored

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a stored state; one that is not of this shape is ignored."""
        with suppress(msgspec.ValidationError):
            self._state = msgspec.convert(dict(state), _State)
            self._seen = dict.fromkeys(self._state.seen)

    def entries(self, lines: Iterable[bytes]) -> Iterator[Entry]:
        """Yield what this thread did and where it stood, in file order."""
        for data in lines:
            found, is_damaged = parse(data, is_bare=self._state.is_bare)
            if is_damaged:
                self.skipped["damaged"] += 1
            for line in found:
                yield from self._entries(line)

    def _entries(self, line: Line) -> Iterator[Entry]:
        if meta := meta_of(line):
            yield from self._meta(line, meta)
        elif line.record_type and not self._state.is_identified:
            self._state.is_bare = True  # and has lost its header
        elif line.is_bare and not self._state.is_bare:
            self.skipped["foreign"] += 1
        elif not line.is_bare and line.type not in LINE_TYPES:
            self.skipped["unknown"] += 1
        elif self._is_own(line):
            if line.type == "turn_context":
                if cwd := read(Place, line.payload).cwd:
                    yield self._stands(line.timestamp, cwd)
            elif line.type == "event_msg":
                yield from self._event(line)
            elif line.type == "response_item" or (line.is_bare and not line.record_type):
                yield from self._item(line)

    def _meta(self, line: Line, meta: Meta) -> Iterator[Entry]:
        state = self._state
        if not state.is_identified:
            yield from self._identify(line, meta)
        elif meta.thread_id == state.thread_id:
            # Written again, with the folder that Codex was launched in: not where the thread stands.
            self.skipped["copy"] += 1
        else:
            self.skipped["inherited"] += 1
            if not state.is_begun and not state.boundary:
                # A fork of 2025 tells by this alone that it is one.
                state.boundary = Boundary(thread_id=state.thread_id, parent_id=meta.thread_id)
            if state.boundary:
                state.boundary.note(line)

    def _identify(self, line: Line, meta: Meta) -> Iterator[Entry]:
        state = self._state
        state.is_identified = True
        if meta.thread_id:
            state.thread_id = meta.thread_id
            state.session_id, state.agent_id = identity(meta, self._path)
        if meta.is_copy:
            state.boundary = Boundary(
                thread_id=state.thread_id,
                parent_id=meta.forked_from_id or meta.parent_id,
                start_ordinal=meta.subagent_history_start_ordinal,
            )
            state.boundary.note(line)
        if meta.is_segment:
            state.cwd = meta.cwd
            return
        state.is_bare, state.branch, state.begun_at = line.is_bare, meta.branch, line.timestamp
        if meta.cwd:
            yield self._stands(line.timestamp, meta.cwd)

    def _is_own(self, line: Line) -> bool:
        state = self._state
        state.is_begun = True
        if state.boundary and not state.boundary.ends_before(line, self._path):
            self.skipped["inherited"] += 1
            return False
        state.boundary = None
        return True

    def _event(self, line: Line) -> Iterator[Entry]:
        event = read(Event, line.payload)
        if event.type == "user_message":
            yield self._told_prompt(line, "")
        elif event.type == "item_completed":
            item = read(Item, event.item)
            if item.type == "UserMessage" and not self._is_copy(item.id):
                yield self._told_prompt(line, item.id or "")
        elif event.type == "thread_settings_applied":
            # In force from here on, but said of the launch folder first after a revert: the next turn knows better,
            # and until something is done nobody asks.
            self._state.cwd = read(Place, event.thread_settings).cwd or self._state.cwd
        elif event.type not in QUIET_EVENTS:
            self.skipped["unknown"] += 1

    def _told_prompt(self, line: Line, entry_id: str) -> Entry:
        self._state.tells_prompts = True
        self._state.held.clear()
        return self._done(line.timestamp, "prompt", entry_id)

    def _item(self, line: Line) -> Iterator[Entry]:
        item = read(Item, line.payload)
        kind = item.type or ("message" if item.role else "")
        is_call = kind.endswith("_call")
        if kind == "message" or is_call:
            if self._is_copy(item.id):
                return
            if item.role == "user":
                yield from self._user_message(line, item.id or "")
            elif is_call:
                yield from self._held_prompts()
                name = item.name or kind.removesuffix("_call")
                yield self._done(line.timestamp, "tool", item.call_id or item.id or "", name=name)
            elif item.role == "assistant" and not read(Metadata, line.metadata).compaction_output:
                yield from self._held_prompts()
                yield self._done(line.timestamp, "message", item.id or "", payload=line.payload)
        elif kind not in QUIET_ITEMS and not kind.endswith("_output"):
            self.skipped["unknown"] += 1

    def _user_message(self, line: Line, entry_id: str) -> Iterator[Entry]:
        """
        Take a prompt from the response items, where no event tells it: in a bare file, or one that others wrote.

        It is held until it is answered, since its event may still follow; with the first such event all are told so.
        """
        state = self._state
        if state.tells_prompts:
            return
        message = read(Message, line.payload)
        if line.is_bare and message.folder:
            yield self._stands(state.begun_at, message.folder)
            state.begun_at = ""
        elif message.is_typed:
            if line.is_bare:
                yield self._done(line.timestamp, "prompt", entry_id)
            else:
                state.held.append((line.timestamp, entry_id))

    def _held_prompts(self) -> Iterator[Entry]:
        held, self._state.held = self._state.held, []
        for at, entry_id in held:
            yield self._done(at, "prompt", entry_id)

    def _is_copy(self, item_id: str | None) -> bool:
        if not item_id:
            return False
        if item_id in self._seen:
            self.skipped["copy"] += 1
            return True
        self._seen[item_id] = None
        if len(self._seen) > _MAX_SEEN:
            del self._seen[next(iter(self._seen))]
        return False

    def _stands(self, at: str, cwd: str) -> Entry:
        state = self._state
        state.cwd, branch, state.branch = None, state.branch, None
        return Entry(at=at, session_id=state.session_id, agent_id=state.agent_id, cwd=cwd, branch=branch)

    def _done(self, at: str, kind: _Kind, entry_id: str, name: str = "", payload: msgspec.Raw = _NOTHING) -> Entry:
        state = self._state
        cwd, state.cwd = state.cwd, None
        return _Done(
            at=at,
            session_id=state.session_id,
            agent_id=state.agent_id,
            entry_id=entry_id,
            cwd=cwd,
            kind=kind,
            name=name,
            payload=payload,
        )


def _epoch_ms(at: str) -> float | None:
    try:
        return datetime.fromisoformat(at).timestamp() * 1000
    except (ValueError, OverflowError):
        return None
