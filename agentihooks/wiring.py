"""
Whether an agent's hooks stand in its settings, are those of this version, and call a program that is there.

For the plugins' `agentihooks_examine`. What only one agent has, such as a trust in hooks, is its plugin's affair.
"""

from __future__ import annotations

import json
import shlex
import shutil
from datetime import timedelta
from typing import TYPE_CHECKING

from agentihooks import session_state
from agentihooks.clock import now
from agentihooks.doctor import Finding
from agentihooks.home import home_directory
from agentihooks.hook_settings import groups, installed, merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentihooks.hook_settings import HookSettings

FIRES_WITHIN = timedelta(days=7)
"""Hooks whose agent was heard of since are not taken to be missing."""


def hooks_in_place(agent: str, environ: Mapping[str, str], *settings: HookSettings) -> Iterator[Finding]:
    """
    Yield what is to be said of an agent's hooks; nothing if the agent has no folder on this machine.

    Args:
        agent: The plugin's name.
        environ: The environment.
        settings: The files that the agent reads hooks from, the user's own first.

    Raises:
        OSError: A file is there and cannot be read.
    """
    if not settings[0].path.parent.is_dir():
        return
    files = {each.path.resolve(): each for each in settings}
    findings = [finding for each in files.values() for finding in _file(agent, each)]
    yield from findings
    if findings:
        return
    about, text = f"{agent} hooks", f"none in {settings[0].path}"
    if last_heard(agent, environ) > (now() - FIRES_WITHIN).timestamp():
        yield Finding(level="note", about=about, text=f"{text}, but they fire: they stand elsewhere, as in a plugin")
    else:
        yield Finding(level="problem", about=about, text=text, advice=f"agentihooks install {agent}")


def last_heard(agent: str, environ: Mapping[str, str]) -> float:
    """Return when a hook of *agent* fired last, in seconds since the epoch; 0 if none ever did."""
    known = session_state.known(home_directory(environ))
    return max((heard_at for _, state, heard_at in known if state.get("agent") == agent), default=0.0)


def _file(agent: str, settings: HookSettings) -> Iterator[Finding]:
    about, path, advice = f"{agent} hooks", settings.path, f"agentihooks install {agent}"
    try:
        text = path.read_bytes().decode()
        ours = installed(text, agent)
    except (FileNotFoundError, NotADirectoryError):
        return
    except ValueError as error:
        yield Finding(level="problem", about=about, text=f"{path}: {error}", advice="repair it, then look again")
        return
    if not ours:
        return
    program = _program(next(iter(ours.values()))["hooks"][0])
    if shutil.which(program[0]) is None:
        yield Finding(level="problem", about=about, text=f"{path} calls {program[0]}, which is gone", advice=advice)
    elif merge(text, agent, groups(settings, agent, program)) != text:
        yield Finding(level="note", about=about, text=f"{path} has those of another version", advice=advice)
    elif not _is_plain(text):
        hint = "take comments, a last comma and a byte order mark out of it"
        yield Finding(level="problem", about=about, text=f"{path} is more than JSON: it is passed over", advice=hint)
    else:
        yield Finding(level="ok", about=about, text=f"{len(ours)} events in {path}")


def _program(handler: Mapping[str, object]) -> tuple[str, ...]:
    """Return the words of a handler of ours, without those that the hook is called with."""
    command, args = str(handler["command"]), handler.get("args")
    words = [command, *map(str, args)] if isinstance(args, list) else shlex.split(command)
    return tuple(words[:-2])


def _is_plain(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
