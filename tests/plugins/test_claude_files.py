"""Where Claude Code's transcripts are found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentihooks.plugins import Plugins
from agentihooks.transcript import TranscriptFile
from agentihooks_claude.files import agent_id_of, find_subagents, sidecar_of

if TYPE_CHECKING:
    from collections.abc import Mapping

ONE, TWO = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """Return the folder of projects below `~/.claude`."""
    return tmp_path / "user" / ".claude" / "projects"


def transcript(path: Path, session_id: str = ONE) -> Path:
    """Write a transcript that names a session, after a line that names none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"type": "summary", "summary": "t", "leafUuid": "u"}, {"type": "mode", "sessionId": session_id}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def found(projects: Path, session_id: str = "", **environ: str) -> list[TranscriptFile]:
    """Return what the plugin finds for a user with *projects*."""
    environment = {"HOME": str(projects.parents[1]), **environ}
    plugins = Plugins.bundled(["claude"])
    files = plugins.each("agentihooks_find_transcripts", environ=environment, session_id=session_id)
    return [file for each in files for file in each]


def names(projects: Path, session_id: str = "", **environ: str) -> set[tuple[str, str, str]]:
    """Return the project, session and agent of each file that is found."""
    return {
        (Path(file.path).relative_to(projects).parts[0], file.session_id[:2], file.agent_id)
        for file in found(projects, session_id, **environ)
    }


class TestTranscripts:
    """All of a user's transcripts, or a session's."""

    def test_main_chains_go_by_their_name(self, projects: Path) -> None:
        """A main transcript's session is the file's name; when it was written last comes with it."""
        path = transcript(projects / "-w-shop" / f"{ONE}.jsonl", "another")
        os.utime(path, (5, 7))
        assert [TranscriptFile(path=str(path), agent="claude", session_id=ONE, modified_at=7.0)] == found(projects)

    def test_subagents_go_by_their_folder(self, projects: Path) -> None:
        """Subagents, those of workflows included, lie below their session's folder, even without a main file."""
        transcript(projects / "p" / ONE / "subagents" / "agent-a1.jsonl", "another")
        transcript(projects / "p" / ONE / "subagents" / "workflows" / "w1" / "agent-a2.jsonl")
        assert {("p", "11", "a1"), ("p", "11", "a2")} == names(projects)

    def test_older_subagents_go_by_their_lines(self, projects: Path) -> None:
        """Subagents of 2.0.28 to 2.1.0 lie beside their session, which only their lines name."""
        transcript(projects / "p" / "agent-a1.jsonl", TWO)
        assert {("p", "22", "a1")} == names(projects)

    def test_what_is_no_work_is_left_out(self, projects: Path) -> None:
        """Compacting agents, side questions, journals, sidecars and empty files are not listed."""
        agents = projects / "p" / ONE / "subagents"
        for name in ("agent-acompact-1.jsonl", "agent-aside_question-1.jsonl", "journal.jsonl", "agent-a1.meta.json"):
            transcript(agents / name)
        transcript(projects / "p" / "agent-acompact-2.jsonl")
        (projects / "p" / "agent-empty.jsonl").write_text("")
        (projects / "p" / "notes.txt").write_text("")
        (projects / "p" / "folder.jsonl").mkdir()
        assert set() == names(projects)

    def test_a_session_is_looked_for_in_all_projects(self, projects: Path) -> None:
        """A session that moved can have files in several folders; all of them are its own."""
        for project in ("old", "new"):
            transcript(projects / project / f"{ONE}.jsonl")
        transcript(projects / "old" / ONE / "subagents" / "agent-a1.jsonl")
        transcript(projects / "new" / "agent-a2.jsonl")
        transcript(projects / "new" / "agent-a3.jsonl", TWO)
        transcript(projects / "new" / f"{TWO}.jsonl", TWO)
        expected = {("old", "11", ""), ("new", "11", ""), ("old", "11", "a1"), ("new", "11", "a2")}
        assert expected == names(projects, ONE)

    def test_a_session_may_have_no_main_file(self, projects: Path) -> None:
        """A session's subagents are found where its main transcript is not."""
        transcript(projects / "p" / ONE / "subagents" / "agent-a1.jsonl")
        assert {("p", "11", "a1")} == names(projects, ONE)

    @pytest.mark.parametrize("session_id", ["..", "../old", "a/b", ".", "/etc/passwd"])
    def test_a_session_id_leads_nowhere_else(self, projects: Path, session_id: str) -> None:
        """An id that is a path finds nothing."""
        transcript(projects / "old" / "a" / "b.jsonl")
        transcript(projects / "subagents" / "agent-a1.jsonl")
        transcript(projects / "old.jsonl")
        (projects / "p").mkdir()
        assert set() == names(projects, session_id)

    def test_a_configured_folder_counts_too(self, tmp_path: Path, projects: Path) -> None:
        """Sessions of both the configured and the usual folder are found, each once if they are the same."""
        transcript(projects / "p" / f"{ONE}.jsonl")
        other = transcript(tmp_path / "config" / "projects" / "q" / f"{TWO}.jsonl")
        both = found(projects, CLAUDE_CONFIG_DIR=str(tmp_path / "config"))
        assert {other, projects / "p" / f"{ONE}.jsonl"} == {Path(file.path) for file in both}
        assert 1 == len(found(projects, CLAUDE_CONFIG_DIR=str(projects.parent)))

    @pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "/nowhere"}, {"CLAUDE_CONFIG_DIR": ""}], ids=str)
    def test_a_missing_folder_gives_none(self, environ: Mapping[str, str]) -> None:
        """Without a home, or on a machine without Claude Code, there is nothing."""
        files = Plugins.bundled(["claude"]).first("agentihooks_find_transcripts", environ=environ, session_id="")
        assert [] == list(files)

    def test_the_home_of_windows_counts(self, projects: Path) -> None:
        """Where there is no HOME, the user's profile is the home."""
        transcript(projects / "p" / f"{ONE}.jsonl")
        environ = {"HOME": "", "USERPROFILE": str(projects.parents[1])}
        assert {("p", "11", "")} == names(projects, **environ)

    def test_what_cannot_be_read_is_passed_over(self, projects: Path) -> None:
        """A link to nowhere and a file in place of a project do not hide the others."""
        transcript(projects / "p" / f"{ONE}.jsonl")
        (projects / "p" / f"{TWO}.jsonl").symlink_to(projects / "gone")
        (projects / "p" / "agent-a1.jsonl").symlink_to(projects / "gone")
        (projects / "a-file").write_text("")
        assert {("p", "11", "")} == names(projects)


class TestSubagents:
    """A session's subagents."""

    def test_they_lie_below_and_beside_the_session(self, tmp_path: Path) -> None:
        """Wherever a transcript lies, its subagents of the newer and the older place are found."""
        main = transcript(tmp_path / f"{ONE}.jsonl")
        newer = transcript(tmp_path / ONE / "subagents" / "agent-a1.jsonl")
        older = transcript(tmp_path / "agent-a2.jsonl")
        transcript(tmp_path / "agent-a3.jsonl", TWO)
        transcript(tmp_path / ONE / "subagents" / "agent-acompact-1.jsonl")
        assert [newer, older] == [*map(Path, find_subagents(str(main), ONE))]

    def test_a_renamed_session_has_them_under_either_name(self, tmp_path: Path) -> None:
        """The folder may be named for the file or for the session."""
        main = transcript(tmp_path / "copy.jsonl")
        agents = [transcript(tmp_path / name / "subagents" / "agent-a.jsonl") for name in (ONE, "copy")]
        assert agents == [*map(Path, find_subagents(str(main), ONE))]

    def test_a_move_leaves_them_behind(self, projects: Path) -> None:
        """After a session moved to another project, its subagents in the old one are still its own."""
        main = transcript(projects / "new" / f"{ONE}.jsonl")
        left = transcript(projects / "old" / ONE / "subagents" / "agent-a1.jsonl")
        plugins = Plugins.bundled(["claude"])
        assert [str(left)] == list(plugins.first("agentihooks_find_subagents", path=str(main), session_id=ONE))

    def test_of_an_unknown_session_there_are_none(self, tmp_path: Path) -> None:
        """Another agent's transcript, or an id that is a path, gives nothing."""
        transcript(tmp_path / "subagents" / "agent-a1.jsonl", "x")
        assert [] == list(find_subagents(str(tmp_path / "rollout" / "x.jsonl"), ".."))
        assert [] == list(find_subagents(str(tmp_path / "rollout" / "x.jsonl"), "a\0b"))


class TestNames:
    """What a file's name tells."""

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("agent-a1.jsonl", "a1"), ("agent-a1.jsonl.zst", "a1"), (f"{ONE}.jsonl", ""), ("agent-.jsonl", "")],
    )
    def test_an_agents_file_names_the_agent(self, name: str, expected: str) -> None:
        """The id stands between `agent-` and the suffix, compressed or not."""
        assert expected == agent_id_of(name)

    def test_a_sidecar_lies_beside_its_agent(self) -> None:
        """The sidecar has the transcript's name with another suffix."""
        assert "d/agent-a1.meta.json" == sidecar_of("d/agent-a1.jsonl")


def test_importing_the_plugin_is_nearly_free() -> None:
    """A hook of another agent does not pay for reading transcripts."""
    code = "import sys, agentihooks_claude; print('msgspec' in sys.modules, 'agentihooks.transcript' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False False" == run.stdout.strip()
