"""What holds for every history: of its lines, its ids, its answers, and its labels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentihooks import Engine, Event, Scope, unattributed_session_events_total
from agentihooks.clock import instant, instant_or_none
from agentihooks.codec import decode_transition, encode_transition
from agentihooks.event import LABELS
from agentihooks.ids import transition_id
from agentihooks.log import FileLog
from agentihooks.record import transition
from agentihooks.testing import labels, refusal_of

from .strategies import any_instants, any_scopes, events, few_scopes, recordings, session_ids, spelled, texts, times

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

histories = st.lists(recordings, max_size=8)
grants = st.none() | st.just(["github.com/fixture/alpha"])

COMPUTE_IDS = """
import json, sys
from agentihooks import Scope
from agentihooks.ids import transition_id
print(json.dumps([transition_id(session_id, at, Scope(**scope)) for session_id, at, scope in json.load(sys.stdin)]))
"""


def record(engine: Engine, history: list[tuple[Scope, str]]) -> None:
    """Record what the log of session `s` admits of a history."""
    for scope, at in history:
        refusal_of(engine.record_scope, "s", scope, at)


@given(session_ids, st.integers(0, 2**63), any_scopes, spelled(any_instants))
def test_decoding_undoes_encoding(
    line_schema: Draft202012Validator, session_id: str, sequence: int, scope: Scope, at: str
) -> None:
    """Every transition is one line that fits the published schema, and reads as what it was."""
    written = transition(session_id, sequence, scope, at)
    line = encode_transition(written)
    assert (written, instant(at)) == decode_transition(line, session_id, 0)
    assert line.index(b"\n") == len(line) - 1
    line_schema.validate(json.loads(line))


@given(st.binary(max_size=200))
def test_any_line_can_be_read(line: bytes) -> None:
    """Whatever a line holds, reading it does not raise."""
    decode_transition(line, "s", 0)


@given(st.recursive(st.none() | st.booleans() | st.integers() | texts, st.lists).map(lambda value: [value]))
def test_any_value_can_be_read(value: list[Any]) -> None:
    """Whatever type a line's values have, reading it does not raise."""
    for name in ("at", "session_id", "sequence", "transition_id", "branch"):
        row = {"at": "2026-10-08T10:00:00Z", name: value[0]}
        decode_transition(json.dumps(row).encode(), "s", 0)


@given(st.one_of(st.text(), st.text("0123456789-:.,TtZzW+ "), times, st.integers(), st.none()))
def test_any_time_is_read_or_refused(value: Any) -> None:
    """Whatever is given for a time, it is an instant in UTC or none."""
    moment = instant_or_none(value)
    assert moment is None or timedelta(0) == moment.utcoffset()


@given(histories)
def test_recording_twice_is_recording_once(history: list[tuple[Scope, str]]) -> None:
    """A history recorded twice, each transition at once or all of them after the last, is a history recorded once."""
    once, each_twice, all_twice = (Engine.in_memory() for _ in range(3))
    record(once, history)
    record(each_twice, [recording for recording in history for _ in range(2)])
    record(all_twice, history)
    accepted = [(each.scope, each.at) for each in all_twice.transitions("s")]
    record(all_twice, accepted)
    assert once.transitions("s") == each_twice.transitions("s") == all_twice.transitions("s")


@given(histories, few_scopes, st.lists(times, max_size=5))
def test_later_transitions_change_no_earlier_answer(
    history: list[tuple[Scope, str]], scope: Scope, asked: list[str]
) -> None:
    """What was in force before an instant stays so, whatever is recorded from then on."""
    engine = Engine.in_memory()
    record(engine, history)
    latest = engine.log.history("s").latest
    new = instant(latest.at if latest else "2026-10-08T10:00:00Z") + timedelta(minutes=1)
    before = [engine.scope_at("s", at) for at in asked if instant(at) < new]
    record(engine, [(scope, new.isoformat())])
    assert before == [engine.scope_at("s", at) for at in asked if instant(at) < new]


@given(histories, st.data())
def test_a_prefix_of_a_log_is_a_prefix_of_its_records(history: list[tuple[Scope, str]], data: st.DataObject) -> None:
    """A file cut anywhere holds the first of its records; the next is appended on a fresh line, and read by all."""
    memory = Engine.in_memory()
    record(memory, history)
    transitions = memory.transitions("s")
    content = b"".join(map(encode_transition, transitions))
    cut = data.draw(st.integers(0, len(content)), label="cut")
    with TemporaryDirectory() as directory:
        path = Path(directory) / "s.jsonl"
        path.write_bytes(content[:cut])
        kept = FileLog(directory).history("s").transitions
        assert transitions[: len(kept)] == kept
        assert len(kept) == content[: cut + 1].count(b"\n") or cut == len(content)
        added = Engine(FileLog(directory)).record_scope("s", Scope(branch="new"), "2026-10-09T10:00:00Z")
        assert [*kept, added] == FileLog(directory).history("s").transitions
        assert path.read_bytes().startswith(content[:cut])


@settings(max_examples=5)
@given(st.lists(st.tuples(session_ids, times, any_scopes), min_size=1, max_size=20))
def test_ids_are_the_same_everywhere(transitions: list[tuple[str, str, Scope]]) -> None:
    """Another process, under another hash seed, computes the same ids."""
    given_to_child = json.dumps([(session_id, at, scope.as_dict()) for session_id, at, scope in transitions])
    expected = [transition_id(*each) for each in transitions]
    for seed in ("0", "1"):
        child = subprocess.run(
            [sys.executable, "-P", "-c", COMPUTE_IDS],
            input=given_to_child,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert expected == json.loads(child.stdout)


@given(histories, histories, st.lists(events, max_size=10), grants)
def test_every_event_gets_one_label(
    attribution_schema: Draft202012Validator,
    history: list[tuple[Scope, str]],
    of_agent: list[tuple[Scope, str]],
    happened: list[Event | dict[str, Any]],
    grant: list[str] | None,
) -> None:
    """Each event gets an attribution that fits the published schema, and the five labels together count them all."""
    engine = Engine.in_memory()
    record(engine, history)
    for scope, at in of_agent:
        refusal_of(engine.record_scope, "s.agent-7", scope, at)
    found = engine.attribute("s", happened, grant)
    counts = labels(found)
    assert len(happened) == len(found) == sum(counts.values())
    assert counts["unknown"] + counts["refused"] == unattributed_session_events_total(found)
    assert {each.attribution for each in found} <= set(LABELS)
    for each in found:
        attribution_schema.validate(each.as_dict())


@given(histories, st.lists(times, max_size=10))
def test_an_event_takes_the_scope_at_its_time(history: list[tuple[Scope, str]], asked: list[str]) -> None:
    """An event without a claim carries what `scope_at` says of its time, whatever was asked before."""
    engine = Engine.in_memory()
    record(engine, history)
    for at, found in zip(asked, engine.attribute("s", [{"at": at} for at in asked]), strict=True):
        scope = engine.scope_at("s", at) or Scope()
        assert ("scoped" if scope.names_project else "unknown") == found.attribution
        assert (scope.cwd, scope.branch, scope.task) == (found.cwd, found.branch, found.task)
        assert (scope.project_id if scope.names_project else "") == found.project_id
