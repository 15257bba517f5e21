"""
Event-time scope attribution for swarms of coding agents.

The names below are loaded on first use: importing the package costs a hook nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would take a quarter of a quiet hook's own time
if TYPE_CHECKING:
    from typing import Any

    from agentihooks.attribution import unattributed_session_events_total
    from agentihooks.engine import (
        Engine,
        attribute,
        observe_transcript,
        record_scope,
        scope_at,
        transitions,
    )
    from agentihooks.errors import AgentihooksError, LogBusy, NotATranscript, PluginFault, ScopeRefused
    from agentihooks.event import Attribution, Event
    from agentihooks.grant import SessionGrant
    from agentihooks.model import Scope, Transition

__version__ = "0.1.0"

_HOMES = {
    "agentihooks.engine": (
        "Engine",
        "attribute",
        "observe_transcript",
        "record_scope",
        "scope_at",
        "transitions",
    ),
    "agentihooks.attribution": ("unattributed_session_events_total",),
    "agentihooks.errors": ("AgentihooksError", "LogBusy", "NotATranscript", "PluginFault", "ScopeRefused"),
    "agentihooks.event": ("Attribution", "Event"),
    "agentihooks.grant": ("SessionGrant",),
    "agentihooks.model": ("Scope", "Transition"),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order of the data path
    "record_scope",
    "scope_at",
    "attribute",
    "transitions",
    "observe_transcript",
    "unattributed_session_events_total",
    "Engine",
    "Scope",
    "Transition",
    "Event",
    "Attribution",
    "SessionGrant",
    "ScopeRefused",
    "AgentihooksError",
    "LogBusy",
    "NotATranscript",
    "PluginFault",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'agentihooks' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
