"""What is attributed, and what it is attributed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from agentihooks.model import SCOPE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

Label = Literal["scoped", "explicit", "fleet", "unknown", "refused"]
"""How an event came to its attribution; docs/reference/log-format gives the rule for each."""

LABELS: tuple[Label, ...] = ("scoped", "explicit", "fleet", "unknown", "refused")


@attrs.frozen(kw_only=True)
class Event:
    """
    Something that happened in a session. `attrs` may hold its own claim (`project_id` ...) or `share=fleet`.

    `agent_id` names the subagent it happened in, "" for the main chain.
    """

    at: str | datetime | None
    attrs: Mapping[str, Any] = attrs.field(factory=dict)
    agent_id: str = ""


@attrs.frozen(kw_only=True)
class Attribution:
    """What an event belongs to: the label says by which rule, `fields` what of the scope it carries (no empty text)."""

    attribution: Label
    fields: Mapping[str, str] = attrs.field(factory=dict)

    def __getattr__(self, name: str) -> str:
        # Scope fields read as attributes; one that is not carried reads "", as in a Scope.
        if name in SCOPE_FIELDS:
            return self.fields.get(name, "")
        raise AttributeError(name)

    def as_dict(self) -> dict[str, str]:
        """Return the attribution as JSON holds it: the label, then the fields that say something."""
        return {"attribution": self.attribution, **self.fields}
