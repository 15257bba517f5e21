"""Whether Codex will run the hooks it finds: by the hashes that Codex 0.171.0 itself has put on record."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks.install import plan_install
from agentihooks.plugins import Plugins
from agentihooks_codex.settings import TRUST, hook_settings
from agentihooks_codex.trust import examine_trust
from tests.sessions import Codex

if TYPE_CHECKING:
    from agentihooks.doctor import Finding
    from agentihooks.hook_settings import HookSettings

COMMAND = ("/usr/local/bin/agentihooks",)
# What `hooks/list` of the program's app server tells of the hooks that an install writes with this command.
TRUSTED = {
    "session_start:0:0": "6a64b469482fb8812ba691c5686ff773def2764d45f8e58e9c6dd274ecc7fa51",
    "session_end:0:0": "929bbcb65925acd9adef7e256b43a05bd7daeea3af34fbfad59024ea244f171e",
    "user_prompt_submit:0:0": "3de855510c9b1fc3fe6442a990097a935e612d3074d233dee11124e0c792df7b",
    "subagent_start:0:0": "fa2d69294b84d615ccedc11683a09b49156405342d823a07849248a032d03d65",
    "subagent_stop:0:0": "2f97f8fe41c1a96e418007ef77332499565e00ce92cee7f64283ee279508ee62",
    "stop:0:0": "8c8091785d03d8254b3523e77962b24bc82238394f1ef5d5944e8bb3aa57d46d",
    "interrupt:0:0": "8145cee40c4f4411dd9a9cb53c9346d3d903d833856800ddfc69cb79e693b128",
}


@pytest.fixture
def user() -> HookSettings:
    """Return the user's settings, with the hooks in."""
    folder = Path(os.environ["HOME"])
    folder.mkdir()
    settings = hook_settings(os.environ, "user", folder)
    plan_install(settings, "codex", COMMAND).apply()
    return settings


def trust(settings: HookSettings, hashes: dict[str, str] = TRUSTED, more: str = "") -> None:
    """Put hashes on record."""
    tables = [
        f'[hooks.state."{settings.path}:{place}"]\ntrusted_hash = "sha256:{digest}"\n'
        for place, digest in hashes.items()
    ]
    (settings.path.parent / "config.toml").write_text("\n".join([more, *tables]))


def look(*settings: HookSettings) -> list[Finding]:
    """Return what is found."""
    return list(examine_trust(os.environ, *settings))


def only(*settings: HookSettings) -> tuple[str, str]:
    """Return the level and text of the one thing that is found."""
    (finding,) = look(*settings)
    return finding.level, finding.text


def test_given(user: HookSettings) -> None:
    """All hooks are trusted."""
    trust(user)
    assert ("ok", f"given for all hooks in {user.path}") == only(user)


def test_given_through_a_link(user: HookSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex may have resolved the file's path."""
    trust(user)
    (tmp_path / "link").symlink_to(user.path.parent)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "link"))
    assert "ok" == only(hook_settings(os.environ, "user", tmp_path))[0]


@pytest.mark.parametrize("config", [None, "", "model = 'm'\n", "[hooks]\nstate = 1\n", "[hooks.state]\n"])
def test_not_given(user: HookSettings, config: str | None) -> None:
    """That hooks are not trusted is a problem, and how to trust them is said."""
    if config is not None:
        (user.path.parent / "config.toml").write_text(config)
    (finding,) = look(user)
    events = ", ".join(each.event for each in user.subscriptions)
    assert ("problem", f"none for {events} in {user.path}") == (finding.level, finding.text)
    assert TRUST == finding.advice


def test_not_given_for_all(user: HookSettings) -> None:
    """One hook that is not trusted, or not any more, is named."""
    trust(user, {**TRUSTED, "stop:0:0": "0" * 64})
    assert ("problem", f"none for Stop in {user.path}") == only(user)


def test_hooks_that_moved(user: HookSettings) -> None:
    """Trust is bound to the place: a hook before ours takes it away."""
    trust(user)
    values = json.loads(user.path.read_text())
    values["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "other"}]})
    user.path.write_text(json.dumps(values))
    assert ("problem", f"none for Stop in {user.path}") == only(user)
    trust(user, {**TRUSTED, "stop:1:0": TRUSTED["stop:0:0"]})
    assert "ok" == only(user)[0]


def test_hooks_that_fire(user: HookSettings) -> None:
    """Hooks that fire without trust on record run with the trust bypassed."""
    os.utime(user.path, (0, 0))
    Codex().fire("Stop", "/")
    level, text = only(user)
    assert ("note", True) == (level, text.endswith("hooks fire: Codex runs with the trust bypassed"))


@pytest.mark.parametrize("name", ["hooks", "codex_hooks"])
def test_switched_off(user: HookSettings, name: str) -> None:
    """Hooks may be switched off altogether, under the feature's old name as well."""
    trust(user, more=f"[features]\n{name} = false\n")
    assert ["problem", "ok"] == [finding.level for finding in look(user)]


def test_a_damaged_configuration(user: HookSettings) -> None:
    """A configuration that cannot be read is a problem of its own."""
    (user.path.parent / "config.toml").write_text("[")
    level, text = only(user)
    assert ("problem", True) == (level, text.startswith("config.toml: "))


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff", b"{"], ids=repr)
def test_nothing_to_trust(user: HookSettings, content: bytes | None) -> None:
    """Without hooks of ours there is nothing to trust."""
    if content is None:
        user.path.unlink()
    else:
        user.path.write_bytes(content)
    assert [] == look(user)


def test_the_plugin(user: HookSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor is told of the hooks and of the trust in them."""
    monkeypatch.chdir(tmp_path)
    findings: list[Any] = [*next(Plugins.bundled(["codex"]).each("agentihooks_examine", environ=os.environ))]
    assert ["codex hooks", "codex trust"] == [finding.about for finding in findings]


class TestClaude:
    """Claude Code asks for no such trust."""

    @pytest.mark.parametrize(("text", "expected"), [('{"disableAllHooks": true}', 1), ("{}", 0), ("[", 0), ("[]", 0)])
    def test_switched_off(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: int) -> None:
        """A file may switch all hooks off."""
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "user" / ".claude" / "settings.json"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        findings: list[Any] = [*next(Plugins.bundled(["claude"]).each("agentihooks_examine", environ=os.environ))]
        off = [finding for finding in findings if finding.text == f"{path} switches all hooks off"]
        assert expected == len(off)
