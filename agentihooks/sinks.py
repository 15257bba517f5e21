"""
Handing markers to the bundled sink: first it has them for good, then what it has put by is sent on.

Other plugins' sinks are not called from here: strangers must not keep an agent waiting (docs/how-to/add-a-sink).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentihooks.plugins import BUNDLED_SINK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentihooks.outgoing import Delivery, Outgoing
    from agentihooks.plugins import Plugins


def accept(plugins: Plugins, markers: Sequence[Outgoing], home: str, environ: Mapping[str, str]) -> None:
    """
    Return once the sink has *markers* for good: only then may a reader move on in the transcript.

    Raises:
        PluginFault: It has not, or is not among *plugins*. Handing over the same markers again is safe.
    """
    if not markers:
        return
    arguments = {"markers": markers, "home": home, "environ": environ}
    if plugins.of(BUNDLED_SINK, "agentihooks_accept_markers", **arguments) is not True:
        raise plugins.faults[-1]


def deliver(plugins: Plugins, home: str, environ: Mapping[str, str], budget_s: float) -> Delivery | None:
    """
    Send on what waits, within *budget_s* seconds, and return what came of it; None if nothing waits.

    None as well if the sink raised: its fault is then in `plugins.faults`, and everything that waited still does.

    Raises:
        PluginFault: The sink is not among *plugins*.
    """
    arguments = {"home": home, "environ": environ, "budget_s": budget_s}
    delivery: Delivery | None = plugins.of(BUNDLED_SINK, "agentihooks_deliver_markers", **arguments)
    return delivery
