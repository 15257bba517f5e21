"""Labels: every row of the table, their order, and what an attribution carries."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import Engine, Event, Scope, unattributed_session_events_total
from agentihooks.model import PROJECT_FIELDS
from agentihooks.testing import (
    CONFORMANCE_ATTRIBUTIONS,
    CONFORMANCE_EVENTS,
    CONFORMANCE_GRANT,
    CONFORMANCE_HISTORY,
    at,
    labels,
    recorded,
    scope,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import Draft202012Validator

ALPHA, BETA = "github.com/fixture/alpha", "github.com/fixture/beta"
FIRST = CONFORMANCE_HISTORY[0][1].nonempty()
PLACE_AND_TASK = {name: value for name, value in FIRST.items() if name not in PROJECT_FIELDS}


@pytest.fixture
def memory() -> Engine:
    """Return an engine in memory with the conformance history in session `first`."""
    return recorded(Engine.in_memory().log, "first")


def label(engine: Engine, attrs: Any, clock: str = "10:05", grant: Any = CONFORMANCE_GRANT) -> dict[str, str]:
    """Return the attribution of one event."""
    return engine.attribute("first", [{"at": at(clock), "attrs": attrs}], grant)[0].as_dict()


TABLE = {
    "fleet": ({"share": "fleet"}, {"attribution": "fleet"}),
    "fleet before refused": ({"share": "fleet", "project_id": "local:x"}, {"attribution": "fleet"}),
    "fleet before explicit": ({"share": "fleet", "project_id": BETA}, {"attribution": "fleet"}),
    "refused": ({"project_id": "local:x", "repo": "x"}, {"attribution": "refused"}),
    "explicit": ({"project_id": BETA}, {"attribution": "explicit", "project_id": BETA, **PLACE_AND_TASK}),
    "explicit as written": (
        {"project_id": BETA, "project": "b", "repo": "r", "remote": "u", "branch": "mine", "task": "mine", "x": "y"},
        {"attribution": "explicit", "project_id": BETA, "project": "b", "repo": "r", "remote": "u", **PLACE_AND_TASK},
    ),
    "explicit of the same project": (
        {"project_id": ALPHA, "project": "", "repo": None},
        {"attribution": "explicit", "project_id": ALPHA, **PLACE_AND_TASK},
    ),
    "scoped": ({}, {"attribution": "scoped", **FIRST}),
    "scoped, no attrs": (None, {"attribution": "scoped", **FIRST}),
    "scoped, shared otherwise": ({"share": "Fleet"}, {"attribution": "scoped", **FIRST}),
    "scoped, claim without project_id": ({"project": "b", "repo": "r"}, {"attribution": "scoped", **FIRST}),
    "scoped, empty claim": ({"project_id": ""}, {"attribution": "scoped", **FIRST}),
    "scoped, unknown claim": ({"project_id": "unknown"}, {"attribution": "scoped", **FIRST}),
    "scoped, null claim": ({"project_id": None}, {"attribution": "scoped", **FIRST}),
}


@pytest.mark.parametrize(("attrs", "expected"), [*TABLE.values()], ids=TABLE)
def test_the_table(
    memory: Engine, attribution_schema: Draft202012Validator, attrs: Any, expected: dict[str, str]
) -> None:
    """An event gets the first label whose rule holds, and carries what that label carries."""
    assert expected == label(memory, attrs)
    attribution_schema.validate(expected)


def test_a_claim_where_nothing_is_in_force(memory: Engine) -> None:
    """An explicit event before the first transition, or without a time, carries its own claim alone."""
    expected = {"attribution": "explicit", "project_id": BETA}
    assert expected == label(memory, {"project_id": BETA}, "09:59")
    assert [expected] == [each.as_dict() for each in memory.attribute("first", [{"attrs": {"project_id": BETA}}])]


def test_without_a_grant_nothing_is_refused(memory: Engine) -> None:
    """None enforces nothing; a grant may be given as any collection of ids."""
    attrs = {"project_id": BETA}
    given = [None, [BETA], {BETA}, [], [ALPHA]]
    found = [label(memory, attrs, grant=grant)["attribution"] for grant in given]
    assert ["explicit", "explicit", "explicit", "refused", "refused"] == found


def test_a_claim_that_is_no_text(memory: Engine) -> None:
    """A claimed project id of another type is the text of it."""
    assert "refused" == label(memory, {"project_id": 7})["attribution"]
    assert "7" == label(memory, {"project_id": 7}, grant=["7"])["project_id"]


@pytest.mark.parametrize("project_id", ["", "unknown"])
def test_a_scope_without_a_project_is_unknown(attribution_schema: Draft202012Validator, project_id: str) -> None:
    """Where the scope in force names no project, its other fields are carried, and none that could pass for one."""
    engine = Engine.in_memory()
    engine.record_scope("first", scope(project_id=project_id, remote="u", branch="main", task="t"), at("10:00"))
    expected = {"attribution": "unknown", "cwd": "/work/alpha", "branch": "main", "task": "t"}
    assert expected == label(engine, {})
    attribution_schema.validate(expected)


@pytest.mark.parametrize(
    "time", [None, "", "yesterday", "2026-10-08", 1791453600, b"2026-10-08T10:05:00Z", []], ids=repr
)
def test_an_event_without_a_time_is_unknown(memory: Engine, time: Any) -> None:
    """An event whose time cannot be read belongs nowhere, whatever is in force."""
    assert [{"attribution": "unknown"}] == [each.as_dict() for each in memory.attribute("first", [{"at": time}])]


def test_the_conformance_events(memory: Engine, attribution_schema: Draft202012Validator) -> None:
    """The documented events get the documented labels, and one of them counts as unattributed."""
    found = memory.attribute("first", CONFORMANCE_EVENTS, CONFORMANCE_GRANT)
    assert list(CONFORMANCE_ATTRIBUTIONS) == found
    assert 1 == unattributed_session_events_total(found)
    for each in found:
        attribution_schema.validate(each.as_dict())


def test_what_counts_as_unattributed(memory: Engine) -> None:
    """Unknown and refused events are unattributed, those of the fleet are not."""
    attrs = [{}, {"share": "fleet"}, {"project_id": "local:x"}, {"project_id": BETA}]
    events: list[Any] = [{"at": at("10:05"), "attrs": each} for each in attrs] + [{"at": "?"}]
    found = memory.attribute("first", events, CONFORMANCE_GRANT)
    assert {"scoped": 1, "explicit": 1, "fleet": 1, "unknown": 1, "refused": 1} == labels(found)
    assert 2 == unattributed_session_events_total(found)


@pytest.mark.parametrize(
    ("clock", "branch"), [("10:10", "two"), ("10:09", "one"), ("10:29", "two"), ("10:30", "main"), ("23:00", "main")]
)
def test_the_boundary(memory: Engine, clock: str, branch: str) -> None:
    """A transition is in force from its own instant on."""
    assert branch == label(memory, {}, clock)["branch"]


def test_events_in_any_order(memory: Engine) -> None:
    """Each event is attributed by its own time, whatever came before it, in whatever zone it is told."""
    times = [at("10:40"), at("10:05"), "2026-10-08T12:15:00+02:00", at("09:00"), at("10:05"), "20261008T1035Z"]
    found = [each.branch for each in memory.attribute("first", [{"at": time} for time in times])]
    assert ["main", "one", "two", "", "one", "main"] == found


def test_every_kind_of_event(memory: Engine) -> None:
    """Events are values or any mappings, and there may be none of them."""
    kinds: list[Any] = [
        Event(at=at("10:05")),
        {"at": at("10:05")},
        OrderedDict(at=at("10:05"), attrs={}),
        Event(at=at("10:05"), attrs={"share": ""}),
    ]
    assert ["scoped"] * 4 == [each.attribution for each in memory.attribute("first", kinds)]
    assert [] == memory.attribute("first", [])


@pytest.mark.parametrize("event", [None, "event", ("at", at("10:05")), 7], ids=repr)
def test_other_types_are_no_events(memory: Engine, event: Any) -> None:
    """What is no event is the caller's mistake, and said so."""
    with pytest.raises(TypeError, match="an event is an Event or a mapping"):
        memory.attribute("first", [event])


@pytest.mark.parametrize("attrs", ["share=fleet", ["share"], 7], ids=repr)
def test_other_types_are_no_attrs(memory: Engine, attrs: Any) -> None:
    """Attributes that are no mapping are the caller's mistake, too."""
    with pytest.raises(TypeError, match="attrs are a mapping"):
        label(memory, attrs)


@pytest.mark.parametrize("session_id", ["second", "../first", ""])
def test_a_session_without_a_log(memory: Engine, session_id: str) -> None:
    """Of a session without a log, or with an id that could not have one, every event is unknown."""
    assert ["unknown"] == [each.attribution for each in memory.attribute(session_id, [{"at": at("10:05")}])]


def test_a_subagent_has_its_own_scope(memory: Engine) -> None:
    """A subagent's events take its own scope, and the session's before it had one; the main chain is not moved."""
    memory.record_scope("first.agent-7", scope(cwd="/work/alpha/seven", branch="seven"), at("10:12"))
    events = [
        Event(at=at(clock), agent_id=agent) for agent in ("agent-7", "7", "8", "") for clock in ("10:05", "10:15")
    ]
    found = [each.branch for each in memory.attribute("first", events)]
    assert ["one", "seven", "one", "seven", "one", "two", "one", "two"] == found


@pytest.mark.parametrize("agent_id", ["../first", 7, None, "agent-"], ids=repr)
def test_any_subagent_id_will_do(memory: Engine, agent_id: Any) -> None:
    """A subagent whose id could not name a log has the session's scope."""
    found = memory.attribute("first", [{"at": at("10:05"), "agent_id": agent_id}])
    assert ["one"] == [each.branch for each in found]


def test_the_log_may_grow_meanwhile(memory: Engine) -> None:
    """Events may be taken from a source that records as it goes."""

    def events() -> Iterator[Event]:
        yield Event(at=at("10:40"))
        memory.record_scope("first", scope("gamma", branch="late"), at("10:50"))
        yield Event(at=at("10:05"))
        yield Event(at=at("10:55"))

    assert ["main", "one", "late"] == [each.branch for each in memory.attribute("first", events())]


def test_a_folder_is_never_promoted() -> None:
    """However telling its path, a folder without a project names none."""
    engine = Engine.in_memory()
    engine.record_scope("first", Scope(cwd="/src/github.com/fixture/alpha", repo="alpha", project="alpha"), at("10:00"))
    expected = {"attribution": "unknown", "cwd": "/src/github.com/fixture/alpha"}
    assert expected == label(engine, {})
