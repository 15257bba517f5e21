"""Whether an agent's hooks are where the agent looks for them, and call what is there."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks.hook_settings import HookSettings, Subscription
from agentihooks.install import plan_install
from agentihooks.wiring import hooks_in_place
from tests.sessions import Claude

if TYPE_CHECKING:
    from pathlib import Path

    from agentihooks.doctor import Finding

PROGRAM = (sys.executable, "-m", "agentihooks")


@pytest.fixture
def user(tmp_path: Path) -> HookSettings:
    """Return the user's settings of an agent that is on this machine; there is no file yet."""
    (tmp_path / ".agent").mkdir()
    subscriptions = (Subscription("Stop", 30), Subscription("PostToolUse", 5, matcher="Bash"))
    return HookSettings(path=tmp_path / ".agent" / "settings.json", subscriptions=subscriptions)


@pytest.fixture
def project(tmp_path: Path, user: HookSettings) -> HookSettings:
    """Return the settings of a project, which has none yet."""
    return HookSettings(path=tmp_path / "project" / "settings.json", subscriptions=user.subscriptions)


def install(settings: HookSettings, program: tuple[str, ...] = PROGRAM) -> None:
    """Put the hooks into a file."""
    plan_install(settings, "claude", program).apply()


def change(settings: HookSettings, **changes: Any) -> None:
    """Change the handler of Stop in a file."""
    values = json.loads(settings.path.read_text())
    values["hooks"]["Stop"][0]["hooks"][0].update(changes)
    settings.path.write_text(json.dumps(values))


def look(*settings: HookSettings) -> list[Finding]:
    """Return what is found."""
    return list(hooks_in_place("claude", os.environ, *settings))


def only(*settings: HookSettings) -> tuple[str, str]:
    """Return the level and text of the one thing that is found."""
    (finding,) = look(*settings)
    assert "claude hooks" == finding.about
    return finding.level, finding.text


def test_no_agent(user: HookSettings) -> None:
    """Of an agent that is not on this machine nothing is said."""
    user.path.parent.rmdir()
    assert [] == look(user)


@pytest.mark.parametrize("text", [None, "", "{}", '{"hooks": {"Stop": [{"hooks": [{"command": "other"}]}]}}'])
def test_none(user: HookSettings, project: HookSettings, text: str | None) -> None:
    """That there are no hooks is a problem, and the way out is said."""
    if text is not None:
        user.path.write_text(text)
    assert ("problem", f"none in {user.path}") == only(user, project)
    assert ["agentihooks install claude"] == [finding.advice for finding in look(user)]


@pytest.mark.parametrize(("age_s", "level"), [(0, "note"), (8 * 86400, "problem")], ids=["now", "last week"])
def test_none_that_fire(home: Path, user: HookSettings, age_s: int, level: str) -> None:
    """Hooks that fire stand somewhere, though it is not known where."""
    Claude().fire("Stop", "/")
    state = next((home / "state" / "sessions").iterdir())
    os.utime(state, (0, state.stat().st_mtime - age_s))
    assert level == only(user)[0]


def test_in_place(user: HookSettings, project: HookSettings) -> None:
    """Hooks are in place as they were installed, for the user or for a project."""
    install(user)
    assert ("ok", f"2 events in {user.path}") == only(user, project)
    install(project)
    assert ["ok", "ok"] == [finding.level for finding in look(user, project)]
    user.path.unlink()
    assert ("ok", f"2 events in {project.path}") == only(user, project)


def test_one_file(user: HookSettings) -> None:
    """Where the project's file is the user's, it is looked at once."""
    install(user)
    assert 1 == len(look(user, user))


@pytest.mark.parametrize("changes", [{"timeout": 3}, {"command": PROGRAM[0], "args": [*PROGRAM[1:], "hook", "claude"]}])
def test_another_version_s(user: HookSettings, changes: dict[str, Any]) -> None:
    """Hooks that an install would change are those of another version."""
    install(user)
    change(user, **changes)
    assert ("note", f"{user.path} has those of another version") == only(user)


def test_a_missing_event(user: HookSettings) -> None:
    """So are hooks that lack an event."""
    install(HookSettings(path=user.path, subscriptions=user.subscriptions[:1]))
    assert "note" == only(user)[0]


def test_a_program_that_is_gone(user: HookSettings) -> None:
    """A command that is not there any more is a problem: an agent says little of it."""
    install(user, ("/gone/agentihooks",))
    assert ("problem", f"{user.path} calls /gone/agentihooks, which is gone") == only(user)


@pytest.mark.parametrize("addition", ["// mine\n", "\n/* mine */"])
def test_comments(user: HookSettings, addition: str) -> None:
    """Comments make the agent pass over the whole file."""
    install(user)
    user.path.write_text(addition + user.path.read_text())
    assert ("problem", f"{user.path} is more than JSON: it is passed over") == only(user)


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"{]"], ids=repr)
def test_a_damaged_file(user: HookSettings, content: bytes) -> None:
    """A file that cannot be read as settings is a problem."""
    user.path.write_bytes(content)
    level, text = only(user)
    assert ("problem", True) == (level, text.startswith(f"{user.path}: "))
