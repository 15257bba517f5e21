"""
JSON with comments: every value with its place in the text, so that an edit leaves all other characters as they were.

Read are JSON (RFC 8259), `//` and `/* */` comments, a comma after a last item, and a byte order mark. What is put in is
indented as its surroundings are, and ends its lines as they do.
"""

from __future__ import annotations

import json
import re
from typing import Any

import attrs

_BOM = "\ufeff"
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_TOKEN = re.compile(r"//[^\r\n]*|/\*.*?\*/|,", re.DOTALL)
_REST_OF_LINE = re.compile(r"[ \t]*\r?\n")
_INDENT = re.compile(r'^[ \t]+(?=["{}\[\]])', re.MULTILINE)  # of a line that begins with a key or a bracket
_NOT_JSON = re.compile("NaN|-?Infinity")  # which the standard library reads
_decode = json.JSONDecoder().raw_decode


@attrs.frozen(kw_only=True)
class Node:
    """
    A value, and where it stands: the text from `at` to `end`.

    In an object it begins with its key, at `start`; elsewhere `start` and `at` are the same. A container has `items`
    and the bracket that opens it; anything else has its `scalar`.
    """

    start: int
    at: int
    end: int
    key: str | None = None
    bracket: str = ""
    items: tuple[Node, ...] = ()
    scalar: Any = None

    @property
    def is_object(self) -> bool:
        """Whether this is an object."""
        return self.bracket == "{"

    @property
    def is_array(self) -> bool:
        """Whether this is an array."""
        return self.bracket == "["

    def get(self, key: str) -> Node | None:
        """Return an object's item under *key*, the last of two as everywhere in JSON; None if there is none."""
        return next((item for item in reversed(self.items) if item.key == key), None)

    def plain(self) -> Any:
        """Return the value as `json.loads` returns it."""
        if self.is_object:
            return {item.key: item.plain() for item in self.items}
        return [item.plain() for item in self.items] if self.is_array else self.scalar


def parse(text: str) -> Node:
    """
    Return the value that *text* consists of.

    Raises:
        json.JSONDecodeError: It is no such text; the error says where.
        ValueError: It has a number too long for Python to read.
    """
    try:
        root = _value(text, _skip(text, len(_BOM) if text.startswith(_BOM) else 0))
    except RecursionError:
        raise json.JSONDecodeError("Nested too deeply", text, 0) from None
    if (end := _skip(text, root.end)) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return root


def append(text: str, container: Node, value: Any, key: str | None = None) -> str:
    """
    Return *text* with *value* as the last item of *container*, on lines of its own.

    Args:
        text: What *container* was parsed from.
        container: An array, or an object that does not have *key*.
        value: What `json.dumps` takes.
        key: The item's key, in an object.
    """
    last = container.items[-1] if container.items else None
    after, close = last.end if last else container.at + 1, container.end - 1
    tokens = list(_TOKEN.finditer(text, after, close))
    # Behind the comments that follow the last item: they belong to it.
    place = tokens[-1].end() if tokens else after
    has_comma = any(token[0] == "," for token in tokens)

    newline = _newline(text)
    inner = _indent(text, container.at) + _unit(text)
    if last and not (lead := text[_line(text, last.start) : last.start]).strip(" \t"):
        inner = lead
    item = _render(text, value, inner)
    put = newline + inner + (item if key is None else f"{json.dumps(key, ensure_ascii=False)}: {item}")
    tail = text[place:close] if "\n" in text[place:close] else newline + _indent(text, close)
    separator = "," if last and not has_comma else ""
    return text[:after] + separator + text[after:place] + put + ("," if has_comma else "") + tail + text[close:]


def replace(text: str, node: Node, value: Any) -> str:
    """Return *text* with *value* in the place of *node*, whose key stays."""
    return text[: node.at] + _render(text, value, _indent(text, node.at)) + text[node.end :]


def remove(text: str, container: Node, item: Node) -> str:
    """Return *text* without *item*, its key and its comma; comments before and after it stay."""
    index = container.items.index(item)
    start = container.items[index - 1].end if index else container.at + 1
    end = container.items[index + 1].start if index + 1 < len(container.items) else container.end - 1
    before, behind = text[start : item.start], text[item.end : end]
    if index and index + 1 == len(container.items):
        before = _without_comma(before)
    else:
        behind = _without_comma(behind)
    tokens = list(_TOKEN.finditer(before))
    kept = tokens[-1].end() if tokens else 0
    if tokens and tokens[-1][0].startswith("//") and not _REST_OF_LINE.match(behind):
        kept = len(before)  # the end of the line is the end of the comment
    if len(container.items) == 1 and not tokens and not behind.strip(" \t\r\n"):
        behind = ""
    return text[:start] + before[:kept] + behind + text[end:]


def is_alone(text: str, container: Node) -> bool:
    """Return whether *container* holds one item, and not a comment beside it."""
    if len(container.items) != 1:
        return False
    (item,) = container.items
    beside = text[container.at + 1 : item.start], text[item.end : container.end - 1]
    return not any(gap.strip(" \t\r\n,") for gap in beside)


def _value(text: str, at: int, start: int | None = None, key: str | None = None) -> Node:
    start, bracket = at if start is None else start, text[at : at + 1]
    if bracket in ("{", "["):
        items, end = _items(text, at)
        return Node(start=start, at=at, end=end, key=key, bracket=bracket, items=items)
    if _NOT_JSON.match(text, at):
        raise json.JSONDecodeError("Expecting value", text, at)
    scalar, end = _decode(text, at)
    return Node(start=start, at=at, end=end, key=key, scalar=scalar)


def _items(text: str, at: int) -> tuple[tuple[Node, ...], int]:
    read, close = (_member, "}") if text[at] == "{" else (_value, "]")
    items, at = [], _skip(text, at + 1)
    while text[at : at + 1] != close:
        items.append(read(text, at))
        at = _skip(text, items[-1].end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != close:
            raise json.JSONDecodeError(f"Expecting ',' or '{close}'", text, at)
    return tuple(items), at + 1


def _member(text: str, start: int) -> Node:
    if text[start : start + 1] != '"':
        raise json.JSONDecodeError("Expecting a key in double quotes", text, start)
    key, end = _decode(text, start)
    colon = _skip(text, end)
    if text[colon : colon + 1] != ":":
        raise json.JSONDecodeError("Expecting ':'", text, colon)
    return _value(text, _skip(text, colon + 1), start, key)


def _skip(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    assert gap, "it matches nothing, too"
    return gap.end()


def _without_comma(gap: str) -> str:
    comma = next((token for token in _TOKEN.finditer(gap) if token[0] == ","), None)
    return gap[: comma.start()] + gap[comma.end() :] if comma else gap


def _render(text: str, value: Any, indent: str) -> str:
    # Line ends inside strings are escaped: those that are left are the layout's.
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    # The shallowest: what is put in is as deep or deeper, so that it does not change the next answer.
    return min(_INDENT.findall(text), key=len, default="  ")


def _indent(text: str, at: int) -> str:
    indent = _INDENT.match(text, _line(text, at))
    return indent[0] if indent else ""


def _line(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1
