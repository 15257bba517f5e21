"""`record_scope` on short and on long logs."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from agentihooks import Engine
from agentihooks.codec import encode_transition
from agentihooks.home import scope_log_directory
from agentihooks.model import Scope
from agentihooks.record import transition
from benchmarks.measure import Ratio, medians

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BEGIN = datetime(2026, 10, 8, tzinfo=UTC)
SHORT, LONG = 10, 100_000
_CALLS = 50


def home_with_log(home: Path, length: int) -> Path:
    """Write a log of *length* transitions, by the minute, for the session `s`; return *home*."""
    directory = Path(scope_log_directory(home))
    directory.mkdir(parents=True)
    with (directory / "s.jsonl").open("wb") as file:
        for number in range(length):
            at = (_BEGIN + timedelta(minutes=number)).isoformat()
            file.write(encode_transition(transition("s", number, _scope(number), at)))
    return home


def _scope(number: int) -> Scope:
    return Scope(project_id="github.com/fixture/alpha", branch=f"b{number % 2}", task="t", task_revision="1")


def _recorder(engine: Engine) -> Callable[[], None]:
    numbers = count()

    def record() -> None:
        for _ in range(_CALLS):
            number = next(numbers)
            engine.record_scope("s", _scope(number), _BEGIN + timedelta(minutes=LONG + number))

    record()
    return record


def _bytes_read(home: Path) -> int:
    """Return how much of the log a fresh engine reads for one append."""
    total = 0
    pread = os.pread

    def counted(*arguments: int) -> bytes:
        nonlocal total
        part = pread(*arguments)
        total += len(part)
        return part

    os.pread = counted
    try:
        Engine.at_home(home).record_scope("s", _scope(1), _BEGIN + timedelta(minutes=2 * LONG))
    finally:
        os.pread = pread
    return total


def ratios() -> Iterator[Ratio]:
    """Measure in a process that keeps its log, and in a fresh one."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = home_with_log(Path(folder, "short"), SHORT), home_with_log(Path(folder, "long"), LONG)
        engines = Engine.at_home(short), Engine.at_home(long)
        for engine in engines:
            engine.transitions("s")
        few, many = medians(*map(_recorder, engines), rounds=15)
        yield Ratio(f"log kept: cost at {LONG:,} transitions, by that at {SHORT}", many / few, at_most=1.3)
        read_few, read_many = _bytes_read(short), _bytes_read(long)
        yield Ratio(f"fresh process: bytes read at {LONG:,}, by those at {SHORT}", read_many / read_few, at_most=2)
