"""
Whether Codex trusts our hooks: it runs no others, and skips those without a word.

What it trusts is a hash of each handler under its place in the file, in `config.toml`. Both as 0.171.0 makes them.
"""

from __future__ import annotations

import json
import re
import tomllib
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from agentihooks.doctor import Finding
from agentihooks.hook_settings import installed
from agentihooks.wiring import last_heard

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from agentihooks.hook_settings import HookSettings

_ABOUT = "codex trust"


def examine_trust(environ: Mapping[str, str], user: HookSettings, *others: HookSettings) -> Iterator[Finding]:
    """
    Yield whether Codex trusts the hooks of ours in these files.

    Raises:
        OSError: A file is there and cannot be read.
    """
    try:
        config = tomllib.loads((user.path.parent / "config.toml").read_text("utf-8"))
    except FileNotFoundError:
        config = {}
    except ValueError as error:
        yield Finding(level="problem", about=_ABOUT, text=f"config.toml: {error}", advice="repair it, then look again")
        return
    features = _table(config, "features")
    if not features.get("hooks", features.get("codex_hooks", True)):
        yield Finding(
            level="problem", about=_ABOUT, text="config.toml switches hooks off", advice="take out hooks = false"
        )
    state = _table(_table(config, "hooks"), "state")
    for settings in (user, *others):
        handlers = list(_handlers(settings.path))
        missing = [event for event, place, own in handlers if own not in _trusted(state, settings.path, place)]
        if missing and last_heard("codex", environ) > settings.path.stat().st_mtime:
            text = f"not on record for {', '.join(missing)}, but hooks fire: Codex runs with the trust bypassed"
            yield Finding(level="note", about=_ABOUT, text=text)
        elif missing:
            text = f"none for {', '.join(missing)} in {settings.path}"
            yield Finding(level="problem", about=_ABOUT, text=text, advice=settings.note)
        elif handlers:
            yield Finding(level="ok", about=_ABOUT, text=f"given for all hooks in {settings.path}")


def _handlers(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield of each handler of ours in a file the event, its place in Codex's words, and its hash."""
    try:
        text = path.read_bytes().decode()
        ours = installed(text, "codex")
        events = json.loads(text)["hooks"] if ours else {}
    except (FileNotFoundError, ValueError):
        return
    for event, own in ours.items():
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
        place = next(
            f"{name}:{group_number}:{number}"
            for group_number, group in enumerate(events[event])
            for number, handler in enumerate(_list(group, "hooks"))
            if handler == own["hooks"][0]
        )
        yield event, place, _hash(name, own)


def _trusted(state: Mapping[str, Any], path: Path, place: str) -> list[Any]:
    return [_table(state, f"{each}:{place}").get("trusted_hash") for each in (path, path.resolve())]


def _hash(event: str, group: Mapping[str, Any]) -> str:
    identity = {"event_name": event, **group, "hooks": [{"async": False, **group["hooks"][0]}]}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def _table(values: Any, name: str) -> Mapping[str, Any]:
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, dict) else {}


def _list(values: Any, name: str) -> list[Any]:
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, list) else []
