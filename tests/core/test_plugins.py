"""Finding plugins, and what becomes of those that fail."""

from __future__ import annotations

import importlib.metadata
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from agentihooks import PluginFault
from agentihooks.hookspecs import hookimpl
from agentihooks.plugins import BUNDLED, GROUP, Plugins

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION_HOOK = "agentihooks_session_of_shell"


def plugin(answer: Any = None) -> Any:
    """Return a plugin whose one hook returns *answer*, or raises it, or is no hook at all if it is "misspelt"."""

    def hook(environ: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    module = ModuleType("a_plugin")
    name = "agentihooks_sesion" if answer == "misspelt" else SESSION_HOOK
    setattr(module, name, hookimpl(hook))
    return module


def install(site: Path, name: str, source: str, module: str | None = None) -> None:
    """Install a distribution with one plugin under *site*."""
    module = module or f"agentihooks_{name}"
    (site / f"{module}.py").write_text(source)
    info = site / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {module}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory of installed distributions, on the path; what is imported from it is forgotten."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    for name in [*sys.modules]:
        if name.startswith("agentihooks_stranger"):
            monkeypatch.delitem(sys.modules, name)
    return site


def test_every_answer_counts() -> None:
    """Each plugin's answer is given, but for None; the plugin that came first is asked first."""
    plugins = Plugins({"a": plugin("one"), "b": plugin(), "c": plugin("three"), "d": ModuleType("empty")})
    assert ["one", "three"] == [*plugins.each(SESSION_HOOK, environ={})]
    assert "one" == plugins.first(SESSION_HOOK, environ={})
    assert (["a", "b", "c", "d"], ["a", "b", "c"]) == (plugins.names(), plugins.names(SESSION_HOOK))


def test_no_answer_is_none() -> None:
    """Where nobody answers there is no answer, and no fault."""
    plugins = Plugins({"a": plugin(), "b": ModuleType("empty")})
    assert plugins.first(SESSION_HOOK, environ={}) is None
    assert [] == plugins.faults


def test_one_plugin_is_asked_by_name() -> None:
    """Of one plugin, only its own answer counts."""
    plugins = Plugins({"a": plugin("one"), "b": plugin("two"), "c": ModuleType("empty")})
    assert "one" == plugins.of("a", SESSION_HOOK, environ={})
    for name in ("c", "d"):
        with pytest.raises(PluginFault, match=f"plugin {name}: no plugin of this name implements {SESSION_HOOK}"):
            plugins.of(name, SESSION_HOOK, environ={})


def test_a_plugin_that_raises_is_passed_over() -> None:
    """What a plugin raises is kept as its fault, and the others are asked all the same."""
    plugins = Plugins({"a": plugin(RuntimeError("broken")), "b": plugin("two")})
    assert "two" == plugins.first(SESSION_HOOK, environ={})
    assert plugins.of("a", SESSION_HOOK, environ={}) is None
    assert [f"plugin a: {SESSION_HOOK} raised RuntimeError('broken')"] * 2 == [*map(str, plugins.faults)]


def test_a_plugin_that_raises_on_the_way_is_passed_over() -> None:
    """A plugin that yields is followed up to where it raises, and no faster than its results are taken."""

    def results() -> Iterator[str]:
        yield "one"
        raise OSError("gone")

    plugins = Plugins({"a": plugin(results()), "b": plugin(["three"])})
    assert ["one", "three"] == [result for each in plugins.each(SESSION_HOOK, environ={}) for result in each]
    assert [f"plugin a: {SESSION_HOOK} raised OSError('gone')"] == [*map(str, plugins.faults)]


def test_a_misspelt_hook_is_a_fault() -> None:
    """A plugin with a hook that does not exist is not used, and others are."""
    plugins = Plugins({"a": plugin("one"), "b": plugin("misspelt")})
    assert ["a"] == plugins.names()
    assert ["b"] == [fault.plugin for fault in plugins.faults]
    assert "agentihooks_sesion" in plugins.faults[0].reason


def test_a_hook_with_other_arguments_is_a_fault() -> None:
    """A plugin whose hook wants what is not given is not used."""
    module: Any = ModuleType("a_plugin")
    module.agentihooks_session_of_shell = hookimpl(lambda environment: environment)
    plugins = Plugins({"a": plugin("one"), "b": module})
    assert (["a"], ["b"]) == (plugins.names(), [fault.plugin for fault in plugins.faults])
    assert "one" == plugins.first(SESSION_HOOK, environ={})


def test_a_name_is_one_plugins() -> None:
    """A second plugin of the same name, or the same under another name, is a fault; the first stays."""
    module = plugin("one")
    plugins = Plugins({"a": module, "b": module})
    plugins.register("a", plugin("two"))
    assert (["a"], ["b", "a"]) == (plugins.names(), [fault.plugin for fault in plugins.faults])
    assert "one" == plugins.first(SESSION_HOOK, environ={})


def test_strangers_are_found(site: Path) -> None:
    """Plugins of other distributions come after the bundled ones, by name."""
    for name in ("stranger_b", "stranger_a"):
        install(site, name, "")
    found = Plugins.installed({}).names()
    assert [*BUNDLED, "stranger_a", "stranger_b"] == [name for name in found if name in BUNDLED or "stranger" in name]


@pytest.mark.parametrize(
    ("names", "expected"),
    [("stranger", ["stranger"]), ("codex", ["codex"]), (" codex , stranger,,", ["codex", "stranger"]), ("nobody", [])],
)
def test_plugins_can_be_narrowed(site: Path, names: str, expected: list[str]) -> None:
    """AGENTIHOOKS_PLUGINS lists the plugins to use; the others are not even imported."""
    install(site, "stranger", "")
    install(site, "unwanted", "raise SystemExit")
    assert expected == Plugins.installed({"AGENTIHOOKS_PLUGINS": names}).names()


@pytest.mark.parametrize("source", ["import nowhere", "raise RuntimeError('broken')", "def ("])
def test_a_stranger_that_cannot_be_imported_is_a_fault(site: Path, source: str) -> None:
    """A plugin that fails on import is passed over, and the others are used."""
    install(site, "stranger", source)
    plugins = Plugins.installed({})
    assert set(BUNDLED) <= set(plugins.names())
    assert ["stranger"] == [fault.plugin for fault in plugins.faults]
    assert "cannot be imported" in plugins.faults[0].reason


def test_a_stranger_cannot_take_a_bundled_plugins_place(site: Path) -> None:
    """An entry point named like a bundled plugin is not that plugin."""
    install(site, "codex", "raise SystemExit", module="agentihooks_stranger")
    assert "codex" in Plugins.installed({}).names()


def test_bundled_plugins_are_used_without_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundled plugins are imported by their table, and pass the check of their hooks."""
    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    plugins = Plugins.bundled()
    assert ([*BUNDLED], []) == (plugins.names(), plugins.faults)
    assert ["codex"] == Plugins.bundled(["codex"]).names()


def test_calls_can_be_traced(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """AGENTIHOOKS_TRACE=1 shows on stderr what happens to plugins."""
    monkeypatch.setenv("AGENTIHOOKS_TRACE", "1")
    Plugins({"a": plugin("one")}).first(SESSION_HOOK, environ={})
    captured = capsys.readouterr()
    assert "" == captured.out
    assert "agentihooks_session_of_shell -> one [a]" == captured.err.strip()
