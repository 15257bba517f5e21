"""The projects that a session may name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from agentihooks.model import names_project

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.frozen(init=False)
class SessionGrant:
    """The projects that a session may name: what its scopes and its events' own claims are held to."""

    project_ids: frozenset[str]

    def __init__(self, project_ids: Iterable[str]) -> None:
        if isinstance(project_ids, str | bytes):
            raise TypeError("a grant takes a collection of project ids, not one text")
        self.__attrs_init__(frozenset(project_ids))

    @classmethod
    def of(cls, value: SessionGrant | Iterable[str]) -> SessionGrant:
        """Return *value*, a grant or project ids, as a grant."""
        return value if isinstance(value, SessionGrant) else cls(value)

    def allows(self, project_id: str) -> bool:
        """Return whether *project_id* may be named; one that names no project always may."""
        return not names_project(project_id) or project_id in self.project_ids
