"""
Other receivers than the brain: plugins that take markers, each with an outbox of its own.

They run when the outbox is drained by command, never while an agent waits; one that fails keeps nobody else waiting.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agentihooks.clock import now
from agentihooks.errors import PluginFault
from agentihooks_outbox.delivery import Drain, Stopped
from agentihooks_outbox.outbox import sink_outboxes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from agentihooks.outgoing import Delivery, Outgoing
    from agentihooks.plugins import Plugins


class Sink:
    """The receiver of a sink's outbox: the plugin of that name."""

    def __init__(self, name: str, plugins: Plugins, home: str, environ: Mapping[str, str]) -> None:
        self._name = name
        self._plugins = plugins
        self._home = home
        self._environ = environ

    def send(self, marker: Outgoing, allowed_s: float, now: datetime) -> None:  # noqa: ARG002 - a plugin takes its time
        """See `delivery.Receiver.send`."""
        faults = self._plugins.faults
        known = len(faults)
        try:
            taken = self._plugins.of(
                self._name, "agentihooks_accept_markers", markers=(marker,), home=self._home, environ=self._environ
            )
        except PluginFault as fault:
            raise Stopped(str(fault)) from fault
        if taken is not True:
            raise Stopped(str(faults[-1]) if len(faults) > known else f"plugin {self._name} did not take the marker")

    def close(self) -> None:
        """See `delivery.Receiver.close`."""


def drain_sinks(
    home: str,
    environ: Mapping[str, str],
    plugins: Plugins,
    clock: Callable[[], datetime] = now,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, Delivery]:
    """
    Hand what waits for each sink that `AGENTIHOOKS_SINKS` names to its plugin.

    Returns:
        What came of it, by the sink's name. A fault of a plugin is in `plugins.faults` too.
    """
    deliveries = {}
    for outbox in sink_outboxes(home, environ):
        name = outbox.name
        connect = partial(Sink, name, plugins, home, environ)
        drain = Drain(home=home, outbox=outbox, name=name, connect=connect, clock=clock, advance=advance)
        deliveries[name] = drain.run()
    return deliveries
