"""What Claude Code tells its hooks, in the engine's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentihooks.plugins import Plugins
from agentihooks_claude.payload import parse
from agentihooks_claude.settings import SUBSCRIPTIONS
from tests.sessions import SESSION, Claude

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentihooks.model import HookEvent

KINDS = {
    "SessionStart": "start",
    "CwdChanged": "move",
    "UserPromptSubmit": "work",
    "PreToolUse": "work",
    "PostToolUse": "work",
    "PreCompact": "work",
    "SomethingNew": "work",
    "Stop": "stop",
    "StopFailure": "stop",
    "SubagentStop": "stop",
    "SessionEnd": "end",
}


def parsed(event: str, **fields: Any) -> HookEvent:
    """Return an event in /work."""
    found = parse(Claude().payload(event, "/work", **fields))
    assert found is not None
    return found


def test_the_start_of_a_subagent() -> None:
    """It happens a little after the subagent's first line, which says where, so it says nothing itself."""
    found = parsed("SubagentStart", agent_id="a1", agent_type="Explore")
    assert ("work", "a1", "") == (found.kind, found.agent_id, found.cwd)


@pytest.mark.parametrize(("event", "kind"), KINDS.items())
def test_kinds(event: str, kind: str) -> None:
    """Each event is of the kind that says what it asks for; one of a later version may at least tell of a move."""
    found = parsed(event)
    assert (kind, event, SESSION, "/work", str(Claude().path)) == (
        *(found.kind, found.name, found.session_id),
        *(found.cwd, found.transcript_path),
    )


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork", "later"])
def test_sources(source: str) -> None:
    """A start says how the session was started."""
    assert source == parsed("SessionStart", source=source).source


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tool_name": "EnterWorktree", "tool_response": {"worktreePath": "/one", "worktreeBranch": "one"}}, "/one"),
        ({"tool_name": "ExitWorktree", "tool_response": {"action": "keep", "originalCwd": "/alpha"}}, "/alpha"),
        ({"tool_name": "EnterWorktree", "tool_response": {}}, "/work"),
        ({"tool_name": "EnterWorktree", "tool_response": {"worktreePath": None}}, "/work"),
        ({"tool_name": "ExitWorktree", "tool_response": "failed"}, "/work"),
        ({"tool_name": "EnterWorktree"}, "/work"),
        ({"tool_name": "Bash", "tool_response": {"worktreePath": "/one"}}, "/work"),
    ],
    ids=["enter", "exit", "nothing", "null", "text", "no result", "another tool"],
)
def test_worktrees(fields: Mapping[str, Any], expected: str) -> None:
    """The results of the worktree tools say where the session has gone."""
    assert expected == parsed("PostToolUse", **fields).cwd


def test_a_tool_that_is_yet_to_run() -> None:
    """What a worktree tool will do has not happened."""
    response = {"worktreePath": "/one"}
    assert "/work" == parsed("PreToolUse", tool_name="EnterWorktree", tool_response=response).cwd


def test_a_folder_that_was_refused() -> None:
    """The folder a `cd` wanted is not the one it led to."""
    assert "/work" == parsed("CwdChanged", old_cwd="/work", new_cwd="/elsewhere").cwd


def test_a_subagent() -> None:
    """A subagent's own transcript is the one that only its end names."""
    agent = Claude(agent_id="a1")
    start, stop = (parse(agent.payload(event, "/work")) for event in ("SubagentStart", "SubagentStop"))
    assert start is not None
    assert stop is not None
    assert [("a1", ""), ("a1", str(agent.path))] == [(each.agent_id, each.transcript_path) for each in (start, stop)]


@pytest.mark.parametrize("event", ["PreToolUse", "SubagentStop"])
@pytest.mark.parametrize("agent_type", ["", None])
def test_whoever_summarises(event: str, agent_type: str | None) -> None:
    """An agent without a type and a transcript, as a compaction has one, is nobody's work."""
    agent = Claude(agent_id="a1")
    assert parse(agent.payload(event, "/work", agent_type=agent_type, last_assistant_message="Summary.")) is None


def test_an_older_subagent() -> None:
    """The end of a subagent of the versions that told no type counts for its transcript."""
    agent = Claude(agent_id="a1")
    agent.write("10:00", "/work")
    found = parse(agent.payload("SubagentStop", "/work", agent_type=None))
    assert found is not None
    assert "stop" == found.kind


def test_a_teammate() -> None:
    """A teammate's empty agent id is none."""
    assert "" == parsed("Stop", agent_id="", agent_type="").agent_id


@pytest.mark.parametrize(("event", "expected"), [("Stop", "Done."), ("SubagentStop", "Done."), ("StopFailure", "")])
def test_last_messages(event: str, expected: str) -> None:
    """The last message of a turn is what the assistant said; that of a failure is not."""
    assert expected == parsed(event, last_assistant_message="Done.").last_message


@pytest.mark.parametrize("missing", ["session_id", "hook_event_name"])
@pytest.mark.parametrize("value", [None, "", 1, [], {}], ids=repr)
def test_nobody(missing: str, value: object) -> None:
    """Without a session or an event there is nothing to say."""
    assert parse(Claude().payload("Stop", "/work", **{missing: value})) is None


@pytest.mark.parametrize("value", [None, 1, 1.5, True, [], {}, ["/work"]], ids=repr)
def test_other_types(value: object) -> None:
    """A field of another type says nothing."""
    fields = dict.fromkeys(("agent_id", "cwd", "transcript_path", "source", "last_assistant_message"), value)
    found = parse({**Claude().payload("Stop", ""), **fields})
    assert found is not None
    assert ("", "", "", "", "") == (
        *(found.agent_id, found.cwd, found.transcript_path),
        *(found.source, found.last_message),
    )


@pytest.mark.parametrize("subscription", SUBSCRIPTIONS, ids=lambda subscription: subscription.event)
def test_budgets(subscription: Any) -> None:
    """A hook gives up before Claude Code loses patience."""
    assert parsed(subscription.event).budget_s < subscription.timeout_s


def test_no_session_end_outlasts_a_plugin_s_time() -> None:
    """Where a plugin put the hook in, all hooks of a session's end have 1.5 s together."""
    assert parsed("SessionEnd").budget_s < 1.5


def test_quiet_events() -> None:
    """No event that says more than where the session is, is ever passed over; nor are the worktree tools."""
    found = parsed("Stop")
    loud = {name for name, kind in KINDS.items() if kind in ("start", "stop", "end")}
    assert set() == loud & {*found.quiet_events}
    assert {"EnterWorktree", "ExitWorktree"} <= {*found.loud_tools}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [({"CLAUDE_CODE_SESSION_ID": "s1"}, "s1"), ({"CLAUDE_CODE_SESSION_ID": ""}, None), ({"CLAUDECODE": "1"}, None)],
    ids=["named", "empty", "none"],
)
def test_shells(environ: Mapping[str, str], expected: str | None) -> None:
    """A command knows in whose shell it runs since 2.1.132."""
    assert expected == Plugins.bundled(["claude"]).first("agentihooks_session_of_shell", environ=environ)


def test_the_plugin_hands_it_on(tmp_path: Path) -> None:
    """The hook of the plugin is this."""
    payload = Claude().payload("Stop", tmp_path)
    assert parse(payload) == Plugins.bundled(["claude"]).of("claude", "agentihooks_parse_payload", payload=payload)
