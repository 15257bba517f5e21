"""
Brain markers in assistant text: `<!-- @TYPE key=value key="two words" -->content<!-- @/TYPE -->`.

Any text takes linear time. What is not a marker by the rules below is plain text:

- A comment ends at the first `-->`, as in HTML, and begins at the last `<!--` before it.
- Each type has one marker open at most. Opened again before it was closed, it starts anew, and the unclosed one is
  dropped; so is one that its turn leaves open. Markers of different types may overlap, and each keeps the text between
  its own tags, as written.
- A closing tag without an opening one is ignored.
"""

from __future__ import annotations

import re

import msgspec

from agentihooks.model import Marker

TYPES = ("lesson", "milestone", "signal", "decision")
RESERVED = frozenset({"ts", "attribution", "session_id"})
"""Attributes that only the engine may write; a model's are dropped."""

MAX_CONTENT_CHARS = 4096

# ASCII: beyond it, letters such as U+017F are an "s" in any case, and would make a type that there is none of.
_FLAGS = re.IGNORECASE | re.ASCII
# Not compiled before there is a comment: most turns have none.
_OPEN = rf"\s*@({'|'.join(TYPES)})(?=\s|$)"
_CLOSE = rf"\s*@/({'|'.join(TYPES)})\s*"
# A match begins at the first character that can begin one, so that a long comment is passed over once.
_ATTRIBUTE = r"""([^\s=]+)(?:=(?:"([^"]*)"|'([^']*)'|(\S*)))?"""


class Opened(msgspec.Struct):
    """A marker whose closing tag has not come yet. JSON values."""

    attrs: dict[str, str]
    at: str
    entry_id: str
    content: str = ""

    def close(self, kind: str, agent_id: str) -> Marker:
        """Return the marker."""
        return Marker(
            type=kind,
            content=self.content.rstrip(),
            attrs=self.attrs,
            at=self.at,
            agent_id=agent_id,
            entry_id=self.entry_id,
        )

    def extend(self, text: str) -> None:
        """Add text, without leading white space and never more than a content may hold."""
        room = MAX_CONTENT_CHARS - len(self.content)
        self.content += text[:room] if self.content else text.lstrip()[:room]


class MarkerScanner:
    """
    Finds the markers in the consecutive assistant texts of one emitter.

    A marker may be opened in one text and closed in a later one of the same turn; the texts are joined by a newline.
    """

    def __init__(self, opened: dict[str, Opened] | None = None) -> None:
        self.opened = {} if opened is None else opened
        """The markers that are open, by their type."""

    def scan(self, text: str, *, at: str = "", agent_id: str = "", entry_id: str = "") -> list[Marker]:
        """Return the markers that *text*, the next of the turn, closes, in the order of their closing tags."""
        opening, closing = re.compile(_OPEN, _FLAGS), re.compile(_CLOSE, _FLAGS)
        found = []
        position = 0
        for marker in self.opened.values():
            marker.extend("\n")
        while (end := text.find("-->", position)) >= 0:
            begin = text.rfind("<!--", position, end)
            if begin < 0:
                self._take(text, position, end + 3)
            elif (opened := opening.match(text, begin + 4, end)) is not None:
                self._take(text, position, begin)
                attrs = _attributes(text[opened.end() : end])
                self.opened[opened[1].lower()] = Opened(attrs=attrs, at=at, entry_id=entry_id)
                # The other markers open here keep the tag as part of their text.
                self._take(text, begin, end + 3, but=opened[1].lower())
            elif (closed := closing.fullmatch(text, begin + 4, end)) is not None:
                self._take(text, position, begin)
                kind = closed[1].lower()
                if kind in self.opened and (marker := self.opened.pop(kind)).content.rstrip():
                    found.append(marker.close(kind, agent_id))
                self._take(text, begin, end + 3)
            else:
                self._take(text, position, end + 3)
            position = end + 3
        self._take(text, position, len(text))
        return found

    def copy(self) -> MarkerScanner:
        """Return a scanner that goes on from here by itself."""
        return MarkerScanner({kind: msgspec.structs.replace(marker) for kind, marker in self.opened.items()})

    def end_turn(self) -> None:
        """Drop what the turn left open."""
        self.opened.clear()

    def _take(self, text: str, begin: int, end: int, but: str = "") -> None:
        if self.opened and begin < end:
            piece = text[begin:end]
            for kind, marker in self.opened.items():
                if kind != but:
                    marker.extend(piece)


def _attributes(text: str) -> dict[str, str]:
    """Return a tag's attributes, the first of a name counting; one without a value, or reserved, is dropped."""
    attributes: dict[str, str] = {}
    for match in re.finditer(_ATTRIBUTE, text):
        name, *values = match.groups()
        value = next((value for value in values if value is not None), None)
        if value is not None and name not in RESERVED:
            attributes.setdefault(name, value)
    return attributes
