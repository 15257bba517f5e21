"""A log's lines, to and from transitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import Scope
from agentihooks.clock import instant
from agentihooks.codec import decode_transition, encode_transition
from agentihooks.ids import transition_id
from agentihooks.record import transition
from agentihooks.testing import at, conformance_transitions, scope

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

    from agentihooks import Transition

LINE: dict[str, Any] = {
    "session_id": "s",
    "sequence": 7,
    "at": "2026-10-08T10:00:00Z",
    "transition_id": "0" * 64,
    **Scope(branch="main").as_dict(),
}


def decoded(**changes: Any) -> Transition | None:
    """Return what the line reads as with some of its values changed; ... takes a key away."""
    row = {name: value for name, value in {**LINE, **changes}.items() if value is not ...}
    found = decode_transition(json.dumps(row).encode(), "s", 3)
    return None if found is None else found[0]


def test_one_line() -> None:
    """A transition is one line of ASCII with the documented keys, in order."""
    first = transition("s1", 0, Scope(branch="féature/漢😀"), "2026-10-08T10:00:00Z")
    expected = (
        b'{"session_id": "s1", "sequence": 0, "at": "2026-10-08T10:00:00Z", "transition_id": '
        b'"1db1eebb9d51cf7890a3eaa327396f3baf063ad2830c769c9e1566cba225df8a", "project_id": "", "project": "", '
        b'"repo": "", "worktree": "", "cwd": "", "remote": "", "branch": "f\\u00e9ature/\\u6f22\\ud83d\\ude00", '
        b'"swarm": "", "task": "", "task_revision": "", "lane": ""}\n'
    )
    assert expected == encode_transition(first)


def test_there_and_back() -> None:
    """What was written is read, with its instant."""
    for written in conformance_transitions("s"):
        assert (written, instant(written.at)) == decode_transition(encode_transition(written), "s", 99)


def test_a_newline_in_a_value_stays_in_its_line() -> None:
    """Whatever a value holds, lone surrogates and line ends included, the line is one line."""
    written = transition("s", 0, scope(cwd="/a\nb\r\u2028\ud800\0"), at("10:00"))
    line = encode_transition(written)
    assert 1 == line.count(b"\n")
    assert (written, instant(written.at)) == decode_transition(line, "s", 0)


def test_lines_fit_the_published_schema(line_schema: Draft202012Validator) -> None:
    """The conformance history's lines are what the schema says."""
    for written in conformance_transitions("first"):
        line_schema.validate(json.loads(encode_transition(written)))


@pytest.mark.parametrize(
    "change",
    [
        *({name: ...} for name in LINE),
        *({name: 7} for name in LINE if name != "sequence"),
        *({"sequence": value} for value in (-1, 1.5, "7", None)),
        {"more": ""},
        {"session_id": "../s"},
        {"transition_id": "A" * 64},
        {"lane": "x" * 4097},
    ],
    ids=str,
)
def test_the_schema_refuses_other_lines(line_schema: Draft202012Validator, change: dict[str, Any]) -> None:
    """A line with a key missing, too many, or with a value of the wrong kind, does not fit the schema."""
    row = {name: value for name, value in {**LINE, **change}.items() if value is not ...}
    assert line_schema.is_valid(LINE)
    assert not line_schema.is_valid(row)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"7",
        b"{}",
        b'{"at": "2026-10-08T10:00:00Z"',
        b'\xff{"at": "2026-10-08T10:00:00Z"}',
        b'{"at": "2026-10-08T10:00:00Z", "cwd": "\xff"}',
        b"[" * 100_000,
        b'{"at": "2026-10-08T10:00:00Z"}{"at": "2026-10-08T10:00:00Z"}',
    ],
    ids=lambda line: repr(line[:40]),
)
def test_lines_that_hold_nothing(line: bytes) -> None:
    """Bytes that are not UTF-8, not JSON, not an object or without a time hold no transition."""
    assert decode_transition(line, "s", 0) is None


@pytest.mark.parametrize(
    "time", [..., None, "", "yesterday", 1791453600, ["2026-10-08T10:00:00Z"], "2026-10-08"], ids=repr
)
def test_a_line_needs_a_time(time: Any) -> None:
    """A line without a readable time holds nothing."""
    assert decoded(at=time) is None


@pytest.mark.parametrize("session_id", ["t", "S", None, 1, ["s"]], ids=repr)
def test_a_line_of_another_session(session_id: Any) -> None:
    """A line that names another session holds nothing."""
    assert decoded(session_id=session_id) is None


def test_missing_and_unknown_keys() -> None:
    """A missing scope field is "", an unknown key is ignored, and one that is no text becomes its text."""
    read = decoded(cwd=..., lane=None, task_revision=4, color="red")
    assert read is not None
    assert Scope(branch="main", task_revision="4") == read.scope


def test_a_line_without_a_session() -> None:
    """A line that does not say belongs to the session whose log it is in."""
    read = decoded(session_id=...)
    assert read is not None
    assert "s" == read.session_id


@pytest.mark.parametrize("sequence", [..., None, "7", 1.5, True, -1], ids=repr)
def test_a_line_without_a_sequence(sequence: Any) -> None:
    """A line without a usable number takes the one that is due."""
    read = decoded(sequence=sequence)
    assert read is not None
    assert 3 == read.sequence


def test_a_line_without_an_id() -> None:
    """A line without an id gets the one it would have; one that has an id keeps it, right or wrong."""
    without, kept = decoded(transition_id=7), decoded()
    assert without is not None
    assert kept is not None
    assert transition_id("s", "2026-10-08T10:00:00Z", Scope(branch="main")) == without.transition_id
    assert "0" * 64 == kept.transition_id
