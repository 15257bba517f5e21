"""
What the tests with the official programs run in: a home, two repositories, a model, and a network with nothing in it.

`install-agents` fetches the programs. AGENTIHOOKS_E2E_AGENTS names the folder they are in; otherwise they are looked for
on PATH, and where they are not found, the tests are skipped.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import struct
import subprocess
import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentihooks_outbox.testing import FakeBrain

from .agents import Claude, Codex, Command
from .model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator

# Taken now: no test sees the engine's variables.
_FOLDER = os.environ.get("AGENTIHOOKS_E2E_AGENTS")

_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


@pytest.fixture(scope="session")
def loopback() -> Iterator[Executor]:
    """Return a thread whose network is loopback alone, where the system lets us make one. What it starts has the same."""
    with ThreadPoolExecutor(max_workers=1, initializer=_leave_the_network) as thread:
        yield thread


def _leave_the_network() -> None:
    if sys.platform == "linux" and ctypes.CDLL(None).unshare(_CLONE_NEWNET) == 0:
        import fcntl

        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


@pytest.fixture
def model(loopback: Executor) -> Iterator[ModelServer]:
    """Yield a model; afterwards, no step must have failed, and nothing been asked of any other address."""
    with loopback.submit(ModelServer).result() as server:
        yield server
    assert ([], []) == (server.faults, server.strays)


@pytest.fixture
def brain(loopback: Executor) -> Iterator[FakeBrain]:
    """Yield a brain: where markers go, in the agents' network."""
    with loopback.submit(FakeBrain).result() as brain:
        yield brain


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Return an empty home directory."""
    path = tmp_path / "user"
    path.mkdir()
    return path


@pytest.fixture
def alpha(tmp_path: Path) -> Path:
    """Return the repository github.com/fixture/alpha on branch main, with a folder `sub`."""
    path = _repository(tmp_path / "alpha")
    (path / "sub").mkdir()
    return path


@pytest.fixture
def beta(tmp_path: Path) -> Path:
    """Return the repository github.com/fixture/beta on branch main."""
    return _repository(tmp_path / "beta")


def _repository(path: Path) -> Path:
    for arguments in (
        ("init", "-q", "-b", "main", path),
        ("-C", path, "remote", "add", "origin", f"https://github.com/fixture/{path.name}.git"),
        ("-C", path, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "A"),
    ):
        subprocess.run(["git", *arguments], check=True)
    return path


@pytest.fixture
def agentihooks(user: Path) -> Iterator[Command]:
    """Yield the engine's command, with the agents' home; afterwards, no hook must have failed, which agents don't hear of."""
    command = Command(user)
    yield command
    assert [] == [entry for entry in command.log() if entry["level"] == "error"]


@pytest.fixture
def bare_claude(user: Path, model: ModelServer, loopback: Executor) -> Claude:
    """Return Claude Code, without our hooks."""
    return Claude(_program("claude"), user, model, loopback)


@pytest.fixture
def claude(bare_claude: Claude, agentihooks: Command) -> Claude:
    """Return Claude Code, with our hooks."""
    agentihooks("install", "claude")
    return bare_claude


@pytest.fixture
def codex(user: Path, model: ModelServer, loopback: Executor, agentihooks: Command) -> Codex:
    """Return Codex, with our hooks."""
    program = _program("codex")
    agentihooks("install", "codex")
    return Codex(program, user, model, loopback)


def _program(name: str) -> Path:
    program = shutil.which(name, path=_FOLDER)
    if program is None:
        pytest.skip(f"no {name} in {_FOLDER or 'PATH'}; tests/e2e/install-agents FOLDER gets it")
    return Path(program).absolute()
