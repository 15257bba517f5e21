"""Small invented sessions of both agents: repositories, transcripts, the payloads of hooks, and what came of them."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from agentihooks import change, hook, live
from agentihooks.clock import instant
from agentihooks.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

SESSION = "5e551010-0000-7000-8000-000000000001"


def at(clock: str) -> str:
    """Return the text of a time of day on the day of all these sessions, which is past on every machine."""
    return f"2025-06-01T{clock}:00.000Z"


def repository(folder: Path, name: str = "alpha", head: str = "ref: refs/heads/main") -> Path:
    """Make *folder* a checkout of github.com/fixture/NAME, as far as git's own files tell; return it."""
    git = folder / ".git"
    for directory in ("objects", "refs"):
        (git / directory).mkdir(parents=True)
    (git / "HEAD").write_text(f"{head}\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = https://github.com/fixture/{name}.git\n')
    return folder


def worktree(repo: Path, folder: Path, branch: str) -> Path:
    """Make *folder* a linked worktree of *repo* on *branch*; return it."""
    own = repo / ".git" / "worktrees" / folder.name
    own.mkdir(parents=True)
    (own / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    (own / "commondir").write_text("../..\n")
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {own}\n")
    return folder


class Claude:
    """A session of Claude Code, or one of its subagents: a transcript to write to, and the payloads of its hooks."""

    agent = "claude"

    def __init__(self, session_id: str = SESSION, agent_id: str = "", project: str = "-work") -> None:
        self.session_id = session_id
        self.agent_id = agent_id
        self.path = Path(os.environ["HOME"], ".claude", "projects", project, f"{session_id}.jsonl")
        if agent_id:
            self.path = self.path.with_suffix("") / "subagents" / f"agent-{agent_id}.jsonl"
        self._number = 0

    def line(self, clock: str, cwd: object, kind: str = "assistant", branch: str = "main", **fields: Any) -> bytes:
        """Return the next line: what was said in *cwd* at a time of day."""
        self._number += 1
        own = {"isSidechain": True, "agentId": self.agent_id} if self.agent_id else {"isSidechain": False}
        values = {
            "type": kind,
            "uuid": f"{self.session_id}-{self.agent_id}-{self._number}",
            "sessionId": self.session_id,
            "timestamp": at(clock),
            "cwd": str(cwd),
            "gitBranch": branch,
            "message": {"role": kind, "content": [{"type": "text", "text": f"Line {self._number}."}]},
        }
        return json.dumps({**values, **own, **fields}).encode() + b"\n"

    def write(self, clock: str, cwd: object, kind: str = "assistant", branch: str = "main", **fields: Any) -> None:
        """Append the next line to the transcript."""
        self.append(self.line(clock, cwd, kind, branch, **fields))

    def say(self, clock: str, cwd: object, text: str, **fields: Any) -> None:
        """Append what the assistant said."""
        content = [{"type": "text", "text": text}]
        self.write(clock, cwd, message={"role": "assistant", "content": content}, **fields)

    def ask(self, clock: str, cwd: object) -> None:
        """Append what somebody typed: another turn begins."""
        self.write(clock, cwd, kind="user", message={"role": "user", "content": "Go on."})

    def append(self, data: bytes) -> None:
        """Append bytes to the transcript."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(data)

    def payload(self, event: str, cwd: object, **fields: Any) -> dict[str, Any]:
        """Return what Claude Code tells a hook."""
        common = {"session_id": self.session_id, "transcript_path": str(self.path), "cwd": str(cwd)}
        if self.agent_id:
            main = self.path.parents[1].with_suffix(".jsonl")
            common |= {"transcript_path": str(main), "agent_id": self.agent_id, "agent_type": "general-purpose"}
            if event == "SubagentStop":
                common["agent_transcript_path"] = str(self.path)
        return {**common, "hook_event_name": event, **fields}

    def fire(self, event: str, cwd: object, **fields: Any) -> None:
        """Have the hook called."""
        fire(self.payload(event, cwd, **fields))


class Codex:
    """A session of Codex, or one of its subagents: a rollout to write to, and the payloads of its hooks."""

    agent = "codex"

    def __init__(self, session_id: str = SESSION, agent_id: str = "") -> None:
        self.session_id = session_id
        self.agent_id = agent_id
        folder = Path(os.environ["HOME"], ".codex", "sessions", "2025", "06", "01")
        self.path = folder / f"rollout-2025-06-01T10-00-00-{agent_id or session_id}.jsonl"
        self._number = 0

    def write(self, clock: str, cwd: object) -> None:
        """Append a turn in *cwd*, and before the first one the header; one message is said in it."""
        self.say(clock, cwd, f"Line {self._number + 1}.")

    def say(self, clock: str, cwd: object, text: str) -> None:
        """Append a turn in *cwd*, as `write` does, in which the assistant said *text*."""
        if not self._number:
            own_id = self.agent_id or self.session_id
            meta = {"id": own_id, "session_id": self.session_id, "timestamp": at(clock), "cwd": str(cwd)}
            spawn = {"subagent": {"thread_spawn": {"parent_thread_id": self.session_id, "depth": 1}}}
            source = spawn if self.agent_id else "cli"
            self._append(clock, "session_meta", {**meta, "source": source, "git": {"branch": "main"}})
        self._number += 1
        turn = f"turn-{self._number}"
        self._append(clock, "event_msg", {"type": "task_started", "turn_id": turn})
        self._append(clock, "turn_context", {"turn_id": turn, "cwd": str(cwd)})
        content = [{"type": "output_text", "text": text}]
        message = {"type": "message", "role": "assistant", "id": f"msg-{self._number}", "content": content}
        self._append(clock, "response_item", message)

    def ask(self, clock: str, cwd: object) -> None:
        """Append what somebody typed: another turn begins."""
        self._append(clock, "event_msg", {"type": "user_message", "message": "Go on."})

    def _append(self, clock: str, kind: str, payload: Mapping[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"timestamp": at(clock), "type": kind, "payload": payload}) + "\n")

    def payload(self, event: str, cwd: object, **fields: Any) -> dict[str, Any]:
        """Return what Codex tells a hook."""
        common = {"session_id": self.session_id, "transcript_path": str(self.path), "cwd": str(cwd), "model": "m"}
        if self.agent_id:
            common["agent_id"] = self.agent_id
            if event == "SubagentStop":
                main = Codex(self.session_id).path
                common |= {"transcript_path": str(main), "agent_transcript_path": str(self.path)}
        return {**common, "hook_event_name": event, **fields}

    def fire(self, event: str, cwd: object, **fields: Any) -> None:
        """Have the hook called."""
        fire(self.payload(event, cwd, **fields), self.agent)


def fire(payload: object, *arguments: str) -> None:
    """Call the hook as an agent would, Claude Code unless *arguments* name another; bytes are sent as they are."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    with mock.patch.object(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data))):
        assert 0 == hook.main(arguments or ("claude",))


def scopes(own_id: str, *fields: str) -> list[tuple[str, ...]]:
    """Return some fields of every transition that is recorded for a session or subagent, as on disk."""
    transitions = Engine.at_home(os.environ["AGENTIHOOKS_HOME"]).transitions(own_id)
    return [tuple(str(getattr(each, field)) for field in fields) for each in transitions]


def rows(path: Path) -> list[dict[str, Any]]:
    """Return a file's JSON lines; none if there is no such file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def reasons(home: Path) -> list[str]:
    """Return what the engine's own log says."""
    return [row["message"] for row in rows(home / "logs" / "agentihooks.log")]


def files(home: Path) -> dict[str, bytes]:
    """Return all files below a directory by their path in it, with what they hold."""
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def set_clock(monkeypatch: pytest.MonkeyPatch, clock: str) -> None:
    """Let it be this time of day for hooks and for changes of task."""
    for module in (live, change):
        monkeypatch.setattr(module, "now", lambda: instant(at(clock)))
