"""
The markers of a pass over a transcript: found along with the moves, attributed to their own time, handed to the sinks.

Handed over first, then the cursor moves on: a process that dies in between finds the same markers again, under the
same keys.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from agentihooks.marker import MarkerScanner, Opened
from agentihooks.session_ids import agent_session_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from agentihooks.engine import Engine
    from agentihooks.model import Marker
    from agentihooks.outgoing import Outgoing, Sender
    from agentihooks.transcript import Entry

MAX_MARKERS = 1000
"""How many markers end a pass, by default, behind the block they stand in; the next goes on from there."""

# What was told in the turn at hand: more markers than this are told apart by their keys alone.
_MAX_TOLD = 64


class _State(msgspec.Struct, omit_defaults=True):
    """What one pass leaves to the next, by subagent. JSON values; markers themselves are kept as fingerprints."""

    open: dict[str, dict[str, Opened]] = {}
    """Markers whose closing tag has not come yet, by type."""
    told: dict[str, list[str]] = {}
    """Those that were read from the transcript in this turn."""
    ahead: dict[str, list[str]] = {}
    """Those that a payload told of in this turn, and the transcript has not."""
    sent: list[str] = []
    """The keys that the sinks were handed last: several payloads may tell of one marker."""


class Harvest:
    """
    Gathers the markers of one session from a transcript, as the engine's companion.

    Args:
        sender: Whose markers they are.
        engine: Attributes them, and knows the sinks.
        home: The home directory.
        environ: The process's environment.
        is_preceding: Under rollback: markers take the preceding body and key.
    """

    def __init__(
        self,
        sender: Sender,
        engine: Engine,
        home: str,
        environ: Mapping[str, str],
        *,
        is_preceding: bool = False,
    ) -> None:
        self.found = 0
        self.unattributed = 0
        self.is_full = False
        """Whether the last pass ended because it had as many markers as it may."""
        self.keys: list[str] = []
        """The keys of what was handed to the sinks."""
        self._sender = sender
        self._engine = engine
        self._home = home
        self._environ = environ
        self._is_preceding = is_preceding
        self._ending: tuple[str, str, datetime] | None = None
        self._limit = _limit(environ)
        self._markers: list[Marker] = []
        self._scanners: dict[str, MarkerScanner] = {}
        self._state = _State()
        self._seen: set[tuple[str, str]] = set()

    @property
    def session_id(self) -> str:
        """The session whose markers these are."""
        return self._sender.session_id

    def tell(self, text: str, agent_id: str, at: datetime) -> None:
        """
        Tell of a turn's final text, by the hook's payload: the transcript may not have it when the next pass ends.

        Args:
            text: As the agent told it.
            agent_id: The subagent that wrote it, "" for the main chain.
            at: The time of the stop.
        """
        # Half of a character becomes what the readers make of it.
        self._ending = text.encode("utf-8", "replace").decode(), agent_id, at

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where the last pass ended; see `state`."""
        try:
            self._state = msgspec.convert(state, _State)
        except msgspec.ValidationError:
            self._state = _State()
        self._markers = []
        self._scanners = {agent_id: MarkerScanner(opened) for agent_id, opened in self._state.open.items()}

    def state(self) -> dict[str, Any]:
        """Return what the next pass has to know: markers left open, those told of late, those told ahead."""
        self._state.open = {id_: scanner.opened for id_, scanner in self._scanners.items() if scanner.opened}
        state: dict[str, Any] = msgspec.to_builtins(self._state)
        return state

    def see(self, entry: Entry) -> bool:
        """Take the markers of an entry; return whether this pass has as many as it may."""
        if entry.session_id != self.session_id:
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
        self.is_full = len(self._markers) >= self._limit
        # A full pass has not seen all of the transcript: what follows in it may well be this text.
        if self._ending is not None and not self.is_full:
            self._take_ending(*self._ending)
        markers, self._markers = self._markers, []
        if not markers:
            return
        from agentihooks.sinks import accept

        with_log = {agent_id for agent_id in {marker.agent_id for marker in markers} if self._has_log(agent_id)}
        logged = [marker for marker in markers if marker.agent_id in with_log]
        others = [marker for marker in markers if marker.agent_id not in with_log]
        outgoing = [
            each
            for each in (*self._attributed(logged), *self._preceding(others))
            if each.idempotency_key not in self._state.sent
        ]
        accept(self._engine.plugins, outgoing, self._home, self._environ)
        self.found += len(markers)
        keys = [each.idempotency_key for each in outgoing]
        self.keys += keys
        self._state.sent = [*self._state.sent, *keys][-_MAX_TOLD:]

    def _has_log(self, agent_id: str) -> bool:
        """Return whether markers of a subagent, "" for the main chain, have a scope to take."""
        histories = {self.session_id, agent_session_id(self.session_id, agent_id)}
        return not self._is_preceding and any(len(self._engine.log.history(own_id)) for own_id in histories)

    def _attributed(self, markers: list[Marker]) -> list[Outgoing]:
        if not markers:
            return []
        from agentihooks.attribution import unattributed_session_events_total
        from agentihooks.outgoing import attributed

        events = [{"at": marker.at, "attrs": marker.attrs, "agent_id": marker.agent_id} for marker in markers]
        attributions = self._engine.attribute(self.session_id, events, granted(self._environ))
        self.unattributed += unattributed_session_events_total(attributions)
        return [attributed(*pair, self._sender) for pair in zip(markers, attributions, strict=True)]

    def _preceding(self, markers: list[Marker]) -> list[Outgoing]:
        if not markers:
            return []
        from agentihooks.outgoing import preceding
        from agentihooks.preceding import PrecedingLookup

        lookup, sender = PrecedingLookup(self._home, self._environ), self._sender
        identities = [lookup.identity(self.session_id, each.attrs.get("cwd", ""), sender.folder) for each in markers]
        return [preceding(*pair, sender) for pair in zip(markers, identities, strict=True)]

    def _take(self, marker: Marker) -> None:
        """Take a marker from the transcript, unless a payload told of it before."""
        told, ahead = self._state.told.get(marker.agent_id, []), self._state.ahead.get(marker.agent_id, [])
        print_ = _fingerprint(marker)
        if print_ in ahead:
            ahead.remove(print_)
        else:
            self._markers.append(marker)
        self._state.told[marker.agent_id] = [*told, print_][-_MAX_TOLD:]
        self._seen.add((marker.agent_id, print_))

    def _take_ending(self, text: str, agent_id: str, at: datetime) -> None:
        """
        Take the markers of a turn's final text that the transcript has not told of in this turn.

        Nor since the last stop: when that came late, the transcript may have the next prompt as well.
        """
        # A marker may have been opened in an earlier text; but it is the transcript that moves the scanner on.
        scanner = self._scanner(agent_id).copy()
        told, ahead = self._state.told.get(agent_id, []), self._state.ahead.get(agent_id, [])
        for marker in scanner.scan(text, at=at.isoformat(), agent_id=agent_id):
            print_ = _fingerprint(marker)
            if print_ not in told and (agent_id, print_) not in self._seen:
                self._markers.append(marker)
                ahead = [*ahead, print_][-_MAX_TOLD:]
        self._state.ahead[agent_id] = ahead

    def _end_turn(self, agent_id: str) -> None:
        if agent_id in self._scanners:
            self._scanners[agent_id].end_turn()
        self._state.told.pop(agent_id, None)
        self._state.ahead.pop(agent_id, None)

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
