"""A Stop on a long transcript: what is new costs, not what is there; and markers cost next to nothing."""

from __future__ import annotations

import shutil
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from agentihooks.engine import Engine
from agentihooks.harvest import Harvest
from agentihooks.model import Marker
from agentihooks.outgoing import Sender, preceding
from agentihooks.plugins import Plugins
from benchmarks.corpus import SESSION, write_transcript
from benchmarks.hook import hook_command, run, user_line
from benchmarks.measure import Ratio, medians

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGE, SMALL = 200_000_000, 1_000_000
_MARKERS = 100
_MARKER = "<!-- @lesson -->number {}<!-- @/lesson -->"


def _growing_stop(folder: Path, size: int) -> Callable[[], None]:
    """Return a Stop on a transcript of *size* bytes that has grown by one turn since the last."""
    transcript, home = folder / f"{size}.jsonl", folder / f"home-{size}"
    write_transcript(transcript, size)
    numbers = count(1)
    payload = {"hook_event_name": "Stop", "session_id": SESSION, "cwd": "/", "transcript_path": str(transcript)}

    def stop() -> None:
        number = next(numbers)
        with transcript.open("ab") as file:
            file.write(user_line(number, folder, f"branch-{number}"))
        run(hook_command(), payload, home)

    stop()
    return stop


def _with_markers(path: Path) -> Path:
    """Return a copy of a transcript with assistant lines that hold markers, spread all over it."""
    marked = path.with_suffix(".marked.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    every = len(lines) // _MARKERS
    with marked.open("wb") as file:
        for number, line in enumerate(lines):
            file.write(line)
            if number % every == 0:
                text = _MARKER.format(number)
                entry = user_line(number, path.parent, "main").replace(b'"user"', b'"assistant"')
                file.write(entry.replace(b'"go on"', f'[{{"type": "text", "text": "{text}"}}]'.encode()))
    return marked


def _write_files() -> None:
    """Do what the outbox does with the markers, which is files and fsyncs and no part of the pass."""
    sender = Sender(session_id=SESSION)
    markers = [preceding(Marker(type="lesson", content=f"number {number}"), {}, sender) for number in range(_MARKERS)]
    with tempfile.TemporaryDirectory() as home:
        list(Plugins.bundled(["outbox"]).each("agentihooks_accept_markers", markers=markers, home=home, environ={}))


def _first_pass(path: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        engine = Engine.at_home(home, Plugins.bundled(["claude", "outbox"]))
        engine.read_on(SESSION, path, {}, Harvest(Sender(session_id=SESSION), engine, home, {}))


def ratios() -> Iterator[Ratio]:
    """Measure on files in the system's temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large, small = medians(_growing_stop(folder, LARGE), _growing_stop(folder, SMALL), rounds=11)
        yield Ratio("Stop after one more turn, at 200 MB by that at 1 MB", large / small, at_most=1.3)
        plain = folder / f"{LARGE}.jsonl"
        marked = _with_markers(plain)
        with_markers, without, files = medians(
            lambda: _first_pass(marked), lambda: _first_pass(plain), _write_files, rounds=5
        )
        ratio = (with_markers - files) / without
        yield Ratio("first pass that finds 100 markers, less the file writes, by one without", ratio, at_most=1.2)
        shutil.rmtree(folder, ignore_errors=True)
