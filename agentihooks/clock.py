"""
Instants in and out: ISO 8601 text to aware UTC datetimes.

The text a caller or an agent wrote stays the record; an instant only orders it, in microseconds.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

# A complete calendar, week or ordinal date, and a time. A bare date, a month or a week is no event's time, and a
# fraction of an hour or minute ("10.5") is refused, because `fromisoformat` takes it for seconds.
_SHAPE = (
    r"(?:\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d-?\d|\d{4}-?\d{3})"
    r"[T ]\d\d(?::?\d\d(?::?\d\d(?:[.,]\d+)?)?)?"
    r"(?:Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?"
)

# What agents write, told in one step: the characters at 10, 13, 16 and 19. `fromisoformat` alone takes anything for
# the one behind the seconds.
_USUAL = frozenset({"T::Z", "T::.", "T::+", "T::-"})

_fromisoformat = datetime.fromisoformat

END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""The last instant there is."""


def instant(at: str | datetime) -> datetime:
    """
    Return the instant that *at* names, as an aware datetime in UTC.

    Args:
        at: ISO 8601 date and time, naive text being UTC; or a datetime, likewise. Fractions beyond microseconds are
            cut off.

    Raises:
        ValueError: It is not such a time, or lies outside the years 1 to 9999 once converted to UTC.
    """
    if isinstance(at, str):
        try:
            moment = _fromisoformat(at) if at[10:20:3] in _USUAL else _unusual(at)
        except ValueError:
            moment = _unusual(at)
    elif isinstance(at, datetime):
        moment = at
    else:
        raise ValueError("not a time")  # noqa: TRY004 - one error for all that is no time
    zone = moment.tzinfo
    if zone is UTC:
        return moment
    if zone is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("outside the years 1 to 9999") from None


def instant_or_none(at: object) -> datetime | None:
    """Return the instant that *at* names, or None if it is no time."""
    try:
        return instant(at)  # type: ignore[arg-type] # anything else is what the ValueError is for
    except ValueError:
        return None


def _unusual(text: str) -> datetime:
    text = text.upper()
    if not re.fullmatch(_SHAPE, text, re.ASCII):
        raise ValueError("not an ISO 8601 date and time")
    try:
        return _fromisoformat(text)
    except ValueError:
        # Ordinal dates and 24:00: rare enough to load dateutil only now.
        from dateutil.parser import isoparse

        try:
            return isoparse(text)
        except OverflowError:
            raise ValueError("outside the years 1 to 9999") from None
        except ValueError:
            raise ValueError("on no calendar or clock") from None


def text_of(at: str | datetime) -> str:
    """Return *at* as the log keeps it: a caller's text verbatim, a datetime as UTC isoformat."""
    return at if isinstance(at, str) else instant(at).isoformat()


def now() -> datetime:
    """Return the present instant."""
    return datetime.now(UTC)
