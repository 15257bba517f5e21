"""The log in memory is the oracle of the log in files."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agentihooks import Engine, Scope, ScopeRefused, Transition
from agentihooks.log import FileLog
from agentihooks.record import transition

from .strategies import few_scopes, times

SESSIONS = ("a", "b", "a.agent-7")
sessions = st.sampled_from(SESSIONS)
torn = st.sampled_from([b"{", b"\n\n", b"\xff\n", b'{"session_id": "a", "sequence": 9, "at": "2026-10-0', b"[1]\n"])


class TwoLogs(RuleBasedStateMachine):
    """One log in memory, and one in files that is closed, opened again, shared and damaged as it goes."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = TemporaryDirectory()
        self.memory = Engine.in_memory()
        self.files = self.opened()
        self.other = self.opened()

    def opened(self) -> Engine:
        """Return an engine on the files as a new process would have it."""
        return Engine(FileLog(self.directory.name))

    def teardown(self) -> None:
        """Remove the files."""
        self.directory.cleanup()

    @rule(session_id=sessions, scope=few_scopes, at=times)
    def record(self, session_id: str, scope: Scope, at: str) -> None:
        """Record a scope in both; both decide alike."""
        assert decision(self.memory, session_id, scope, at) == decision(self.files, session_id, scope, at)

    @rule(session_id=sessions, scope=few_scopes, at=times)
    def record_through_another(self, session_id: str, scope: Scope, at: str) -> None:
        """Record a scope in the files through another handle, which has not seen all that was recorded."""
        assert decision(self.memory, session_id, scope, at) == decision(self.other, session_id, scope, at)

    @rule(session_id=sessions, scopes=st.lists(few_scopes, min_size=2, max_size=4))
    def append_several(self, session_id: str, scopes: list[Scope]) -> None:
        """Append transitions at once, as a pass over a transcript does."""
        for engine in (self.memory, self.files):
            with engine.log.writing(session_id) as writer:
                latest = writer.latest
                at, first = (latest.at, latest.sequence + 1) if latest else ("2026-10-08T10:00:00Z", 0)
                writer.append([transition(session_id, first + n, scope, at) for n, scope in enumerate(scopes)])

    @rule()
    def open_again(self) -> None:
        """Go on with a log that knows nothing yet."""
        self.files = self.opened()

    @rule(session_id=sessions, damage=torn)
    def damage(self, session_id: str, damage: bytes) -> None:
        """Leave bytes behind the log's end, as a process that died would."""
        with Path(self.directory.name, f"{session_id}.jsonl").open("ab") as file:
            file.write(damage)

    @rule(session_id=sessions, at=times)
    def ask(self, session_id: str, at: str) -> None:
        """Ask what is in force; both say the same."""
        assert self.memory.scope_at(session_id, at) == self.files.scope_at(session_id, at)

    @invariant()
    def say_the_same(self) -> None:
        """Find in a log opened anew what the log in memory holds."""
        for session_id in SESSIONS:
            assert self.memory.transitions(session_id) == self.opened().transitions(session_id)


def decision(engine: Engine, session_id: str, scope: Scope, at: str) -> Transition | str | None:
    """Return what came of recording a scope: a transition, nothing, or the code of a refusal."""
    try:
        return engine.record_scope(session_id, scope, at)
    except ScopeRefused as refusal:
        return refusal.code


TestTwoLogs = TwoLogs.TestCase
TestTwoLogs.settings = settings(stateful_step_count=20)
