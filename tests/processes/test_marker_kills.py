"""Real processes: a Stop that is killed anywhere between reading the transcript and deleting the last marker's file."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks.engine import Engine
from agentihooks.sweep import known_transcripts, sweep
from agentihooks_outbox.delivery import drain
from agentihooks_outbox.outbox import brain_outbox
from agentihooks_outbox.testing import FakeBrain
from tests.sessions import Claude, at, files, repository, scopes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DYING_HOOK = """
import os, signal, socket, sys

steps_left = int(sys.argv[1])

def step(torn=lambda: None):
    global steps_left
    if not steps_left:
        torn()
        os.kill(os.getpid(), signal.SIGKILL)
    steps_left -= 1

def dying(true, *, is_write=False, is_open=False):
    def call(*arguments, **options):
        step(lambda: true(arguments[0], arguments[1][: len(arguments[1]) // 2]) if is_write else None)
        result = true(*arguments, **options)
        if is_open:
            step()  # what follows is written by no call that is seen here
        return result
    return call

for name in ("open", "mkdir", "write", "fsync", "replace", "unlink", "utime"):
    setattr(os, name, dying(getattr(os, name), is_write=name == "write", is_open=name == "open"))
for name in ("connect", "sendall", "recv_into"):
    setattr(socket.socket, name, dying(getattr(socket.socket, name)))
sys.argv[1:] = ["hook", "claude"]

from agentihooks.__main__ import main

sys.exit(main())
"""
"""A hook that kills itself before its n-th step that anybody else can see, or in the middle of it if it is a write."""

STRIDE = 7 if os.environ.get("FAST") == "1" else 1
DEADLINE_S = 120.0
"""Against hangs alone."""


def killed(step: int, payload: dict[str, Any]) -> bool:
    """Run a hook that is killed at one of its steps; return whether it has come so far."""
    command = [sys.executable, "-c", DYING_HOOK, str(step)]
    data = json.dumps(payload).encode()
    hook = subprocess.run(command, input=data, capture_output=True, timeout=DEADLINE_S, check=False)
    assert (b"", b"") == (hook.stdout, hook.stderr)
    assert hook.returncode in (0, -signal.SIGKILL)
    return hook.returncode != 0


def lesson(content: str) -> str:
    """Return a text with a marker in it."""
    return f"<!-- @lesson -->{content}<!-- @/lesson -->"


def stop_again(_: Path, claude: Claude, folder: Path) -> None:
    """Have the next Stop come."""
    claude.fire("Stop", folder, last_assistant_message=lesson("Three."))


def sweep_up(home: Path, *_: object) -> None:
    """Sweep, and drain, as a timer would."""
    engine = Engine.at_home(home)
    result = sweep(engine, str(home), os.environ, known_transcripts(engine, os.environ), lambda: None)
    assert {} == result.failed
    drain(str(home), os.environ, 30.0)


@pytest.mark.parametrize(("complete", "stride"), [(stop_again, STRIDE), (sweep_up, 3 * STRIDE)])
def test_killed_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complete: Callable[[Path, Claude, Path], None], stride: int
) -> None:
    """Wherever it is killed, what comes next leaves each marker at the brain once, with its own scope, and each move."""
    alpha, beta = repository(tmp_path / "alpha"), repository(tmp_path / "beta", "beta")
    said = [("One.", "alpha"), ("Two.", "beta"), ("Three.", "beta")]
    expected: dict[str, list[tuple[str, str]]] = {}
    with FakeBrain() as brain:
        monkeypatch.setenv("BRAIN_URL", brain.url)
        for step in itertools.count(0, stride):
            home, claude = tmp_path / f"home-{step}", Claude(f"s{step:03}", project=f"-{step}")
            monkeypatch.setenv("AGENTIHOOKS_HOME", str(home))
            monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / f"claude-{step}"))
            claude.say("10:00", alpha, lesson("One."))
            claude.say("10:05", beta, lesson("Two."))
            # The last one is in the payload alone, until the killed hook has had its time.
            was_killed = killed(step, claude.payload("Stop", beta, last_assistant_message=lesson("Three.")))
            claude.say("10:06", beta, lesson("Three."))
            complete(home, claude, beta)
            moves = [(str(alpha), at("10:00")), (str(beta), at("10:05"))]
            assert moves == scopes(claude.session_id, "cwd", "at"), f"killed at step {step}"
            assert [] == brain_outbox(str(home)).waiting(), f"killed at step {step}"
            assert [] == [name for name in files(home) if name.endswith(".bad")]
            expected[claude.session_id] = said
            if not was_killed:
                break
    stored: dict[str, list[tuple[str, str]]] = {}
    for body in brain.stored.values():
        attrs = body["attrs"]
        stored.setdefault(attrs["session_id"], []).append((body["content"], attrs["project"]))
    assert {name: sorted(markers) for name, markers in expected.items()} == {
        name: sorted(markers) for name, markers in stored.items()
    }
    assert len(expected) > 60 // stride
    # Some were killed between the brain's answer and the end of the file, or this test shows nothing.
    assert len(brain.received) > len(brain.stored)
