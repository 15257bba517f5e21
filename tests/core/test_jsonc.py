"""JSON with comments: what is read, where it stands, and what an edit leaves alone."""

from __future__ import annotations

import json

import pytest

from agentihooks import jsonc
from agentihooks.jsonc import parse

READABLE = {
    "plain": ('{"a": [1, -2.5e3, true, false, null, "\\u00e9\\n"]}', {"a": [1, -2500.0, True, False, None, "é\n"]}),
    "line comment": ('{ // of "a": {\n"a": 1}', {"a": 1}),
    "block comment": ("[/* , ] */ 1 /**/, /* * / */ 2]", [1, 2]),
    "comment markers in a string": ('["// no", "/* no */"]', ["// no", "/* no */"]),
    "comments around": ("// before\n1 // after", 1),
    "trailing comma in an object": ('{"a": 1 /* c */ , }', {"a": 1}),
    "trailing comma in an array": ("[1,\n]", [1]),
    "byte order mark": ('\ufeff{"a": 1}', {"a": 1}),
    "line ends": ('{"a":\r\n1,\r"b":\n2}', {"a": 1, "b": 2}),
    "key twice": ('{"a": 1, "a": 2}', {"a": 2}),
    "empty containers": ("[{}, [ ], {\n}]", [{}, [], {}]),
}

UNREADABLE = {
    "nothing": ("", "Expecting value: line 1 column 1"),
    "comment only": ("// nothing", "Expecting value: line 1 column 11"),
    "not a value": ("{\n  a: 1}", "Expecting a key in double quotes: line 2 column 3"),
    "single quotes": ("['a']", "Expecting value: line 1 column 2"),
    "no colon": ('{"a" 1}', "Expecting ':': line 1 column 6"),
    "no comma in an object": ('{"a": 1\n "b": 2}', "Expecting ',' or '}': line 2 column 2"),
    "no comma in an array": ("[1 2]", "Expecting ',' or ']': line 1 column 4"),
    "comma alone": ("[,]", "Expecting value: line 1 column 2"),
    "two commas": ("[1,,]", "Expecting value: line 1 column 4"),
    "open object": ('{"a": 1', "Expecting ',' or '}': line 1 column 8"),
    "open array": ("[1,", "Expecting value: line 1 column 4"),
    "open string": ('["a', "Unterminated string starting at: line 1 column 2"),
    "open comment": ("[1 /* 2]", "Expecting ',' or ']': line 1 column 4"),
    "line end in a string": ('["a\nb"]', "Invalid control character at: line 1 column 4"),
    "leading zero": ("[01]", "Expecting ',' or ']': line 1 column 3"),
    "not a number": ("[NaN]", "Expecting value: line 1 column 2"),
    "infinity": ("[-Infinity]", "Expecting value: line 1 column 2"),
    "more behind": ("{}\n{}", "Extra data: line 2 column 1"),
    "too deep": ("[" * 100_000, "Nested too deeply: line 1 column 1"),
}


@pytest.mark.parametrize(("text", "value"), READABLE.values(), ids=READABLE)
def test_what_is_read(text: str, value: object) -> None:
    """JSON, comments, trailing commas and a byte order mark are read as the values they stand for."""
    assert value == parse(text).plain()


@pytest.mark.parametrize(("text", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_not_read(text: str, reason: str) -> None:
    """Anything else is an error that gives line and column."""
    with pytest.raises(json.JSONDecodeError) as caught:
        parse(text)
    assert str(caught.value).startswith(reason + " (char")


def test_a_number_too_long_for_python() -> None:
    """A number that Python refuses to read is a ValueError, too."""
    with pytest.raises(ValueError, match="digits"):
        parse("9" * 5000)


def test_places() -> None:
    """A value knows where it stands, and in an object where its key begins."""
    text = '{ "a" : [10] }'
    item = parse(text).items[0]
    assert ('"a" : [10]', "[10]") == (text[item.start : item.end], text[item.at : item.end])
    assert "10" == text[item.items[0].start : item.items[0].end]


def test_get_in_what_is_no_object() -> None:
    """An array and a scalar have nothing under any key."""
    assert [None, None] == [parse("[1]").get("a"), parse("1").get("a")]


APPENDED = {
    "empty": ("{}", '{\n  "k": 0\n}'),
    "one line": ('{"a": 1 }', '{"a": 1,\n  "k": 0\n}'),
    "lines": ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "k": 0\n}\n'),
    "tabs and CRLF": ('{\r\n\t"a": 1\r\n}', '{\r\n\t"a": 1,\r\n\t"k": 0\r\n}'),
    "four spaces": ('{\n    "a": 1\n}', '{\n    "a": 1,\n    "k": 0\n}'),
    "comment behind the last": ('{\n  "a": 1 // c, d\n}', '{\n  "a": 1, // c, d\n  "k": 0\n}'),
    "trailing blanks in a comment": ('{\n  "a": 1 // c  \n}', '{\n  "a": 1, // c  \n  "k": 0\n}'),
    "trailing comma": ('{\n  "a": 1, // c\n}', '{\n  "a": 1, // c\n  "k": 0,\n}'),
    "comment alone": ("{\n  // c\n}", '{\n  // c\n  "k": 0\n}'),
    "byte order mark": ("\ufeff{}", '\ufeff{\n  "k": 0\n}'),
}


@pytest.mark.parametrize(("text", "result"), APPENDED.values(), ids=APPENDED)
def test_append(text: str, result: str) -> None:
    """An item is put behind the last and its comments, laid out as its surroundings are."""
    assert result == jsonc.append(text, parse(text), 0, "k")


def test_append_to_an_array() -> None:
    """What is appended to a nested array is indented as deep as that."""
    text = '{\n  "a": [\n    1\n  ]\n}'
    array = parse(text).items[0]
    assert '{\n  "a": [\n    1,\n    {\n      "é": []\n    }\n  ]\n}' == jsonc.append(text, array, {"é": []})


REMOVED = {
    "only": ('{"x": 0}', "{}"),
    "only, on lines": ('{\n  "x": 0,\n}', "{}"),
    "only, with a comment before": ('{ /* c */ "x": 0 }', "{ /* c */ }"),
    "only, with a comment behind": ('{\n  "x": 0 // c\n}', "{ // c\n}"),
    "first": ('{\n  "x": 0,\n  "a": 1\n}', '{\n  "a": 1\n}'),
    "last": ('{\n  "a": 1,\n  "x": 0\n}', '{\n  "a": 1\n}'),
    "last, with a trailing comma": ('{\n  "a": 1,\n  "x": 0,\n}', '{\n  "a": 1,\n}'),
    "middle": ('{"a": 1, "x": 0, "b": 2}', '{"a": 1, "b": 2}'),
    "comment of the one before": ('{\n  "a": 1, // c\n  "x": 0\n}', '{\n  "a": 1 // c\n}'),
    "line comment that would swallow the end": ('{"a": 1, // c\n "x": 0 }', '{"a": 1 // c\n  }'),
    "comma in a comment": ('{"a": 1 /* , */, "x": 0}', '{"a": 1 /* , */}'),
    "container": ('{"a": 1, "x": {"y": [2]}}', '{"a": 1}'),
}


@pytest.mark.parametrize(("text", "result"), REMOVED.values(), ids=REMOVED)
def test_remove(text: str, result: str) -> None:
    """An item goes with its key and one comma; comments stay."""
    item = parse(text).get("x")
    assert item is not None
    assert result == jsonc.remove(text, parse(text), item)


def test_replace() -> None:
    """A value takes another's place, under the same key."""
    text = '{\n  "a": 1, // c\n  "b": 2\n}'
    assert '{\n  "a": [\n    3\n  ], // c\n  "b": 2\n}' == jsonc.replace(text, parse(text).items[0], [3])


@pytest.mark.parametrize(
    ("text", "alone"), [("[1]", True), ("[ 1, ]", True), ("[]", False), ("[1, 2]", False), ("[1 /**/]", False)]
)
def test_is_alone(text: str, alone: bool) -> None:
    """An item is alone without another item, and without a comment beside it."""
    assert alone == jsonc.is_alone(text, parse(text))
