"""The Codex reader: whose entries these are, where they stood, and what was done, in every era of rollouts."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import agentihooks_codex
from agentihooks.transcript import head
from agentihooks_codex import transcript
from agentihooks_codex.transcript import CodexReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentihooks.transcript import Entry

DATA = Path(__file__).parents[1] / "data" / "codex"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "codex"
FIXTURES = {f"{path.parent.name}-{path.name[8:27]}": path for path in sorted(DATA.glob("*/*.jsonl"))}

# The thread, begun at 2026-04-01T10:00Z, its parent an hour before, and a turn of each.
THREAD = "019d4800-0000-7000-8000-00000000000a"
TURN = "019d4800-1000-7000-8000-00000000000b"
PARENT = "019d4700-0000-7000-8000-00000000000c"
PARENT_TURN = "019d4700-1000-7000-8000-00000000000d"
SPAWN = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}


def line(kind: str, payload: Any, ms: int = 0, **extra: Any) -> bytes:
    """Return one line of a rollout, written *ms* after ten o'clock."""
    stamp = f"2026-04-01T10:00:{ms // 1000:02}.{ms % 1000:03}Z"
    return json.dumps({"timestamp": stamp, **extra, "type": kind, "payload": payload}).encode() + b"\n"


def meta(cwd: str | None = "/w/app", thread: str = THREAD, ms: int = 0, **fields: Any) -> bytes:
    """Return a `session_meta`."""
    return line("session_meta", {"id": thread, "cwd": cwd, **fields}, ms)


def event(kind: str, ms: int = 0, **fields: Any) -> bytes:
    """Return an `event_msg`, with an ordinal if one is given."""
    ordinal = {"ordinal": fields.pop("ordinal")} if "ordinal" in fields else {}
    return line("event_msg", {"type": kind, **fields}, ms, **ordinal)


def settings(cwd: Any, **fields: Any) -> bytes:
    """Return the event that tells of changed settings."""
    return event("thread_settings_applied", thread_settings={"cwd": cwd}, **fields)


def place(cwd: Any, ms: int = 0, **fields: Any) -> bytes:
    """Return a `turn_context`."""
    return line("turn_context", {"cwd": cwd, **fields}, ms)


def item(kind: str, ms: int = 0, **fields: Any) -> bytes:
    """Return a `response_item`."""
    return line("response_item", {"type": kind, **fields}, ms)


def says(text: str, ms: int = 0, **fields: Any) -> bytes:
    """Return a message of the assistant."""
    return item("message", ms, role="assistant", content=[{"type": "output_text", "text": text}], **fields)


def user(text: str, ms: int = 0, **fields: Any) -> bytes:
    """Return a message in the user's name."""
    return item("message", ms, role="user", content=[{"type": "input_text", "text": text}], **fields)


def read(*lines: bytes, path: Path = Path("rollout.jsonl")) -> tuple[list[Entry], dict[str, int]]:
    """Return the entries of *lines*, and what was skipped."""
    reader = CodexReader(path)
    return list(reader.entries(lines)), dict(reader.skipped)


def done(entries: Iterable[Entry]) -> list[tuple[str, str]]:
    """Return what was done: the kind of each activity, with what was said or the tool's name."""
    return [(did.kind, did.text or did.name) for entry in entries for did in entry.activities()]


def stood(entries: Iterable[Entry]) -> list[str]:
    """Return the folders that entries tell."""
    return [entry.cwd for entry in entries if entry.cwd is not None]


def facts(entries: Iterable[Entry]) -> list[tuple[Any, ...]]:
    """Return everything an entry tells, comparable."""
    return [
        (e.at, e.session_id, e.agent_id, e.entry_id, e.cwd, e.branch, e.worktree, tuple(e.activities()))
        for e in entries
    ]


# Eras


@pytest.mark.parametrize(
    ("name", "folders", "activities"),
    [
        ("0.20.0-2025-08-20T10-00-00", ["/w/app", "/w/lib"], "prompt message:one tool:shell tool:local_shell prompt message:two"),
        ("0.36.0-2025-09-18T10-00-00", ["/w/app", "/w/lib"], "prompt message:one tool:shell message:one~done prompt message:two"),
        ("0.42.0-2025-10-02T10-00-00", ["/w/fork"], "prompt message:two"),
        ("0.146.0-2026-03-18T10-00-00", ["/w/app", "/w/app-wt"], "prompt message:one tool:apply_patch prompt message:two"),
        ("0.146.0-2026-03-19T10-00-00", ["/w/fork"], "prompt message:three"),
        ("0.171.0-2026-11-30T10-00-00", ["/w/app", "/w/app-wt"], "prompt tool:exec_command message:one prompt message:two prompt message:three"),
        ("0.171.0-2026-11-30T10-00-04", ["/w/app"], "prompt tool:exec_command message:all~clear"),
        ("0.171.0-2026-11-30T10-20-00", ["/w/home/worktrees/8f3a/app"], "prompt message:four"),
        ("0.171.0-2026-11-30T10-22-00", ["/w/app-wt"], "prompt message:five"),
    ],
)  # fmt: skip
def test_each_era_tells_every_thing_once(name: str, folders: list[str], activities: str) -> None:
    """Bare, legacy and paginated rollouts give the folders in order, and each prompt, message and call once."""
    with FIXTURES[name].open("rb") as lines:
        entries = list(CodexReader(FIXTURES[name]).entries(lines))

    assert folders == [folder for folder, _ in itertools.groupby(stood(entries))]
    assert activities.split() == [f"{kind}:{what}".rstrip(":").replace(" ", "~") for kind, what in done(entries)]


@pytest.mark.parametrize("path", FIXTURES.values(), ids=FIXTURES)
def test_each_era_is_recognised(path: Path) -> None:
    """The first objects of a rollout give its reader, whatever the file is called."""
    reader = agentihooks_codex.agentihooks_open_transcript("any", head(path))

    assert isinstance(reader, CodexReader)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [{"type": "user", "sessionId": "s", "uuid": "u", "message": {}}],
        [{"type": "summary", "summary": "s", "leafUuid": "u"}],
        [{"type": "event_msg", "timestamp": "t", "payload": {}, "sessionId": "s"}],
        [{"type": "event_msg", "payload": {}}],
        [{"type": "event_msg", "timestamp": "t", "payload": "p"}],
        [{"type": ["event_msg"], "timestamp": "t", "payload": {}}],
        [{"type": "message", "id": "i", "timestamp": "t", "git": {}}],
        [{"id": "i", "timestamp": "t"}],
    ],
)
def test_other_files_are_not_recognised(values: list[dict[str, Any]]) -> None:
    """Claude Code's transcripts and any other JSON lines are left to other plugins."""
    assert agentihooks_codex.agentihooks_open_transcript("rollout.jsonl", values) is None


def test_a_bare_rollout_that_lost_its_header_is_read() -> None:
    """`record_type` is in no other agent's lines; without it a bare item is none of Codex's."""
    state, bare = (
        b'{"record_type":"state"}',
        json.dumps({"type": "message", "role": "assistant", "content": "one"}).encode(),
    )

    assert agentihooks_codex.agentihooks_open_transcript("x", [json.loads(state)]) is not None
    assert [("message", "one")] == done(read(state, bare, state)[0])
    assert ([], {"foreign": 1}) == read(bare)


def test_the_first_folder_of_a_bare_rollout_has_the_headers_time() -> None:
    """Bare items have no time; only the first folder and the branch are known to be those of the start."""
    path = FIXTURES["0.20.0-2025-08-20T10-00-00"]
    entries = [entry for entry in CodexReader(path).entries(path.read_bytes().splitlines()) if entry.cwd]

    assert [("2025-08-20T10:00:00.000Z", "main"), ("", None)] == [(entry.at, entry.branch) for entry in entries]


# Whose


@pytest.mark.parametrize(
    ("fields", "session_id", "agent_id"),
    [
        ({}, THREAD, ""),
        ({"session_id": THREAD, "source": "cli"}, THREAD, ""),
        ({"session_id": "other", "source": "cli"}, THREAD, ""),
        ({"id": None, "session_id": "root"}, "root", ""),
        ({"forked_from_id": PARENT, "session_id": THREAD}, THREAD, ""),
        ({"source": SPAWN}, PARENT, THREAD),
        ({"source": SPAWN, "session_id": "root"}, "root", THREAD),
        ({"source": SPAWN, "forked_from_id": PARENT}, PARENT, THREAD),
        ({"parent_thread_id": PARENT, "thread_source": "subagent"}, PARENT, THREAD),
        ({"session_id": "root", "thread_source": "subagent"}, "root", THREAD),
        ({"source": {"subagent": {"other": "guardian"}}, "parent_thread_id": PARENT}, PARENT, THREAD),
        ({"source": {"subagent": "review"}, "session_id": "root"}, "root", THREAD),
        ({"source": {"subagent": "compact"}}, THREAD, ""),
        ({"source": {"subagent": "compact"}, "session_id": THREAD}, THREAD, ""),
        ({"source": {"custom": "mine"}}, THREAD, ""),
    ],
)
def test_the_first_session_meta_names_session_and_agent(fields: dict[str, Any], session_id: str, agent_id: str) -> None:
    """A thread is a session of its own unless it works for another; a fork that a person made is one too."""
    entries, _ = read(meta(**fields))

    assert [(session_id, agent_id)] == [(entry.session_id, entry.agent_id) for entry in entries]


def test_without_a_session_meta_the_files_name_tells_the_session() -> None:
    """A file that lost its first line is still its thread's."""
    path = Path(f"rollout-2026-04-01T10-00-00-{THREAD}.jsonl")

    assert [THREAD] == [entry.session_id for entry in read(says("hi"), path=path)[0]]
    assert [THREAD] == [entry.session_id for entry in read(meta(id=None), path=path)[0]]
    assert [""] == [entry.session_id for entry in read(says("hi"))[0]]


# Where


@pytest.mark.parametrize(
    ("git", "branch"),
    [
        ({"git": {"commit_hash": "1f", "branch": "topic"}}, "topic"),
        ({"git": {"commit_hash": "1f"}}, "HEAD"),
        ({"git": {}}, None),
        ({"git": None}, None),
        ({"git": "no object"}, None),
        ({}, None),
    ],
)
def test_the_branch_at_creation_is_told_with_the_first_folder_alone(git: dict[str, Any], branch: str | None) -> None:
    """Git is looked at once, when the thread is created; a repository without a branch has a detached head."""
    entries, _ = read(meta(**git), place("/w/app"), place("/w/lib"))

    assert [branch, None, None] == [entry.branch for entry in entries]


def test_a_turn_context_moves_the_session() -> None:
    """The folder of a turn holds from its line on, to the next turn's."""
    entries, _ = read(meta(), place("/w/app", 1), says("one", 2), place("/w/lib", 3), says("two", 4))

    assert [("000", "/w/app"), ("001", "/w/app"), ("002", None), ("003", "/w/lib"), ("004", None)] == [
        (entry.at[-4:-1], entry.cwd) for entry in entries
    ]


def test_applied_settings_move_the_session_once_something_is_done() -> None:
    """A folder that is set between turns holds for what comes next, though no turn context tells it."""
    entries, _ = read(meta(), settings("/w/lib", ms=1), settings(None, ms=2), says("one", 3), says("two", 4))

    assert [("000", "/w/app"), ("003", "/w/lib"), ("004", None)] == [(entry.at[-4:-1], entry.cwd) for entry in entries]


def test_a_turn_context_overrides_applied_settings() -> None:
    """After a revert Codex first tells the folder it was launched in, then the real one."""
    entries, _ = read(
        meta("/w/app"), settings("/w/launch"), settings("/w/lib"), event("task_started"), place("/w/lib"), says("one")
    )

    assert ["/w/app", "/w/lib"] == stood(entries)


def test_a_reverted_threads_segment_does_not_begin_in_the_launch_folder() -> None:
    """The `session_meta` of a segment has the folder and the branch of the process, not of the thread."""
    base: dict[str, Any] = {"history_base": {"thread_id": THREAD}, "git": {"branch": "topic"}}

    entries, _ = read(meta("/w/launch", **base), settings("/w/launch"), settings("/w/lib"), place("/w/lib"))
    assert [("/w/lib", None)] == [(entry.cwd, entry.branch) for entry in entries]

    entries, _ = read(meta("/w/launch", **base), says("one"))
    assert ["/w/launch"] == stood(entries)


def test_a_session_meta_written_again_moves_nothing() -> None:
    """Codex appends a thread's metadata anew, with the folder it was launched in."""
    entries, skipped = read(meta(), place("/w/lib"), meta("/w/app"), says("one"))

    assert (["/w/app", "/w/lib"], {"copy": 1}) == (stood(entries), skipped)


def test_a_commands_own_folder_moves_nothing() -> None:
    """`workdir` holds for one command."""
    call = item("function_call", name="shell", arguments='{"workdir":"/w/lib"}', call_id="c")
    execution = event("item_completed", item={"type": "CommandExecution", "id": "c", "cwd": "file:///w/lib"})

    assert ["/w/app"] == stood(read(meta(), call, execution, event("exec_command_end", cwd="/w/lib"))[0])


def test_lines_without_a_folder_say_nothing_about_it() -> None:
    """A session_meta, turn context or settings without a folder leave the session where it is."""
    entries, _ = read(meta(None), place(None), place(7), place(""), settings(7), says("one"))

    assert ([], [("message", "one")]) == (stood(entries), done(entries))


# Copied history


def test_a_fork_of_a_fork_inherits_from_both() -> None:
    """What the ancestors did is counted as inherited and neither told again nor followed."""
    copied = [meta(thread=PARENT), meta(thread="grandparent"), place("/w/old", turn_id=PARENT_TURN), says("old")]
    own = [event("task_started", turn_id=TURN), place("/w/fork", turn_id=TURN), says("new")]

    entries, skipped = read(meta(forked_from_id=PARENT), *copied, *own)

    assert (["/w/app", "/w/fork"], [("message", "new")]) == (stood(entries), done(entries))
    assert {"inherited": 4} == skipped


def test_a_paginated_fork_has_no_copies() -> None:
    """It refers to its parent's file instead: every line is its own."""
    entries, skipped = read(meta(forked_from_id=PARENT, history_base={"thread_id": PARENT}), says("new"))

    assert ([("message", "new")], {}) == (done(entries), skipped)


def test_own_history_begins_at_the_ordinal_that_the_meta_names() -> None:
    """The ordinal decides, whatever else speaks for or against it."""
    lines = [
        event("task_started", turn_id=TURN, ordinal=1),
        line("response_item", {"type": "function_call", "name": "old"}, 9000, ordinal=2),
        line("response_item", {"type": "function_call", "name": "new"}, 9000, ordinal=3),
    ]

    entries, skipped = read(meta(source=SPAWN, subagent_history_start_ordinal=3), *lines)

    assert ([("tool", "new")], {"inherited": 2}) == (done(entries), skipped)


def test_lines_without_the_promised_ordinals_are_told_apart_by_their_turns() -> None:
    """Ordinals are known to be missing from some files."""
    lines = [place("/w/old", turn_id=PARENT_TURN), place("/w/new", turn_id=TURN)]

    entries, _ = read(meta(source=SPAWN, subagent_history_start_ordinal=3), *lines)

    assert ["/w/app", "/w/new"] == stood(entries)


def test_own_history_begins_with_an_event_that_names_the_thread() -> None:
    """Copied events keep their thread's id; late ones are copied too, as long as it is another's."""
    lines = [says("old"), settings("/w/old", thread_id=PARENT, ms=9000), settings("/w/new", thread_id=THREAD, ms=9001)]

    entries, skipped = read(meta(forked_from_id=PARENT), *lines, says("new", 9002))

    assert ([("message", "new")], ["/w/app", "/w/new"]) == (done(entries), stood(entries))
    assert {"inherited": 2} == skipped


@pytest.mark.parametrize("kind", ["task_started", "turn_started"])
def test_own_history_begins_with_the_first_turn_younger_than_the_thread(kind: str) -> None:
    """Turn ids are UUIDv7 and survive copying; a pause while copying proves nothing then."""
    lines = [event(kind, turn_id=PARENT_TURN), says("old", 9000), event(kind, 9001, turn_id=TURN), says("new", 9002)]

    entries, skipped = read(meta(forked_from_id=PARENT), *lines)

    assert ([("message", "new")], {"inherited": 2}) == (done(entries), skipped)


def test_a_turn_in_the_parents_file_is_inherited_however_young_it_seems(tmp_path: Path) -> None:
    """The clock may have been set back between a turn and the fork of it."""
    (tmp_path / f"rollout-2026-04-01T09-00-00-{PARENT}.jsonl").write_bytes(
        line("turn_context", {"turn_id": TURN}).replace(b": ", b":")
    )
    lines = [place("/w/old", turn_id=TURN), says("old")]

    entries, skipped = read(meta(forked_from_id=PARENT), *lines, path=tmp_path / "rollout.jsonl")

    assert ([], {"inherited": 2}) == (done(entries), skipped)


def test_a_copy_without_turn_ids_ends_with_the_burst_it_was_written_in() -> None:
    """Forks of 2025 are known by a second session_meta alone; later lines waited for a person or a model."""
    lines = [meta(thread=PARENT, ms=1), place("/w/old", 20), says("old", 60), place("/w/new", 111), says("new", 112)]

    entries, skipped = read(meta(), *lines)

    assert (["/w/app", "/w/new"], [("message", "new")]) == (stood(entries), done(entries))
    assert {"inherited": 3} == skipped


def test_what_may_be_copied_is_inherited() -> None:
    """Turn ids of no known time, and lines without a readable time, do not make a line the thread's own."""
    untimed = [line("response_item", {"type": "tool_call"}).replace(b"2026-04-01T10", when) for when in (b"", b"9999")]

    _, skipped = read(meta(forked_from_id=PARENT), event("task_started", turn_id="1"), *untimed)

    assert {"inherited": 3} == skipped


def test_a_foreign_session_meta_after_own_history_hides_nothing() -> None:
    """Only what follows a file's own session_meta directly can be a copied history."""
    entries, skipped = read(meta(), says("one"), meta("/w/other", thread=PARENT), says("two"))

    assert ([("message", "one"), ("message", "two")], ["/w/app"]) == (done(entries), stood(entries))
    assert {"inherited": 1} == skipped


# What was done


@pytest.mark.parametrize(
    ("payload", "activities"),
    [
        ({"type": "function_call", "call_id": "c", "id": "i", "name": "shell"}, [("tool", "c", "shell")]),
        ({"type": "custom_tool_call", "call_id": "c", "name": "apply_patch"}, [("tool", "c", "apply_patch")]),
        ({"type": "local_shell_call", "id": "i"}, [("tool", "i", "local_shell")]),
        ({"type": "web_search_call"}, [("tool", "", "web_search")]),
        ({"type": "message", "role": "assistant", "id": "m"}, [("message", "m", "")]),
        ({"role": "assistant"}, [("message", "", "")]),
        ({"type": "message", "role": "developer", "id": "d"}, []),
        ({"type": "reasoning", "summary": [{"text": "thought"}]}, []),
        ({"type": "agent_message", "author": "child", "content": [{"type": "output_text", "text": "x"}]}, []),
        ({"type": "function_call_output", "call_id": "c"}, []),
    ],
)
def test_response_items_tell_messages_and_tool_calls(payload: dict[str, Any], activities: list[Any]) -> None:
    """Thoughts, outputs, instructions and what other agents write are neither; ids are the agent's own."""
    entries, skipped = read(line("response_item", payload))

    assert (activities, {}) == ([(did.kind, did.id, did.name) for e in entries for did in e.activities()], skipped)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "output_text", "text": "a"}, {"type": "image"}, {"type": "output_text", "text": "b"}], "a\nb"),
        ([{"type": "output_text", "text": 7}, "b", None], ""),
        ("plain", "plain"),
        (7, ""),
        (None, ""),
    ],
)
def test_a_message_is_the_text_of_its_parts(content: Any, text: str) -> None:
    """Parts of another kind or shape are passed over."""
    entries, _ = read(item("message", role="assistant", content=content))

    assert [text] == [did.text for entry in entries for did in entry.activities()]


def test_a_compactions_summary_is_not_said() -> None:
    """It is written like any message of the assistant, but for the metadata beside it."""
    payload = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "SUMMARY"}]}
    lines = [line("response_item", payload, metadata=value) for value in ({"compaction_output": True}, {}, None)]

    assert [("message", "SUMMARY")] * 2 == done(read(*lines)[0])


def test_repeats_of_what_was_said_are_not_said_again() -> None:
    """Events, the end of a turn and a compaction's history repeat messages; the response item alone counts."""
    repeats = [
        event("agent_message", message="one"),
        event("item_completed", item={"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "one"}]}),
        event("task_complete", last_agent_message="one"),
        line("compacted", {"message": "one", "replacement_history": [{"type": "message", "role": "assistant"}]}),
    ]

    assert [("message", "one")] == done(read(says("one", id="m"), *repeats)[0])


def test_an_item_read_before_is_a_copy() -> None:
    """An id is told once, be it a message's, a call's or a prompt's; items without one are all told."""
    prompt = event("item_completed", item={"type": "UserMessage", "id": "u"})
    lines = [says("one", id="m"), item("web_search_call", id="c"), prompt, says("two"), says("three", id=None)]

    entries, skipped = read(*lines, *lines)

    assert ([("message", "two"), ("message", "three")], {"copy": 3}) == (done(entries)[5:], skipped)


def test_only_so_many_ids_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded: an item is known as a copy for as long as its id is among the latest."""
    monkeypatch.setattr(transcript, "_MAX_SEEN", 2)
    entries, _ = read(says("a", id="1"), says("b", id="2"), says("c", id="3"), says("b", id="2"), says("a", id="1"))

    assert ["a", "b", "c", "a"] == [text for _, text in done(entries)]


def test_a_prompt_is_told_by_its_event() -> None:
    """The response item beside it, before or after, is the same prompt; so is every later one of this file."""
    first = [user("one"), event("user_message", message="one"), says("a")]
    later = [event("user_message", message="two"), user("two"), says("b"), user("<new tag>"), says("c")]

    entries, _ = read(*first, *later)

    assert ["prompt", "message", "prompt", "message", "message"] == [kind for kind, _ in done(entries)]


def test_a_prompt_without_an_event_is_told_when_it_is_answered() -> None:
    """In a file that tells no prompt as an event the response items tell them, at their own time."""
    entries, _ = read(meta(), user("one", 1, id="u"), user("two", 2), says("a", 3), user("three", 4))

    assert ["prompt", "prompt", "message"] == [kind for kind, _ in done(entries)]
    assert [("001", "u"), ("002", "")] == [(entry.at[-4:-1], entry.entry_id) for entry in entries[1:3]]


@pytest.mark.parametrize(
    ("content", "kinds", "is_typed"),
    [
        ("hello", None, True),
        ("<environment_context>\n  <cwd>/w</cwd>", None, False),
        ("<environment_context>\n", None, False),
        ("\n# AGENTS.md instructions for /w", None, False),
        ("<user_instructions>", None, False),
        ('<hook_prompt hook_run_id="h">', None, False),
        ("<subagent_notification>", None, False),
        ("<turn_aborted>", ["user.text"], True),
        ("hello", ["generic.warning"], False),
        ("hello", [], True),
        ([{"type": "input_image", "image_url": "data:"}], None, True),
        ([], None, False),
    ],
)
def test_injected_text_is_no_prompt(content: Any, kinds: list[str] | None, is_typed: bool) -> None:
    """Codex says which is which since 0.158; before, its own text begins with a known tag."""
    passthrough: dict[str, Any] = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}}
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content

    entries, _ = read(item("message", role="user", content=parts, **passthrough), item("web_search_call"))

    assert is_typed == ("prompt" in dict(done(entries)))


# Damage and drift


@pytest.mark.parametrize(
    ("data", "skipped"),
    [
        (b"\n", {}),
        (b" \0\0 \n", {}),
        (b"[1]", {"foreign": 1}),
        (b"7", {"foreign": 1}),
        (b'{"any":"thing"}', {"foreign": 1}),
        (b'{"id":"i","timestamp":"t"}', {"foreign": 1}),
        (b'{"record_type":"state"}', {}),
        (b'{"type":"world_state","payload":{}}', {}),
        (b'{"type":"new_kind","payload":{}}', {"unknown": 1}),
        (b'{"type":"event_msg","payload":{"type":"new_kind"}}', {"unknown": 1}),
        (b'{"type":"event_msg","payload":"text"}', {"unknown": 1}),
        (b'{"type":"response_item","payload":{"type":"new_kind"}}', {"unknown": 1}),
        (b'{"type":"response_item","payload":null}', {"unknown": 1}),
        (b'{"timestamp":"2026', {"damaged": 1}),
        (b'{"timestamp":NaN}', {"damaged": 1}),
        (b'{"a":' + b"[" * 100_000, {"damaged": 1}),
        (b'{"payload":' + b"[" * 100_000 + b"]" * 100_000 + b"}", {"damaged": 1}),
    ],
)
def test_what_is_no_entry_is_counted(data: bytes, skipped: dict[str, int]) -> None:
    """Nothing that a line holds raises; why it gave no entry is told."""
    assert ([], skipped) == read(data)


def test_a_welded_line_gives_both_and_a_torn_one_the_whole() -> None:
    """A crash leaves a torn line that the next one follows without a newline."""
    whole = says("one").strip()
    entries, skipped = read(whole + whole, whole[:40] + whole, b"\xef\xbb\xbf" + whole)

    assert ([("message", "one")] * 4, {"damaged": 1}) == (done(entries), skipped)


def test_the_payload_of_a_torn_line_is_not_told() -> None:
    """It looks like a bare item, and is told with its time by the whole line that may follow."""
    whole = says("one").strip()
    entries, skipped = read(whole[:-1], whole[:-1] + whole)

    assert ([("message", "one")], {"damaged": 2}) == (done(entries), skipped)


def test_in_a_bare_rollout_the_search_goes_on_at_the_next_item() -> None:
    """Its lines begin otherwise than those with an envelope."""
    bare = json.dumps({"type": "message", "role": "assistant", "content": "one"}, separators=(",", ":")).encode()
    entries, skipped = read(b'{"record_type":"state"}', bare[:30] + bare)

    assert ([("message", "one")], {"damaged": 1}) == (done(entries), skipped)


def test_fields_of_another_type_read_as_absent() -> None:
    """A later Codex may change a field's type; the others are still read."""
    drifted = {"id": THREAD, "cwd": "/w/app", "session_id": 7, "source": 7, "git": {"branch": 7}, "history_base": None}
    lines = [
        line("session_meta", drifted, ordinal="first"),
        item("function_call", name="shell", id=7, call_id=["c"], role=None),
        item("message", role="assistant", id={}, content="hi"),
    ]

    entries, _ = read(*lines)

    assert ([THREAD] * 3, ["/w/app"]) == ([entry.session_id for entry in entries], stood(entries))
    assert [("tool", "shell"), ("message", "hi")] == done(entries)


@pytest.mark.parametrize(
    ("raw", "text"), [(b"a\xffb", "a\ufffdb"), (b"a\\ud800b", "a?b"), (b'a","b":1e999,"c":"\xff', "")]
)
def test_undecodable_text_is_told_as_far_as_it_can_be(raw: bytes, text: str) -> None:
    """Invalid UTF-8 and lone surrogates are replaced; what cannot be encoded again leaves a message without text."""
    entries, skipped = read(says("@").replace(b"@", raw))

    assert ([text], {}) == ([did.text for entry in entries for did in entry.activities()], skipped)


def mangled(data: bytes, seed: int) -> bytes:
    """Return *data* with a few bytes cut out, overwritten or doubled."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        at, length = chance.randrange(len(data)), chance.randint(1, 30)
        new = [b"", chance.randbytes(length), data[at : at + length] * 2][chance.randrange(3)]
        data = data[:at] + new + data[at + length :]
    return data


@pytest.mark.parametrize("path", FIXTURES.values(), ids=FIXTURES)
def test_no_damage_raises(path: Path) -> None:
    """However a file is cut or corrupted, it is read to its end."""
    data = path.read_bytes()
    for damaged in [data[:at] for at in range(0, len(data), 97)] + [mangled(data, seed) for seed in range(60)]:
        reader = CodexReader(path)
        facts(reader.entries(damaged.split(b"\n")))
        CodexReader(path).restore(reader.state())


# Passes


def in_two_passes(path: Path, lines: Sequence[bytes], cut: int) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """Return the entries of two passes, the second with the first one's state, and what both skipped."""
    first, second = CodexReader(path), CodexReader(path)
    told = facts(first.entries(lines[:cut]))
    second.restore(json.loads(json.dumps(first.state())))
    told += facts(second.entries(lines[cut:]))
    return told, dict(first.skipped + second.skipped)


@pytest.mark.parametrize("path", FIXTURES.values(), ids=FIXTURES)
def test_two_passes_tell_what_one_tells(path: Path) -> None:
    """Wherever the first pass ended, the second goes on without reading the head of the file again."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines += lines[-3:]
    reader = CodexReader(path)
    whole = facts(reader.entries(lines)), dict(reader.skipped)

    for cut in range(len(lines) + 1):
        assert whole == in_two_passes(path, lines, cut)


def test_a_state_that_is_not_the_readers_is_ignored() -> None:
    """It may be another plugin's, or a damaged one."""
    for state in (
        {},
        {"offset": 7},
        {"thread_id": 7, "session_id": "s"},
        {**CodexReader(Path("x")).state(), "seen": 7},
    ):
        reader = CodexReader(Path(f"rollout-2026-04-01T10-00-00-{THREAD}.jsonl"))
        reader.restore(state)

        assert [THREAD] == [entry.session_id for entry in reader.entries([says("one")])]


def test_a_state_stays_small() -> None:
    """It goes into a file at every Stop: only the latest ids are kept."""
    reader = CodexReader(Path("x"))
    list(reader.entries(says("one", id=f"m{number}") for number in range(1000)))

    assert ("m936", "m999", 64) == (*reader.state()["seen"][::63], len(reader.state()["seen"]))


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real rollouts is not here")
def test_real_rollouts_are_read() -> None:
    """Every public or recorded rollout is recognised, and nothing in the recorded ones is unknown or damaged."""
    for path in CORPUS.glob("lab*/*.jsonl"):
        reader = agentihooks_codex.agentihooks_open_transcript(str(path), head(path))
        assert isinstance(reader, CodexReader)
        with path.open("rb") as lines:
            assert list(reader.entries(lines))
        assert set(reader.skipped) <= {"inherited"}
