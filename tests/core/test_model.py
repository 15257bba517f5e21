"""The values: what they take, and what they give back."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import attrs
import pytest

from agentihooks import Attribution, Event, Scope, SessionGrant
from agentihooks.model import MAX_VALUE_CHARS, SCOPE_FIELDS, names_project
from agentihooks.testing import conformance_transitions, refusal_of, scope


def test_a_scope_has_eleven_fields() -> None:
    """The fields and their order are the contract's."""
    expected = "project_id project repo worktree cwd remote branch swarm task task_revision lane"
    assert tuple(expected.split()) == SCOPE_FIELDS


@pytest.mark.parametrize(("value", "expected"), [(None, ""), (0, "0"), (1.5, "1.5"), (False, "False"), ("x", "x")])
def test_every_field_is_text(value: Any, expected: str) -> None:
    """None becomes "", anything else its text; revision 0 is no empty one."""
    assert expected == Scope(task_revision=value).task_revision


@pytest.mark.parametrize("kind", [dict, OrderedDict, MappingProxyType])
def test_a_scope_from_a_mapping(kind: type) -> None:
    """Any mapping with a scope's field names is a scope; the other fields are empty."""
    assert Scope(branch="main", task_revision="2") == Scope.of(kind({"branch": "main", "task_revision": 2}))


def test_a_scope_from_a_scope() -> None:
    """A scope is itself; a transition gives the scope it holds, and nothing else of it."""
    transition = conformance_transitions("s")[0]
    assert transition.scope == Scope.of(transition)
    assert type(Scope.of(transition)) is Scope
    assert scope() == Scope.of(scope())


def test_unknown_fields_are_named() -> None:
    """A field that does not exist is refused by its name, and the message lists those that do."""
    refusal = refusal_of(Scope.of, {"branch": "main", "barnch": "main", 7: ""})
    assert refusal is not None
    assert "bad_scope" == refusal.code
    assert all(word in refusal.message for word in ("'barnch', 7", *SCOPE_FIELDS))


@pytest.mark.parametrize("value", [None, "main", ["branch"], 7], ids=repr)
def test_other_types_are_no_scope(value: Any) -> None:
    """Only scopes and mappings are scopes."""
    refusal = refusal_of(Scope.of, value)
    assert refusal is not None
    assert "bad_scope" == refusal.code


@pytest.mark.parametrize("name", SCOPE_FIELDS)
def test_values_may_be_4096_characters_long(name: str) -> None:
    """A value of 4096 characters is taken, whatever they are; one more is refused by the field's name."""
    assert MAX_VALUE_CHARS == len(getattr(Scope.of({name: "😀" * MAX_VALUE_CHARS}), name))
    for too_long in ({name: "x" * (MAX_VALUE_CHARS + 1)}, Scope(**{name: "x" * (MAX_VALUE_CHARS + 1)})):
        refusal = refusal_of(Scope.of, too_long)
        assert refusal is not None
        assert refusal.message.startswith(f"{name} is longer")


def test_frozen() -> None:
    """A scope never changes, and can be a key."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        scope().branch = "other"  # type: ignore[misc] # on purpose
    assert {scope(): 1} == {scope(): 1}


@pytest.mark.parametrize(
    ("project_id", "expected"), [("", False), ("unknown", False), ("local:x", True), ("Unknown", True)]
)
def test_which_ids_name_a_project(project_id: str, expected: bool) -> None:
    """Only "" and "unknown" name no project."""
    assert expected is names_project(project_id)
    assert expected is Scope(project_id=project_id).names_project


def test_dicts() -> None:
    """A scope gives all of its fields, or those that say something, in their order."""
    assert SCOPE_FIELDS == tuple(scope().as_dict())
    assert {"cwd": "/work", "lane": "eng"} == Scope(lane="eng", cwd="/work").nonempty()


def test_a_transition_as_its_line() -> None:
    """A transition gives the fifteen keys of its line in the log, in their order."""
    transition = conformance_transitions("s")[1]
    expected = {
        "session_id": "s",
        "sequence": 1,
        "at": "2026-10-08T10:10:00+00:00",
        "transition_id": transition.transition_id,
        **transition.scope.as_dict(),
    }
    assert list(expected.items()) == list(transition.as_dict().items())


def test_a_transition_is_no_scope() -> None:
    """A transition equals its twin only, not the scope it holds."""
    transition = conformance_transitions("s")[1]
    assert transition == attrs.evolve(transition)
    assert transition != transition.scope


def test_an_attribution_reads_like_a_scope() -> None:
    """An attribution's fields read as attributes; a scope field that it does not carry is ""."""
    attribution = Attribution(attribution="scoped", fields={"project_id": "local:x", "branch": "main"})
    assert ("local:x", "main", "") == (attribution.project_id, attribution.branch, attribution.task)
    with pytest.raises(AttributeError, match="barnch"):
        _ = attribution.barnch


def test_an_attribution_as_json() -> None:
    """The label comes first, then what the attribution carries."""
    attribution = Attribution(attribution="unknown", fields={"branch": "main"})
    assert '{"attribution": "unknown", "branch": "main"}' == str(attribution.as_dict()).replace("'", '"')


@pytest.mark.parametrize(
    "value", [scope(), conformance_transitions("s")[0], Attribution(attribution="fleet"), Event(at=None)], ids=repr
)
def test_values_survive_pickling(value: object) -> None:
    """Values cross between processes."""
    assert value == pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize(
    "ids", [["a"], ("a",), {"a"}, frozenset({"a"}), {"a": 1}, iter(["a"])], ids=lambda ids: type(ids).__name__
)
def test_a_grant_from_any_collection(ids: Any) -> None:
    """A grant is a set of project ids, given as any collection of them."""
    assert SessionGrant({"a"}) == SessionGrant.of(ids)


@pytest.mark.parametrize("text", ["github.com/fixture/alpha", b"alpha"])
def test_a_text_is_no_grant(text: Any) -> None:
    """One text is a mistake, not a collection of its letters."""
    with pytest.raises(TypeError, match="collection"):
        SessionGrant(text)


@pytest.mark.parametrize(
    ("project_id", "expected"), [("a", True), ("b", False), ("A", False), ("", True), ("unknown", True)]
)
def test_what_a_grant_allows(project_id: str, expected: bool) -> None:
    """A grant allows its projects, and what names none."""
    assert expected is SessionGrant.of(SessionGrant({"a"})).allows(project_id)
