"""A hook as the agent runs it: a process that gets a payload."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import SESSION
from benchmarks.measure import Ratio, medians

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_COMMAND = "import sys; from agentihooks.__main__ import main; sys.exit(main())"
# How long a disk takes is the disk's affair, and differs from run to run.
_WITHOUT_FSYNC = f"import os; os.fsync = lambda _: None; {_COMMAND}"


def hook_command(program: str = _COMMAND) -> list[str]:
    """Return what a settings file names, less the shell: the console script does the same."""
    return [sys.executable, "-c", program, "hook", "claude"]


def run(command: list[str], payload: dict[str, Any] | None = None, home: Path | None = None) -> None:
    """Run a process to its end, as an agent does."""
    environ = {**os.environ, "AGENTIHOOKS_HOME": str(home)}
    # An installed package is compiled; a checkout is at its first start, unless this forbids it.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, check=True, env=environ, input=json.dumps(payload or {}).encode())


def user_line(number: int, cwd: Path, branch: str) -> bytes:
    """Return a transcript line of Claude Code."""
    minute, second = divmod(number, 60)
    line = {
        "type": "user",
        "uuid": f"{number:08}-0000-4000-8000-000000000000",
        "sessionId": SESSION,
        "timestamp": f"2026-11-01T{minute // 60:02}:{minute % 60:02}:{second:02}.000Z",
        "cwd": str(cwd),
        "gitBranch": branch,
        "message": {"role": "user", "content": "go on"},
    }
    return json.dumps(line).encode() + b"\n"


def _stopper(folder: Path, repository: Path) -> Callable[[], None]:
    """Return a Stop that has something to record: the branch has changed since the last."""
    home, transcript = folder / "home", folder / f"{SESSION}.jsonl"
    numbers = count(1)
    payload = {
        "hook_event_name": "Stop",
        "session_id": SESSION,
        "cwd": str(repository),
        "transcript_path": str(transcript),
    }

    def stop() -> None:
        number = next(numbers)
        with transcript.open("ab") as file:
            file.write(user_line(number, repository, f"branch-{number}"))
        run(hook_command(_WITHOUT_FSYNC), payload, home)

    stop()
    return stop


def ratios() -> Iterator[Ratio]:
    """Measure against bare interpreters, started in turn with the hooks."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository = folder / "repository"
        repository.mkdir()
        git = ["git", "-C", str(repository)]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "remote", "add", "origin", "https://example.com/acme/shop.git"], check=True)
        stop = _stopper(folder, repository)
        quiet = {
            "hook_event_name": "PostToolUse",
            "session_id": SESSION,
            "cwd": str(repository),
            "tool_name": "Bash",
        }
        bare, nothing, libraries, something = medians(
            lambda: run([sys.executable, "-c", "pass"]),
            lambda: run(hook_command(), quiet, folder / "home"),
            lambda: run([sys.executable, "-c", "import attrs, pluggy, json, hashlib"]),
            stop,
            rounds=41,
        )
        yield Ratio("PostToolUse that changes nothing, by python -c pass", nothing / bare, at_most=2.5)
        what = "Stop that records, less its fsyncs, by python -c 'import attrs, pluggy, json, hashlib'"
        yield Ratio(what, something / libraries, at_most=1.3)
