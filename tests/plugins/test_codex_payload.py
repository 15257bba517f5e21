"""What Codex tells its hooks, in the engine's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentihooks.plugins import Plugins
from agentihooks_codex.payload import parse
from agentihooks_codex.settings import SUBSCRIPTIONS
from tests.sessions import SESSION, Codex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentihooks.model import HookEvent

KINDS = {
    "SessionStart": "start",
    "SubagentStart": "move",
    "UserPromptSubmit": "work",
    "PreCompact": "work",
    "SomethingNew": "work",
    "Stop": "stop",
    "SubagentStop": "stop",
    "Interrupt": "stop",
    "SessionEnd": "end",
}
CHILD = "5e551010-0000-7000-8000-0000000000c1"


def parsed(event: str, **fields: Any) -> HookEvent:
    """Return an event in /work."""
    found = parse(Codex().payload(event, "/work", **fields))
    assert found is not None
    return found


@pytest.mark.parametrize(("event", "kind"), KINDS.items())
def test_kinds(event: str, kind: str) -> None:
    """Each event is of the kind that says what it asks for; one of a later version may at least tell of a move."""
    found = parsed(event)
    assert (kind, event, SESSION, "/work") == (found.kind, found.name, found.session_id, found.cwd)


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest", "PostToolUse"])
def test_a_command_s_folder(event: str) -> None:
    """The folder of a command, which does not outlast it, is not where the session is."""
    assert "" == parsed(event, tool_name="Bash").cwd


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_sources(source: str) -> None:
    """A start says how the session was started."""
    assert source == parsed("SessionStart", source=source).source


@pytest.mark.parametrize(
    ("event", "fields", "expected"),
    [
        ("Stop", {"transcript_path": "/main"}, "/main"),
        ("SubagentStart", {"agent_id": CHILD, "transcript_path": "/child"}, "/child"),
        ("UserPromptSubmit", {"agent_id": CHILD, "transcript_path": "/child"}, "/child"),
        ("SubagentStop", {"agent_id": CHILD, "transcript_path": "/main", "agent_transcript_path": "/child"}, "/child"),
        ("SubagentStop", {"agent_id": CHILD, "transcript_path": "/main", "agent_transcript_path": None}, ""),
        ("Stop", {"transcript_path": None}, ""),
    ],
    ids=["main", "start", "prompt", "stop", "stop without a path", "null"],
)
def test_transcripts(event: str, fields: Mapping[str, Any], expected: str) -> None:
    """The transcript is that of whoever the event is about, never a subagent's parent's."""
    found = parsed(event, **fields)
    assert (expected, fields.get("agent_id", "")) == (found.transcript_path, found.agent_id)


@pytest.mark.parametrize("missing", ["session_id", "hook_event_name"])
@pytest.mark.parametrize("value", [None, "", 1, [], {}], ids=repr)
def test_nobody(missing: str, value: object) -> None:
    """Without a session or an event there is nothing to say."""
    assert parse(Codex().payload("Stop", "/work", **{missing: value})) is None


@pytest.mark.parametrize("value", [None, 1, 1.5, True, [], {}, ["/work"]], ids=repr)
def test_other_types(value: object) -> None:
    """A field of another type says nothing."""
    fields = dict.fromkeys(("agent_id", "cwd", "transcript_path", "source", "last_assistant_message"), value)
    found = parse({**Codex().payload("Stop", ""), **fields})
    assert found is not None
    assert ("", "", "", "", "") == (
        *(found.agent_id, found.cwd, found.transcript_path),
        *(found.source, found.last_message),
    )


@pytest.mark.parametrize("subscription", SUBSCRIPTIONS, ids=lambda subscription: subscription.event)
def test_budgets(subscription: Any) -> None:
    """A hook gives up before Codex loses patience."""
    assert parsed(subscription.event).budget_s < subscription.timeout_s


def test_quiet_events() -> None:
    """No event that says more than where the session is, is ever passed over."""
    loud = {name for name, kind in KINDS.items() if kind in ("start", "stop", "end")}
    assert set() == loud & {*parsed("Stop").quiet_events}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"CODEX_SESSION_ID": SESSION, "CODEX_THREAD_ID": SESSION}, SESSION),
        ({"CODEX_SESSION_ID": SESSION, "CODEX_THREAD_ID": CHILD}, SESSION),
        ({"CODEX_SESSION_ID": ""}, None),
        ({"CODEX_CI": "1"}, None),
    ],
    ids=["root", "subagent", "empty", "none"],
)
def test_shells(environ: Mapping[str, str], expected: str | None) -> None:
    """A command knows in whose session's shell it runs, also a subagent's."""
    assert expected == Plugins.bundled(["codex"]).first("agentihooks_session_of_shell", environ=environ)


def test_the_plugin_hands_it_on() -> None:
    """The hook of the plugin is this."""
    payload = Codex().payload("Stop", "/work")
    assert parse(payload) == Plugins.bundled(["codex"]).of("codex", "agentihooks_parse_payload", payload=payload)
