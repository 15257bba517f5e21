"""
Contracts and builders for tests: the engine's own, and those of whoever writes a plugin or another scope log.

Subclass a contract in a test module and give it what its docstring asks for; pytest then runs the contract's tests on
that. Importing this module does not need pytest.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from agentihooks.engine import Engine, open_reader
from agentihooks.errors import ScopeRefused
from agentihooks.event import LABELS, Attribution
from agentihooks.grant import SessionGrant
from agentihooks.model import Scope
from agentihooks.plugins import Plugins
from agentihooks.record import transition
from agentihooks.transcript import SKIPS, Activity, head, open_binary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from agentihooks.log import ScopeLog
    from agentihooks.model import Transition
    from agentihooks.transcript import Entry, Reader


def at(clock: str) -> str:
    """Return the text of a time of day, such as "10:05", on the day of the conformance history."""
    return f"2026-10-08T{clock}:00+00:00"


def scope(name: str = "alpha", **fields: Any) -> Scope:
    """Return a scope that names the project *name*; further *fields* add to it or replace its own."""
    named = {"project_id": f"github.com/fixture/{name}", "project": name, "repo": f"fixture/{name}"}
    return Scope(**{**named, "cwd": f"/work/{name}", **fields})


def write_lines(path: Path, lines: Iterable[bytes | Mapping[str, Any]]) -> Path:
    """Write lines, each a JSON object or bytes without a newline, to the file *path*, and return that."""
    texts = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    path.write_bytes(b"".join(text + b"\n" for text in texts))
    return path


def refusal_of(act: Callable[..., object], *arguments: Any) -> ScopeRefused | None:
    """Return the refusal that *act*, called with *arguments*, raises; None if it raises none."""
    try:
        act(*arguments)
    except ScopeRefused as refusal:
        return refusal
    return None


# The conformance history (docs/reference/log-format): every implementation gives these answers.

CONFORMANCE_GRANT = SessionGrant(("github.com/fixture/alpha", "github.com/fixture/beta"))

_FIRST = {"swarm": "fixture", "task": "first", "task_revision": 1, "lane": "eng"}
_SECOND = {"swarm": "fixture", "task": "second", "task_revision": 3, "lane": "eng"}
_THIRD = {"swarm": "fixture", "task": "third", "task_revision": 2, "lane": "ci"}

CONFORMANCE_HISTORY: Sequence[tuple[str, Scope]] = (
    (at("10:00"), scope("alpha", cwd="/work/alpha/one", worktree="one", branch="one", **_FIRST)),
    (at("10:10"), scope("alpha", cwd="/work/alpha/two", worktree="two", branch="two", **_FIRST)),
    (at("10:20"), scope("alpha", cwd="/work/alpha/two", worktree="two", branch="two", **_SECOND)),
    (at("10:30"), scope("beta", worktree="beta", branch="main", **_THIRD)),
)

CONFORMANCE_ID_PREFIXES = ("57b3be01", "76214acc", "51b2dff9", "c2829906")
"""How the history's transition ids begin when it is recorded for the session `first`."""

CONFORMANCE_EVENTS: Sequence[Mapping[str, Any]] = (
    {"at": at("09:59")},
    {"at": at("10:05")},
    {"at": at("10:15")},
    {"at": at("10:25")},
    {"at": at("10:35"), "attrs": {"share": "fleet"}},
    {"at": at("10:40")},
)

CONFORMANCE_ATTRIBUTIONS: Sequence[Attribution] = (
    Attribution(attribution="unknown"),
    *(Attribution(attribution="scoped", fields=scope.nonempty()) for _, scope in CONFORMANCE_HISTORY[:3]),
    Attribution(attribution="fleet"),
    Attribution(attribution="scoped", fields=CONFORMANCE_HISTORY[3][1].nonempty()),
)


class ScopeLogContract:
    """
    What every scope log promises. It takes a fixture.

    `open_log` returns a function that opens the log, empty at first, as another process would: what one of them has
    appended, all of them have.
    """

    def test_the_conformance_history_is_recorded(self, open_log: Callable[[], ScopeLog]) -> None:
        """The four transitions of the conformance history have the documented ids, in order, counted from 0."""
        engine = recorded(open_log(), "first")
        transitions = engine.transitions("first")
        assert list(CONFORMANCE_ID_PREFIXES) == [transition.transition_id[:8] for transition in transitions]
        assert [0, 1, 2, 3] == [transition.sequence for transition in transitions]

    def test_the_conformance_events_are_attributed(self, open_log: Callable[[], ScopeLog]) -> None:
        """The six events of the conformance history get the documented attributions, also from a log opened anew."""
        recorded(open_log(), "first")
        engine = Engine(open_log())
        assert list(CONFORMANCE_ATTRIBUTIONS) == engine.attribute("first", CONFORMANCE_EVENTS, CONFORMANCE_GRANT)

    def test_a_replay_changes_nothing(self, open_log: Callable[[], ScopeLog]) -> None:
        """Recording the whole history again, from its beginning and under other spellings of the time, adds nothing."""
        engine = recorded(open_log(), "s")
        for instant, scope in CONFORMANCE_HISTORY:
            assert engine.record_scope("s", scope, instant) is None
            assert engine.record_scope("s", scope, instant.replace("+00:00", "Z")) is None
        assert len(CONFORMANCE_HISTORY) == len(engine.transitions("s"))

    def test_the_last_of_equal_instants_is_in_force(self, open_log: Callable[[], ScopeLog]) -> None:
        """Transitions may share an instant; the one recorded last is in force from it on."""
        engine = Engine(open_log())
        engine.record_scope("s", scope("alpha"), at("10:00"))
        engine.record_scope("s", scope("beta"), at("10:00"))
        assert scope("beta") == engine.scope_at("s", at("10:00"))

    def test_an_older_transition_is_refused(self, open_log: Callable[[], ScopeLog]) -> None:
        """A scope older than the latest one accepted is refused, and the log stays as it is."""
        engine = recorded(open_log(), "s")
        before = engine.transitions("s")
        refusal = refusal_of(engine.record_scope, "s", scope("beta"), at("10:29"))
        assert refusal is not None
        assert "older_transition" == refusal.code
        assert before == engine.transitions("s")

    def test_the_highest_revision_anywhere_counts(self, open_log: Callable[[], ScopeLog]) -> None:
        """A task's revision is held against the highest accepted for it, however long ago and by whatever handle."""
        engine = Engine(open_log())
        for minute, revision in enumerate(("3", "draft", "4", "")):
            engine.record_scope("s", scope(swarm="w", task="t", task_revision=revision), at(f"10:0{minute}"))
        engine.record_scope("s", scope(swarm="w", task="other", task_revision="1"), at("10:05"))
        late = scope(swarm="w", task="t", task_revision="3")
        refusal = refusal_of(Engine(open_log()).record_scope, "s", late, at("10:06"))
        assert refusal is not None
        assert "older_revision" == refusal.code

    def test_the_scope_in_force_is_not_recorded_again(self, open_log: Callable[[], ScopeLog]) -> None:
        """A later instant with the scope that is in force already adds nothing, while one in force before does."""
        engine = Engine(open_log())
        given = ["alpha", "alpha", "beta", "alpha"]
        results = [engine.record_scope("s", scope(name), at(f"10:0{n}")) for n, name in enumerate(given)]
        assert [True, False, True, True] == [result is not None for result in results]

    def test_sessions_are_apart(self, open_log: Callable[[], ScopeLog]) -> None:
        """Each session has a log of its own, and all of them are listed in order."""
        log = open_log()
        engine = Engine(log)
        engine.record_scope("b", scope("beta"), at("10:00"))
        engine.record_scope("a", scope("alpha"), at("09:00"))
        assert ["a", "b"] == log.sessions()
        assert [scope("beta")] == [transition.scope for transition in engine.transitions("b")]

    def test_a_session_without_a_log_is_empty(self, open_log: Callable[[], ScopeLog]) -> None:
        """A session that was never recorded, or could not be, has an empty history; reading one creates nothing."""
        log = open_log()
        assert [[], []] == [log.history(session_id).transitions for session_id in ("s", "../s")]
        with log.writing("s") as writer:
            assert writer.latest is None
            assert [] == writer.history.transitions
        assert [] == log.sessions()

    def test_handles_see_each_others_transitions(self, open_log: Callable[[], ScopeLog]) -> None:
        """Two handles on one log take turns, and each goes on from what the other has recorded."""
        handles = [Engine(open_log()), Engine(open_log())]
        for number in range(6):
            handles[number % 2].record_scope("s", scope(branch=str(number)), at(f"10:0{number}"))
        expected = [(number, str(number)) for number in range(6)]
        for handle in handles:
            assert expected == [(each.sequence, each.branch) for each in handle.transitions("s")]

    def test_one_append_takes_several(self, open_log: Callable[[], ScopeLog]) -> None:
        """Transitions appended at once are kept in their order, by the log and by one opened anew."""
        log = open_log()
        transitions = conformance_transitions("s")
        with log.writing("s") as writer:
            writer.append(transitions)
            assert transitions[-1] == writer.latest
            assert transitions == writer.history.transitions
        assert transitions == open_log().history("s").transitions

    def test_the_lock_is_let_go_after_a_failure(self, open_log: Callable[[], ScopeLog]) -> None:
        """Whoever fails while holding the log leaves it to others, unchanged."""
        log = open_log()
        with suppress(KeyboardInterrupt), log.writing("s"):
            raise KeyboardInterrupt
        assert Engine(open_log()).record_scope("s", scope(), at("10:00")) is not None


def recorded(log: ScopeLog, session_id: str) -> Engine:
    """Return an engine on *log*, the conformance history recorded in it for *session_id*."""
    engine = Engine(log)
    for instant, scope in CONFORMANCE_HISTORY:
        engine.record_scope(session_id, scope, instant, CONFORMANCE_GRANT)
    return engine


def conformance_transitions(session_id: str) -> list[Transition]:
    """Return the conformance history as the transitions it becomes for *session_id*."""
    return [transition(session_id, n, scope, instant) for n, (instant, scope) in enumerate(CONFORMANCE_HISTORY)]


def labels(attributions: Iterable[Attribution]) -> dict[str, int]:
    """Return how many attributions have each of the five labels."""
    counts = Counter(attribution.attribution for attribution in attributions)
    return {label: counts[label] for label in LABELS}


# What an agent's file may hold by accident, and no reader may choke on.
_ODD_LINES = (
    b"",
    b" \t\r",
    b"{",
    b"}{",
    b"null",
    b"[]",
    b"[{}]",
    b'"text"',
    b"1e999",
    b"NaN",
    b"\xef\xbb\xbf{}",
    b"\0\0\0\0",
    b"\xff\xfe{\0}\0",
    b'{"\xed\xa0\x80": "\xc3("}',
    b"[" * 20_000,
    b'{"a":' * 20_000,
)
_ODD_VALUES: Sequence[Any] = (None, True, -1, 1e300, "", "\ud800", "\u202e\x1b[31m", [], [None], {}, {"": {"": []}})

_FOREIGN_HEADS: Sequence[Sequence[Mapping[str, Any]]] = (
    [{}],
    [{"hello": "world"}, {}],
    [{"name": "package", "version": "1.0.0"}],
    [{"type": None}, {"type": []}, {"type": {"type": "type"}}],
    [{"id": 1, "timestamp": 2, "payload": 3, "message": 4, "sessionId": 5, "session_id": 6}],
)


class ReaderContract:
    """
    What every reader of transcripts promises. It takes an attribute and a fixture.

    `plugin` is the module with the hook implementations; `transcript` returns the path of a file of its agent, with two
    entries or more. Parametrize the fixture over files of each version and kind.
    """

    plugin: ClassVar[ModuleType]

    def reader(self, path: Path) -> Reader:
        """Return a fresh reader for *path*."""
        return open_reader(path, Plugins({"plugin": self.plugin}))

    def test_it_opens_its_own_kind_of_file(self, transcript: Path) -> None:
        """The plugin recognises its agent's file, and its reader names the agent and finds entries."""
        reader = self.reader(transcript)
        assert reader.agent
        assert list(reader.entries(_lines(transcript)))

    def test_it_leaves_other_files_alone(self, transcript: Path) -> None:
        """The plugin has no reader for what is not its agent's, and does not raise over what its agent's may hold."""
        plugins = Plugins({"plugin": self.plugin})
        for objects in _FOREIGN_HEADS:
            assert plugins.first("agentihooks_open_transcript", path=transcript, head=objects) is None
        for objects in _retyped(head(transcript)):
            if isinstance(objects, list) and objects and all(isinstance(each, dict) for each in objects):
                plugins.first("agentihooks_open_transcript", path=transcript, head=objects)
        assert [] == plugins.faults

    def test_entries_hold_text(self, transcript: Path) -> None:
        """Each entry's fields are text, the place's or None; each activity is one of the known kinds, in text."""
        for entry in self.reader(transcript).entries(_lines(transcript)):
            assert all(isinstance(text, str) for text in (entry.at, entry.session_id, entry.agent_id, entry.entry_id))
            assert all(text is None or isinstance(text, str) for text in (entry.cwd, entry.branch, entry.worktree))
            for activity in entry.activities():
                assert isinstance(activity, Activity)
                assert activity.kind in {"prompt", "message", "tool"}
                assert all(isinstance(text, str) for text in (activity.id, activity.name, activity.text))

    def test_it_goes_on_from_any_line(self, transcript: Path) -> None:
        """A pass that ends between two lines and one that goes on from its state read what one pass reads."""
        lines = _lines(transcript)
        whole, skipped = self._read(transcript, lines)
        for boundary in range(len(lines) + 1):
            begun = self.reader(transcript)
            before = _said(begun.entries(lines[:boundary]))
            state = json.loads(json.dumps(begun.state()))
            after, skipped_after = self._read(transcript, lines[boundary:], state)
            assert whole == before + after, f"resumed before line {boundary}"
            assert skipped == begun.skipped + skipped_after, f"resumed before line {boundary}"

    def test_a_damaged_state_is_ignored(self, transcript: Path) -> None:
        """A reader takes up any state without raising, be it somebody else's or with parts of another type."""
        begun = self.reader(transcript)
        lines = _lines(transcript)
        list(begun.entries(lines[:-1]))
        for state in ({}, {"unheard of": 1}, *_retyped(json.loads(json.dumps(begun.state())))):
            if isinstance(state, dict):
                self._read(transcript, lines[-1:], state)

    def test_odd_lines_do_no_harm(self, transcript: Path) -> None:
        """Between odd lines the same entries are read, and what is passed over is counted under a known reason."""
        lines = _lines(transcript)
        odd = [line for own in lines for line in (own, *_ODD_LINES)]
        whole, _ = self._read(transcript, lines)
        read, skipped = self._read(transcript, odd)
        assert whole == read
        assert skipped.keys() <= SKIPS.keys()

    def test_damaged_lines_do_not_raise(self, transcript: Path) -> None:
        """A line that is cut, welded to another, or has a value of another type never stops the reader."""
        lines = _lines(transcript)
        for number, line in enumerate(lines):
            _, skipped = self._read(transcript, [*lines[:number], *_damaged(line), *lines[number + 1 :]])
            assert skipped.keys() <= SKIPS.keys()

    def _read(
        self, path: Path, lines: Iterable[bytes], state: Mapping[str, Any] | None = None
    ) -> tuple[list[Any], Counter[str]]:
        reader = self.reader(path)
        if state is not None:
            reader.restore(state)
        said = _said(reader.entries(lines))
        return said, reader.skipped


def _lines(path: Path) -> list[bytes]:
    with open_binary(path) as file:
        return list(file)


def _said(entries: Iterable[Entry]) -> list[Any]:
    """Return what entries say, as values that compare."""
    return [
        (
            *(entry.at, entry.session_id, entry.agent_id, entry.entry_id, entry.cwd, entry.branch, entry.worktree),
            list(entry.activities()),
        )
        for entry in entries
    ]


def _damaged(line: bytes) -> Iterator[bytes]:
    line = line.rstrip(b"\n")
    for part in range(1, 8):
        yield line[: len(line) * part // 8]
    yield line[len(line) // 2 :]
    yield line + line
    yield line[: len(line) // 2] + line
    yield line[: len(line) // 2] + b"\xff\0" + line[len(line) // 2 :]
    with suppress(ValueError):
        for value in _retyped(json.loads(line)):
            yield json.dumps(value).encode()


def _retyped(value: Any) -> Iterator[Any]:
    """Yield *value* with one of its parts, at any depth, replaced by a value of another type."""
    yield from _ODD_VALUES
    if isinstance(value, dict):
        for key, part in value.items():
            for other in _retyped(part):
                yield {**value, key: other}
    elif isinstance(value, list):
        for index, part in enumerate(value):
            for other in _retyped(part):
                yield [*value[:index], other, *value[index + 1 :]]
