"""What the package gives by name."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import agentihooks

ROOT = Path(__file__).parents[2]
CONTRACT = [
    *("record_scope", "scope_at", "attribute", "transitions", "observe_transcript"),
    *("unattributed_session_events_total", "Scope", "Transition", "Attribution", "SessionGrant", "ScopeRefused"),
]


@pytest.mark.parametrize("name", [*CONTRACT, *agentihooks.__all__])
def test_every_name_is_there(name: str) -> None:
    """Each public name can be had from the package, and is listed by `dir`."""
    assert getattr(agentihooks, name).__name__ == name
    assert name in agentihooks.__all__
    assert name in dir(agentihooks)


def test_other_names_are_not() -> None:
    """A name that does not exist is missing in the usual way."""
    with pytest.raises(AttributeError, match="module 'agentihooks' has no attribute 'record_scopes'"):
        _ = agentihooks.record_scopes


def test_the_version_is_the_distributions() -> None:
    """The version stands in two places, and is the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == agentihooks.__version__
