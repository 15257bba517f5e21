"""What holds for an install in any settings text, with comments in any place."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentihooks import jsonc
from agentihooks.hook_settings import Groups, installed, merge, remove

HANDLER = {"type": "command", "command": "'/a b/agentihooks' hook claude", "timeout": 5}
WANTED: Groups = {
    "Stop": {"hooks": [HANDLER]},
    "PostToolUse": {"matcher": "Bash|Exit", "hooks": [HANDLER]},
    "SessionEnd": {"hooks": [HANDLER]},
}

gaps = st.sampled_from(["", "", " ", "\n  ", "\r\n\t", "\n", " // a, } [\n", "/* { */", " // b\r\n    ", "\t/*, */ "])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=6
)
handlers = st.fixed_dictionaries({"type": st.just("command"), "command": st.sampled_from(["lint", "x hook claude"])})
grouped = st.fixed_dictionaries({"hooks": st.lists(handlers, max_size=2)}, optional={"matcher": st.just("Bash")})
hooks = st.dictionaries(st.sampled_from(["Stop", "PostToolUse", "PreToolUse"]), st.lists(grouped, max_size=2))
keys = st.text().filter(lambda key: key != "hooks")
objects = st.tuples(st.dictionaries(keys, values, max_size=3), st.none() | hooks).map(
    lambda parts: parts[0] if parts[1] is None else {**parts[0], "hooks": parts[1]}
)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """Write *value* down with comments, blanks, line ends and trailing commas wherever they may stand."""

    def gap() -> str:
        return draw(gaps)

    def write(value: Any) -> str:
        if isinstance(value, dict):
            items = [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{write(item)}{gap()}" for key, item in value.items()]
        elif isinstance(value, list):
            items = [f"{gap()}{write(item)}{gap()}" for item in value]
        else:
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        last = draw(st.sampled_from(["", ","])) if items else ""
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return opening + ",".join(items) + last + gap() + closing

    return draw(st.sampled_from(["", "\ufeff"])) + gap() + write(value) + gap()


texts = objects.flatmap(written)


def comments(text: str) -> list[str]:
    """Return the comments in a text, in order."""
    strings_or_comments = re.finditer(r'"(?:\\.|[^"\\])*"|//[^\r\n]*|/\*.*?\*/', text, re.DOTALL)
    return [found[0] for found in strings_or_comments if found[0][0] == "/"]


@given(values.flatmap(lambda value: st.tuples(st.just(value), written(value))))
def test_reads_what_was_written(pair: tuple[Any, str]) -> None:
    """Comments, blanks and trailing commas do not change a value."""
    assert pair[0] == jsonc.parse(pair[1]).plain()


@given(texts)
def test_an_uninstall_undoes_an_install(text: str) -> None:
    """With the original at hand, an install and an uninstall are the identity, to the character."""
    assert text == remove(merge(text, "claude", WANTED), "claude", text)


@given(texts)
def test_an_install_is_idempotent(text: str) -> None:
    """A second install changes nothing."""
    once = merge(text, "claude", WANTED)
    assert once == merge(once, "claude", WANTED)


@given(texts)
def test_an_install_only_adds(text: str) -> None:
    """Whatever was there is there afterwards, in its order; each event has our group once, behind the others."""
    before, after = (jsonc.parse(each).plain() for each in (text, merge(text, "claude", WANTED)))
    for event, group in WANTED.items():
        before.setdefault("hooks", {}).setdefault(event, []).append(group)
    assert before == after


@given(texts)
def test_an_install_keeps_every_character(text: str) -> None:
    """The text before is the text after, less what was put in: no character is lost but blanks, and none is moved."""
    rest = iter(merge(text, "claude", WANTED))
    assert [] == [character for character in text if character not in " \t\r\n" and character not in rest]


@given(texts, scalars)
def test_an_uninstall_after_an_edit(text: str, value: Any) -> None:
    """When somebody edited in between, the edit and every comment outlive the uninstall, and none of ours does."""

    def edit(text: str) -> str:
        return jsonc.append(text, jsonc.parse(text), value, "edited \ud800")

    edited = remove(edit(merge(text, "claude", WANTED)), "claude", text)
    assert jsonc.parse(edit(text)).plain() == jsonc.parse(edited).plain()
    assert comments(text) == comments(edited)


@given(texts, st.lists(st.sampled_from(["Stop", "PostToolUse", "SessionEnd", "Gone"]), unique=True))
def test_an_uninstall_undoes_an_upgrade(text: str, events: list[str]) -> None:
    """With the original at hand, whatever versions were installed one after the other, all traces go."""
    old: Groups = {event: {"hooks": [{**HANDLER, "timeout": 60}]} for event in events}
    upgraded = merge(merge(text, "claude", old), "claude", WANTED, text)
    assert (WANTED, text) == (installed(upgraded, "claude"), remove(upgraded, "claude", text))


@given(texts)
def test_an_upgrade_is_an_install(text: str) -> None:
    """An install over that of another path gives what it gives by itself."""
    old = json.loads(json.dumps(WANTED).replace("/a b/", "/old/").replace('"timeout": 5', '"timeout": 60'))
    assert merge(text, "claude", WANTED) == merge(merge(text, "claude", old), "claude", WANTED)
