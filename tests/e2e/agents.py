"""The official programs, run headless in a home of their own, and the engine's command beside them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import uuid
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Executor
    from pathlib import Path
    from typing import Any, ClassVar

    from .model_server import ModelServer, Step

HANGS_AFTER_S = 120
NOTHING: Mapping[str, str] = MappingProxyType({})


@attrs.frozen
class Session:
    """What a session is called, and where its transcript lies."""

    id: str
    transcript: Path


@attrs.frozen
class Command:
    """The engine's command, with the agents' home."""

    home: Path

    words: ClassVar[Sequence[str]] = (sys.executable, "-P", "-m", "agentihooks")

    def __call__(self, *arguments: str) -> str:
        """Run it; return what it prints."""
        return subprocess.run(
            [*self.words, *arguments],
            cwd=self.home,
            env={"HOME": str(self.home), "PATH": os.defpath},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            timeout=HANGS_AFTER_S,
        ).stdout

    def line(self, *arguments: str) -> str:
        """Return it as a line for a shell."""
        return shlex.join([*self.words, *arguments])

    def log(self) -> list[dict[str, Any]]:
        """Return what the engine has noted."""
        path = self.home / ".agentihooks" / "logs" / "agentihooks.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def scopes(self, session_id: str, *fields: str) -> list[tuple[str, ...]]:
        """Return these fields of a session's transitions, without those that change none of them."""
        scopes: list[tuple[str, ...]] = []
        for transition in json.loads(self("scope", "show", session_id, "--json")):
            scope = tuple(transition[field] for field in fields)
            if scopes[-1:] != [scope]:
                scopes.append(scope)
        return scopes

    def labels(self, session: Session, *fields: str) -> dict[tuple[str, ...], dict[str, int]]:
        """Count the labels of a session's events, its subagents' too, by these fields of the scope they have."""
        labels: dict[tuple[str, ...], dict[str, int]] = {}
        (report,) = json.loads(self("attribute", str(session.transcript), "--json"))["transcripts"]
        for stretch in (stretch for emitter in report["emitters"] for stretch in emitter["stretches"]):
            for label, number in stretch["labels"].items():
                numbers = labels.setdefault(tuple(stretch["scope"].get(field, "") for field in fields), {})
                numbers[label] = numbers.get(label, 0) + number
        return labels


class Agent:
    """One of the programs."""

    def __init__(self, program: Path, home: Path, model: ModelServer, starter: Executor) -> None:
        """
        Take what it needs.

        Args:
            program: The executable.
            home: Its HOME.
            model: What it talks to, and takes for its proxy.
            starter: Starts it, and so lends it its network.
        """
        self._program = program
        self._home = home
        self._model = model
        self._starter = starter
        self._process: subprocess.Popen[str] | None = None

    def kill(self) -> None:
        """Kill it, as a machine out of memory would."""
        assert self._process is not None
        self._process.kill()

    def _execute(self, arguments: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> str:
        """Run it to its end; return what it printed. Being killed is no failure."""
        # Made from nothing. What would go to another address than loopback goes to the model.
        environ = {
            "HOME": str(self._home),
            "PATH": os.defpath,
            "TMPDIR": str(self._home),
            "HTTP_PROXY": self._model.url,
            "HTTPS_PROXY": self._model.url,
            "NO_PROXY": "127.0.0.1",
            "GIT_ALLOW_PROTOCOL": "file",  # Claude Code would fetch before it makes a worktree
            **environ,
        }
        process = self._process = self._starter.submit(
            lambda: subprocess.Popen(
                [self._program, *arguments],
                cwd=cwd,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        ).result()
        with process:
            try:
                stdout, stderr = process.communicate(timeout=HANGS_AFTER_S)
            finally:
                process.kill()
        assert process.returncode in (0, -9), f"{stdout}\n{stderr}"
        return stdout


class Claude(Agent):
    """Claude Code."""

    def run(
        self,
        cwd: Path,
        *script: Step,
        resume: str = "",
        environ: Mapping[str, str] = NOTHING,
        options: Sequence[str] = (),
    ) -> Session:
        """Have it play a script in the folder *cwd*, in a session of its own or in the one to *resume*."""
        session_id = resume or str(uuid.uuid4())
        self._execute(
            [
                *("--print", self._model.prompt(*script)),
                *("--resume" if resume else "--session-id", session_id),
                *("--allowedTools", "Bash,EnterWorktree,ExitWorktree"),
                *options,
            ],
            cwd,
            {
                "ANTHROPIC_BASE_URL": self._model.url,
                "ANTHROPIC_API_KEY": "dummy",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                **environ,
            },
        )
        (transcript,) = self._home.glob(f".claude/projects/*/{session_id}.jsonl")
        return Session(session_id, transcript)


class Codex(Agent):
    """Codex."""

    def run(self, cwd: Path, *script: Step, resume: str = "", environ: Mapping[str, str] = NOTHING) -> Session:
        """Have it play a script in the folder *cwd*, in a session of its own or in the one to *resume*."""
        settings = {
            "model": "mock",
            "model_provider": "mock",
            "model_providers.mock.name": "mock",
            "model_providers.mock.base_url": f"{self._model.url}/v1",
            "model_providers.mock.wire_api": "responses",
            "approval_policy": "never",
            "sandbox_mode": "danger-full-access",
            "check_for_update_on_startup": False,
            "analytics.enabled": False,
            "features.plugins": False,  # would be fetched
        }
        stdout = self._execute(
            [
                "exec",
                *(f"--config={name}={json.dumps(value)}" for name, value in settings.items()),
                *("--json", "--dangerously-bypass-hook-trust", "--cd", str(cwd)),
                *(("resume", resume) if resume else ()),
                self._model.prompt(*script),
            ],
            self._home,
            environ,
        )
        session_id = json.loads(stdout.splitlines()[0])["thread_id"]
        (transcript,) = self._home.glob(f".codex/sessions/**/*-{session_id}.jsonl")
        return Session(session_id, transcript)
