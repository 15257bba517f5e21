"""The Claude Code reader: whose entries these are, where they stood, and what was done, in every era of transcripts."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import pytest

import agentihooks_claude
from agentihooks.plugins import Plugins
from agentihooks.testing import ReaderContract
from agentihooks.transcript import Activity, Lines, open_binary
from agentihooks_claude import copies, transcript
from agentihooks_claude.copies import Stored
from agentihooks_claude.entry import decoded
from agentihooks_claude.transcript import ClaudeReader, is_claude

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from agentihooks.transcript import Entry

DATA = Path(__file__).parents[1] / "data" / "claude"
SHARED = Path(__file__).parents[3] / "shared"
FIXTURES = {f"{path.parent.name}-{path.stem}": path for path in sorted(DATA.rglob("*.jsonl"))}
SHARED_FILES = sorted([*SHARED.glob("corpus/claude/**/*.jsonl"), *SHARED.glob("formats/examples/claude/**/*.jsonl")])

SESSION = "eeeeeeee-0000-4000-8000-000000000005"
TREE = "/w/shop/.claude/worktrees/cart"
ENTERED = {"worktreePath": TREE, "worktreeBranch": "worktree-cart", "message": "Created worktree"}


def line(kind: str = "user", number: int = 1, **keys: Any) -> bytes:
    """Return a line of the main chain, *number* seconds after ten o'clock; a key that is None is left out."""
    envelope = {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/w/shop",
        "sessionId": SESSION,
        "gitBranch": "main",
        "type": kind,
        "uuid": f"id-{number}",
        "timestamp": at(number),
    }
    return bare(**{key: value for key, value in (envelope | keys).items() if value is not None})


def bare(**keys: Any) -> bytes:
    """Return a line of just these keys."""
    return json.dumps(keys).encode() + b"\n"


def at(number: int) -> str:
    """Return the time *number* seconds after ten o'clock."""
    return f"2026-08-20T{10 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"


def said(*blocks: Any, **keys: Any) -> bytes:
    """Return a line of the assistant, with the message `msg-1`."""
    return line("assistant", message={"id": "msg-1", "role": "assistant", "content": list(blocks)}, **keys)


def prompt(content: Any, **keys: Any) -> bytes:
    """Return a line of the user."""
    return line(message={"role": "user", "content": content}, **keys)


def state_line(session: Any) -> bytes:
    """Return a `worktree-state`."""
    return bare(type="worktree-state", worktreeSession=session, sessionId=SESSION)


def read(*lines: bytes, path: Path = Path("missing.jsonl")) -> list[Entry]:
    """Return the entries of *lines*."""
    return list(ClaudeReader(path).entries(lines))


def skipped(*lines: bytes, path: Path = Path("missing.jsonl")) -> dict[str, int]:
    """Return what is passed over in *lines*, by reason."""
    reader = ClaudeReader(path)
    list(reader.entries(lines))
    return dict(reader.skipped)


def ids(entries: Iterable[Entry]) -> list[str]:
    """Return the ids of *entries*."""
    return [entry.entry_id for entry in entries]


def places(entries: Iterable[Entry]) -> list[tuple[str | None, str | None, str | None]]:
    """Return where *entries* stand."""
    return [(entry.cwd, entry.branch, entry.worktree) for entry in entries]


def activities(*lines: bytes) -> list[Activity]:
    """Return what is done in *lines*."""
    return [activity for entry in read(*lines) for activity in entry.activities()]


def write(path: Path, *lines: bytes) -> Path:
    """Write a transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def read_on(path: Path, reader: ClaudeReader, offset: int = 0, max_line_bytes: int = 1 << 20) -> list[Entry]:
    """Read a file from *offset*."""
    with open_binary(path) as file:
        file.seek(offset)
        return list(reader.entries(Lines(file, offset, max_line_bytes=max_line_bytes)))


def resumed(path: Path, reader: ClaudeReader) -> ClaudeReader:
    """Return a reader that goes on where *reader* ended, by way of JSON."""
    again = ClaudeReader(path)
    again.restore(json.loads(json.dumps(reader.state())))
    return again


@pytest.fixture
def short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep four ids at most during a pass, and two from pass to pass."""
    monkeypatch.setattr(copies, "MAX_KEPT", 4)
    monkeypatch.setattr(transcript, "MAX_CARRIED", 2)


class TestContract(ReaderContract):
    """The reader keeps the promises of all readers, on a file of each era and kind."""

    plugin: ClassVar[ModuleType] = agentihooks_claude

    @pytest.fixture(params=[pytest.param(path, id=name) for name, path in FIXTURES.items()])
    def transcript(self, request: pytest.FixtureRequest) -> Path:
        """Return each fixture."""
        path: Path = request.param
        return path


class TestRecognition:
    """Which files are Claude Code's."""

    @pytest.mark.parametrize(
        "value",
        [
            {"type": "user", "sessionId": "s", "uuid": "u"},
            {"type": "ai-title", "aiTitle": "t", "sessionId": "s"},
            {"type": "worktree-state", "worktreeSession": None, "sessionId": "s"},
            {"type": "of-the-future", "sessionId": "s", "uuid": "u"},
            {"type": "summary", "summary": "t", "leafUuid": "u"},
            {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
            {"type": "assistant", "timestamp": "2024-01-01T10:00:05Z", "message": {"content": []}},
            {"type": "attachment", "timestamp": "2024-01-01T10:00:05Z", "attachment": {}},
        ],
        ids=lambda value: value["type"],
    )
    def test_a_line_of_any_kind_will_do(self, value: dict[str, Any]) -> None:
        """A file is recognised by its messages, by bookkeeping alone, and by lines stripped of their session."""
        assert is_claude(value)

    @pytest.mark.parametrize(
        "value",
        [
            {"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}},
            {"timestamp": "t", "type": "turn_context", "payload": {"cwd": "/w"}},
            {"timestamp": "t", "type": "event_msg", "payload": {}},
            {"timestamp": "t", "type": "response_item", "payload": {}},
            {"id": "s", "timestamp": "t", "instructions": None},
            {"record_type": "state"},
            {"type": "message", "role": "user", "content": []},
            {"type": "user", "message": {}},
            {"type": "of-the-future", "sessionId": "s"},
        ],
        ids=lambda value: json.dumps(value)[:40],
    )
    def test_other_agents_lines_are_left_alone(self, value: dict[str, Any]) -> None:
        """Codex rollouts, old and new, and streams that only look alike are not claimed."""
        assert not is_claude(value)

    def test_one_line_among_the_first_is_enough(self) -> None:
        """A file that begins with something else is read all the same."""
        plugins = Plugins.bundled(["claude"])
        head = [{"silly": "this"}, {"type": "mode", "sessionId": "s"}]
        assert isinstance(plugins.first("agentihooks_open_transcript", path="x", head=head), ClaudeReader)


class TestEntries:
    """Which entries a line gives."""

    def test_an_entry_carries_what_its_line_says(self) -> None:
        """Time, session, id and place are the line's own."""
        (entry,) = read(line("assistant", 3))
        assert (at(3), SESSION, "", "id-3") == (entry.at, entry.session_id, entry.agent_id, entry.entry_id)
        assert ("/w/shop", "main", None) == (entry.cwd, entry.branch, entry.worktree)

    def test_timed_bookkeeping_is_yielded_without_a_place(self) -> None:
        """An entry with a time but no folder is yielded; it says nothing about where the session is."""
        (entry,) = read(bare(type="queue-operation", operation="enqueue", timestamp=at(1), sessionId=SESSION))
        assert (at(1), None, None) == (entry.at, entry.cwd, entry.branch)

    def test_bookkeeping_is_of_the_session_around_it(self) -> None:
        """Most bookkeeping names no session; the file may go by another name than the session in it."""
        bookkeeping = b'{"type":"file-history-delta","messageId":"m","timestamp":"2026-08-20T10:00:05.000Z"}\n'
        assert [line_session := read(line())[0].session_id] * 2 == [
            entry.session_id for entry in read(line(), bookkeeping)
        ]
        assert line_session

    def test_untimed_bookkeeping_is_silent(self) -> None:
        """Titles, modes and snapshots are neither entries nor passed over."""
        lines = [bare(type="mode", mode="normal", sessionId=SESSION), bare(type="summary", summary="t", leafUuid="u")]
        assert [] == read(*lines)
        assert {} == skipped(*lines)

    def test_a_message_needs_no_time_and_no_id(self) -> None:
        """A message is yielded even if nothing but its text is known; its session is then the file's."""
        (entry,) = read(bare(type="user", message={"content": "hi"}))
        assert ("", "missing", "") == (entry.at, entry.session_id, entry.entry_id)

    def test_an_unknown_kind_is_counted(self) -> None:
        """A kind of the future is counted; if it says where it stood, that is believed."""
        lines = [bare(type="new", sessionId=SESSION), line("newer", 2)]
        assert ["id-2"] == ids(read(*lines))
        assert {"unknown": 2} == skipped(*lines)

    def test_json_of_another_shape_is_foreign(self) -> None:
        """Values that are no objects, and objects without anything of Claude's, are counted as foreign."""
        assert {"foreign": 4} == skipped(
            b"42\n", b"[1]\n", b'{"silly":"this"}\n', b'{"type":"event_msg","payload":{}}\n'
        )

    def test_each_entry_has_its_own_session(self) -> None:
        """Entries of two sessions in one file keep their own."""
        entries = read(line(number=1), line(number=2, sessionId="other"))
        assert [SESSION, "other"] == [entry.session_id for entry in entries]

    @pytest.mark.parametrize("branch", ["HEAD", "", "feature/漢"])
    def test_a_branch_is_taken_as_written(self, branch: str) -> None:
        """A detached head and no repository are branches like any other."""
        (entry,) = read(line(gitBranch=branch))
        assert branch == entry.branch

    def test_no_branch_says_nothing(self) -> None:
        """A branch that is missing or null is None, as opposed to none."""
        entries = read(line(number=1, gitBranch=None), line(number=2).replace(b'"main"', b"null"))
        assert [None, None] == [entry.branch for entry in entries]

    def test_no_key_of_a_line_passes_for_a_worktree(self) -> None:
        """The worktree is derived, whatever keys come with later versions."""
        (entry,) = read(line(worktree="x"))
        assert entry.worktree is None

    def test_progress_does_not_move_the_main_chain(self) -> None:
        """Progress written for a running subagent keeps older stamps, so it says nothing of the main chain's place."""
        own, agents = read(line("progress", 1), line("progress", 2, agentId="a1"))
        assert (None, None) == (own.cwd, own.branch)
        assert ("/w/shop", "main") == (agents.cwd, agents.branch)

    def test_the_complete_last_line_counts(self, tmp_path: Path) -> None:
        """A last line without its newline is yielded once, and is a copy for the pass that finds its newline."""
        path = write(tmp_path / "s.jsonl", line(number=1), line(number=2).rstrip())
        first = ClaudeReader(path)
        assert ["id-1", "id-2"] == ids(read_on(path, first))
        write(path, line(number=1), line(number=2), line(number=3))
        assert ["id-3"] == ids(read_on(path, resumed(path, first), len(line(number=1))))


class TestDamage:
    """Lines that are not what they should be."""

    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ({"timestamp": 5}, ("", "/w/shop", "main")),
            ({"cwd": ["/w"]}, (at(1), None, "main")),
            ({"gitBranch": {}}, (at(1), "/w/shop", None)),
            ({"isSidechain": "no", "uuid": 7, "agentId": False}, (at(1), "/w/shop", "main")),
            ({"message": "error", "toolUseResult": "Error", "forkedFrom": 0}, (at(1), "/w/shop", "main")),
        ],
        ids=["time", "folder", "branch", "flags", "message"],
    )
    def test_what_is_well_typed_is_kept(
        self, keys: dict[str, Any], expected: tuple[str, str | None, str | None]
    ) -> None:
        """A value of another type counts as missing, and only that value."""
        values = {key: value for key, value in keys.items() if key != "forkedFrom"}
        (entry,) = read(line(**values))
        assert expected == (entry.at, entry.cwd, entry.branch)

    def test_null_counts_as_missing(self) -> None:
        """A null where text or a flag belongs changes nothing else."""
        text = line(agentId="x", isMeta=True).replace(b'"x"', b"null").replace(b"true", b"null")
        assert [("", "/w/shop")] == [(entry.agent_id, entry.cwd) for entry in read(text)]

    def test_both_halves_of_a_welded_line_count(self) -> None:
        """Two whole objects on one line are two entries, and nothing is damaged."""
        welded = line(number=1).rstrip() + line(number=2)
        assert ["id-1", "id-2"] == ids(read(welded))
        assert {} == skipped(welded)

    def test_the_line_after_a_stub_counts(self) -> None:
        """What is welded to a torn line is read; the torn part is counted."""
        torn = b'{"type":"pr-link","prNu' + line(number=2)
        assert ["id-2"] == ids(read(torn))
        assert {"damaged": 1} == skipped(torn)

    def test_inner_objects_of_a_torn_line_are_no_entries(self) -> None:
        """A torn line's inner objects look like lines, but name no session."""
        inner = b'{"type":"user","uuid":"inner","timestamp":"2026-08-20T10:00:00.000Z","message":{"content":"x"}}'
        assert {"damaged": 1} == skipped(b'{"sessionId":"s","data":{"message":' + inner + b',"x\n')
        assert [] == read(b'{"sessionId":"s","data":{"message":' + inner + b',"x\n')

    @pytest.mark.parametrize(
        "around",
        [(b"\xef\xbb\xbf", b""), (b"", b"\0\0"), (b"\0\0", b"\r"), (b"  ", b"\t")],
        ids=["bom", "nul", "cr", "blank"],
    )
    def test_what_surrounds_a_line_is_ignored(self, around: tuple[bytes, bytes]) -> None:
        """A byte order mark, NULs and white space around an object do no harm."""
        text = around[0] + line().rstrip() + around[1] + b"\n"
        assert ["id-1"] == ids(read(text))
        assert {} == skipped(text, b"\n", b" \r\n")

    def test_bad_bytes_are_replaced(self) -> None:
        """Bytes that are not UTF-8 neither hide the entry nor its text."""
        text = said({"type": "text", "text": "a?b"}, cwd="/w/?").replace(b"?", b"\xff")
        (entry,) = read(text)
        assert "/w/�" == entry.cwd
        assert ["a�b"] == [activity.text for activity in entry.activities()]

    def test_bad_bytes_in_a_text_that_nobody_asked_for_cost_nothing(self) -> None:
        """Bad bytes in a message come up only when the message is wanted."""
        (entry,) = read(said({"type": "text", "text": "a?b"}).replace(b"?", b"\xff"))
        assert ["a�b"] == [activity.text for activity in entry.activities()]

    def test_half_an_emoji_is_replaced(self) -> None:
        """A lone surrogate, which the client writes when it cuts text, becomes a question mark."""
        text = said({"type": "text", "text": "cut \ud83d"}, cwd="/w/\ud83d")
        (entry,) = read(text)
        assert "/w/?" == entry.cwd
        assert ["cut ?"] == [activity.text for activity in entry.activities()]

    @pytest.mark.parametrize("depth", [600, 100_000])
    def test_deep_nesting_does_not_crash(self, depth: int) -> None:
        """A value nested beyond all measure costs its own line at most."""
        deep = line().rstrip()[:-1] + b',"message":' + b"[" * depth + b"]" * depth + b"}\n"
        entries = read(deep, line(number=2))
        assert "id-2" == ids(entries)[-1]
        assert [[]] * len(entries) == [list(entry.activities()) for entry in entries]

    @pytest.mark.parametrize("text", [b"", b"{", b"[" * 100_000], ids=["nothing", "torn", "deep"])
    def test_a_value_beyond_reading_is_none(self, text: bytes) -> None:
        """A value that was left undecoded so far, and turns out to be damaged, counts as missing."""
        assert decoded(msgspec.Raw(text)) is None

    def test_a_number_that_is_none_does_no_harm(self) -> None:
        """`NaN`, which is not JSON but is written by some tools, does not hide the entry."""
        assert ["id-1"] == ids(read(line(costUSD=float("nan"))))

    @pytest.mark.parametrize("path", FIXTURES.values(), ids=FIXTURES)
    def test_a_cut_or_corrupted_file_keeps_what_precedes(self, path: Path) -> None:
        """Wherever a file is cut, and whichever byte is spoilt, entries of the lines before are as they were."""
        data = path.read_bytes()
        ends = list(itertools.accumulate(len(each) for each in data.splitlines(keepends=True)))
        counts = [len(read(*data[:end].splitlines(keepends=True), path=path)) for end in ends]
        whole = ids(read(*data.splitlines(keepends=True), path=path))
        for position in range(0, len(data), 7):
            count = max((counts[n] for n, end in enumerate(ends) if end <= position), default=0)
            for spoilt in (data[:position], data[:position] + b"\xff" + data[position + 1 :], data[:position] + data):
                assert whole[:count] == ids(read(*spoilt.splitlines(keepends=True), path=path))[:count]

    @pytest.mark.skipif(not SHARED_FILES, reason="no corpus beside the repository")
    @pytest.mark.parametrize("path", SHARED_FILES, ids=lambda path: path.name[:40])
    def test_real_files_are_read(self, path: Path) -> None:
        """Every public transcript at hand is read to its end, and gives something."""
        reader = ClaudeReader(path)
        entries = read_on(path, reader)
        assert all(isinstance(activity, Activity) for entry in entries for activity in entry.activities())
        assert entries or reader.skipped or path.name.startswith(("tiny", "medium"))


class TestCopies:
    """The first copy of an entry wins."""

    def test_a_restamped_copy_is_passed_over(self) -> None:
        """At a resume seam the first copy, inside the welded line, has the true place."""
        path = DATA / "2.1.7" / "resume-seam.jsonl"
        reader = ClaudeReader(path)
        assert ["/home/ann/shop", "/home/ann/shop", "/home/bob/wks/shop"] == [e.cwd for e in read_on(path, reader)]
        assert {"copy": 1} == dict(reader.skipped)

    def test_a_late_entry_is_no_copy(self) -> None:
        """An entry older than those above it is new as long as its id is."""
        assert ["id-9", "id-3", "id-9x"] == ids(read(line(number=9), line(number=3), line(number=9, uuid="id-9x")))

    def test_a_copy_with_another_time_is_one_too(self) -> None:
        """While an id is remembered, its time does not matter."""
        assert {"copy": 1} == skipped(line(number=1), line(number=9, uuid="id-1"))

    def test_a_copy_changes_nothing(self) -> None:
        """The copy of an EnterWorktree that was left does not enter it again."""
        entered = line(number=1, cwd=TREE, toolUseResult=ENTERED)
        entries = read(entered, state_line(None), entered, line(number=2, cwd=TREE))
        assert [(TREE, "worktree-cart", "cart"), (TREE, "main", None)] == places(entries)

    @pytest.mark.usefixtures("short_memory")
    def test_an_old_copy_is_found_in_the_file(self, tmp_path: Path) -> None:
        """A copy of an entry whose id is forgotten is told by the file, an entry as old that is new as well."""
        lines = [line(number=number) for number in range(20)]
        path = write(
            tmp_path / "s.jsonl", *lines, line(number=3), line(number=4, uuid="new"), line(number=4, uuid="new")
        )
        reader = ClaudeReader(path)
        assert [*(f"id-{number}" for number in range(20)), "new"] == ids(read_on(path, reader))
        assert {"copy": 2} == dict(reader.skipped)

    @pytest.mark.usefixtures("short_memory")
    def test_what_is_forgotten_after_the_file_was_asked_is_known(self, tmp_path: Path) -> None:
        """Once the file was asked, ids that are forgotten later are still told apart."""
        old = [line(number=number) for number in range(10)]
        late = [line(number=1, uuid=f"late-{number}") for number in range(10)]
        path = write(tmp_path / "s.jsonl", *old, *late, late[0], old[9], line(number=99))
        reader = ClaudeReader(path)
        assert 21 == len(read_on(path, reader))
        assert {"copy": 2} == dict(reader.skipped)

    @pytest.mark.usefixtures("short_memory")
    @pytest.mark.parametrize("boundary", range(0, 24, 3))
    def test_copies_are_told_from_pass_to_pass(self, tmp_path: Path, boundary: int) -> None:
        """Where a pass ends makes no difference to what is a copy."""
        lines = [line(number=number) for number in range(20)]
        lines += [lines[2].rstrip() + lines[7], lines[18], line(number=5, uuid="new")]
        path = write(tmp_path / "s.jsonl", *lines)
        first = ClaudeReader(path)
        before = ids(first.entries(lines[:boundary]))
        second = resumed(path, first)
        after = ids(read_on(path, second, len(b"".join(lines[:boundary]))))
        assert ids(read(*lines, path=path)) == before + after
        assert {"copy": 3} == dict(first.skipped + second.skipped)

    @pytest.mark.usefixtures("short_memory")
    def test_lines_without_offsets_are_counted(self, tmp_path: Path) -> None:
        """Plain lines, even stripped of their newlines, are placed in the file by their lengths, from pass to pass."""
        lines = [line(number=number) for number in range(20)] + [line(number=3)]
        path = write(tmp_path / "s.jsonl", *lines)
        first = ClaudeReader(path)
        list(first.entries(each.rstrip(b"\n") for each in lines[:12]))
        second = resumed(path, first)
        assert [f"id-{number}" for number in range(12, 20)] == ids(second.entries(lines[12:]))
        assert {"copy": 1} == dict(second.skipped)

    @pytest.mark.usefixtures("short_memory")
    def test_passed_over_lines_count_for_the_place_in_the_file(self, tmp_path: Path) -> None:
        """Lines too long to be read do not confuse where the others are."""
        long = line(number=50, message="x" * 2000)
        lines = [line(number=0), long, *(line(number=number) for number in range(1, 12)), line(number=3)]
        path = write(tmp_path / "s.jsonl", *lines)
        reader = ClaudeReader(path)
        assert 12 == len(read_on(path, reader, max_line_bytes=1000))
        assert {"copy": 1} == dict(reader.skipped)

    @pytest.mark.usefixtures("short_memory")
    @pytest.mark.parametrize("time", ["", "Invalid Date", "9999-12-31T23:59:59.999Z", "~"])
    def test_a_strange_time_makes_no_difference(self, tmp_path: Path, time: str) -> None:
        """An entry without a believable time is told from its copies, and does not spoil the others."""
        odd = line(number=0, uuid="odd", timestamp=time)
        lines = [odd, *(line(number=number) for number in range(12)), odd, line(number=3), line(number=12)]
        path = write(tmp_path / "s.jsonl", *lines)
        reader = ClaudeReader(path)
        assert ["odd", *(f"id-{number}" for number in range(13))] == ids(read_on(path, reader))
        assert {"copy": 2} == dict(reader.skipped)

    @pytest.mark.usefixtures("short_memory")
    def test_a_file_that_is_gone_holds_no_copies(self, tmp_path: Path) -> None:
        """A file that vanished meanwhile costs nothing but the recognition of old copies."""
        lines = [line(number=number) for number in range(20)]
        reader = ClaudeReader(tmp_path / "gone.jsonl")
        assert 21 == len(list(reader.entries([*lines, line(number=3)])))

    @pytest.mark.usefixtures("short_memory")
    def test_a_file_that_shrank_holds_fewer_copies(self, tmp_path: Path) -> None:
        """A file that was cut meanwhile is read as far as it goes."""
        lines = [line(number=number) for number in range(20)]
        path = write(tmp_path / "s.jsonl", *lines[:5])
        reader = ClaudeReader(path)
        entries = list(reader.entries([*lines, line(number=3), line(number=9)]))
        assert "id-9" == entries[-1].entry_id
        assert {"copy": 1} == dict(reader.skipped)

    def test_memory_does_not_grow_with_the_file(self) -> None:
        """However long a file, what is kept, and what is carried to the next pass, is limited."""
        reader = ClaudeReader(Path("missing.jsonl"))
        count = sum(1 for _ in reader.entries(line(number=number) for number in range(copies.MAX_KEPT + 5000)))
        assert copies.MAX_KEPT + 5000 == count
        assert copies.MAX_KEPT >= len(reader._memory.recent.ids)
        assert copies.MAX_CARRIED == len(reader.state()["recent"]["ids"])

    def test_a_store_that_was_not_asked_takes_nothing(self) -> None:
        """Ids are not stored for a question that is never asked."""
        stored = Stored("missing.jsonl", lambda: 0)
        stored.add(["a"])
        assert not stored.holds("a")
        stored.add(["a"])
        assert stored.holds("a")
        stored.close()

    def test_a_state_of_no_use_is_ignored(self) -> None:
        """A reader that is given a damaged state begins afresh."""
        reader = ClaudeReader(Path("missing.jsonl"))
        reader.restore({"recent": 5})
        assert ["id-1"] == ids(reader.entries([line()]))

    def test_a_reader_that_has_not_read_hands_on_what_it_was_given(self) -> None:
        """The state of a reader that read nothing is the state it took up."""
        first = ClaudeReader(Path("missing.jsonl"))
        list(first.entries([line()]))
        assert first.state() == resumed(Path("missing.jsonl"), first).state()


class TestEmitters:
    """Who wrote an entry."""

    def test_an_agents_line_names_it(self) -> None:
        """The agent's id is the line's, without one leading `agent-`."""
        entries = read(line(number=1, agentId="a1"), line(number=2, agentId="agent-agent-b", isSidechain=True))
        assert ["a1", "agent-b"] == [entry.agent_id for entry in entries]

    def test_an_agents_file_names_it(self) -> None:
        """A sidechain's line that names no agent is of the one that the file is named for."""
        entries = read(line(number=1, isSidechain=True), line(number=2), path=Path("agent-b7.jsonl"))
        assert ["b7", ""] == [entry.agent_id for entry in entries]

    def test_each_sidechain_in_a_file_is_an_emitter(self) -> None:
        """Sidechains of 1.0.98 to 2.0.28 go by the id of their root, however they are interleaved."""
        path = DATA / "1.0.98" / "inline-sidechains.jsonl"
        emitters = [entry.agent_id for entry in read_on(path, ClaudeReader(path))]
        assert ["", "", "3", "4", "3", "4", ""] == [emitter[-1:] for emitter in emitters]
        assert set(emitters) - {""} < set(ids(read_on(path, ClaudeReader(path))))

    def test_a_sidechain_with_an_unknown_parent_is_its_own(self) -> None:
        """A sidechain's line never counts as the main chain's, whatever it lacks."""
        orphan = line(number=1, isSidechain=True, parentUuid="elsewhere")
        nameless = [line(number=2, uuid=None, isSidechain=True, parentUuid=parent) for parent in ("p", None)]
        assert ["id-1", "p", "sidechain"] == [entry.agent_id for entry in read(orphan, *nameless)]

    def test_a_sidechain_goes_on_in_the_next_pass(self) -> None:
        """The root of a sidechain is remembered from pass to pass, up to a limit."""
        path = Path("missing.jsonl")
        first = ClaudeReader(path)
        chain = [line(number=n, isSidechain=True, parentUuid=f"id-{n - 1}" if n else None) for n in range(2000)]
        assert {"id-0"} == {entry.agent_id for entry in first.entries(chain[:1000])}
        assert {"id-0"} == {entry.agent_id for entry in resumed(path, first).entries(chain[1000:])}
        assert transcript._MAX_LINKS >= len(first.state()["roots"])


class TestWorktrees:
    """A recorded worktree outranks the branch on the line."""

    def test_a_session_in_and_out_of_a_worktree(self) -> None:
        """From the result of EnterWorktree on, until the session leaves, the branch is the recorded one."""
        path = DATA / "2.1.240" / f"{SESSION}.jsonl"
        moves = [key for key, _ in itertools.groupby(p for p in places(read_on(path, ClaudeReader(path))) if p[0])]
        assert [("/w/shop", "main", None), (TREE, "worktree-cart", "cart"), ("/w/shop", "main", None)] == moves

    def test_the_result_of_entering_is_enough(self) -> None:
        """Without a `worktree-state` the tool's result tells, from its own line on; the name is the folder's."""
        entries = read(
            line(number=1), line(number=2, cwd=TREE, toolUseResult=ENTERED), line(number=3, cwd=TREE + "/src")
        )
        assert [None, "cart", "cart"] == [entry.worktree for entry in entries]
        assert ["main", "worktree-cart", "worktree-cart"] == [entry.branch for entry in entries]

    def test_the_result_of_leaving_ends_it(self) -> None:
        """After ExitWorktree the line's own branch counts again, even in that folder."""
        leave = line(number=2, toolUseResult=ENTERED | {"action": "keep"})
        entries = read(line(number=1, cwd=TREE, toolUseResult=ENTERED), leave, line(number=3, cwd=TREE))
        assert ["worktree-cart", "main", "main"] == [entry.branch for entry in entries]

    @pytest.mark.parametrize(
        "result",
        [
            ENTERED | {"agentId": "a1", "status": "completed"},
            ENTERED | {"worktreePath": 5},
            'not "worktreePath"',
            ["x"],
        ],
        ids=["agent", "type", "text", "list"],
    )
    def test_other_results_enter_nothing(self, result: Any) -> None:
        """A finished agent's result names its own worktree, not the session's; text is just text."""
        (entry,) = read(line(cwd=TREE, toolUseResult=result))
        assert ("main", None) == (entry.branch, entry.worktree)

    @pytest.mark.parametrize(
        ("cwd", "root", "is_inside"),
        [
            (TREE, TREE, True),
            (TREE + "/src/deep", TREE + "/", True),
            (TREE + "-2", TREE, False),
            ("/w/shop", TREE, False),
            ("c:\\w\\cart\\src", "C:\\w\\cart", True),
            ("C:/w/cart", "C:\\w\\cart\\", True),
            ("C:\\w\\cart2", "C:\\w\\cart", False),
        ],
    )
    def test_it_covers_the_folder_and_what_is_below(self, cwd: str, root: str, is_inside: bool) -> None:
        """A worktree ends where its path does; separators and the case of a drive do not matter."""
        (entry,) = read(state_line({"worktreePath": root, "worktreeBranch": "b"}), line(cwd=cwd))
        assert (
            ("b", "cart") == (entry.branch, entry.worktree)
            if is_inside
            else ("main", None) == (entry.branch, entry.worktree)
        )

    def test_a_worktree_without_a_branch_leaves_the_lines(self) -> None:
        """A recorded worktree that names no branch still names the worktree."""
        (entry,) = read(
            state_line({"worktreePath": TREE, "worktreeName": "basket", "worktreeBranch": None}), line(cwd=TREE)
        )
        assert ("main", "basket") == (entry.branch, entry.worktree)

    @pytest.mark.parametrize("session", [None, "text", 5, {}, {"worktreePath": None}], ids=str)
    def test_a_state_without_a_path_is_no_worktree(self, session: Any) -> None:
        """Null, which says that the session left, and shapes that are not known end the recorded worktree."""
        lines = [state_line({"worktreePath": TREE, "worktreeBranch": "b"}), state_line(session), line(cwd=TREE)]
        assert [(TREE, "main", None)] == places(read(*lines))

    def test_it_is_remembered_from_pass_to_pass(self) -> None:
        """A session stays in its worktree when the next pass begins."""
        path = Path("missing.jsonl")
        first = ClaudeReader(path)
        list(first.entries([state_line({"worktreePath": TREE, "worktreeName": "cart", "worktreeBranch": "b"})]))
        assert [(TREE, "b", "cart")] == places(resumed(path, first).entries([line(cwd=TREE)]))

    def test_a_subagents_sidecar_comes_first(self) -> None:
        """A subagent's branch is the one its sidecar records, not the one its lines are stamped with."""
        path = next(DATA.rglob("agent-a4d2c8f1e0b3a297.jsonl"))
        name = "agent-a4d2c8f1e0b3a297"
        tree = f"/w/shop/.claude/worktrees/{name}"
        assert [(tree, f"worktree-{name}", name)] * 2 == places(read_on(path, ClaudeReader(path)))

    def test_an_inherited_worktree_has_the_lines_branch(self, tmp_path: Path) -> None:
        """A subagent in its parent's worktree: the sidecar names the folder, not the branch."""
        (tmp_path / "agent-a1.meta.json").write_text(json.dumps({"inheritedWorktreePath": TREE}))
        assert [(TREE, "main", "cart")] == places(read(line(cwd=TREE), path=tmp_path / "agent-a1.jsonl"))

    def test_a_subagent_falls_back_on_its_own_worktree(self, tmp_path: Path) -> None:
        """A subagent that leaves a worktree it entered is in the one it was given."""
        (tmp_path / "agent-a1.meta.json").write_text(json.dumps({"worktreePath": "/t/a1", "worktreeBranch": "own"}))
        lines = [state_line({"worktreePath": TREE, "worktreeBranch": "b"}), line(number=1, cwd=TREE)]
        lines += [state_line(None), line(number=2, cwd="/t/a1")]
        assert ["b", "own"] == [entry.branch for entry in read(*lines, path=tmp_path / "agent-a1.jsonl")]

    @pytest.mark.parametrize("text", ["", "[1]", '{"worktreePath": 5}', '{"agentType": "x"}'])
    def test_a_sidecar_of_no_use_is_ignored(self, tmp_path: Path, text: str) -> None:
        """A sidecar that is damaged or names no worktree changes nothing."""
        (tmp_path / "agent-a1.meta.json").write_text(text)
        assert [(TREE, "main", None)] == places(read(line(cwd=TREE), path=tmp_path / "agent-a1.jsonl"))


class TestRelocation:
    """A move that no message tells."""

    MOVED = bare(type="relocated", relocatedCwd="/w/other", sessionId=SESSION)
    QUEUED = bare(type="queue-operation", operation="dequeue", timestamp=at(9), sessionId=SESSION)

    def test_the_next_timed_entry_tells_it(self) -> None:
        """An entry without a folder of its own stands where the session was moved to, once."""
        assert [("/w/other", None, None), (None, None, None)] == places(read(self.MOVED, self.QUEUED, self.QUEUED))

    def test_an_entrys_own_folder_counts(self) -> None:
        """If the next entry says where it stands, the move has been told."""
        assert [("/w/shop", "main", None), (None, None, None)] == places(read(self.MOVED, line(), self.QUEUED))

    def test_a_subagents_entry_does_not_tell_it(self) -> None:
        """The main chain moved: subagents and progress leave it untold."""
        lines = [self.MOVED, line(number=1, agentId="a1", cwd=None), line("progress", 2), self.QUEUED]
        assert [None, None, "/w/other"] == [entry.cwd for entry in read(*lines)]

    def test_a_move_into_a_worktree_brings_its_branch(self) -> None:
        """Moved into the recorded worktree, an entry has that worktree's branch."""
        moved = bare(type="relocated", relocatedCwd=TREE, sessionId=SESSION)
        entries = read(state_line({"worktreePath": TREE, "worktreeBranch": "b"}), moved, self.QUEUED)
        assert [(TREE, "b", "cart")] == places(entries)

    def test_it_is_remembered_from_pass_to_pass(self) -> None:
        """A move at the end of one pass is told in the next."""
        path = Path("missing.jsonl")
        first = ClaudeReader(path)
        assert [] == list(first.entries([self.MOVED]))
        assert [("/w/other", None, None)] == places(resumed(path, first).entries([self.QUEUED]))


class TestForks:
    """History that was copied from another session is not this one's."""

    def test_marked_copies_are_inherited(self) -> None:
        """Entries that name where they were forked from are counted, and the rest is the fork's own."""
        path = DATA / "2.1.240" / "ffffffff-0000-4000-8000-000000000007.jsonl"
        reader = ClaudeReader(path)
        assert ["00000000-0000-4000-8000-000000000071"] == ids(read_on(path, reader))
        assert {"inherited": 4} == dict(reader.skipped)

    def test_an_empty_mark_says_nothing(self) -> None:
        """A `forkedFrom` of null is no fork."""
        text = line(forkedFrom="x").replace(b'"x"', b"null")
        assert ["id-1"] == ids(read(text))

    def test_a_forked_entry_written_again_is_a_copy(self) -> None:
        """An inherited entry that comes again without its mark is not the fork's own."""
        origin = {"sessionId": "other", "messageUuid": "id-1"}
        assert {"inherited": 1, "copy": 1} == skipped(line(forkedFrom=origin), line())

    def test_a_background_session_inherits_what_its_sibling_begins_with(self) -> None:
        """The common beginning with the session of the same root is inherited, the tail is not."""
        path = DATA / "2.1.240" / "99999999-0000-4000-8000-000000000006.jsonl"
        reader = ClaudeReader(path)
        assert ["00000000-0000-4000-8000-000000000081"] == ids(read_on(path, reader))
        assert {"inherited": 6} == dict(reader.skipped)

    @staticmethod
    def fork(folder: Path, count: int, *, own: int = 1, name: str = "fork") -> Path:
        """Write a background session with *count* entries of the session `root`, and *own* of its own."""
        copied = [line(number=n, sessionId=name, sessionKind="bg") for n in range(count)]
        tail = [line(number=100 + n, uuid=f"{name}-{n}", sessionId=name, sessionKind="bg") for n in range(own)]
        return write(folder / f"{name}.jsonl", *copied, *tail)

    @staticmethod
    def original(folder: Path, count: int, name: str = "root", first: int = 0) -> Path:
        """Write a session of *count* entries."""
        return write(folder / f"{name}.jsonl", *(line(number=n, sessionId=name) for n in range(first, count)))

    @pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
    def test_the_longest_common_beginning_counts(self, tmp_path: Path, order: tuple[str, str]) -> None:
        """Of several siblings with the same root, the one that shares most is the original."""
        self.original(tmp_path, 3, order[0])
        self.original(tmp_path, 8, order[1])
        path = self.fork(tmp_path, 6)
        assert ["fork-0"] == ids(read_on(path, ClaudeReader(path)))

    def test_without_an_original_everything_is_own(self, tmp_path: Path) -> None:
        """A background session that was not forked, or whose original is gone, keeps all its entries."""
        self.original(tmp_path, 8, first=1)
        path = self.fork(tmp_path, 3)
        assert 4 == len(read_on(path, ClaudeReader(path)))

    def test_a_sibling_in_the_background_decides_nothing(self, tmp_path: Path) -> None:
        """Of two background sessions nothing tells which copied the other: what only they share is both's own."""
        self.original(tmp_path, 4)
        first = self.fork(tmp_path, 6, own=2, name="first")
        second = self.fork(tmp_path, 6, name="second")
        assert ["id-4", "id-5", "first-0", "first-1"] == ids(read_on(first, ClaudeReader(first)))
        assert ["id-4", "id-5", "second-0"] == ids(read_on(second, ClaudeReader(second)))

    def test_the_original_is_not_trimmed(self, tmp_path: Path) -> None:
        """A session that was forked keeps its history."""
        path = self.original(tmp_path, 4)
        self.fork(tmp_path, 4)
        assert 4 == len(read_on(path, ClaudeReader(path)))

    @pytest.mark.parametrize("boundary", range(6))
    def test_it_is_remembered_from_pass_to_pass(self, tmp_path: Path, boundary: int) -> None:
        """Where a pass ends makes no difference to what is inherited, even if the original is gone by then."""
        original = self.original(tmp_path, 4)
        path = self.fork(tmp_path, 4)
        lines = path.read_bytes().splitlines(keepends=True)
        first = ClaudeReader(path)
        before = ids(first.entries(lines[:boundary]))
        if boundary:
            original.unlink()
        second = resumed(path, first)
        assert ["fork-0"] == before + ids(read_on(path, second, len(b"".join(lines[:boundary]))))
        assert {"inherited": 4} == dict(first.skipped + second.skipped)

    def test_a_sibling_that_cannot_be_read_is_passed_over(self, tmp_path: Path) -> None:
        """A folder or a dead link among the siblings is nobody's original."""
        (tmp_path / "folder.jsonl").mkdir()
        (tmp_path / "link.jsonl").symlink_to(tmp_path / "nowhere")
        path = self.fork(tmp_path, 2)
        assert 3 == len(read_on(path, ClaudeReader(path)))


class TestActivities:
    """What was done."""

    def test_a_message_is_told_on_each_of_its_lines(self) -> None:
        """The blocks of a message come on lines of their own, under one id; thoughts are no text."""
        lines = [
            said({"type": "thinking", "thinking": "secret"}, number=1),
            said({"type": "text", "text": "Hello"}, {"type": "text", "text": "world"}, number=2),
            said({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}, number=3),
        ]
        told = [Activity(kind="message", id="msg-1", text=text) for text in ("", "Hello\nworld", "")]
        assert [*told, Activity(kind="tool", id="t1", name="Bash")] == activities(*lines)

    @pytest.mark.parametrize("kind", ["tool_use", "server_tool_use", "mcp_tool_use"])
    def test_every_kind_of_call_is_a_tool(self, kind: str) -> None:
        """Calls that the server or an MCP server answers count as well."""
        assert Activity(kind="tool", id="t", name="n") == activities(said({"type": kind, "id": "t", "name": "n"}))[-1]

    def test_old_and_odd_messages_are_read(self) -> None:
        """A message may be text, lack its id, or hold what is no block."""
        text = line("assistant", message={"content": "plain"})
        odd = line(
            "assistant", 2, message={"id": 5, "content": ["x", {"type": "text", "text": 6}, {"type": "tool_use"}]}
        )
        expected = [Activity(kind="message", id="id-1", text="plain"), Activity(kind="message", id="id-2")]
        assert [*expected, Activity(kind="tool")] == activities(text, odd)

    @pytest.mark.parametrize(
        "text",
        [
            line("assistant", message={"id": "m", "model": "<synthetic>", "content": [{"type": "text", "text": "x"}]}),
            said({"type": "text", "text": "API Error: 529"}, isApiErrorMessage=True),
            line("system", content="x", message={"content": "x"}),
            line("assistant", uuid=None).replace(b'"assistant"', b'"progress"'),
        ],
        ids=["synthetic", "error", "system", "progress"],
    )
    def test_what_the_client_says_is_nobodys(self, text: bytes) -> None:
        """Errors and notices in the assistant's name are not the assistant's."""
        assert [] == activities(text)

    @pytest.mark.parametrize(
        "content",
        [
            "fix the parser",
            [{"type": "text", "text": "fix it"}],
            [{"type": "image", "source": {}}],
            [{"type": "text", "text": "<ide_opened_file>x</ide_opened_file>"}, {"type": "text", "text": "fix it"}],
            "<command-name>/init</command-name>",
            "<command-message>init</command-message>\n<command-name>/init</command-name>",
            "<bash-input>ls</bash-input>",
        ],
        ids=["text", "blocks", "image", "ide", "command", "running", "shell"],
    )
    def test_what_a_person_sends_is_a_prompt(self, content: Any) -> None:
        """Text, pictures and commands count, once each, under the line's id."""
        assert [Activity(kind="prompt", id="id-1")] == activities(prompt(content))

    @pytest.mark.parametrize(
        "text",
        [
            prompt("x", isMeta=True),
            prompt("x", isCompactSummary=True),
            prompt("x", isVisibleInTranscriptOnly=True),
            prompt("x", origin={"kind": "task-notification"}),
            prompt([{"type": "tool_result", "content": "x"}, {"type": "text", "text": "x"}]),
            prompt("ok", toolUseResult={"stdout": "ok"}),
            prompt("<local-command-stdout>x</local-command-stdout>"),
            prompt("<bash-stdout>x</bash-stdout>"),
            prompt("<command-message>init</command-message>"),
            prompt("<task-notification>x</task-notification>"),
            prompt([{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
            prompt("Caveat: The messages below were generated by the user while running local commands. DO NOT"),
            prompt("  "),
            prompt([]),
            prompt(["x", 5]),
            prompt(None),
            line(message="error"),
            line(),
        ],
        ids=str,
    )
    def test_what_a_program_sends_is_none(self, text: bytes) -> None:
        """Results, output, notices, summaries and interruptions are no prompts."""
        assert [] == activities(text)

    def test_an_unknown_origin_is_a_persons(self) -> None:
        """An origin of the future, or of another shape, does not hide a prompt."""
        assert 2 == len(
            activities(prompt("x", number=1, origin={"kind": "human"}), prompt("x", number=2, origin="cli"))
        )

    def test_a_subagents_task_is_its_prompt(self) -> None:
        """What a subagent was told to do counts as the prompt of that subagent."""
        path = DATA / "2.0.28" / "agent-12ab34cd.jsonl"
        entry = read_on(path, ClaudeReader(path))[0]
        assert ("12ab34cd", [Activity(kind="prompt", id=entry.entry_id)]) == (entry.agent_id, list(entry.activities()))
