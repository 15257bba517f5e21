"""Which ids can name a log."""

from __future__ import annotations

import pytest

from agentihooks.session_ids import agent_of, agent_session_id, is_safe_session_id, session_of

SAFE = ["s", "0", "first", "a.b_c-d", "A" * 128, "01a22e49-cba8-7c21-b15e-116ab4420d3e", "s.agent-7", "a..b", "a."]
UNSAFE = [
    "",
    ".",
    "..",
    ".a",
    "-a",
    "_a",
    "../a",
    "a/b",
    "a\\b",
    "a b",
    "a\n",
    "\na",
    "a\0",
    "é",
    "a:b",
    "A" * 129,
    "\N{ARABIC-INDIC DIGIT THREE}",
]


@pytest.mark.parametrize("session_id", SAFE)
def test_safe(session_id: str) -> None:
    """Up to 128 letters, digits, dots, underscores and hyphens, the first a letter or digit, name a log."""
    assert is_safe_session_id(session_id)


@pytest.mark.parametrize("session_id", [*UNSAFE, None, 1, b"s"], ids=repr)
def test_unsafe(session_id: object) -> None:
    """Nothing else names one: no path, no white space, no other alphabet, no other type."""
    assert not is_safe_session_id(session_id)


@pytest.mark.parametrize(
    ("agent_id", "expected"), [("7", "s.agent-7"), ("agent-7", "s.agent-7"), ("", "s"), ("agent-", "s")]
)
def test_a_subagent_has_a_log_of_its_own(agent_id: str, expected: str) -> None:
    """A subagent's log is named for the session and the agent, whether or not its id says `agent-`."""
    assert expected == agent_session_id("s", agent_id)


@pytest.mark.parametrize(("own_id", "agent_id"), [("s", ""), ("s.agent-7", "7"), ("s.agent-7.agent-8", "7.agent-8")])
def test_a_log_is_some_sessions(own_id: str, agent_id: str) -> None:
    """A session's or a subagent's log tells the session it belongs to, and the subagent."""
    assert ("s", agent_id) == (session_of(own_id), agent_of(own_id))
