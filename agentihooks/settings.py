"""Settings for the command and the hooks: what the environment does not say, `<home>/config.toml` may."""

from __future__ import annotations

import os

from agentihooks.home import home_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Any

NAMES = (
    "AGENTIHOOKS_SESSION_SCOPE",
    "AGENTIHOOKS_GRANT",
    "AGENTIHOOKS_PROJECT_ID",
    "AGENTIHOOKS_PLUGINS",
    "AGENTIHOOKS_TRACE",
    "AGENTIHOOKS_SINKS",
    "AGENTIHOOKS_DRAIN_BUDGET",
    "AGENTIHOOKS_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "BRAIN_URL",
    "BRAIN_HTTP_TOKEN",
    "BRAIN_HTTP_TIMEOUT",
    "BRAIN_WRITER_MAX_MARKERS",
    "AGENTICORE_AGENT_NAME",
)
"""What the file may hold, by the names of the variables; not what a launch says of its task."""


def path_of(home: str) -> str:
    """Return the settings file of a home directory."""
    return f"{home}/config.toml"


def load(environ: MutableMapping[str, str] = os.environ) -> None:
    """
    Fill in, from the settings file, what *environ* does not say. A missing file says nothing.

    Raises:
        ValueError: The file is no TOML, or holds something that is no setting; none of it counts then.
        OSError: It cannot be read.
    """
    path = path_of(home_directory(environ))
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        settings = _settings(data)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    for name, value in settings.items():
        environ.setdefault(name, value)


def _settings(data: bytes) -> Mapping[str, str]:
    import tomllib

    return {name: _text(name, value) for name, value in tomllib.loads(data.decode()).items()}


def _text(name: str, value: Any) -> str:
    if name not in NAMES:
        raise ValueError(f"{name} is no setting that this file may hold")
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{name} must be text or a number")
