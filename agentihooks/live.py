"""
What a hook's event asks for, step by step: catch up from the transcript, record where the session is, note who it is.

`hook.main` has found that there is something to do; it also catches what is raised here.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from agentihooks import logbook, session_state
from agentihooks.clock import now
from agentihooks.engine import Engine
from agentihooks.errors import LogBusy, NotATranscript, ScopeRefused
from agentihooks.harvest import Harvest
from agentihooks.home import home_directory, is_rolled_back, project_sessions_path
from agentihooks.log import append_line
from agentihooks.model import TASK_FIELDS, HookEvent, Scope
from agentihooks.observe import place_of, recorded_place, task_fields
from agentihooks.outgoing import Sender
from agentihooks.plugins import BUNDLED, Plugins
from agentihooks.session_ids import agent_session_id, is_safe_session_id
from agentihooks.sinks import deliver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from agentihooks.identity import Identity
    from agentihooks.model import Transition


DRAIN_BUDGET_S = 2.0


class OutOfTime(BaseException):
    """
    A hook used up the time its agent allows; what it had not done, the next one or `agentihooks sweep` does.

    It comes from a signal, wherever that finds the hook: no Exception, as nothing but `hook.main` may catch it.
    """


def handle(agent: str, payload: Mapping[str, Any]) -> None:
    """
    Handle one event of an agent.

    Args:
        agent: The plugin that reads the payload.
        payload: As the agent wrote it.

    Raises:
        Exception: Whatever went wrong; all that could be done before it is done and durable.
    """
    plugins = Plugins.bundled([agent, "outbox"]) if agent in BUNDLED else Plugins.installed()
    home = home_directory()
    try:
        event: HookEvent | None = plugins.of(agent, "agentihooks_parse_payload", payload=payload)
        if event is not None:
            with time_limit(event.budget_s):
                Session(event, agent, home, Engine.at_home(home, plugins)).handle()
        elif not plugins.faults:
            logbook.write(home, "info", "nothing in this payload for the engine", agent=agent)
    finally:
        for fault in plugins.faults:
            logbook.write(home, "error", str(fault), agent=agent, session_id=payload.get("session_id"))


class Session:
    """The session, or subagent, that an event is about, and what is known of it."""

    def __init__(self, event: HookEvent, agent: str, home: str, engine: Engine) -> None:
        # What a relative path means is known to the agent alone; here it would be this process's own folder.
        self._event = event if os.path.isabs(event.cwd) else msgspec.structs.replace(event, cwd="")
        self._agent = agent
        self._home = home
        self._engine = engine
        self._began = now()
        self._own_id = agent_session_id(event.session_id, event.agent_id)
        if not is_safe_session_id(self._own_id):
            raise ValueError("the payload's session id cannot name a log")
        self._state = session_state.read(home, self._own_id)
        self._transcript = event.transcript_path
        self._is_behind = False

    def handle(self) -> None:
        """Do all that the event asks for; a step that fails does not keep the next from being done."""
        steps: list[Callable[[], None]] = []
        is_stop = self._event.kind in ("stop", "end")
        if is_stop:
            steps.append(self._gather)
        elif not is_rolled_back() and (self._event.kind == "start" or self._is_new_subagent()):
            steps.append(self._catch_up)
        if self._event.cwd and not is_rolled_back():
            steps.append(self._record)
        if is_stop and "<!--" in self._event.last_message:
            steps.append(self._gather_ending)
        steps.append(self._note_session)
        if is_stop:
            # Last, since it may use up the time there is.
            steps.append(self._send)
        failures: dict[str, None] = {}
        for step in steps:
            try:
                step()
            except Exception as error:  # noqa: BLE001 - the next step may work all the same
                # `handle` tells the plugins' own faults.
                if error not in self._engine.plugins.faults:
                    failures[f"{type(error).__name__}: {error}"[:2000]] = None
        fields = {"agent": self._agent, "session_id": self._own_id, "hook_event_name": self._event.name}
        for failure in failures:
            logbook.write(self._home, "error", failure, **fields)

    def _is_new_subagent(self) -> bool:
        """Return whether this is a subagent's first event with a place: its first lines are older than this hook."""
        return self._event.agent_id != "" and self._event.cwd != "" and not self._engine.transitions(self._own_id)

    def _catch_up(self) -> None:
        """Read what the transcript says up to now, so that nothing older than a live record is lost to it."""
        path = self._path
        if path is not None:
            self._read_on(path, None)

    def _gather(self) -> None:
        """Read the transcript for moves and markers, and put by what markers there are."""
        path = self._path
        if path is not None:
            self._read_on(path, self._harvest)

    def _gather_ending(self) -> None:
        """Put by the markers of the turn's final text, in the scope it ends in, that the transcript does not have."""
        event = self._event
        self._harvest.tell(event.last_message, event.agent_id.removeprefix("agent-"), now())
        path = self._path
        try:
            if path is not None and self._read_on(path, self._harvest):
                return
        except LogBusy:
            raise
        except (NotATranscript, OSError):
            pass  # as `_gather` has said
        self._engine.finish_ahead(event.session_id, self._harvest)

    @cached_property
    def _harvest(self) -> Harvest:
        sender = Sender.of(self._event.session_id, os.environ, self._event.cwd)
        return Harvest(sender, self._engine, self._home, os.environ, is_preceding=is_rolled_back())

    def _send(self) -> None:
        send(self._engine.plugins, self._home, self._agent, self._harvest, self._began)

    @cached_property
    def _path(self) -> str | None:
        """Return where the transcript is, and keep it for the record: a payload may name a file that is not there."""
        path = find_transcript(self._engine.plugins, self._event)
        self._transcript = path or self._transcript
        return path

    def _read_on(self, path: str, harvest: Harvest | None) -> bool:
        """Return whether there was anything to read: agents name a transcript before there is anything in it."""
        try:
            self._engine.read_on(self._event.session_id, path, os.environ, harvest, records=not is_rolled_back())
        except LogBusy:
            # Somebody else is at it. What happened before now has to be recorded before what is so now.
            self._is_behind = True
            raise
        except NotATranscript:
            if os.path.getsize(path):
                raise
            return False
        return True

    def _record(self) -> None:
        event = self._event
        if self._is_behind:
            return

        def change(latest: Transition | None) -> Scope:
            if event.kind != "start" and latest is not None and latest.cwd == event.cwd:
                return latest.scope
            return self._here(latest, self._task(latest))

        try:
            self._engine.amend_scope(self._own_id, change, now())
        except ScopeRefused as refusal:
            if refusal.code != "older_revision":
                raise
            # The launch names a revision that this session has left behind. Where it is goes on record all the same.
            note_refusal(self._home, self._own_id, refusal)
            self._engine.amend_scope(
                self._own_id, lambda latest: self._here(latest, task_of(latest) if latest else {}), now()
            )

    def _here(self, latest: Transition | None, task: Mapping[str, str]) -> Scope:
        """Return the scope of whoever is in the event's folder now, and works on *task*."""
        cwd, fragment, identity = self._event.cwd, self._event.returns_to, self._identity
        if latest is not None and fragment and fragment in latest.cwd and os.path.isdir(latest.cwd):
            return Scope.of({**latest.scope.as_dict(), **task})
        if identity is not None:
            return Scope(cwd=cwd, branch=identity.branch, **place_of(identity), **task)
        # The folder is gone.
        if latest is not None and latest.cwd == cwd:
            return Scope.of({**latest.scope.as_dict(), **task})
        logs = (self._engine.transitions(own_id) for own_id in (self._own_id, self._event.session_id))
        return Scope(cwd=cwd, **recorded_place(cwd, *logs), **task)

    @cached_property
    def _identity(self) -> Identity | None:
        from agentihooks.identity import identify

        return identify(self._event.cwd)

    def _task(self, latest: Transition | None) -> Mapping[str, str]:
        """Return the task that goes with a move; a launch may bring its own, a compaction is no launch."""
        launched = task_fields(os.environ)
        event = self._event
        is_launch = event.kind == "start" and event.source != "compact" and not event.agent_id
        if latest is not None:
            # A swarm alone, the same as before, is no other task.
            brings_one = launched["task"] != "" or launched["swarm"] not in ("", latest.swarm)
            return launched if is_launch and brings_one else task_of(latest)
        parent = self._engine.log.history(event.session_id).latest if event.agent_id else None
        return task_of(parent) if parent is not None else launched

    def _note_session(self) -> None:
        event = self._event
        state = {
            **self._state,
            "agent": self._agent,
            "event": event.name,
            "quiet_events": event.quiet_events,
            "loud_tools": event.loud_tools,
            # A subagent that has stopped may be resumed: then its next event says so.
            "is_ended": event.kind == "end" or (event.kind == "stop" and event.agent_id != ""),
        }
        if event.cwd:
            state["cwd"] = event.cwd
        if self._transcript:
            state["transcript_path"] = self._transcript
        state.setdefault("started_at", now().isoformat())
        if event.cwd and not event.agent_id:
            row = self._row(state)
            if row != self._state.get("row"):
                append_line(project_sessions_path(self._home), row)
                state["row"] = row
        session_state.write(self._home, self._own_id, state)

    def _row(self, state: Mapping[str, Any]) -> dict[str, str]:
        """Return the session's row in project-sessions.jsonl; a folder's identity is looked up when it is entered."""
        row = {**self._state.get("row", {}), "transcript_path": state.get("transcript_path", "")}
        if row.get("cwd") == self._event.cwd and (self._event.kind != "start" or self._identity is None):
            return row
        identity = self._identity
        return {
            "session_id": self._event.session_id,
            **{name: getattr(identity, name, "") for name in ("project", "repo", "worktree")},
            "cwd": self._event.cwd,
            **{name: getattr(identity, name, "") for name in ("remote", "project_id")},
            "started_at": state["started_at"],
            "agent": self._agent,
            "transcript_path": row["transcript_path"],
        }


def task_of(scope: Scope) -> dict[str, str]:
    """Return a scope's task fields."""
    return {name: getattr(scope, name) for name in TASK_FIELDS}


def find_transcript(plugins: Plugins, event: HookEvent) -> str | None:
    """Return an event's transcript: where the payload says, else where a file of the session lies; None if nowhere."""
    if os.path.isfile(event.transcript_path):
        return event.transcript_path
    return newest_transcript(plugins, event.session_id, event.agent_id)


def newest_transcript(plugins: Plugins, session_id: str, agent_id: str = "") -> str | None:
    """Return the file of a session or subagent that was written to last; None if there is none on this machine."""
    agent_id = agent_id.removeprefix("agent-")
    found = [
        file
        for files in plugins.each("agentihooks_find_transcripts", environ=os.environ, session_id=session_id)
        for file in files
        if file.agent_id == agent_id
    ]
    newest = max(found, key=lambda file: file.modified_at, default=None)
    return None if newest is None else newest.path


def send(plugins: Plugins, home: str, agent: str, harvest: Harvest, began: datetime) -> None:
    """Send on the markers that wait, those of *harvest* among them, within the time a turn's end has for it."""
    delivery = deliver(plugins, home, os.environ, drain_budget_s(os.environ))
    sent, refused = ((), ()) if delivery is None else (delivery.sent, delivery.refused)
    if not harvest.found and not sent:
        return
    from agentihooks.telemetry import MarkerWrite, report

    keys = set(harvest.keys)
    figures = MarkerWrite(
        session_id=harvest.session_id,
        agent=agent,
        began=began,
        ended=now(),
        found=harvest.found,
        sent=len(keys.intersection(sent)),
        kept=len(keys.difference(sent, refused)),
        drained=len(sent),
        unattributed=harvest.unattributed,
    )
    report(home, os.environ, figures)


def drain_budget_s(environ: Mapping[str, str]) -> float:
    """Return how long a turn's end may wait for a brain, in seconds: `AGENTIHOOKS_DRAIN_BUDGET`, by default 2."""
    try:
        return max(0.0, float(environ.get("AGENTIHOOKS_DRAIN_BUDGET", DRAIN_BUDGET_S)))
    except ValueError:
        return DRAIN_BUDGET_S


def note_refusal(home: str, session_id: str, refusal: ScopeRefused) -> None:
    """Write a refusal to the engine's log, for `agentihooks doctor`."""
    logbook.write(home, "warning", str(refusal), code=refusal.code, session_id=session_id)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` in the block once *seconds* have passed. In the main thread only, as signals are."""

    def stop(*_: object) -> None:
        raise OutOfTime(f"not done within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
