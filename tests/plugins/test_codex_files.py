"""Where Codex keeps rollouts: which there are, whose they are, and which belong to a session's subagents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agentihooks_codex
from agentihooks_codex.files import has_turn
from agentihooks_codex.transcript import CodexReader

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


ROOT = "019d4800-0000-7000-8000-00000000000a"
CHILD = "019d4801-0000-7000-8000-00000000000b"
GRANDCHILD = "019d4802-0000-7000-8000-00000000000c"
OLDER = "019d4700-0000-7000-8000-00000000000d"
SEGMENT = "019d4803-0000-7000-8000-00000000000e"
RANDOM = "5f0c1f0e-8d7a-4c83-9a0e-1d2c3b4a5f60"


def meta(thread: str, parent: str = "", depth: int = 1, **fields: Any) -> bytes:
    """Return a thread's first line; with a *parent* it is a subagent's."""
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": depth}}}
    payload = {"id": thread, "cwd": "/w/app", "source": spawn if parent else "cli", **fields}
    return json.dumps({"timestamp": "2026-04-01T10:00:00.000Z", "type": "session_meta", "payload": payload}).encode()


def store(
    folder: Path, thread: str, data: bytes | None = None, *, segment: str = "", suffix: str = ".jsonl", age: int = 0
) -> Path:
    """Write a rollout as Codex names it, last written *age* seconds before the epoch's 1e9th."""
    path = folder / f"rollout-2026-04-01T10-00-00-{thread}{segment and '_'}{segment}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = meta(thread) + b"\n" if data is None else data
    path.write_bytes(zstd.compress(data) if suffix.endswith(".zst") else data)
    os.utime(path, (10**9 - age, 10**9 - age))
    return path


def found(home: Path, session_id: str = "") -> list[tuple[str, str]]:
    """Return session and agent of every transcript, in the order of the list."""
    files = agentihooks_codex.agentihooks_find_transcripts({"CODEX_HOME": str(home)}, session_id)
    return [(file.session_id, file.agent_id) for file in files]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a Codex home."""
    return tmp_path / "codex"


@pytest.fixture
def day(home: Path) -> Path:
    """Return the folder of one day's live rollouts."""
    return home / "sessions" / "2026" / "04" / "01"


# Transcripts


def test_live_and_archived_rollouts_are_found_newest_first(home: Path, day: Path) -> None:
    """The order is that of the last write, so that a caller who wants the newest few can stop early."""
    store(day, ROOT, age=2)
    store(day.parent / "02", OLDER, age=1)
    store(home / "archived_sessions", RANDOM, age=3)
    (day / "notes.jsonl").write_bytes(meta(CHILD))
    (day / f"rollout-2026-04-01T10-00-00-{CHILD}.txt").write_bytes(meta(CHILD))

    assert [(OLDER, ""), (ROOT, ""), (RANDOM, "")] == found(home)


def test_a_transcript_file_tells_path_agent_and_age(home: Path, day: Path) -> None:
    """A value holds all that a list of sessions shows."""
    path = store(day, ROOT)
    (file,) = agentihooks_codex.agentihooks_find_transcripts({"CODEX_HOME": str(home)}, "")

    assert (str(path), "codex", 1e9) == (file.path, file.agent, file.modified_at)


def test_a_rollout_is_opened_only_when_it_is_asked_for(home: Path, day: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of files may be listed for the sake of one."""
    for number in range(9):
        store(day, f"{ROOT[:-1]}{number}")
    opened: list[Path] = []
    monkeypatch.setattr("agentihooks_codex.files.first_meta", opened.append)
    next(iter(agentihooks_codex.agentihooks_find_transcripts({"CODEX_HOME": str(home)}, "")))

    assert 1 == len(opened)


@pytest.mark.parametrize(
    ("environ", "count"),
    [
        ({"CODEX_HOME": "{tmp}/codex"}, 1),
        ({"CODEX_HOME": "", "HOME": "{tmp}"}, 1),
        ({"HOME": "{tmp}"}, 1),
        ({"CODEX_HOME": "{tmp}/none", "HOME": "{tmp}"}, 0),
        ({"HOME": ""}, 0),
        ({}, 0),
    ],
)
def test_the_environment_names_the_home(tmp_path: Path, environ: dict[str, str], count: int) -> None:
    """CODEX_HOME, or else HOME's `.codex`; a missing one holds nothing."""
    for folder in ("codex", ".codex"):
        store(tmp_path / folder / "archived_sessions", ROOT)
    environ = {name: value.format(tmp=tmp_path) for name, value in environ.items()}

    assert count == len(list(agentihooks_codex.agentihooks_find_transcripts(environ, "")))


def test_a_session_is_found_by_its_id_wherever_it_is(home: Path, day: Path) -> None:
    """All files of a thread are its session's: live, archived, begun anew by a revert; the segment's id finds it too."""
    store(day, ROOT)
    store(day, ROOT, segment=SEGMENT)
    store(home / "archived_sessions", ROOT, suffix=".jsonl.zst")
    store(day, OLDER)

    assert [(ROOT, "")] * 3 == found(home, ROOT)
    assert [(ROOT, "")] == found(home, SEGMENT)
    assert [] == found(home, CHILD)


def test_subagents_are_told_from_sessions(home: Path, day: Path) -> None:
    """Only the first line tells: the names are alike."""
    store(day, ROOT, age=1)
    store(day, CHILD, meta(CHILD, ROOT, session_id=ROOT))

    assert [(ROOT, CHILD), (ROOT, "")] == found(home)


def test_a_plain_file_hides_its_compressed_twin(home: Path, day: Path) -> None:
    """While Codex compresses a rollout both are there; then the plain one counts."""
    store(day, ROOT)
    twin = store(day, ROOT, suffix=".jsonl.zst")
    store(day, OLDER, suffix=".jsonl.zst", age=1)
    paths = [file.path for file in agentihooks_codex.agentihooks_find_transcripts({"CODEX_HOME": str(home)}, "")]

    assert (str(twin) not in paths, [(ROOT, ""), (OLDER, "")]) == (True, found(home))


@pytest.mark.parametrize(
    "data", [b"", b"\n\n\n\n\n\n" + meta(CHILD), b"{", b"version https://git-lfs.github.com/spec/v1\n", meta("")]
)
def test_a_file_that_names_no_thread_takes_its_names(home: Path, day: Path, data: bytes) -> None:
    """It may be new and empty, or damaged; whether it is a transcript is seen on opening it."""
    store(day, ROOT, data)

    assert [(ROOT, "")] == found(home)


@pytest.mark.parametrize("before", [meta(CHILD)[:50] + b"\n", meta(CHILD)[:50], b"[]\n", b'{"any":"thing"}'])
def test_what_comes_before_the_first_session_meta_is_passed_over(home: Path, day: Path, before: bytes) -> None:
    """A crash can leave a torn line, with or without a newline after it."""
    store(day, CHILD, before + meta(CHILD, ROOT) + b"\n")

    assert [(ROOT, CHILD)] == found(home)


def test_a_bare_header_names_the_thread(home: Path, day: Path) -> None:
    """Before 0.32 the first line is no session_meta."""
    store(day, OLDER, json.dumps({"id": RANDOM, "timestamp": "2025-08-20T10:00:00Z", "git": {}}).encode())

    assert [(RANDOM, "")] == found(home)


def test_damaged_and_vanished_files_do_not_end_the_list(home: Path, day: Path) -> None:
    """A compressed file may be cut short, any file may be moved between listing and reading."""
    store(day, ROOT, suffix=".jsonl.zst").write_bytes(b"no zstd")
    (day / f"rollout-2026-04-01T10-00-00-{OLDER}.jsonl").symlink_to(day / "gone")
    files = agentihooks_codex.agentihooks_find_transcripts({"CODEX_HOME": str(home)}, "")
    store(day, CHILD, age=1)
    listed = [next(iter(files)).session_id]
    (day / f"rollout-2026-04-01T10-00-00-{CHILD}.jsonl").unlink()

    assert [ROOT, CHILD] == listed + [file.session_id for file in files]


# Subagents


def subagents(path: Path, session_id: str = ROOT) -> set[Path]:
    """Return the rollouts of a session's subagents."""
    return {Path(file) for file in agentihooks_codex.agentihooks_find_subagents(str(path), session_id)}


def test_the_subagents_of_a_session_are_found_in_its_home(home: Path, day: Path) -> None:
    """On whatever day they were started, archived or not, of whatever kind, and theirs as well."""
    path = store(day, ROOT)
    expected = {
        store(day, CHILD, meta(CHILD, ROOT)),
        store(day.parent / "02", GRANDCHILD, meta(GRANDCHILD, CHILD, session_id=ROOT)),
        store(home / "archived_sessions", SEGMENT, meta(SEGMENT, source={"subagent": "review"}, parent_thread_id=ROOT)),
    }
    store(day, ROOT, segment=SEGMENT)
    store(day, RANDOM, meta(RANDOM, session_id=RANDOM, forked_from_id=ROOT))

    assert expected == subagents(path) == subagents(home / "archived_sessions" / path.name)


def test_rollouts_older_than_the_session_are_not_opened(day: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thread ids tell the time, so that the cost is that of what is newer."""
    path = store(day, ROOT)
    store(day, OLDER, meta(OLDER, ROOT))
    opened: list[str] = []
    monkeypatch.setattr("agentihooks_codex.files.first_meta", opened.append)

    assert (set(), [str(path)]) == (subagents(path), opened)


def test_ids_without_a_time_exclude_nothing(day: Path) -> None:
    """A client may choose its own ids."""
    path = store(day, RANDOM)
    child = store(day, OLDER, meta(OLDER, RANDOM))

    assert {child} == subagents(path, RANDOM)


def test_outside_a_codex_home_only_the_own_folder_is_searched(tmp_path: Path) -> None:
    """A copied rollout may lie anywhere, and its subagents beside it."""
    path = store(tmp_path / "sessions", ROOT)
    child = store(tmp_path / "sessions", CHILD, meta(CHILD, ROOT))
    store(tmp_path / "sessions" / "deeper", GRANDCHILD, meta(GRANDCHILD, ROOT))

    assert {child} == subagents(path)
    assert set() == subagents(tmp_path / "none" / "any.jsonl")


def test_an_agents_agent_works_for_the_root(day: Path) -> None:
    """Before 0.145 it names its parent alone; the parent's file leads on to the session."""
    path = store(day, ROOT)
    child = store(day, CHILD, meta(CHILD, ROOT))
    grandchild = store(day, GRANDCHILD, meta(GRANDCHILD, CHILD, depth=2))
    (entry,) = CodexReader(grandchild).entries([meta(GRANDCHILD, CHILD, depth=2)])

    assert {child, grandchild} == subagents(path)
    assert (ROOT, GRANDCHILD) == (entry.session_id, entry.agent_id)


def test_without_its_parents_file_an_agents_agent_works_for_its_parent(day: Path) -> None:
    """So do agents whose files name each other in a circle, or that claim any depth."""
    store(day, ROOT, meta(ROOT, CHILD, depth=2))
    circle = store(day, CHILD, meta(CHILD, ROOT, depth=10**9))
    orphan = store(day, GRANDCHILD, meta(GRANDCHILD, SEGMENT, depth=2))

    assert [SEGMENT] == [entry.session_id for entry in CodexReader(orphan).entries([meta(GRANDCHILD, SEGMENT, 2)])]
    assert 1 == len(list(CodexReader(circle).entries([meta(CHILD, ROOT, 10**9)])))


# Turns


def test_a_turn_is_found_where_it_began(home: Path, day: Path) -> None:
    """Compressed or not; a line that only mentions it, quoted or not, does not count."""
    path = store(day, CHILD)
    turn = '{"type":"%s","payload":{"turn_id":"t1"}}'
    store(home / "archived_sessions", ROOT, (turn % "turn_context").encode(), suffix=".jsonl.zst")
    store(day, OLDER, json.dumps(turn % "turn_context").encode() + (turn % "token_usage_record").encode())
    store(day, SEGMENT, b"no zstd").rename(day / f"rollout-2026-04-01T10-00-00-{SEGMENT}.jsonl.zst")

    assert [True, False, False, False] == [has_turn(str(path), thread, "t1") for thread in (ROOT, OLDER, SEGMENT, "")]


def test_importing_the_plugin_imports_no_reader() -> None:
    """A hook of another agent pays for the package alone."""
    code = "import sys, agentihooks_codex; print('msgspec' in sys.modules, 'agentihooks.transcript' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "False False\n" == run.stdout
