"""
What a rollout's lines hold, as far as this plugin has to know; everything else in them is passed over undecoded.

The shapes are those of Codex 0.20 to 0.171. A field of another type than declared reads as absent, an unknown one is
ignored: a later Codex may add and change what it likes.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from uuid import UUID

import msgspec

from agentihooks.transcript import salvage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LINE_TYPES = _words(
    "session_meta turn_context event_msg response_item compacted world_state token_usage_record"
    " inter_agent_communication inter_agent_communication_metadata agent_response_observation security_risk_score"
    " retained_context realtime_item"
)
"""The envelope's `type`, up to 0.171; before 0.140 only the first five exist."""

QUIET_EVENTS = _words(
    "agent_message agent_reasoning agent_reasoning_raw_content token_count task_started turn_started task_complete"
    " turn_complete turn_aborted context_compacted thread_rolled_back undo_completed entered_review_mode"
    " exited_review_mode patch_apply_end mcp_tool_call_end web_search_end image_generation_end thread_name_updated"
    " thread_goal_updated sub_agent_activity item_started error warning guardian_assessment exec_command_end"
    " view_image_tool_call collab_agent_spawn_end collab_agent_interaction_end collab_waiting_end collab_close_end"
    " collab_resume_end dynamic_tool_call_request dynamic_tool_call_response"
)
"""
Events that Codex writes to a rollout (`rollout/src/policy.rs`) and that tell nothing a response item does not.

`agent_message` and the `last_agent_message` of `task_complete` repeat an assistant's message. `thread_rolled_back`
takes turns out of the model's history; they happened all the same.
"""

QUIET_ITEMS = _words(
    "reasoning agent_message compaction context_compaction compaction_summary compaction_trigger ghost_snapshot"
    " additional_tools configuration_update other"
)
"""Response items that are neither said nor done by this thread; `agent_message` is what another agent wrote to it."""

_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<hook_prompt",
    "<user_shell_command>",
    "<user_action>",
    "<subagent_notification>",
    "<skill>",
)
"""How a user message begins that Codex wrote itself; since 0.158 `content_item_kinds` says so."""

# The oldest files have it as plain text, the later ones as a tag.
_FOLDER = re.compile(r"<cwd>(.*?)</cwd>|Current working directory: ([^\n]*)")

_UNREADABLE = (msgspec.DecodeError, RecursionError)

# How a line begins; after a torn one the search goes on there. A payload begins like a bare line, hence apart.
_STARTS = ('{"timestamp"',)
_BARE_STARTS = ('{"type"', '{"record_type"')

_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class Line(msgspec.Struct):
    """
    One line: an envelope around `payload`; or, up to 0.31, the bare item itself, which then is its own `payload`.

    `timestamp` is UTC and tells when the line was written, not when the thing happened: a fork's copies are
    stamped anew. `ordinal` is there in the paginated dialect only, and not reliably so.
    """

    timestamp: str = ""
    type: str = ""
    ordinal: int | None = None
    record_type: str = ""
    payload: msgspec.Raw = msgspec.Raw()
    metadata: msgspec.Raw = msgspec.Raw()
    is_bare: ClassVar[bool] = False


class _BareLine(Line):
    is_bare: ClassVar[bool] = True


class _Spawn(msgspec.Struct):
    parent_thread_id: str | None = None
    depth: int | None = None


class _Subagent(msgspec.Struct):
    thread_spawn: _Spawn | None = None


class _Source(msgspec.Struct):
    subagent: str | _Subagent | None = None


class _Git(msgspec.Struct):
    commit_hash: str | None = None
    branch: str | None = None


class Meta(msgspec.Struct):
    """Whose rollout a file is: the payload of its first `session_meta`, or a bare file's first line."""

    id: str | None = None
    session_id: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    source: str | _Source | None = None
    thread_source: str | None = None
    git: _Git | None = None
    history_base: msgspec.Raw = msgspec.Raw()
    subagent_history_start_ordinal: int | None = None
    instructions: msgspec.Raw = msgspec.Raw()

    @property
    def thread_id(self) -> str:
        """The thread's own id; files are known that have only a `session_id`."""
        return self.id or self.session_id or ""

    @property
    def spawn(self) -> _Spawn:
        """How the thread was spawned; empty for one that was not, and for reviews, guardians and the like."""
        return (self._subagent.thread_spawn if isinstance(self._subagent, _Subagent) else None) or _Spawn()

    @property
    def parent_id(self) -> str:
        """The thread that started this one as a subagent of whatever kind, "" if none is named."""
        return self.parent_thread_id or self.spawn.parent_thread_id or ""

    @property
    def root_id(self) -> str:
        """
        The session this subagent works for, "" for a main chain, which a fork made by a user is as well.

        Since 0.145 `session_id` names the root of the tree; before, only the parent is known.
        """
        if not (self._subagent or self.parent_id or self.thread_source == "subagent"):
            return ""
        root = self.session_id or self.parent_id
        return root if root != self.thread_id else ""

    @property
    def branch(self) -> str | None:
        """The branch at creation, "HEAD" if it was detached, None outside a repository; never updated later on."""
        if self.git is None:
            return None
        return self.git.branch or ("HEAD" if self.git.commit_hash else None)

    @property
    def is_segment(self) -> bool:
        """Whether a revert began this file, as a further one of its thread: its folder is that of Codex's launch."""
        return self._has_base and not self.forked_from_id

    @property
    def is_copy(self) -> bool:
        """Whether lines of another thread are known to follow: not so in a paginated fork, which refers to them."""
        return self.subagent_history_start_ordinal is not None or bool(self.forked_from_id and not self._has_base)

    @property
    def _subagent(self) -> str | _Subagent | None:
        return self.source.subagent if isinstance(self.source, _Source) else None

    @property
    def _has_base(self) -> bool:
        return bytes(self.history_base) not in (b"", b"null")


class Event(msgspec.Struct):
    """The payload of an `event_msg`; that of a `turn_context` has the same `turn_id`."""

    type: str = ""
    turn_id: str | None = None
    thread_id: str | None = None
    thread_settings: msgspec.Raw = msgspec.Raw()
    item: msgspec.Raw = msgspec.Raw()


class Place(msgspec.Struct):
    """The payload of a `turn_context`, or the `thread_settings` of an event: where the thread stands."""

    cwd: str | None = None


class Item(msgspec.Struct):
    """The payload of a `response_item`, a bare line, or the `item` of an `item_completed`."""

    type: str = ""
    role: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None


class _Kinds(msgspec.Struct):
    content_item_kinds: list[str] | None = None


class Message(msgspec.Struct):
    """An `Item` that is a message, with what it says; decoded apart, since images make it large."""

    content: Any = None
    internal_chat_message_metadata_passthrough: _Kinds | None = None

    def text(self, part_type: str) -> str:
        """Return the text of all parts of *part_type* (`input_text` or `output_text`), one after the other."""
        if isinstance(self.content, str):
            return self.content
        parts = self.content if isinstance(self.content, list) else []
        texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == part_type]
        return "\n".join(text for text in texts if isinstance(text, str))

    @property
    def is_typed(self) -> bool:
        """Whether a user message is what someone typed, rather than what Codex put before the model in their name."""
        kinds = self.internal_chat_message_metadata_passthrough
        if kinds and kinds.content_item_kinds:
            return any(kind.startswith("user.") for kind in kinds.content_item_kinds)
        return bool(self.content) and not self.text("input_text").lstrip().startswith(_INJECTED)

    @property
    def folder(self) -> str:
        """The folder that an `<environment_context>` names; "" if this is none."""
        text = self.text("input_text")
        found = _FOLDER.search(text) if text.startswith("<environment_context>") else None
        return (found[1] or found[2] or "").strip() if found else ""


class Metadata(msgspec.Struct):
    """What stands beside a payload since 0.158; a compaction's summary is an assistant's message but for this."""

    compaction_output: bool = False


def read(kind: type[_Shape], data: msgspec.Raw | bytes) -> _Shape:
    """Decode *data* as far as it is well typed; what is no JSON object at all gives an empty *kind*."""
    try:
        return _decode(kind, data)
    except _UNREADABLE:
        # Invalid UTF-8 in a part that was passed over undecoded when the line was read.
        for found in salvage(bytes(data))[0][:1]:
            with suppress(*_UNREADABLE):
                return _decode(kind, _encode(found))
        return kind()


def parse(data: bytes, *, is_bare: bool = False) -> tuple[list[Line], bool]:
    """Return the lines in *data* (one, but for a damaged file), and whether some of it had to be given up."""
    try:
        return [_line(data)], False
    except _UNREADABLE:
        found, is_damaged = salvage(data, _BARE_STARTS if is_bare else _STARTS)
    lines = []
    for value in found:
        try:
            lines.append(_line(_encode(value)))
        except _UNREADABLE:
            is_damaged = True
    return lines, is_damaged


def meta_of(line: Line) -> Meta | None:
    """Return what *line* says about the file's thread, if it is a line that does."""
    if line.type == "session_meta" and not line.is_bare:
        return read(Meta, line.payload)
    if line.is_bare and not line.type:
        meta = read(Meta, line.payload)
        if meta.id and meta.timestamp and (meta.git or meta.instructions):
            return meta
    return None


def is_rollout(head: Sequence[Mapping[str, Any]]) -> bool:
    """Recognise a rollout of any era by the first objects of a file."""
    if any(value.keys() & {"sessionId", "uuid", "parentUuid", "leafUuid"} for value in head):
        return False  # Claude Code's
    return any(_is_enveloped(value) or _is_bare(value) for value in head)


def uuid7_ms(text: str) -> int | None:
    """Return when a UUIDv7 was made, in ms since the epoch; None for any other id, as threads had until 2025-09."""
    try:
        uuid = UUID(text)
    except ValueError:
        return None
    return uuid.int >> 80 if uuid.version == 7 else None  # noqa: PLR2004 - the version in its name


def _is_enveloped(value: Mapping[str, Any]) -> bool:
    is_whole = isinstance(value.get("payload"), dict) and isinstance(value.get("timestamp"), str)
    return is_whole and str(value.get("type")) in LINE_TYPES


def _is_bare(value: Mapping[str, Any]) -> bool:
    is_header = "type" not in value and {"id", "timestamp"} <= value.keys() and value.keys() & {"instructions", "git"}
    return bool(is_header) or value.get("record_type") == "state"


def _line(data: bytes) -> Line:
    line = _decode(Line, data)
    if line.payload:
        return line
    return _BareLine(timestamp=line.timestamp, type=line.type, record_type=line.record_type, payload=msgspec.Raw(data))


def _decode(kind: type[_Shape], data: msgspec.Raw | bytes) -> _Shape:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        return kind(**dict(_well_typed(kind, data)))


def _well_typed(kind: type[msgspec.Struct], data: msgspec.Raw | bytes) -> Iterator[tuple[str, Any]]:
    """Yield the fields that can be decoded, one by one; none if *data* is no object."""
    try:
        fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return
    for field in msgspec.structs.fields(kind):
        with suppress(*_UNREADABLE, KeyError):
            yield field.name, msgspec.json.decode(fields[field.encode_name], type=field.type)


def _encode(value: Mapping[str, Any]) -> bytes:
    """Encode decoded JSON again; a lone surrogate, which msgspec refuses, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
