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
from typing import Any

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


class MarkerScanner:
    """
    Finds the markers in the consecutive assistant texts of one emitter.

    A marker may be opened in one text and closed in a later one of the same turn; the texts are joined by a newline.
    """

    def __init__(self) -> None:
        self._open: dict[str, dict[str, Any]] = {}

    def scan(self, text: str, *, at: str = "", agent_id: str = "", entry_id: str = "") -> list[Marker]:
        """Return the markers that *text*, the next of the turn, closes, in the order of their closing tags."""
        opening, closing = re.compile(_OPEN, _FLAGS), re.compile(_CLOSE, _FLAGS)
        found = []
        position = 0
        for marker in self._open.values():
            marker["content"] = _extended(marker["content"], "\n")
        while (end := text.find("-->", position)) >= 0:
            begin = text.rfind("<!--", position, end)
            if begin < 0:
                self._take(text, position, end + 3)
            elif (opened := opening.match(text, begin + 4, end)) is not None:
                self._take(text, position, begin)
                self._open[opened[1].lower()] = {
                    "attrs": _attributes(text[opened.end() : end]),
                    "content": "",
                    "at": at,
                    "entry_id": entry_id,
                }
                # The other markers open here keep the tag as part of their text.
                self._take(text, begin, end + 3, but=opened[1].lower())
            elif (closed := closing.fullmatch(text, begin + 4, end)) is not None:
                self._take(text, position, begin)
                kind = closed[1].lower()
                if kind in self._open:
                    marker = self._open.pop(kind)
                    content = marker.pop("content").rstrip()
                    if content:
                        found.append(Marker(type=kind, content=content, agent_id=agent_id, **marker))
                self._take(text, begin, end + 3)
            else:
                self._take(text, position, end + 3)
            position = end + 3
        self._take(text, position, len(text))
        return found

    def copy(self) -> MarkerScanner:
        """Return a scanner that goes on from here by itself."""
        other = MarkerScanner()
        other.restore({kind: dict(marker) for kind, marker in self._open.items()})
        return other

    def end_turn(self) -> None:
        """Drop what the turn left open."""
        self._open.clear()

    def state(self) -> dict[str, Any]:
        """Return, as JSON values, the markers that are open."""
        return self._open

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the markers that an earlier pass left open."""
        self._open = state

    def _take(self, text: str, begin: int, end: int, but: str = "") -> None:
        if self._open and begin < end:
            piece = text[begin:end]
            for kind, marker in self._open.items():
                if kind != but:
                    marker["content"] = _extended(marker["content"], piece)


def _extended(content: str, text: str) -> str:
    """Return *content* with *text* behind it, without leading white space and never longer than a content may be."""
    return content + text[: MAX_CONTENT_CHARS - len(content)] if content else text.lstrip()[:MAX_CONTENT_CHARS]


def _attributes(text: str) -> dict[str, str]:
    """Return a tag's attributes, the first of a name counting; one without a value, or reserved, is dropped."""
    attributes: dict[str, str] = {}
    for match in re.finditer(_ATTRIBUTE, text):
        name, *values = match.groups()
        value = next((value for value in values if value is not None), None)
        if value is not None and name not in RESERVED:
            attributes.setdefault(name, value)
    return attributes
