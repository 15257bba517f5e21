"""What is not imported until it is needed: an agent waits for every hook."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.sessions import SESSION, Claude, Codex, scopes

HEAVY = {
    *("attr", "attrs", "cattrs", "dateutil", "msgspec", "pluggy", "rich", "backports"),
    *("argparse", "asyncio", "email", "http", "importlib.metadata", "logging", "subprocess", "urllib.request"),
}

RECORD = "from agentihooks import record_scope; record_scope('s', {'branch': 'main'}, '2026-10-08T10:00:00.123Z')"
ATTRIBUTE = f"{RECORD}; from agentihooks import attribute; attribute('s', [{{'at': '2026-10-08T10:00:00+00:00'}}])"
ENGINE = "agentihooks.engine", "agentihooks.log", "agentihooks.live", "agentihooks.plugins"

PATHS = {
    "the package": ("import agentihooks", {*HEAVY, *ENGINE, "datetime", "json", "pathlib"}),
    "a quiet hook": ("import agentihooks.hook", {*HEAVY, *ENGINE, "agentihooks.cli", "datetime", "pathlib"}),
    "recording": (RECORD, HEAVY - {"attr", "attrs", "msgspec"}),
    "attributing": (ATTRIBUTE, HEAVY - {"attr", "attrs", "msgspec"}),
    "an unusual time": ("from agentihooks.clock import instant; instant('20261008T10:00:00,5+02')", HEAVY),
}


@pytest.mark.parametrize(("source", "unwanted"), [*PATHS.values()], ids=PATHS)
def test_what_is_not_imported(source: str, unwanted: set[str]) -> None:
    """A path imports what it needs, and none of the rest."""
    assert set() == unwanted & imported(source)


def imported(source: str, payload: object = None) -> set[str]:
    """Return what a program imports that the interpreter had not; a hook in it is given a payload."""
    program = f"import sys; known = {{*sys.modules}}; {source}; print(*({{*sys.modules}} - known))"
    command = [sys.executable, "-P", "-c", program]
    child = subprocess.run(command, input=json.dumps(payload), capture_output=True, text=True, check=True)
    return {*child.stdout.split()}


def test_what_a_quiet_hook_imports() -> None:
    """A hook that has nothing to say loads json and re, and of the engine only what tells that."""
    claude = Claude()
    claude.fire("SessionStart", "/a")
    names = {"", ".__main__", ".files", ".home", ".hook", ".session_ids", ".session_state", ".settings"}
    allowed = {f"agentihooks{name}" for name in names} | imported("import __future__, gc, io, json, re")
    payload = claude.payload("PostToolUse", "/a", tool_name="Read")
    assert set() == imported("from agentihooks.__main__ import main; main(['hook', 'claude'])", payload) - allowed


@pytest.mark.parametrize("agent", [Claude, Codex])
@pytest.mark.parametrize("event", ["SessionStart", "Stop", "SessionEnd"])
def test_what_a_loud_hook_imports(event: str, agent: type[Claude | Codex]) -> None:
    """A hook with something to record loads one agent's plugin, and nothing that a hook can do without."""
    session = agent()
    session.write("10:00", "/a")
    payload = session.payload(event, "/a", last_assistant_message="<!-- @lesson -->Pin it.<!-- @/lesson -->")
    names = imported(f"from agentihooks.__main__ import main; main(['hook', {agent.agent!r}])", payload)
    others = {"agentihooks_claude", "agentihooks_codex"} - {f"agentihooks_{agent.agent}"}
    assert set() == names & (HEAVY - {"attr", "attrs", "msgspec", "pluggy"} | others)
    assert [("/a",)] == scopes(SESSION, "cwd")


def test_what_is_imported_for_a_rare_time() -> None:
    """The guard would notice: an ordinal date is what dateutil is for."""
    program = (
        "import sys; from agentihooks.clock import instant; instant('2026-281T10:00'); print('dateutil' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert "True\n" == child.stdout
