"""
The outbox: keeps attributed markers as files until the brain has them.

Hook implementations only. What they need is imported when they are called: a hook without markers pays nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentihooks.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentihooks.doctor import Finding
    from agentihooks.outgoing import Delivery, Outgoing


@hookimpl
def agentihooks_accept_markers(markers: Sequence[Outgoing], home: str, environ: Mapping[str, str]) -> bool:
    """Write each marker to the brain's outbox, and to that of each sink that `AGENTIHOOKS_SINKS` names."""
    from agentihooks_outbox.outbox import brain_outbox, sink_outboxes

    for outbox in (brain_outbox(home), *sink_outboxes(home, environ)):
        outbox.write(markers)
    return True


@hookimpl
def agentihooks_deliver_markers(home: str, environ: Mapping[str, str], budget_s: float) -> Delivery | None:
    """Send what waits for the brain; see `delivery.drain`."""
    from agentihooks_outbox.outbox import brain_outbox

    if not brain_outbox(home).waiting():
        return None
    from agentihooks_outbox.delivery import drain

    return drain(home, environ, budget_s)


@hookimpl
def agentihooks_examine(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Say what waits and why, and whether the way to the brain is safe; see `listing.findings`."""
    from agentihooks.clock import now
    from agentihooks.home import home_directory
    from agentihooks_outbox.listing import findings

    return findings(home_directory(environ), environ, now())
