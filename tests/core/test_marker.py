"""Markers in assistant text: what is one, what it holds, and that finding them takes linear time on any text."""

from __future__ import annotations

from typing import Any, Self, SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentihooks.marker import MAX_CONTENT_CHARS, TYPES, MarkerScanner, Opened
from agentihooks.model import Marker

PIECES = st.sampled_from(
    [
        "<!--",
        "-->",
        "<!-- @lesson -->",
        "<!-- @/lesson -->",
        "<!-- @signal a=1 -->",
        "<!-- @/signal -->",
        "x",
        " ",
        "\n",
    ]
)


def scan(*texts: str) -> list[Marker]:
    """Return the markers of a turn's texts."""
    scanner = MarkerScanner()
    return [marker for text in texts for marker in scanner.scan(text)]


def contents(*texts: str) -> list[str]:
    """Return what the markers of a turn's texts say."""
    return [marker.content for marker in scan(*texts)]


@pytest.mark.parametrize("kind", TYPES)
def test_every_type(kind: str) -> None:
    """A marker has one of four types."""
    assert [Marker(type=kind, content="x")] == scan(f"<!-- @{kind} -->x<!-- @/{kind} -->")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!--@lesson-->x<!--@/lesson-->", ["x"]),
        ("<!-- @LESSON -->x<!-- @/Lesson -->", ["x"]),
        ("<!--\n@lesson\n-->x<!--\n@/lesson\n-->", ["x"]),
        ("before <!-- @lesson --> x \n y <!-- @/lesson --> after", ["x \n y"]),
        ("<!-- @lesson -->a<!-- @/lesson --><!-- @lesson -->b<!-- @/lesson -->", ["a", "b"]),
        ("<!-- @lesson -->  \n <!-- @/lesson -->", []),
        ("<!-- @lesson --><!-- @/lesson -->", []),
        ("<!-- @lessons -->x<!-- @/lessons -->", []),
        ("<!-- @le\u017f\u017fon -->x<!-- @/le\u017f\u017fon -->", []),
        ("<!-- @thought -->x<!-- @/thought -->", []),
        ("<!-- lesson -->x<!-- /lesson -->", []),
        ("<!-- @lesson -->x", []),
        ("x<!-- @/lesson -->", []),
        ("<!-- @lesson -->x<!-- @/lesson", []),
        ("<!-- @lesson -->x<!-- @/signal -->", []),
        ("<!-- @lesson -->a <!-- note --> b<!-- @/lesson -->", ["a <!-- note --> b"]),
        ("<!-- @lesson -->a --> b<!-- @/lesson -->", ["a --> b"]),
        ("<!-- never closed <!-- @lesson -->x<!-- @/lesson -->", ["x"]),
        ("<!-- @lesson <!-- @signal -->x<!-- @/signal -->", ["x"]),
        ("<!-- @lesson -->lost<!-- @lesson -->kept<!-- @/lesson -->", ["kept"]),
        ("<!-- @lesson -->a<!-- @/lesson --><!-- @/lesson -->", ["a"]),
        ("<!-- @lesson -->héé 漢😀<!-- @/lesson -->", ["héé 漢😀"]),
    ],
)
def test_syntax(text: str, expected: list[str]) -> None:
    """What is a marker, and what is plain text."""
    assert expected == contents(text)


def test_types_overlap() -> None:
    """Markers of two types may overlap; each keeps what stands between its own tags."""
    text = "<!-- @lesson -->a<!-- @signal -->b<!-- @/lesson -->c<!-- @/signal -->"
    assert ["a<!-- @signal -->b", "b<!-- @/lesson -->c"] == contents(text)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a=1", {"a": "1"}),
        ('a="two words" b=2', {"a": "two words", "b": "2"}),
        ("a='two words'", {"a": "two words"}),
        ('a=""', {"a": ""}),
        ("a=1 a=2", {"a": "1"}),
        ("alone a=1", {"a": "1"}),
        ("a=https://x/?q=1", {"a": "https://x/?q=1"}),
        ("ünï=ö", {"ünï": "ö"}),
        ("a=1\tb=2\nc=3", {"a": "1", "b": "2", "c": "3"}),
        ("=1", {}),
    ],
)
def test_attributes(written: str, expected: dict[str, str]) -> None:
    """Values are bare or quoted; the first of a name counts, and a name alone says nothing."""
    assert expected == scan(f"<!-- @lesson {written} -->x<!-- @/lesson -->")[0].attrs


@pytest.mark.parametrize("name", ["ts", "attribution", "session_id"])
def test_reserved(name: str) -> None:
    """What only the engine may say is dropped."""
    assert {"a": "1"} == scan(f"<!-- @lesson {name}=x a=1 -->x<!-- @/lesson -->")[0].attrs


def test_long_content() -> None:
    """Content is cut at 4096 characters."""
    assert ["x" * MAX_CONTENT_CHARS] == contents(f"<!-- @lesson --> {'x' * 5000}<!-- @/lesson -->")


def test_spans_texts() -> None:
    """A marker may be closed in a later text of its turn; it has the time and the entry of its opening tag."""
    scanner = MarkerScanner()
    scanner.scan("<!-- @lesson -->a", at="10:00", entry_id="one")
    found = scanner.scan("b<!-- @/lesson -->", at="10:05", entry_id="two", agent_id="sub")
    assert [Marker(type="lesson", content="a\nb", at="10:00", entry_id="one", agent_id="sub")] == found


def test_turn_ends() -> None:
    """What a turn leaves open is dropped."""
    scanner = MarkerScanner()
    scanner.scan("<!-- @lesson -->a")
    scanner.end_turn()
    assert [] == scanner.scan("b<!-- @/lesson -->")


def test_state() -> None:
    """A scanner that takes up another's state goes on where that stopped."""
    first = MarkerScanner()
    first.scan("<!-- @lesson a=1 -->a")
    second = MarkerScanner(first.opened)
    assert [Marker(type="lesson", content="a\nb", attrs={"a": "1"})] == second.scan("b<!-- @/lesson -->")


def test_copy() -> None:
    """A copy goes on by itself."""
    scanner = MarkerScanner()
    scanner.scan("<!-- @lesson -->a")
    assert ["a\nb"] == [marker.content for marker in scanner.copy().scan("b<!-- @/lesson -->")]
    assert ["a\nc"] == [marker.content for marker in scanner.scan("c<!-- @/lesson -->")]


@given(st.lists(PIECES, max_size=30).map("".join))
def test_contents_are_clean(text: str) -> None:
    """Whatever the text, a content is neither empty, nor padded, nor too long, and stands in the text as it is."""
    for content in contents(text):
        assert content
        assert content == content.strip()
        assert len(content) <= MAX_CONTENT_CHARS
        assert content in text


@given(st.lists(st.lists(PIECES, max_size=10).map("".join), max_size=6))
def test_passes_do_not_matter(texts: list[str]) -> None:
    """Texts scanned in one pass or in many give the same markers."""
    found: list[Marker] = []
    opened: dict[str, Opened] = {}
    for text in texts:
        scanner = MarkerScanner(opened)
        found += scanner.scan(text)
        opened = scanner.opened
    assert scan(*texts) == found


class Counted(str):
    """A text that counts the characters that are searched and copied."""

    __slots__ = ("steps",)
    steps: int

    def __new__(cls, text: str) -> Self:
        """Count from nothing."""
        new = super().__new__(cls, text)
        new.steps = 0
        return new

    def find(self, sub: str, begin: SupportsIndex | None = 0, end: SupportsIndex | None = None, /) -> int:
        """Count up to what was found."""
        found = super().find(sub, begin, end)
        self.steps += (found if found >= 0 else len(self)) - int(begin or 0)
        return found

    def rfind(self, sub: str, begin: SupportsIndex | None = 0, end: SupportsIndex | None = None, /) -> int:
        """Count down to what was found."""
        found = super().rfind(sub, begin, end)
        self.steps += int(end or 0) - (found if found >= 0 else int(begin or 0))
        return found

    def __getitem__(self, key: Any) -> str:
        part = super().__getitem__(key)
        self.steps += len(part)
        return part


HOSTILE = {
    "opened": "<!-- @lesson ",
    "opened and closed": "<!-- @lesson -->",
    "closed": "<!-- @/lesson -->",
    "ends": "-->",
    "begins": "<!--",
    "all types": "<!-- @lesson --><!-- @signal --><!-- @decision --><!-- @milestone -->x",
    "quotes": "<!-- @lesson a=\"b='c",
    "spaces": "<!--" + " " * 50,
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_steps_are_linear(piece: str) -> None:
    """Twice the text takes no more than twice the steps, whatever is in it."""
    once, twice = Counted(piece * 500), Counted(piece * 1000)
    MarkerScanner().scan(once)
    MarkerScanner().scan(twice)
    assert twice.steps <= 2 * once.steps + 2 * len(piece)


@pytest.mark.parametrize("end", ["", " -->x<!-- @/lesson -->"], ids=["open", "closed"])
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte(piece: str, end: str) -> None:
    """A megabyte of anything comes to an end: were any step of it quadratic, it would not."""
    text = piece * (1_000_000 // len(piece)) + end
    assert len(scan(text)) <= 1


@pytest.mark.parametrize("attributes", ["a=", 'a="', "a='", "a=\"b='", "=", "a", "a ", " "])
def test_a_megabyte_of_attributes(attributes: str) -> None:
    """Attributes without end come to an end, too."""
    text = f"<!-- @lesson {attributes * (1_000_000 // len(attributes))} -->x<!-- @/lesson -->"
    assert ["x"] == contents(text)
