"""
What a transcript's session worked on, and what happened under each scope: the values behind `agentihooks attribute`.

A transcript is read twice: once for the history, once to hold its events against it. Neither pass keeps the file.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import attrs

from agentihooks.clock import instant_or_none, now
from agentihooks.engine import Engine, open_reader
from agentihooks.event import LABELS, Event
from agentihooks.harvest import granted
from agentihooks.marker import MarkerScanner
from agentihooks.observe import Observer
from agentihooks.session_ids import agent_session_id
from agentihooks.transcript import Lines, open_binary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agentihooks.files import FilePath
    from agentihooks.plugins import Plugins
    from agentihooks.transcript import Entry

KINDS = ("prompt", "message", "tool", "marker")
"""The kinds of event that are counted."""

_BATCH = 1000
_BEGINNING = datetime.min.replace(tzinfo=UTC)

Emitter = tuple[str, str]
"""A session id and a subagent id, "" for the session's main chain."""


@attrs.define(kw_only=True)
class Stretch:
    """
    A time under one scope. `begin` and `end` are times as written, "" where there is none; `end` is exclusive.

    `last_event` is the time of the latest event in it.
    """

    begin: str = ""
    end: str = ""
    last_event: str = ""
    scope: dict[str, str] = attrs.field(factory=dict)
    events: Counter[str] = attrs.field(factory=Counter)
    labels: Counter[str] = attrs.field(factory=Counter)


@attrs.define(kw_only=True)
class EmitterReport:
    """One main chain or subagent: its history, in the order of time, with what it did in each stretch."""

    session_id: str
    agent_id: str = ""
    path: str = ""
    is_recorded: bool = False
    """Whether the history is the recorded log's; else it was read from the transcript."""
    stretches: list[Stretch] = attrs.field(factory=list)


@attrs.define(kw_only=True)
class TranscriptReport:
    """One transcript and those of its subagents. The labels add up to the number of events."""

    path: str
    agent: str
    emitters: list[EmitterReport] = attrs.field(factory=list)
    events: int = 0
    labels: dict[str, int] = attrs.field(factory=dict)
    skipped: dict[str, int] = attrs.field(factory=dict)


def report(path: FilePath, recorded: Engine, plugins: Plugins, environ: Mapping[str, str]) -> TranscriptReport:
    """
    Attribute everything in the transcript *path*, and in the files of the subagents it started. Writes nothing.

    Args:
        path: The transcript.
        recorded: Its logs are used for the sessions that have one; the others' history is read from the file.
        plugins: The agents that can be read.
        environ: Fills in the task where a transcript's history has none.

    Raises:
        NotATranscript: No plugin recognises the file.
        OSError: It cannot be read.
    """
    path = os.fspath(path)
    tally = _Tally(recorded, plugins, environ)
    agent = tally.read(path)
    for session_id in list(dict.fromkeys(session_id for session_id, _ in tally.emitters)):
        for found in plugins.each("agentihooks_find_subagents", path=path, session_id=session_id):
            for subagent in sorted(found):
                if os.path.abspath(subagent) != os.path.abspath(path):
                    tally.read(subagent)
    return TranscriptReport(
        path=path,
        agent=agent,
        emitters=[tally.emitters[emitter] for emitter in sorted(tally.emitters, key=tally.order)],
        events=tally.labels.total(),
        labels={label: tally.labels[label] for label in LABELS},
        skipped=dict(sorted(tally.skipped.items())),
    )


class _Tally:
    """Reads one transcript after the other and adds up what happened."""

    def __init__(self, recorded: Engine, plugins: Plugins, environ: Mapping[str, str]) -> None:
        self.emitters: dict[Emitter, EmitterReport] = {}
        self.labels: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self._recorded = recorded
        self._plugins = plugins
        self._environ = environ
        self._engine = Engine.in_memory()
        self._stretches: dict[tuple[Emitter, int], Stretch] = {}
        self._seen: set[tuple[str, str]] = set()

    def order(self, emitter: Emitter) -> tuple[str, str, bool, str, str]:
        """Sort sessions by their beginning, a session's main chain before its subagents, and those likewise."""
        session_id, agent_id = emitter
        return self._begin((session_id, "")), session_id, agent_id != "", self._begin(emitter), agent_id

    def _begin(self, emitter: Emitter) -> str:
        stretches = self.emitters[emitter].stretches if emitter in self.emitters else []
        return stretches[0].begin if stretches else ""

    def read(self, path: str) -> str:
        """Read a transcript twice; return its agent's name."""
        reader = open_reader(path, self._plugins)
        observer = Observer(now())
        sessions: dict[Emitter, None] = {}
        with open_binary(path) as file:
            lines = Lines(file)
            for entry in reader.entries(lines):
                sessions[entry.session_id, entry.agent_id] = None
                observer.see(entry)
        reader.skipped += Counter(untimed=observer.untimed)
        for session_id in dict.fromkeys(session_id for session_id, _ in sessions):
            self._history(session_id, observer, reader.skipped)
        self.skipped += reader.skipped + lines.skipped
        for emitter in sorted(sessions, key=lambda emitter: emitter[1]):
            self._emitter(emitter, path)
        with open_binary(path) as file:
            self._count(open_reader(path, self._plugins).entries(Lines(file)))
        return reader.agent

    def _history(self, session_id: str, observer: Observer, skipped: Counter[str]) -> None:
        """Take each emitter's history from its log; where there is none, from what was observed."""
        observed = {}
        for emitter, moves in observer.observations.items():
            if emitter[0] != session_id:
                continue
            if not self._take_recorded(*emitter):
                observed[emitter] = moves
        self._take_recorded(session_id, "")
        self._engine.place(session_id, observed, self._environ, skipped, {})

    def _take_recorded(self, session_id: str, agent_id: str) -> bool:
        own_id = agent_session_id(session_id, agent_id)
        history = self._recorded.log.history(own_id)
        if len(history) and not len(self._engine.log.history(own_id)):
            with self._engine.log.writing(own_id) as writer:
                writer.append(history.transitions)
        return len(history) > 0

    def _emitter(self, emitter: Emitter, path: str) -> None:
        if emitter in self.emitters:
            return
        session_id, agent_id = emitter
        own_id = agent_session_id(session_id, agent_id)
        is_recorded = len(self._recorded.log.history(own_id)) > 0
        report = EmitterReport(session_id=session_id, agent_id=agent_id, path=path, is_recorded=is_recorded)
        transitions = self._engine.transitions(own_id)
        for index, transition in enumerate(transitions):
            end = transitions[index + 1].at if index + 1 < len(transitions) else ""
            stretch = Stretch(begin=transition.at, end=end, scope=transition.nonempty())
            self._stretches[emitter, index] = stretch
            report.stretches.append(stretch)
        self.emitters[emitter] = report

    def _count(self, entries: Iterable[Entry]) -> None:
        batch: list[tuple[Emitter, str, Event]] = []
        for item in _events(entries, self._seen):
            batch.append(item)
            if len(batch) == _BATCH:
                self._label(batch)
                batch.clear()
        self._label(batch)

    def _label(self, batch: list[tuple[Emitter, str, Event]]) -> None:
        for session_id in {emitter[0] for emitter, _, _ in batch}:
            own = [item for item in batch if item[0][0] == session_id]
            attributions = self._engine.attribute(session_id, [event for _, _, event in own], granted(self._environ))
            for (emitter, kind, event), attribution in zip(own, attributions, strict=True):
                self.labels[attribution.attribution] += 1
                stretch = self._stretch(emitter, event)
                stretch.events[kind] += 1
                stretch.last_event = _later(stretch.last_event, str(event.at or ""))
                stretch.labels[attribution.attribution] += 1

    def _stretch(self, emitter: Emitter, event: Event) -> Stretch:
        """Return the stretch an event falls into; a first one without a scope if it precedes them all."""
        moment = instant_or_none(event.at) if event.at is not None else None
        index = -1
        if moment is not None:
            index = self._engine.log.history(agent_session_id(*emitter)).in_force(moment)
        stretch = self._stretches.get((emitter, index))
        if stretch is None:
            # Before the emitter's first transition, or at no readable time: a subagent is then where its parent is.
            parent = self._engine.scope_at(emitter[0], moment) if moment is not None and emitter[1] else None
            stretch = Stretch(scope=parent.nonempty() if parent is not None else {})
            self._stretches[emitter, index] = stretch
            self.emitters[emitter].stretches.insert(0, stretch)
        return stretch


def _later(one: str, other: str) -> str:
    """Return the later of two times, of which neither need be one."""
    moment = instant_or_none(other)
    return other if moment is not None and moment > (instant_or_none(one) or _BEGINNING) else one


def _events(entries: Iterable[Entry], seen: set[tuple[str, str]]) -> Iterator[tuple[Emitter, str, Event]]:
    """Yield each thing that was done once: the emitter, the kind of event, and the event."""
    scanners: dict[Emitter, MarkerScanner] = {}
    for entry in entries:
        emitter = entry.session_id, entry.agent_id
        for activity in entry.activities():
            if activity.text:
                scanner = scanners.setdefault(emitter, MarkerScanner())
                for marker in scanner.scan(activity.text, at=entry.at):
                    yield emitter, "marker", Event(at=marker.at, attrs=marker.attrs, agent_id=entry.agent_id)
            if activity.kind == "prompt" and emitter in scanners:
                scanners[emitter].end_turn()
            if activity.id:
                key = activity.kind, activity.id
                if key in seen:
                    continue
                seen.add(key)
            yield emitter, activity.kind, Event(at=entry.at, agent_id=entry.agent_id)
