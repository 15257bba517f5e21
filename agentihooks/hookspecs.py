"""
Every hook a plugin can implement.

All of them may be called more than once with the same input. A hook that raises is logged under its plugin's name
and passed over; it never stops an agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from agentihooks.doctor import Finding
    from agentihooks.hook_settings import HookSettings, SettingsScope
    from agentihooks.model import HookEvent
    from agentihooks.outgoing import Delivery, Outgoing
    from agentihooks.transcript import Reader, TranscriptFile

hookspec = pluggy.HookspecMarker("agentihooks")
hookimpl = pluggy.HookimplMarker("agentihooks")


@hookspec(firstresult=True)
def agentihooks_open_transcript(path: str, head: Sequence[Mapping[str, Any]]) -> Reader | None:
    """
    Recognise a transcript from its first readable lines, and return a reader for it.

    Called once for each file that is to be read. The first plugin that does not return None reads the file.

    Args:
        path: The file. What lies beside it may be looked at; its name proves nothing.
        head: The first JSON objects of the file, decoded: up to eight, at least one.

    Returns:
        A fresh reader, or None if this is not a transcript of the plugin's agent.
    """


@hookspec
def agentihooks_find_transcripts(environ: Mapping[str, str], session_id: str) -> Iterable[TranscriptFile]:
    """
    List the agent's transcripts on this machine, in any order.

    Called to show the newest sessions, to sweep all of them, and to find one that has moved. All results count.

    Args:
        environ: The environment; it names the agent's folders and HOME.
        session_id: List this session's files only; "" lists every session's.

    Returns:
        One value for each file of a main chain or a subagent. A missing folder gives none.
    """


@hookspec
def agentihooks_find_subagents(path: str, session_id: str) -> Iterable[str]:
    """
    List the transcripts of the subagents that a session started.

    Called after the session's own transcript was read. All results count.

    Args:
        path: The session's main transcript.
        session_id: The session as its entries name it.

    Returns:
        The files, nested subagents included, in any order; empty if the plugin does not know the session.
    """


@hookspec(firstresult=True)
def agentihooks_parse_payload(payload: Mapping[str, Any]) -> HookEvent | None:
    """
    Put a hook's payload into the engine's words.

    Called once for each event, on the plugin that the command line names, and on no other.

    Args:
        payload: The JSON object that the agent wrote. Nothing in it is promised, not even a type.

    Returns:
        The event, or None if there is nothing in it for the engine.
    """


@hookspec(firstresult=True)
def agentihooks_session_of_shell(environ: Mapping[str, str]) -> str | None:
    """
    Name the session in whose shell a command runs.

    Called by commands that an agent may run itself, on every plugin until one answers.

    Args:
        environ: The command's environment.

    Returns:
        The session's id, or None if this is not a shell of the plugin's agent.
    """


@hookspec
def agentihooks_examine(environ: Mapping[str, str]) -> Iterable[Finding]:
    """
    Say whether the agent's hooks are in place, and whether the agent will run them.

    Called by `agentihooks doctor`. All results count.

    Args:
        environ: The environment; it names the agent's folders and HOME.

    Returns:
        Findings; none if the agent is not on this machine.
    """


@hookspec
def agentihooks_accept_markers(markers: Sequence[Outgoing], home: str, environ: Mapping[str, str]) -> bool | None:
    """
    Take attributed markers, and have them for good before returning.

    The bundled outbox is called at the end of a turn, before the engine moves on in the transcript. Another plugin is
    called for each marker when its own outbox is drained by command, if `AGENTIHOOKS_SINKS` names it: what strangers
    do must not keep an agent waiting. A marker may come twice, under the same `idempotency_key`.

    Args:
        markers: In the order in which they were written; at least one.
        home: The engine's home directory.
        environ: The environment.

    Returns:
        True if all of them are durable. Anything else, and raising, means that they have to come again.
    """


@hookspec
def agentihooks_deliver_markers(home: str, environ: Mapping[str, str], budget_s: float) -> Delivery | None:
    """
    Send on what `agentihooks_accept_markers` has put by.

    Called at the end of a turn, while the agent waits, and only of the bundled plugins. Nothing may be lost by it.

    Args:
        home: The engine's home directory.
        environ: The environment.
        budget_s: How many seconds it may take.

    Returns:
        What came of it, or None if nothing waits.
    """


@hookspec
def agentihooks_hook_settings(environ: Mapping[str, str], scope: SettingsScope, folder: Path) -> HookSettings | None:
    """
    Say where the agent keeps its hooks, and which events the engine wants from it.

    Called by `agentihooks install` and `uninstall`, on the plugin that they name, and on no other. What differs from
    the last answer is changed in the file at the next install.

    Args:
        environ: The environment; it names the agent's folders and HOME.
        scope: "user" for the user's own settings file, "project" for that of one folder.
        folder: That folder, absolute; without a meaning for "user".

    Returns:
        The settings file and the events, or None if the agent has no settings file for *scope*.
    """
