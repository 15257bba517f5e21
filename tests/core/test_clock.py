"""Times in and out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from agentihooks.clock import instant, instant_or_none, now, text_of

TEN = datetime(2026, 10, 8, 10, tzinfo=UTC)

ACCEPTED = {
    "2026-10-08T10:00:00Z": TEN,
    "2026-10-08T10:00:00+00:00": TEN,
    "2026-10-08T10:00:00-00:00": TEN,
    "2026-10-08T10:00:00": TEN,
    "2026-10-08T10:00": TEN,
    "2026-10-08T10": TEN,
    "2026-10-08 10:00:00Z": TEN,
    "2026-10-08t10:00:00z": TEN,
    "2026-10-08T12:00:00+02:00": TEN,
    "2026-10-08T12:00:00+02": TEN,
    "2026-10-08T15:30:00+0530": TEN,
    "2026-10-07T10:01:00-23:59": TEN,
    "2026-10-08T10:00:30+00:00:30": TEN,
    "20261008T100000Z": TEN,
    "20261008T1000": TEN,
    "20261008T10:00:00Z": TEN,
    "2026-W41-4T10:00:00Z": TEN,
    "2026W414T100000Z": TEN,
    "2026-281T10:00:00Z": TEN,
    "2026281T1000Z": TEN,
    "2026-10-07T24:00:00Z": TEN - timedelta(hours=10),
    "2026-10-07T24:00": TEN - timedelta(hours=10),
    "2026-W41-3T24:00:00.000": TEN - timedelta(hours=10),
    "2026-10-08T10:00:00.5Z": TEN + timedelta(milliseconds=500),
    "2026-10-08T10:00:00,5Z": TEN + timedelta(milliseconds=500),
    "2026-10-08T10:00:00.123456Z": TEN + timedelta(microseconds=123456),
    "2026-10-08T10:00:00.1234569Z": TEN + timedelta(microseconds=123456),
    "2026-10-08T10:00:00.123456999999999999+00:00": TEN + timedelta(microseconds=123456),
    "0001-01-01T00:00:00Z": datetime.min.replace(tzinfo=UTC),
    "9999-12-31T23:59:59.999999Z": datetime.max.replace(tzinfo=UTC),
}

REFUSED = [
    "",
    "now",
    "1791453600",
    "2026",
    "2026-10",
    "2026-10-08",
    "2026-W41",
    "20261008",
    "2026-10-08T",
    "T10:00:00",
    "10:00",
    "2026-10-08T10:00:00ZZ",
    "2026-10-08T10:00:00Z+01:00",
    "2026-10-08T10:00:00 +00:00",
    "2026-10-08T10:00:00:00",
    "2026-10-08T10:00:00\0",
    "2026-10-08T10:00:00+",
    "2026-10-08T10:00:00+1",
    "2026-10-08T10:00:00+24:00",
    "2026-10-08T10:00:",
    "2026-10-08T10:0:00",
    "2026-10-08T10.5",
    "2026-10-08T10:00.5Z",
    "2026-10-08T10:60:00Z",
    "2026-10-08T10:00:60Z",
    "2026-10-08T24:00:01Z",
    "2026-10-08T25:00:00Z",
    "2026-02-30T10:00:00Z",
    "2026-13-01T10:00:00Z",
    "2026-366T10:00:00Z",
    "2026-W54-1T10:00:00Z",
    "26-10-08T10:00:00Z",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "9999-12-31T24:00:00Z",
    "10000-01-01T00:00:00Z",
    " 2026-10-08T10:00:00Z",
    "2026-10-08T10:00:00Z\n",
    "\N{FULLWIDTH DIGIT TWO}026-10-08T10:00:00Z",
    "2026-10-08T10:00:00\N{MINUS SIGN}01:00",
    "8 October 2026 10:00",
]


@pytest.mark.parametrize(("text", "expected"), [*ACCEPTED.items()], ids=repr)
def test_reads_iso_8601(text: str, expected: datetime) -> None:
    """A date and time in any form of ISO 8601 is read as an instant in UTC, cut to microseconds."""
    assert expected == instant(text)
    assert instant(text).tzinfo is UTC


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_refuses_what_is_no_time(text: str) -> None:
    """Text that is no complete date and time, or lies outside the calendar, is a ValueError, never another."""
    with pytest.raises(ValueError, match=r"^(not an ISO 8601 date and time|on no calendar or clock|outside the years)"):
        instant(text)


@pytest.mark.parametrize(
    "moment",
    [TEN, TEN.replace(tzinfo=None), TEN.astimezone(timezone(timedelta(hours=-7)))],
    ids=["utc", "naive", "another zone"],
)
def test_takes_datetimes(moment: datetime) -> None:
    """A datetime is the instant it names; a naive one is UTC."""
    assert TEN == instant(moment)
    assert "2026-10-08T10:00:00+00:00" == text_of(moment)


def test_a_datetime_may_lie_outside_the_calendar() -> None:
    """A datetime whose zone takes it out of the years 1 to 9999 is refused."""
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        instant(datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))))


def test_text_is_kept_verbatim() -> None:
    """The log keeps the caller's spelling of a time."""
    assert "20261008T12+02" == text_of("20261008T12+02")


@pytest.mark.parametrize("value", [None, 1791453600, 1.5, b"2026-10-08T10:00:00Z", ["2026-10-08T10:00:00Z"], {}])
def test_other_types_are_no_time(value: object) -> None:
    """Anything but text and datetimes is no time."""
    assert instant_or_none(value) is None


def test_a_kind_of_text_is_text() -> None:
    """A subclass of str is read as the text it holds."""
    assert TEN == instant_or_none(type("Text", (str,), {})("2026-10-08T10:00:00Z"))


def test_now_is_aware() -> None:
    """The present instant is in UTC."""
    assert now().tzinfo is UTC
