"""What the benchmarks measure on, where nothing lies beside the repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentihooks.engine import open_reader
from agentihooks.plugins import Plugins
from agentihooks.transcript import Lines, open_binary

if TYPE_CHECKING:
    from pathlib import Path

# Not part of the wheel.
corpus = pytest.importorskip("benchmarks.corpus")


def test_a_large_transcript_needs_no_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invented session takes its place, whose entries are all new, and in order."""
    monkeypatch.setenv("AGENTIHOOKS_CORPUS", str(tmp_path / "none"))
    path = tmp_path / f"{corpus.SESSION}.jsonl"

    corpus.write_transcript(path, 1_000_000)

    reader = open_reader(path, Plugins.bundled(["claude"]))
    with open_binary(path) as file:
        entries = [*reader.entries(Lines(file))]
    assert 1_000_000 <= path.stat().st_size < 2_000_000
    assert len(entries) == path.read_bytes().count(b"\n")
    assert not reader.skipped
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
