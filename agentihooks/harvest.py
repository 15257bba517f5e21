"""
The markers of a pass over a transcript: found along with the moves, attributed to their own time, handed to the sinks.

Handed over first, then the cursor moves on: a process that dies in between finds the same markers again, under the
same keys.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from agentihooks.marker import MarkerScanner

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from agentihooks.engine import Engine
    from agentihooks.model import Marker
    from agentihooks.outgoing import Outgoing, Sender
    from agentihooks.transcript import Entry

MAX_MARKERS = 1000
"""How many markers one pass takes, by default; the next one goes on from there (`BRAIN_WRITER_MAX_MARKERS`)."""

# What was told in the turn at hand: more markers than this in one turn are told apart by their keys alone.
_MAX_TOLD = 64


class Harvest:
    """
    Gathers the markers of one session from a transcript, as the engine's companion.

    Args:
        sender: Whose markers they are.
        engine: Attributes them, and knows the sinks.
        home: The home directory.
        environ: The process's environment.
        is_preceding: Under rollback: markers take the preceding body and key.
        ending: The turn's final text by the hook's payload, the subagent that wrote it, and the time of the stop. It
            may not be in the transcript yet.
    """

    def __init__(
        self,
        sender: Sender,
        engine: Engine,
        home: str,
        environ: Mapping[str, str],
        *,
        is_preceding: bool = False,
        ending: tuple[str, str, datetime] | None = None,
    ) -> None:
        self.found = 0
        self.unattributed = 0
        self.keys: list[str] = []
        """The keys of what was handed to the sinks."""
        self._sender = sender
        self._engine = engine
        self._home = home
        self._environ = environ
        self._is_preceding = is_preceding
        self._ending = ending
        self._limit = _limit(environ)
        self._markers: list[Marker] = []
        self._scanners: dict[str, MarkerScanner] = {}
        self._told: dict[str, list[str]] = {}
        self._ahead: dict[str, list[str]] = {}

    @property
    def session_id(self) -> str:
        """The session whose markers these are."""
        return self._sender.session_id

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where the last pass ended; see `state`."""
        for agent_id, scanner in state.get("open", {}).items():
            self._scanner(agent_id).restore(scanner)
        self._told = state.get("told", {})
        self._ahead = state.get("ahead", {})

    def state(self) -> dict[str, Any]:
        """Return, by subagent: markers left open, those told in this turn, and those told ahead of the transcript."""
        scanners = {agent_id: scanner.state() for agent_id, scanner in self._scanners.items() if scanner.state()}
        state = {"open": scanners, "told": self._told, "ahead": self._ahead}
        return {name: value for name, value in state.items() if value}

    def see(self, entry: Entry) -> bool:
        """Take the markers of an entry; return whether this pass has as many as it may."""
        if entry.session_id != self._sender.session_id:
            return False
        agent_id = entry.agent_id
        for activity in entry.activities():
            if activity.kind == "prompt":
                self._end_turn(agent_id)
            if "<!--" in activity.text or (activity.text and agent_id in self._scanners):
                scanner = self._scanner(agent_id)
                for marker in scanner.scan(
                    activity.text, at=entry.at, agent_id=agent_id, entry_id=entry.entry_id or activity.id
                ):
                    self._take(marker)
        return len(self._markers) >= self._limit

    def finish(self) -> None:
        """
        Attribute what was found, and hand it to the sinks, which make it durable.

        Raises:
            OSError: A log cannot be read.
            PluginFault: A sink did not take them.
        """
        if self._ending is not None:
            self._take_ending(*self._ending)
        self.found = len(self._markers)
        if not self._markers:
            return
        from agentihooks.sinks import accept

        outgoing = self._preceding() if self._is_preceding or not self._has_log() else self._attributed()
        accept(self._engine.plugins, outgoing, self._home, self._environ)
        self.keys = [each.idempotency_key for each in outgoing]

    def _has_log(self) -> bool:
        return len(self._engine.log.history(self._sender.session_id)) > 0

    def _attributed(self) -> list[Outgoing]:
        from agentihooks.attribution import unattributed_session_events_total
        from agentihooks.outgoing import attributed

        events = [{"at": marker.at, "attrs": marker.attrs, "agent_id": marker.agent_id} for marker in self._markers]
        attributions = self._engine.attribute(self._sender.session_id, events, granted(self._environ))
        self.unattributed = unattributed_session_events_total(attributions)
        pairs = zip(self._markers, attributions, strict=True)
        return [attributed(marker, attribution, self._sender) for marker, attribution in pairs]

    def _preceding(self) -> list[Outgoing]:
        from agentihooks.outgoing import preceding
        from agentihooks.preceding import PrecedingLookup

        lookup = PrecedingLookup(self._home, self._environ)
        session_id, folder = self._sender.session_id, self._sender.folder
        return [
            preceding(marker, lookup.identity(session_id, marker.attrs.get("cwd", ""), folder), self._sender)
            for marker in self._markers
        ]

    def _take(self, marker: Marker) -> None:
        """Take a marker from the transcript, unless a payload told of it before."""
        ahead = self._ahead.get(marker.agent_id, [])
        print_ = _fingerprint(marker)
        if print_ in ahead:
            ahead.remove(print_)
        else:
            self._markers.append(marker)
        self._told[marker.agent_id] = [*self._told.get(marker.agent_id, []), print_][-_MAX_TOLD:]

    def _take_ending(self, text: str, agent_id: str, at: datetime) -> None:
        """Take the markers of a turn's final text that the transcript has not told of in this turn."""
        if "<!--" not in text:
            return
        # A marker may have been opened in an earlier text; but it is the transcript that moves the scanner on.
        scanner = self._scanner(agent_id).copy()
        told = self._told.get(agent_id, [])
        for marker in scanner.scan(text, at=at.isoformat(), agent_id=agent_id):
            print_ = _fingerprint(marker)
            if print_ not in told:
                self._markers.append(marker)
                self._ahead.setdefault(agent_id, []).append(print_)

    def _end_turn(self, agent_id: str) -> None:
        if agent_id in self._scanners:
            self._scanners[agent_id].end_turn()
        self._told.pop(agent_id, None)
        self._ahead.pop(agent_id, None)

    def _scanner(self, agent_id: str) -> MarkerScanner:
        scanner = self._scanners.get(agent_id)
        if scanner is None:
            scanner = self._scanners[agent_id] = MarkerScanner()
        return scanner


def _fingerprint(marker: Marker) -> str:
    return hashlib.sha256(f"{marker.type}\0{marker.content}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def granted(environ: Mapping[str, str]) -> list[str] | None:
    """Return the projects that markers may name, by `AGENTIHOOKS_GRANT`; None if it is not set, and all may."""
    value = environ.get("AGENTIHOOKS_GRANT")
    return None if value is None else value.replace(",", " ").split()


def _limit(environ: Mapping[str, str]) -> int:
    try:
        return max(1, int(environ.get("BRAIN_WRITER_MAX_MARKERS", MAX_MARKERS)))
    except ValueError:
        return MAX_MARKERS
