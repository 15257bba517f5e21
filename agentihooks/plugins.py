"""
Finding plugins, and calling their hooks one by one.

The bundled plugins stand in a table, so that a hook of a known agent imports one module and scans nothing; strangers'
are found through their entry points. Everything beyond that treats both alike.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pluggy

from agentihooks import hookspecs
from agentihooks.errors import PluginFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

GROUP = "agentihooks.plugins"

BUNDLED = {"claude": "agentihooks_claude", "codex": "agentihooks_codex", "outbox": "agentihooks_outbox"}
"""The plugins in this distribution: name -> import package. A test holds it to the wheel's entry points."""

BUNDLED_SINK = "outbox"
"""The one of them that takes markers while an agent waits."""


class Plugins:
    """
    A set of plugins, and their hooks.

    A plugin that fails is passed over: its fault is kept in `faults`, and whoever asked goes on without it.
    """

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self.faults: list[PluginFault] = []
        self._manager = pluggy.PluginManager("agentihooks")
        self._manager.add_hookspecs(hookspecs)
        if os.environ.get("AGENTIHOOKS_TRACE") == "1":
            self._manager.trace.root.setwriter(sys.stderr.write)
        for name, module in modules.items():
            self.register(name, module)

    @classmethod
    def bundled(cls, names: Iterable[str] = tuple(BUNDLED)) -> Plugins:
        """Return the bundled plugins of these names, without a scan."""
        return cls({name: importlib.import_module(BUNDLED[name]) for name in names})

    @classmethod
    def installed(cls, environ: Mapping[str, str] = os.environ) -> Plugins:
        """
        Return every plugin: the bundled ones, then those of other distributions by name.

        `AGENTIHOOKS_PLUGINS=claude,codex` narrows them to the names it lists.
        """
        wanted = {name.strip() for name in environ.get("AGENTIHOOKS_PLUGINS", "").split(",") if name.strip()}
        plugins = cls.bundled(name for name in BUNDLED if not wanted or name in wanted)
        for entry_point in _entry_points():
            if entry_point.name in BUNDLED or (wanted and entry_point.name not in wanted):
                continue
            try:
                module = entry_point.load()
            except Exception as error:  # noqa: BLE001 - a stranger's import may raise anything
                plugins.faults.append(PluginFault(entry_point.name, f"cannot be imported: {error!r}"))
            else:
                plugins.register(entry_point.name, module)
        return plugins

    def names(self, hook: str = "") -> list[str]:
        """Return the names of the plugins in use; with *hook*, of those that implement it."""
        if hook:
            return [implementation.plugin_name for implementation in getattr(self._manager.hook, hook).get_hookimpls()]
        return [name for name, _ in self._manager.list_name_plugin()]

    def each(self, hook: str, **arguments: Any) -> Iterator[Any]:
        """
        Yield what each plugin's *hook* returns, but for None and for plugins that raise.

        In the order in which they were registered, the bundled ones first: no stranger answers for a known agent.
        """
        yield from self._call(getattr(self._manager.hook, hook).get_hookimpls(), hook, arguments)

    def _call(self, implementations: Iterable[Any], hook: str, arguments: Mapping[str, Any]) -> Iterator[Any]:
        for implementation in implementations:
            # pluggy traces only the calls that go through it.
            trace = self._manager.trace.root.get(implementation.plugin_name)
            try:
                result = implementation.function(*(arguments[name] for name in implementation.argnames))
            except Exception as error:  # noqa: BLE001 - whatever a plugin raises stays with that plugin
                trace(hook, "raised", repr(error))
                self.faults.append(PluginFault(implementation.plugin_name, f"{hook} raised {error!r}"))
            else:
                trace(hook, "->", result)
                if isinstance(result, Iterator):
                    yield self._guarded(result, implementation.plugin_name, hook)
                elif result is not None:
                    yield result

    def _guarded(self, results: Iterator[Any], plugin: str, hook: str) -> Iterator[Any]:
        """Hand on what a plugin yields, up to where it raises."""
        try:
            yield from results
        except Exception as error:  # noqa: BLE001 - as above
            self.faults.append(PluginFault(plugin, f"{hook} raised {error!r}"))

    def of(self, plugin: str, hook: str, **arguments: Any) -> Any:
        """
        Return what one plugin's *hook* returns; None if it raises.

        Raises:
            PluginFault: There is no such plugin, or it does not implement the hook.
        """
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            if implementation.plugin_name == plugin:
                return next(self._call([implementation], hook, arguments), None)
        raise PluginFault(plugin, f"no plugin of this name implements {hook}")

    def first(self, hook: str, **arguments: Any) -> Any:
        """Return what the first plugin that has an answer to *hook* returns, or None."""
        return next(self.each(hook, **arguments), None)

    def register(self, name: str, module: ModuleType) -> None:
        """Add a plugin under *name*; one that cannot be used becomes a fault."""
        if self._manager.has_plugin(name):
            self.faults.append(PluginFault(name, "another plugin has this name"))
            return
        try:
            self._manager.register(module, name)
            self._manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            self._manager.unregister(name=name)
            self.faults.append(PluginFault(name, str(error)))


def _entry_points() -> list[Any]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda entry_point: entry_point.name)
