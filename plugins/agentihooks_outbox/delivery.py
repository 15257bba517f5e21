"""
Delivery: the files of an outbox, the oldest first, handed to their receiver until it stops or the time is up.

A file goes when its receiver has the marker, and not before: a process that dies in between sends the same key again.
"""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import msgspec

from agentihooks.clock import instant_or_none, now
from agentihooks.errors import LogBusy
from agentihooks.files import make_private_directory, replace_file
from agentihooks.log import locked
from agentihooks.outgoing import Delivery
from agentihooks_outbox.outbox import BAD, brain_outbox, read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from agentihooks.outgoing import Outgoing
    from agentihooks_outbox.outbox import Outbox

DRAIN_BUDGET_S = 2.0
"""How long a Stop may be kept waiting by default."""

MAX_HOLD = timedelta(days=1)
"""A receiver may ask to be left alone for no longer; what asks for more is a mistake, and would look like a loss."""

NO_BRAIN = "BRAIN_URL is not set"


class Refused(Exception):  # noqa: N818 - the receiver's answer
    """The receiver will never take this marker; the next one may be fine."""


class Stopped(Exception):  # noqa: N818 - the receiver's answer
    """The receiver takes no marker now; it may be asked again at `retry_at`, None being any time."""

    def __init__(self, reason: str, retry_at: datetime | None = None) -> None:
        super().__init__(reason)
        self.retry_at = retry_at


class Receiver(Protocol):
    """Where the markers of an outbox go."""

    def send(self, marker: Outgoing, allowed_s: float, now: datetime) -> None:
        """
        Return once the receiver has the marker for good, within *allowed_s* seconds. It may have had it before.

        Raises:
            Refused: It will never take it.
            Stopped: It takes none now, or may not have taken this one.
        """

    def close(self) -> None:
        """Let go of it, at the end of a drain."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """
    What the last drains of an outbox left behind.

    Args:
        receiver: Which one it is about: a wait that one brain asked for does not hold for another.
        reason: Why the last drain ended early, "" if it did not.
        retry_at: Before this time nothing is to be sent, "" for no such time.
        bad: Why a file was set aside, by its name.
    """

    receiver: str = ""
    reason: str = ""
    retry_at: str = ""
    bad: dict[str, str] = {}

    @classmethod
    def load(cls, path: str) -> State:
        """Return the state kept in *path*; the initial one if there is none that can be read."""
        try:
            with open(path, "rb") as file:
                row = json.loads(file.read())
            return cls(
                receiver=str(row["receiver"]),
                reason=str(row["reason"]),
                retry_at=str(row["retry_at"]),
                bad={str(name): str(reason) for name, reason in row["bad"].items()},
            )
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return cls()

    def save(self, path: str) -> None:
        """Keep the state, whole or not at all."""
        replace_file(path, json.dumps(msgspec.to_builtins(self)).encode("ascii"))

    def held_until(self, receiver: str, moment: datetime) -> str:
        """Return until when *receiver* asked not to be asked; "" if it did not, or the time has come."""
        until = instant_or_none(self.retry_at)
        # One further ahead than a wait can be was written before the clock was put back.
        is_held = until is not None and moment < until <= moment + MAX_HOLD
        return self.retry_at if is_held and self.receiver == receiver else ""


def state_path(home: str, outbox: Outbox) -> str:
    """Return where an outbox's state lies, beside its lock."""
    return f"{home}/state/{outbox.name}.json"


def brain_name(environ: Mapping[str, str]) -> str:
    """Return what tells one brain from another in a state, and gives away nothing that its address may hold."""
    from hashlib import sha256

    return sha256(environ.get("BRAIN_URL", "").strip().encode("utf-8", "replace")).hexdigest()[:16]


def drain(
    home: str,
    environ: Mapping[str, str],
    budget_s: float = DRAIN_BUDGET_S,
    *,
    clock: Callable[[], datetime] = now,
    advance: Callable[[], None] = lambda: None,
) -> Delivery:
    """
    Send what waits for the brain.

    Files that are added meanwhile are sent as well. If another process is at it, this one leaves the work to it.

    Args:
        home: Holds `brain-outbox`, and maybe `brain-outbox-backlog`, which goes first.
        environ: `BRAIN_URL`, `BRAIN_HTTP_TOKEN`, `BRAIN_HTTP_TIMEOUT`.
        budget_s: How long it may take, whatever the brain does; `math.inf` for no limit.
        clock: Tells the present instant, against which `Retry-After` is held.
        advance: Called for each file that is done with.

    Raises:
        OSError: The disk; nothing is lost.
    """

    def connect() -> Receiver:
        if not environ.get("BRAIN_URL", "").strip():
            raise Stopped(NO_BRAIN)
        from agentihooks_outbox.brain import Brain

        return Brain(home, environ)

    return Drain(
        home=home, outbox=brain_outbox(home), name=brain_name(environ), connect=connect, clock=clock, advance=advance
    ).run(budget_s)


class Drain:
    """
    One attempt to empty an outbox.

    Args:
        home: Keeps the outbox's state and lock.
        outbox: What is to be sent.
        name: Tells its receiver from another that the outbox may have had.
        connect: Gives the receiver; called only if there is something to send. May raise `Stopped`.
        clock: Tells the present instant.
        advance: Called for each file that is done with.
    """

    def __init__(
        self,
        *,
        home: str,
        outbox: Outbox,
        name: str,
        connect: Callable[[], Receiver],
        clock: Callable[[], datetime] = now,
        advance: Callable[[], None] = lambda: None,
    ) -> None:
        self._home = home
        self._outbox = outbox
        self._name = name
        self._connect = connect
        self._clock = clock
        self._advance = advance
        self._deadline = math.inf
        self._sent: list[str] = []
        self._refused: list[str] = []
        self._bad: dict[str, str] = {}

    def run(self, budget_s: float = math.inf) -> Delivery:
        """Send until nothing waits, the receiver stops, or *budget_s* seconds are over; see `drain`."""
        self._deadline = time.monotonic() + budget_s
        waiting = self._outbox.waiting()
        if not waiting:
            return Delivery()
        path = state_path(self._home, self._outbox)
        make_private_directory(os.path.dirname(path))
        try:
            with locked(f"{path}.lock", 0):
                return self._run(path)
        except LogBusy:
            return Delivery(kept=len(waiting), reason="another drain is at work")

    def _run(self, path: str) -> Delivery:
        before = State.load(path)
        until = before.held_until(self._name, self._clock())
        if until:
            reason = f"{before.reason}; it asked to wait until {until[:19]}Z"
            return Delivery(kept=len(self._outbox.waiting()), reason=reason)
        reason = retry_at = ""
        try:
            self._send_all()
        except Stopped as stopped:
            reason, retry_at = str(stopped), stopped.retry_at.isoformat() if stopped.retry_at else ""
        state = State(receiver=self._name, reason=reason, retry_at=retry_at, bad={**before.bad, **self._bad})
        if state != before:
            still_bad = {os.path.basename(file).removesuffix(BAD) for file in self._outbox.bad()}
            bad = {name: why for name, why in state.bad.items() if name in still_bad}
            msgspec.structs.replace(state, bad=bad).save(path)
        kept = len(self._outbox.waiting()) if reason else 0
        sent, refused = tuple(self._sent), tuple(self._refused)
        return Delivery(sent=sent, bad=len(self._bad), refused=refused, kept=kept, reason=reason)

    def _send_all(self) -> None:
        self._outbox.remove_orphans()
        receiver = self._connect()
        try:
            while waiting := self._outbox.waiting():
                for path in waiting:
                    self._send(receiver, path)
                    self._advance()
        finally:
            receiver.close()

    def _send(self, receiver: Receiver, path: str) -> None:
        allowed_s = self._deadline - time.monotonic()
        if allowed_s <= 0:
            raise Stopped("the time allowed is used up")
        try:
            marker = read(path)
        except FileNotFoundError:
            return
        except (ValueError, PermissionError) as error:
            self._set_aside(path, f"cannot be read: {error}")
            return
        try:
            receiver.send(marker, allowed_s, self._clock())
        except Refused as refusal:
            self._set_aside(path, str(refusal))
            self._refused.append(marker.idempotency_key)
        else:
            with suppress(FileNotFoundError):
                os.unlink(path)
            self._sent.append(marker.idempotency_key)

    def _set_aside(self, path: str, reason: str) -> None:
        os.replace(path, path + BAD)
        self._bad[os.path.basename(path)] = reason
