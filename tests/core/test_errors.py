"""The exceptions: what they hold, say, and are."""

from __future__ import annotations

import pickle

import pytest

from agentihooks import AgentihooksError, LogBusy, NotATranscript, PluginFault, ScopeRefused
from agentihooks.errors import BadSettings

ERRORS = [
    (ScopeRefused("bad_time", "give a time"), ValueError, "give a time"),
    (NotATranscript("/a.jsonl", "no transcript"), ValueError, "/a.jsonl: no transcript"),
    (BadSettings("/settings.json", "no JSON"), ValueError, "/settings.json: no JSON"),
    (LogBusy("/s.lock", 0.5), OSError, "/s.lock is locked by another process (waited 0.5 s); try again"),
    (PluginFault("acme", "raised"), AgentihooksError, "plugin acme: raised"),
]
each_error = pytest.mark.parametrize(("error", "base", "text"), ERRORS, ids=lambda value: type(value).__name__)


@each_error
def test_says_what_happened(error: AgentihooksError, base: type, text: str) -> None:
    """An error builds its message from its fields."""
    assert text == str(error)


@each_error
def test_is_what_callers_catch(error: AgentihooksError, base: type, text: str) -> None:
    """Every error is the engine's, and the built-in kind that a caller would expect."""
    assert isinstance(error, AgentihooksError)
    assert isinstance(error, base)


@each_error
def test_survives_pickling(error: AgentihooksError, base: type, text: str) -> None:
    """An error crosses between processes with its fields."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(error) is type(copy)
    assert vars(error) == vars(copy)
    assert text == str(copy)
