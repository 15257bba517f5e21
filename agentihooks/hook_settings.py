"""
The engine's hooks in the text of an agent's settings: put in, brought up to date, taken out. No I/O.

Claude Code and Codex know the same shape: `{"hooks": {EVENT: [{"matcher": M, "hooks": [HANDLER]}]}}`, the matcher
optional. Ours is a group of its own, behind the others: Codex remembers by position which handlers it trusts.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import attrs

from agentihooks import jsonc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentihooks.jsonc import Node

PROGRAM = "agentihooks"

SettingsScope = Literal["user", "project"]
"""Whose sessions a settings file is for: all of the user's, or those in one folder."""

Groups = dict[str, dict[str, Any]]
"""Event -> our group of handlers, as JSON."""


@attrs.frozen
class Subscription:
    """An event that an agent is to report; `timeout_s` ends the hook, `matcher` narrows the tools (None: all)."""

    event: str
    timeout_s: int
    matcher: str | None = None


@attrs.frozen(kw_only=True)
class HookSettings:
    """
    Where an agent keeps its hooks, and which events the engine wants.

    `path` need not exist. `note` says in a sentence or two what a person has to do once the hooks are in; "" for
    nothing.
    """

    path: Path
    subscriptions: tuple[Subscription, ...]
    note: str = ""


def groups(settings: HookSettings, agent: str, program: tuple[str, ...]) -> Groups:
    """
    Return the handlers that belong into a settings file: one for each event, all with the same command.

    The command is a line for a shell. Claude Code runs `args` without one, but earlier versions than 2.1.139 pass over
    them and run the bare program; Codex has no such thing.
    """
    command = shlex.join([*program, "hook", agent])
    return {
        each.event: ({} if each.matcher is None else {"matcher": each.matcher})
        | {"hooks": [{"type": "command", "command": command, "timeout": each.timeout_s}]}
        for each in settings.subscriptions
    }


def installed(text: str, agent: str) -> Groups:
    """
    Return the handlers of ours in a settings file, the first of each event. Others' in the same group are left out.

    Raises:
        json.JSONDecodeError: The text is not JSON.
    """
    found: Groups = {}
    for place in _ours(_root(text), agent):
        found.setdefault(place.name, {**place.group.plain(), "hooks": [place.handler.plain()]})
    return found


def merge(text: str, agent: str, wanted: Groups, original: str = "") -> str:
    """
    Return a settings file's *text* with the handlers *wanted* and no others of ours.

    One that is there already, under another path or with another timeout, is replaced where it stands. What is not
    ours stays as it is, to the character.

    Args:
        text: The settings; "" for a file that is empty or does not exist.
        agent: Whose hooks they are.
        wanted: The handlers to put in.
        original: The text before the first install. Whatever else held a handler that goes now, goes with it if
            nothing is left in it, and if the original did not have it.

    Raises:
        json.JSONDecodeError: It is not JSON, or its hooks have another shape; the error says where.
    """
    text = "{}\n" if _is_blank(text) else text
    _check_shape(text, wanted)
    for event, group in wanted.items():
        root = jsonc.parse(text)
        hooks = root.get("hooks")
        event_groups = hooks.get(event) if hooks else None
        ours = next((place for place in _ours(root, agent) if place.name == event and place.matches(group)), None)
        if ours:
            if ours.handler.plain() != group["hooks"][0]:
                text = jsonc.replace(text, ours.handler, group["hooks"][0])
        elif event_groups:
            text = jsonc.append(text, event_groups, group)
        elif hooks:
            text = jsonc.append(text, hooks, [group], event)
        else:
            text = jsonc.append(text, root, {event: [group]}, "hooks")
    return _drop(text, agent, original, wanted)


def remove(text: str, agent: str, original: str = "") -> str:
    """
    Return a settings file's *text* without the handlers of ours.

    That is *original*, to the character, if nothing but an install has happened to it. Otherwise our handlers are
    taken out one by one; see `merge` for what goes with them.

    Raises:
        json.JSONDecodeError: One of the texts is not JSON.
    """
    ours = installed(text, agent)
    if ours and not installed(original, agent) and merge(original, agent, ours) == text:
        return original
    return _drop(text, agent, original, {})


class _Place(NamedTuple):
    """A handler of ours, and what it stands in."""

    hooks: Node
    event: Node
    group: Node
    handlers: Node
    handler: Node

    @property
    def name(self) -> str:
        return str(self.event.key)

    def matches(self, group: Mapping[str, Any]) -> bool:
        """Whether it stands under the matcher of *group*; none, null, "" and "*" are one to the agents."""
        return (self.group.plain().get("matcher") or "*") == (group.get("matcher") or "*")


def _is_blank(text: str) -> bool:
    return not text.strip(" \t\r\n")


def _root(text: str) -> Node:
    return jsonc.parse("{}" if _is_blank(text) else text)


def _ours(root: Node, agent: str) -> Iterator[_Place]:
    """Yield the handlers of ours; whatever has another shape is another's."""
    hooks = root.get("hooks")
    if hooks is None or not hooks.is_object:
        return
    for event in {item.key: item for item in hooks.items}.values():
        for group in event.items if event.is_array else ():
            handlers = group.get("hooks")
            if handlers and handlers.is_array:
                for handler in handlers.items:
                    if _is_ours(handler.plain(), agent):
                        yield _Place(hooks, event, group, handlers, handler)


def _is_ours(handler: Any, agent: str) -> bool:
    """Return whether a handler runs `agentihooks hook AGENT`, from anywhere, and does nothing besides."""
    command, args = (handler.get("command"), handler.get("args")) if isinstance(handler, dict) else (None, None)
    if not isinstance(command, str):
        return False
    try:
        words = [command, *map(str, args)] if isinstance(args, list) else shlex.split(command)
    except ValueError:  # quotation marks that do not close
        return False
    program, arguments = words[:-2], words[-2:]
    is_program = program[1:] in ([], ["-m", PROGRAM], ["-P", "-m", PROGRAM])
    return arguments == ["hook", agent] and is_program and Path(*program[-1:]).name == PROGRAM


def _drop(text: str, agent: str, original: str, wanted: Groups) -> str:
    """Return *text* without our handlers, but for the first that each wanted event has under the wanted matcher."""
    had_hooks = _root(original).get("hooks")
    while place := _surplus(_root(text), agent, wanted):
        container, item = place.handlers, place.handler
        if jsonc.is_alone(text, place.handlers):
            container, item = place.event, place.group
            if jsonc.is_alone(text, place.event) and not (had_hooks and had_hooks.get(place.name)):
                container, item = place.hooks, place.event
                if jsonc.is_alone(text, place.hooks) and not had_hooks:
                    container, item = _root(text), place.hooks
        text = jsonc.remove(text, container, item)
    return text


def _surplus(root: Node, agent: str, wanted: Groups) -> _Place | None:
    kept = set()
    for place in _ours(root, agent):
        group = wanted.get(place.name)
        if group is None or place.name in kept or not place.matches(group):
            return place
        kept.add(place.name)
    return None


def _check_shape(text: str, wanted: Groups) -> None:
    root = jsonc.parse(text)
    hooks = root.get("hooks")
    if not root.is_object:
        raise json.JSONDecodeError("The settings are not an object", text, root.at)
    if hooks and not hooks.is_object:
        raise json.JSONDecodeError('"hooks" is not an object', text, hooks.at)
    for event in wanted:
        if hooks and (listed := hooks.get(event)) and not listed.is_array:
            raise json.JSONDecodeError(f'"{event}" is not an array', text, listed.at)
