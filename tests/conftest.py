"""Fixtures for all tests: a home of their own, engines on it, and the published schema."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from jsonschema import Draft202012Validator

from agentihooks import Engine

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]

pytest.register_assert_rewrite("agentihooks.testing")

settings.register_profile("full", deadline=None)
settings.register_profile("fast", deadline=None, max_examples=10)
settings.load_profile("fast" if os.environ.get("FAST") == "1" else "full")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the engine's home, which does not exist yet; the environment knows no other, and says nothing of a task."""
    for name in [*os.environ]:
        if name.startswith(("AGENTIHOOKS_", "AGENTICORE_", "BRAIN_", "CLAUDE", "CODEX_", "GIT_", "OTEL_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("AGENTIHOOKS_HOME", str(home))
    return home


@pytest.fixture
def logs(home: Path) -> Path:
    """Return the directory of the scope logs."""
    return home / "brain" / "session-scopes"


@pytest.fixture
def engine(home: Path) -> Engine:
    """Return an engine on the home."""
    return Engine.at_home(home)


@pytest.fixture
def conformance(engine: Engine) -> Engine:
    """Return the engine with the conformance history recorded for the session `first`."""
    from agentihooks.testing import recorded

    return recorded(engine.log, "first")


@pytest.fixture(scope="session")
def schema() -> dict[str, Any]:
    """Return the published schema."""
    schema: dict[str, Any] = json.loads((ROOT / "docs/reference/session-scope.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return schema


@pytest.fixture(scope="session")
def line_schema(schema: dict[str, Any]) -> Draft202012Validator:
    """Return the published schema of a log line."""
    return Draft202012Validator(schema)


@pytest.fixture(scope="session")
def attribution_schema(schema: dict[str, Any]) -> Draft202012Validator:
    """Return the published schema of an attribution."""
    return Draft202012Validator(schema["$defs"]["attribution"])


@pytest.fixture(scope="session")
def acme() -> ModuleType:
    """Return a stranger's plugin, for an agent that the engine does not know."""
    path = ROOT / "tests/plugins/acme/agentihooks_acme.py"
    spec = importlib.util.spec_from_file_location("agentihooks_acme", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
