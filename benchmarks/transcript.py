"""One pass over a Claude Code transcript of 200 MB, for the moves in it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agentihooks.clock import now
from agentihooks.engine import open_reader
from agentihooks.observe import Observer
from agentihooks.plugins import Plugins
from agentihooks.transcript import Lines, open_binary
from benchmarks.corpus import write_transcript
from benchmarks.measure import Ratio, medians

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 200_000_000
_PEAK = """
import resource, sys
from pathlib import Path
from benchmarks.transcript import one_pass
one_pass(Path(sys.argv[1]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


class _Fields(msgspec.Struct):
    type: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None  # noqa: N815 - the transcript's own name


def one_pass(path: Path) -> Observer:
    """Read a transcript as a Stop does that reads it for the first time."""
    observer = Observer(now())
    reader = open_reader(path, Plugins.bundled(["claude"]))
    with open_binary(path) as file:
        observer.watch(reader.entries(Lines(file)))
    return observer


def _decode_fields(path: Path) -> None:
    decode = msgspec.json.Decoder(_Fields).decode
    with path.open("rb") as file:
        for line in file:
            try:
                decode(line)
            except msgspec.DecodeError:
                continue


def _json_loads(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            try:
                json.loads(line)
            except ValueError:
                continue


def _peak(path: Path) -> int:
    command = [sys.executable, "-c", _PEAK, str(path)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def ratios() -> Iterator[Ratio]:
    """Measure on a file in the system's temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder, "large.jsonl"), Path(folder, "small.jsonl")
        write_transcript(large, SIZE)
        write_transcript(small, SIZE // 10)
        ours, fields, loads = medians(
            lambda: one_pass(large), lambda: _decode_fields(large), lambda: _json_loads(large), rounds=5
        )
        yield Ratio("time of msgspec-decoding every line into four fields", ours / fields, at_most=2)
        yield Ratio("times faster than json.loads on every line", loads / ours, at_least=4)
        yield Ratio("peak memory at 200 MB, by that at 20 MB", _peak(large) / _peak(small), at_most=1.1)
