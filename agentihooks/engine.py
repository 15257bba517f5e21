"""
The engine bound to one log: the public verbs, and the same as functions on the home directory.

    hook payload, transcript, orchestrator -> record -> scope log -> scope_at -> attribute
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from agentihooks.clock import instant, instant_or_none, now
from agentihooks.cursor import Cursor, Cursors, point_at
from agentihooks.errors import NotATranscript
from agentihooks.home import cursor_directory, home_directory, scope_log_directory
from agentihooks.log import LOCK_TIMEOUT_S, FileLog, MemoryLog, ScopeLog, locked
from agentihooks.model import Scope, Transition
from agentihooks.observe import TICK, Observer, Surroundings, place
from agentihooks.record import admit, decide, unsafe_session_id
from agentihooks.session_ids import agent_session_id, is_safe_session_id
from agentihooks.transcript import Lines, head, open_binary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Self

    from agentihooks.event import Attribution, Event
    from agentihooks.files import FilePath
    from agentihooks.grant import SessionGrant
    from agentihooks.identity import Identity
    from agentihooks.observe import Observation
    from agentihooks.plugins import Plugins
    from agentihooks.transcript import Entry, Reader


class Companion(Protocol):
    """Somebody who reads a transcript along with the engine, so that each entry is decoded once."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the state that the last pass ended with; empty at the beginning, or if it cannot be trusted."""

    def see(self, entry: Entry) -> bool:
        """Take the next entry, in file order; return whether this pass should end behind its line."""

    def finish(self) -> None:
        """Make durable what came of it. If this raises, the next pass hands over the same entries again."""

    def state(self) -> dict[str, Any]:
        """Return, as JSON values, what the next pass has to know."""


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """What came of reading a transcript: how many transitions were recorded, and what was passed over, by reason."""

    recorded: int
    skipped: Counter[str]


class Engine:
    """
    The engine on one scope log. Orchestrators that work with several homes hold several.

    Threads may share one; so may processes share a home.

    Args:
        log: Where transitions are kept.
        cursors: Where passes over transcripts leave off; None reads each transcript from its beginning.
        plugins: The agents whose transcripts can be read; by default every installed plugin, found when needed.
        clock: Tells the present instant.
    """

    def __init__(
        self,
        log: ScopeLog,
        cursors: Cursors | None = None,
        plugins: Plugins | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self.log = log
        self._cursors = cursors
        self._plugins = plugins
        self._clock = clock

    @classmethod
    def at_home(cls, home: FilePath, plugins: Plugins | None = None) -> Self:
        """Return an engine on the scope logs under the directory *home*, which need not exist yet."""
        home = os.fspath(home)
        return cls(FileLog(scope_log_directory(home)), Cursors(cursor_directory(home)), plugins)

    @classmethod
    def in_memory(cls) -> Self:
        """Return an engine that keeps everything in memory and writes nothing."""
        return cls(MemoryLog())

    @property
    def plugins(self) -> Plugins:
        """The plugins in use."""
        if self._plugins is None:
            from agentihooks.plugins import Plugins

            self._plugins = Plugins.installed()
        return self._plugins

    def record_scope(
        self,
        session_id: str,
        scope: Scope | Mapping[str, Any],
        at: str | datetime,
        grant: SessionGrant | Iterable[str] | None = None,
    ) -> Transition | None:
        """
        Record that *scope* came into force in a session at the instant *at*.

        Recording the same again, at any later time, changes nothing; so does a scope that is in force already.

        Args:
            session_id: The agent's own id: 1 to 128 letters, digits, `.`, `_`, `-`.
            scope: A `Scope`, or a mapping with its field names.
            at: ISO 8601 text (naive is UTC), kept verbatim, or a datetime.
            grant: The projects the session may name; None enforces nothing.

        Returns:
            The transition, durable on disk; None if nothing needed writing.

        Raises:
            ScopeRefused: By its `code`: `unsafe_session_id`, `bad_scope`, `outside_grant`, `bad_time` (of these not
                even a directory is created), `older_transition`, `older_revision`.
            LogBusy: Another process holds the log's lock.
            OSError: The log cannot be read or written.
        """
        scope, text, moment = admit(session_id, scope, at, grant)
        with self.log.writing(session_id) as writer:
            transition = decide(writer, session_id, scope, text, moment)
            if transition is not None:
                writer.append([transition])
        return transition

    def amend_scope(
        self,
        session_id: str,
        change: Callable[[Transition | None], Scope],
        at: datetime,
        grant: SessionGrant | Iterable[str] | None = None,
    ) -> Transition | None:
        """
        Record a scope that is made from the one in force, at *at* or at the earliest instant the log admits after it.

        For whoever records what is so now: a clock that was set back must not lose it.

        Args:
            session_id: As for `record_scope`.
            change: Gets the latest transition, None if there is none, and returns the new scope. Called under the lock.
            at: The present instant.
            grant: As for `record_scope`.

        Returns:
            The transition, durable on disk; None if nothing needed writing.

        Raises:
            ScopeRefused: As for `record_scope`, but for `older_transition`.
            LogBusy: Another process holds the log's lock.
            OSError: The log cannot be read or written.
        """
        admit(session_id, {}, at, None)
        with self.log.writing(session_id) as writer:
            latest = writer.latest
            wanted = Scope.of(change(latest))
            admitted: str | datetime = at
            if latest is not None and at <= (earliest := instant(latest.at)):
                # Back again within one instant would be a replay; the log admits it an instant later.
                is_return = wanted != latest.scope and writer.history.holds(earliest, wanted)
                admitted = earliest + TICK if is_return else latest.at
            scope, text, moment = admit(session_id, wanted, admitted, grant)
            transition = decide(writer, session_id, scope, text, moment)
            if transition is not None:
                writer.append([transition])
        return transition

    def scope_at(self, session_id: str, at: str | datetime) -> Scope | None:
        """
        Return the scope in force for a session at the instant *at*.

        A transition is in force from its own instant on. Writes nothing.

        Args:
            session_id: The agent's own id; one the log could not hold has no scope.
            at: ISO 8601 text or a datetime; compared in UTC, microseconds. Naive is UTC.

        Returns:
            The scope, or None if no transition precedes *at* or *at* is not a time.

        Raises:
            OSError: The log exists and cannot be read.
        """
        moment = instant_or_none(at)
        if moment is None:
            return None
        history = self.log.history(session_id)
        index = history.in_force(moment)
        return history.transitions[index].scope if index >= 0 else None

    def attribute(
        self,
        session_id: str,
        events: Iterable[Event | Mapping[str, Any]],
        grant: SessionGrant | Iterable[str] | None = None,
    ) -> list[Attribution]:
        """
        Return what each event of a session belongs to, in the order of *events*. Writes nothing.

        An event of a subagent takes the subagent's own scope; where that has none in force, the session's.

        Args:
            session_id: The agent's own id; with one the log could not hold, no event has a scope.
            events: `Event`s, or mappings `{"at": ..., "attrs": {...}}`, optionally with `agent_id`. An unreadable
                time gives `unknown`.
            grant: The projects that the events may name themselves; None enforces nothing.

        Raises:
            TypeError: An event is neither.
            OSError: The log exists and cannot be read.
        """
        from agentihooks.attribution import attribute_events

        return attribute_events(
            events,
            self.log.history(session_id),
            lambda agent_id: self.log.history(agent_session_id(session_id, agent_id)),
            grant,
        )

    def transitions(self, session_id: str) -> list[Transition]:
        """
        Return the session's transitions in the order of its log; an id the log could not hold has none.

        Raises:
            OSError: The log exists and cannot be read.
        """
        return list(self.log.history(session_id).transitions)

    def observe_transcript(self, session_id: str, path: FilePath, environ: Mapping[str, str] | None = None) -> int:
        """
        Record the moves that a transcript tells of: a transition where an entry's folder or branch changed.

        Observations know nothing of tasks: swarm, task, revision and lane stay those in force at that instant, and
        only where nothing is in force does the environment fill them in. Of the file's entries only those of
        *session_id* count. A subagent's moves go to its own log, `<session_id>.agent-<agent_id>`. Observing again
        records nothing, and reads only what was appended since.

        Args:
            session_id: The session whose entries to take.
            path: A transcript of any agent that a plugin knows.
            environ: By default the process's.

        Returns:
            How many transitions were recorded.

        Raises:
            ScopeRefused: `unsafe_session_id`.
            NotATranscript: No plugin recognises the file.
            LogBusy: Another process holds a lock.
            OSError: The file or the log cannot be read or written.
        """
        if not is_safe_session_id(session_id):
            raise unsafe_session_id()
        return self.read_on(session_id, path, os.environ if environ is None else environ).recorded

    def read_on(  # noqa: C901, PLR0912 - one pass, told in one piece
        self,
        session_id: str,
        path: FilePath,
        environ: Mapping[str, str],
        companion: Companion | None = None,
        *,
        records: bool = True,
    ) -> Pass:
        """
        Read what was appended to a transcript since the last pass; see `observe_transcript`.

        Args:
            session_id: The session whose entries to take.
            path: The transcript.
            environ: Fills in the task where none is in force.
            companion: Reads along, from where it left off itself. Only when it has finished, after the transitions
                were recorded, does its place move on.
            records: Whether to record moves; if not, a later pass does.

        Raises:
            Exception: As `observe_transcript`, and whatever the companion raises.
        """
        reader = open_reader(path, self.plugins)
        with ExitStack() as stack:
            if self._cursors is not None:
                stack.enter_context(locked(self._cursors.lock_path(session_id), LOCK_TIMEOUT_S))
            file = stack.enter_context(open_binary(path))
            cursor = Cursor() if self._cursors is None else self._cursors.load(session_id, file)
            points = ([cursor.observed] if records else []) + ([cursor.followed] if companion is not None else [])
            begin = min(points, key=lambda point: point.offset, default=cursor.observed)
            file.seek(begin.offset)
            if begin.offset:
                reader.restore(begin.reader)
            lines = Lines(file, begin.offset, cut=max((point.offset for point in points), default=0))
            observer = Observer(self._clock())
            if companion is not None:
                companion.restore(cursor.companion)
            observed, followed = cursor.observed.offset, cursor.followed.offset
            entries = reader.entries(lines)
            if companion is None:
                observer.watch(entries if records else ())
            else:
                taken: list[str] = []
                for entry in entries:
                    if records and (lines.offset > observed or lines.is_at_open_end):
                        observer.see(entry)
                    is_new = lines.offset > followed
                    if lines.is_at_open_end:
                        # This line comes again, whole. What has no id to be known by is left to that time.
                        is_new = entry.entry_id != ""
                        taken += [entry.entry_id] * is_new
                    if is_new and entry.entry_id not in cursor.taken and companion.see(entry):
                        lines.stop()
                cursor.taken = taken
            reader.skipped += Counter(untimed=observer.untimed)
            recorded = self.place(session_id, observer.observations, environ, reader.skipped, cursor.positions)
            if companion is not None:
                companion.finish()
                cursor.companion = companion.state()
            end = point_at(file, lines.offset, reader.state())
            if records and end.offset > cursor.observed.offset:
                cursor.observed = end
            if companion is not None and end.offset > cursor.followed.offset:
                cursor.followed = end
            skipped = reader.skipped + lines.skipped
            cursor.skipped = dict(skipped + Counter(cursor.skipped))
            if self._cursors is not None:
                self._cursors.save(session_id, file, cursor)
        if records and lines.is_stopped:
            # The companion has enough for now; the moves behind it are wanted all the same.
            rest = self.read_on(session_id, path, environ)
            return Pass(recorded=recorded + rest.recorded, skipped=skipped + rest.skipped)
        return Pass(recorded=recorded, skipped=skipped)

    def finish_ahead(self, session_id: str, companion: Companion) -> None:
        """
        Let a companion finish that is ahead of the session's transcript: there is none yet, or none that can be read.

        Raises:
            Exception: Whatever the companion raises.
            LogBusy: Another process holds the lock.
            OSError: The companion's state cannot be written.
        """
        with ExitStack() as stack:
            if self._cursors is not None:
                stack.enter_context(locked(self._cursors.lock_path(session_id), LOCK_TIMEOUT_S))
            cursor = Cursor() if self._cursors is None else self._cursors.load(session_id, None)
            companion.restore(cursor.companion)
            companion.finish()
            cursor.companion = companion.state()
            if self._cursors is not None:
                self._cursors.save(session_id, None, cursor)

    def place(
        self,
        session_id: str,
        observations: Mapping[tuple[str, str], Sequence[Observation]],
        environ: Mapping[str, str],
        skipped: Counter[str],
        positions: dict[str, int],
    ) -> int:
        """
        Lay a session's observations into the logs of its emitters, the main chain's first: subagents work on its task.

        Args:
            session_id: The session; observations of others are only counted.
            observations: By session and subagent id, as an `Observer` gathers them.
            environ: Fills in the task where none is in force.
            skipped: Counts what could not be used.
            positions: Where the walk along each emitter's log stands, by subagent id; is brought up to date.

        Returns:
            How many transitions were recorded.
        """
        identities: dict[str, Identity | None] = {}

        def identity(cwd: str) -> Identity | None:
            from agentihooks.identity import identify

            if cwd not in identities:
                # What a relative path means is known to the agent alone; here it would be this process's own folder.
                identities[cwd] = identify(cwd, environ) if os.path.isabs(cwd) else None
            return identities[cwd]

        recorded = 0
        for (of_session, agent_id), moves in sorted(observations.items()):
            own_id = agent_session_id(session_id, agent_id)
            if of_session != session_id or not is_safe_session_id(own_id):
                skipped["session"] += len(moves)
                continue
            surroundings = Surroundings(
                environ=environ,
                identify=identity,
                histories=[self.log.history(session_id)] if agent_id else [],
            )
            with self.log.writing(own_id) as writer:
                transitions, positions[agent_id] = place(
                    own_id, moves, writer.history, surroundings, positions.get(agent_id, -1)
                )
                if transitions:
                    writer.append(transitions)
            recorded += len(transitions)
        return recorded


def open_reader(path: FilePath, plugins: Plugins) -> Reader:
    """
    Return a fresh reader for the transcript *path*, by the plugin that recognises it.

    Raises:
        NotATranscript: It holds nothing readable, or no plugin knows it.
        OSError: It cannot be read; a directory cannot.
    """
    objects = head(path)
    if not objects:
        raise NotATranscript(os.fspath(path), "no transcript: it holds no readable JSON line")
    reader: Reader | None = plugins.first("agentihooks_open_transcript", path=os.fspath(path), head=objects)
    if reader is None:
        raise NotATranscript(
            os.fspath(path),
            f"no transcript of an agent known here ({', '.join(plugins.names('agentihooks_open_transcript'))})",
        )
    return reader


_engines: dict[str, Engine] = {}


def engine_at(home: FilePath) -> Engine:
    """Return this process's engine for *home*: one for each, so that what it has read of the logs is kept."""
    engine = _engines.get(os.fspath(home))
    if engine is None:
        engine = _engines[os.fspath(home)] = Engine.at_home(home)
    return engine


def _engine() -> Engine:
    return engine_at(home_directory(os.environ))


def record_scope(
    session_id: str,
    scope: Scope | Mapping[str, Any],
    at: str | datetime,
    grant: SessionGrant | Iterable[str] | None = None,
) -> Transition | None:
    """Record that *scope* came into force in a session at *at*, under the home directory. See `Engine.record_scope`."""
    return _engine().record_scope(session_id, scope, at, grant)


def scope_at(session_id: str, at: str | datetime) -> Scope | None:
    """Return the scope in force for a session at *at*, by the home directory's log. See `Engine.scope_at`."""
    return _engine().scope_at(session_id, at)


def attribute(
    session_id: str,
    events: Iterable[Event | Mapping[str, Any]],
    grant: SessionGrant | Iterable[str] | None = None,
) -> list[Attribution]:
    """Return what each event belongs to, by the home directory's log. See `Engine.attribute`."""
    return _engine().attribute(session_id, events, grant)


def transitions(session_id: str) -> list[Transition]:
    """Return the session's transitions, by the home directory's log. See `Engine.transitions`."""
    return _engine().transitions(session_id)


def observe_transcript(session_id: str, path: FilePath, environ: Mapping[str, str] | None = None) -> int:
    """Record the moves that a transcript tells of, under the home directory. See `Engine.observe_transcript`."""
    return _engine().observe_transcript(session_id, path, environ)
