"""Transition ids and marker keys: fixed, because other programs compute and keep them too."""

from __future__ import annotations

import hashlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentihooks.ids import marker_key, preceding_marker_key, transition_id
from agentihooks.marker import TYPES
from agentihooks.model import Scope
from agentihooks.testing import CONFORMANCE_HISTORY, CONFORMANCE_ID_PREFIXES

VECTORS = {
    "": "47fb6c006e72b49a3f239ee95979b99535bfe218b91d2648f95486582f4699df",
    "féature/漢😀": "1db1eebb9d51cf7890a3eaa327396f3baf063ad2830c769c9e1566cba225df8a",
}


@pytest.mark.parametrize(("branch", "expected"), VECTORS.items(), ids=["empty", "non-ASCII"])
def test_vectors(branch: str, expected: str) -> None:
    """The documented vectors hold."""
    assert expected == transition_id("s1", "2026-10-08T10:00:00Z", Scope(branch=branch))


@pytest.mark.parametrize(
    ("transition", "prefix"),
    [*zip(CONFORMANCE_HISTORY, CONFORMANCE_ID_PREFIXES, strict=True)],
    ids=CONFORMANCE_ID_PREFIXES,
)
def test_conformance_history(transition: tuple[str, Scope], prefix: str) -> None:
    """The conformance history has the documented ids."""
    at, scope = transition
    assert prefix == transition_id("first", at, scope)[:8]


def test_the_spelling_of_the_time_counts() -> None:
    """The id is of the time's text, not of its instant."""
    spellings = ("2026-10-08T10:00:00Z", "2026-10-08T10:00:00+00:00")
    assert 2 == len({transition_id("s1", at, Scope()) for at in spellings})


def test_marker_key() -> None:
    """A marker's key is fixed: brains keep it."""
    text = '["s1", "lesson", "github.com/fixture/alpha", "first", "h\\u00e9"]'
    expected = "k2:" + hashlib.sha256(text.encode()).hexdigest()
    assert expected == marker_key("s1", "lesson", "github.com/fixture/alpha", "first", "hé")


@given(st.text(), st.sampled_from(TYPES), st.text())
def test_preceding_marker_key(session_id: str, kind: str, content: str) -> None:
    """The preceding key is the hex of a version 5 UUID in the URL namespace."""
    expected = uuid.uuid5(uuid.NAMESPACE_URL, f"{session_id}-{kind}-{content}").hex
    assert expected == preceding_marker_key(session_id, kind, content)


def test_keys_of_lone_surrogates() -> None:
    """Text that is not quite Unicode has keys as well."""
    assert 32 == len(preceding_marker_key("s1", "lesson", "\ud800"))
    assert 67 == len(marker_key("s1", "lesson", "", "", "\ud800"))
