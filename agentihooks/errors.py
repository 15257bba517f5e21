"""
Everything that the engine raises.

    AgentihooksError
    ├── ScopeRefused (ValueError)   understood, and declined: the caller has to do something else
    ├── NotATranscript (ValueError) a file that no plugin can read
    ├── BadSettings (ValueError)    an agent's settings file that cannot be edited safely
    ├── LogBusy (OSError)           another process holds the log's lock for too long
    └── PluginFault                 a plugin raised, or is not a plugin
"""

from __future__ import annotations

from typing import Literal

RefusalCode = Literal[
    "unsafe_session_id",
    "bad_scope",
    "outside_grant",
    "bad_time",
    "older_transition",
    "older_revision",
]


class AgentihooksError(Exception):
    """The base of every error the engine raises on purpose."""


class ScopeRefused(AgentihooksError, ValueError):  # noqa: N818 - a refusal is an answer, not a malfunction
    """
    The engine understood a scope and declines to record it; nothing was written.

    `code` is stable and meant for programs; the message says what to do, and never names a refused project.
    """

    def __init__(self, code: RefusalCode, message: str) -> None:
        super().__init__(code, message)
        self.code: RefusalCode = code
        self.message = message

    def __str__(self) -> str:
        return self.message


class NotATranscript(AgentihooksError, ValueError):  # noqa: N818 - named for what the file is
    """A file exists, and no plugin recognises it as an agent's transcript."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class BadSettings(AgentihooksError, ValueError):  # noqa: N818 - named for what the file is
    """An agent's settings file is not what it should be; it was left as it is."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class LogBusy(AgentihooksError, OSError):  # noqa: N818 - named for the log's state
    """The lock of a scope log was not to be had within the time allowed; nothing was written."""

    def __init__(self, path: str, waited_s: float) -> None:
        super().__init__(path, waited_s)
        self.path = path
        self.waited_s = waited_s

    def __str__(self) -> str:
        return f"{self.path} is locked by another process (waited {self.waited_s:g} s); try again"


class PluginFault(AgentihooksError):  # noqa: N818 - the plugin's fault, not the engine's error
    """A plugin raised, cannot be imported, or implements a hook that does not exist."""

    def __init__(self, plugin: str, reason: str) -> None:
        super().__init__(plugin, reason)
        self.plugin = plugin
        self.reason = reason

    def __str__(self) -> str:
        return f"plugin {self.plugin}: {self.reason}"
