"""
Real processes: killed anywhere between reading and deleting, or many at one outbox. No marker is lost, none comes twice.

Run as a program, this file is what those processes do.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agentihooks.outgoing import Outgoing
from agentihooks.plugins import Plugins
from agentihooks.sinks import accept
from agentihooks_outbox import brain as _  # noqa: F401 - imported before any fork, to have it done once
from agentihooks_outbox.delivery import drain
from agentihooks_outbox.outbox import brain_outbox
from agentihooks_outbox.testing import FakeBrain

MARKERS = 2
PURE = frozenset({"__init__", "_connect", "_files", "_names", "_place", "_text", "decode", "encode", "read", "request"})
"""Functions that change nothing: killed in them, a process leaves what it left before."""

STRIDE = 7 if os.environ.get("FAST") == "1" else 1


def markers(session_id: str, count: int = MARKERS) -> list[Outgoing]:
    """Return a session's markers, each with a key of its own."""
    return [
        Outgoing(
            type="lesson",
            content=f"lesson {number}",
            attrs={"attribution": "unknown"},
            idempotency_key=f"{session_id}-{number:08}",
            session_id=session_id,
            agent_name="agent",
            project="",
            at="2026-10-08T10:00:00Z",
        )
        for number in range(count)
    ]


def stop_hook(home: Path, url: str) -> None:
    """Do what a Stop does with the markers it found: outbox first, then the cursor, then the drain."""
    cursor = home / "cursor"
    if not cursor.exists():
        accept(Plugins.bundled(["outbox"]), markers(home.name), str(home), {})
        cursor.touch()
    drain(str(home), {"BRAIN_URL": url}, 30.0)


def die_at(step: int) -> None:
    """Kill this process when it comes to its *step*-th line of delivery."""
    steps = itertools.count()

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if "agentihooks_outbox" not in frame.f_code.co_filename or frame.f_code.co_name in PURE:
            return None
        if event == "line" and next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)


def in_child(home: Path, url: str, step: int | None) -> bool:
    """Run a Stop in a process of its own, killed at *step*; return whether it lived."""
    child = os.fork()
    if child == 0:
        try:
            if step is not None:
                die_at(step)
            stop_hook(home, url)
        except BaseException:  # noqa: BLE001 - pytest must not see it twice
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return status == 0


def kill_everywhere(homes: Path, url: str) -> None:
    """Kill a Stop at its first step, at its second, and so on, until one lives; let each of them run again."""
    for step in itertools.count(0, STRIDE):
        home = homes / f"step-{step}"
        home.mkdir(parents=True)
        lived = in_child(home, url, step)
        assert in_child(home, url, None)
        if lived:
            return


def start_drain(home: Path, url: str) -> subprocess.Popen[str]:
    """Start a process that drains when it is told to, and prints how many markers it sent."""
    arguments = [sys.executable, __file__, "drain", str(home), url]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_killed_anywhere(tmp_path: Path) -> None:
    """Wherever a Stop is killed, after the next one the brain has each marker once, and nothing waits."""
    with FakeBrain() as brain:
        subprocess.run([sys.executable, __file__, "kill", str(tmp_path), brain.url], check=True, timeout=300)
    homes = [*tmp_path.glob("step-*")]
    assert len(homes) > 80 // STRIDE
    expected = [marker.idempotency_key for home in homes for marker in markers(home.name)]
    assert sorted(expected) == sorted(brain.stored)
    assert [] == [path for home in homes for path in brain_outbox(str(home)).waiting()]
    # Some were killed between the brain's answer and the end of the file, or this test shows nothing.
    assert len(brain.received) > len(expected)


@pytest.mark.parametrize("count", [2, 8])
def test_many_drains(home: Path, count: int) -> None:
    """However many processes drain a home at once, each file is sent once."""
    accept(Plugins.bundled(["outbox"]), markers("shared", 40), str(home), {})
    with FakeBrain() as brain:
        processes = [start_drain(home, brain.url) for _ in range(count)]
        for process in processes:
            assert process.stdout is not None
            assert "ready\n" == process.stdout.readline()
        sent = [int(process.communicate("go\n", timeout=60)[0]) for process in processes]
    assert [0] * count == [process.returncode for process in processes]
    assert Counter(marker.idempotency_key for marker in markers("shared", 40)) == Counter(brain.keys)
    assert 40 == sum(sent)


if __name__ == "__main__":
    if sys.argv[1] == "kill":
        kill_everywhere(Path(sys.argv[2]), sys.argv[3])
    else:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        sys.stdout.write(str(len(drain(sys.argv[2], {"BRAIN_URL": sys.argv[3]}, 30.0).sent)))
