"""What waits, what was set aside and why, and taking that up again: for the person who asks."""

from __future__ import annotations

import math
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from agentihooks.clock import instant
from agentihooks.doctor import Finding
from agentihooks.outgoing import WaitingMarker
from agentihooks_outbox.delivery import NO_BRAIN, State, brain_name, drain, state_path
from agentihooks_outbox.outbox import BAD, Outbox, brain_outbox, read, sink_outboxes
from agentihooks_outbox.sinks import drain_sinks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Literal

    from agentihooks.outgoing import Delivery
    from agentihooks.plugins import Plugins

STUCK_AFTER = timedelta(hours=1)
"""What waits for a brain that is there does not wait so long."""

_ADVICE = {
    "waiting": "set BRAIN_URL, or see what is in the way: agentihooks outbox drain",
    "held": "nothing to do: the receiver asked for it",
    "bad": "look at them: agentihooks outbox list; then send them again: agentihooks outbox retry",
}

BRAIN = "brain"
"""What the brain is called among the receivers; the others have their plugin's name."""


def waiting_markers(home: str, environ: Mapping[str, str], now: datetime) -> Iterator[WaitingMarker]:
    """Yield the files of all outboxes, the brain's first; of each those that wait, in order, then those set aside."""
    for receiver, outbox in _outboxes(home, environ):
        state = State.load(state_path(home, outbox))
        name = brain_name(environ) if receiver == BRAIN else receiver
        until = state.held_until(name, now)
        reason = state.reason if state.receiver == name else ""
        if receiver == BRAIN and not environ.get("BRAIN_URL", "").strip():
            reason = NO_BRAIN
        for path in outbox.waiting():
            yield from _described(path, receiver, "held" if until else "waiting", reason, until)
        for path in outbox.bad():
            reason = state.bad.get(_name(path), "set aside, nobody noted why")
            yield from _described(path, receiver, "bad", reason)


def drain_all(
    home: str, environ: Mapping[str, str], plugins: Plugins, advance: Callable[[], None] = lambda: None
) -> dict[str, Delivery]:
    """Send all that waits, however long it takes; return what came of it by receiver. The sinks among *plugins* run."""
    brain = drain(home, environ, math.inf, advance=advance)
    return {BRAIN: brain, **drain_sinks(home, environ, plugins, advance=advance)}


def take_up(home: str, environ: Mapping[str, str], names: Collection[str] = ()) -> int:
    """
    Let the files that were set aside wait again; return how many.

    Args:
        home: Holds the outboxes.
        environ: Names the sinks.
        names: Of files, with or without `.bad`; none means all.

    Raises:
        ValueError: There is no such file; nothing was done.
    """
    bad = [path for _, outbox in _outboxes(home, environ) for path in outbox.bad()]
    wanted = {name.removesuffix(BAD) for name in names}
    unknown = wanted - {_name(path) for path in bad}
    if unknown:
        raise ValueError(f"no file of this name was set aside: {', '.join(sorted(unknown))}")
    chosen = [path for path in bad if not wanted or _name(path) in wanted]
    for path in chosen:
        os.replace(path, path.removesuffix(BAD))
    return len(chosen)


def findings(home: str, environ: Mapping[str, str], now: datetime) -> Iterator[Finding]:
    """Yield what the doctor says of the outboxes."""
    by_state: dict[str, list[WaitingMarker]] = {}
    for marker in waiting_markers(home, environ, now):
        by_state.setdefault(marker.state, []).append(marker)
    if not by_state:
        yield Finding(level="ok", about="outbox", text="nothing waits")
    for state, markers in by_state.items():
        oldest = min(markers, key=lambda marker: marker.since)
        text = f"{state}: {len(markers)}, the oldest since {oldest.since}{oldest.reason and ': '}{oldest.reason}"
        is_stuck = state == "waiting" and oldest.reason not in ("", NO_BRAIN) and _is_old(oldest, now)
        level: Literal["note", "problem"] = "problem" if state == "bad" or is_stuck else "note"
        yield Finding(level=level, about="outbox", text=text, advice=_ADVICE[state])
    if environ.get("BRAIN_HTTP_TOKEN") and _is_in_the_open(environ.get("BRAIN_URL", "")):
        text = "BRAIN_HTTP_TOKEN travels unencrypted: BRAIN_URL is http to another machine"
        yield Finding(level="note", about="outbox", text=text, advice="give the brain an https address")


def _is_old(marker: WaitingMarker, now: datetime) -> bool:
    return now - instant(marker.since) > STUCK_AFTER


def _is_in_the_open(url: str) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1")


def _outboxes(home: str, environ: Mapping[str, str]) -> list[tuple[str, Outbox]]:
    sinks = ((outbox.name, outbox) for outbox in sink_outboxes(home, environ))
    return [(BRAIN, brain_outbox(home)), *sinks]


def _name(path: str) -> str:
    return os.path.basename(path).removesuffix(BAD)


def _described(
    path: str, receiver: str, state: Literal["waiting", "held", "bad"], reason: str, next_attempt: str = ""
) -> Iterator[WaitingMarker]:
    try:
        written = os.stat(path).st_mtime
    except FileNotFoundError:
        return
    try:
        marker = read(path)
    except (ValueError, OSError):
        marker = None
    yield WaitingMarker(
        name=os.path.basename(path),
        receiver=receiver,
        state=state,
        type=marker.type if marker else "",
        session_id=marker.session_id if marker else "",
        project=str(marker.attrs.get("repo") or marker.attrs.get("project_id") or "") if marker else "",
        since=datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds"),
        reason=reason,
        next_attempt=next_attempt,
    )
