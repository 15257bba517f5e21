"""What the laws are tried on: times, scopes, histories and observations, drawn from few values so that they collide."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from agentihooks import Event, Scope
from agentihooks.model import SCOPE_FIELDS
from agentihooks.observe import Observation, Observer
from agentihooks.transcript import Entry

TEN = datetime(2026, 10, 8, 10, tzinfo=UTC)

# Any text that JSON can say, lone surrogates included.
texts = st.text(st.characters(exclude_categories=()), max_size=20)
session_ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)

few_instants = st.integers(0, 8).map(lambda minutes: TEN + timedelta(minutes=minutes))
any_instants = st.datetimes(timezones=st.just(UTC), min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30))  # noqa: DTZ001 - as the strategy wants it
zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@st.composite
def spelled(draw: st.DrawFn, instants: st.SearchStrategy[datetime] = few_instants) -> str:
    """Draw an instant, and one of the ways to write it."""
    text = draw(instants).astimezone(draw(st.one_of(st.just(UTC), zones))).isoformat(draw(st.sampled_from("T ")))
    return text.replace("+00:00", draw(st.sampled_from(["Z", "+00:00", ""])))


times = spelled()
no_times = st.one_of(st.none(), st.integers(), texts.filter(lambda text: len(text) < 10), st.just("2026-10-08"))

any_scopes = st.builds(Scope, **dict.fromkeys(SCOPE_FIELDS, texts))
few_scopes = st.builds(
    Scope,
    project_id=st.sampled_from(["", "unknown", "github.com/fixture/alpha", "github.com/fixture/beta"]),
    cwd=st.sampled_from(["", "/a", "/b"]),
    branch=st.sampled_from(["main", "two"]),
    swarm=st.sampled_from(["", "w"]),
    task=st.sampled_from(["", "t", "u"]),
    task_revision=st.sampled_from(["", "1", "2", "10", "v1"]),
)

recordings = st.tuples(few_scopes, times)
"""A scope and a time to record it at."""

claims = st.dictionaries(
    st.sampled_from(["share", "project_id", "project", "repo", "remote", "branch", "ts"]),
    st.one_of(
        st.sampled_from(["fleet", "", "unknown", "github.com/fixture/alpha", "local:x"]), st.none(), st.integers()
    ),
)
events: st.SearchStrategy[Event | dict[str, Any]] = st.one_of(
    st.builds(Event, at=st.one_of(times, no_times), attrs=claims, agent_id=st.sampled_from(["", "7", "agent-7", "/"])),
    st.fixed_dictionaries(
        {}, optional={"at": st.one_of(times, no_times), "attrs": st.none() | claims, "agent_id": texts}
    ),
)


NOW = TEN + timedelta(hours=1)
"""The present instant, when transcripts are read."""


def observed(entries: list[Entry]) -> list[Observation]:
    """Return the moves that a transcript of these entries tells of."""
    observer = Observer(NOW)
    for entry in entries:
        observer.see(entry)
    return observer.observations.get(("", ""), [])


def entries(times: st.SearchStrategy[str]) -> st.SearchStrategy[list[Entry]]:
    """Return transcripts of a few entries with these times."""
    return st.lists(
        st.builds(
            Entry,
            at=times,
            cwd=st.sampled_from(["/a", "/b", "/c"]),
            branch=st.sampled_from([None, "main", "two"]),
            worktree=st.sampled_from([None, "", "w"]),
        ),
        max_size=8,
    )


good_times = few_instants.map(datetime.isoformat)
observations = entries(st.one_of(good_times, st.sampled_from(["", "2099-01-01T00:00:00Z"]))).map(observed)
