"""
What the agents call: `agentihooks hook NAME`. A payload in, nothing out, exit 0 whatever happens.

    payload -> is anything new? -> adapter plugin -> catch up from the transcript -> record -> attribute -> deliver

The first question is answered here, with as few imports as it takes; the rest is `live`, in the same order.
"""

from __future__ import annotations

import gc
import json
import os
import sys

from agentihooks import session_state, settings
from agentihooks.home import home_directory, is_rolled_back
from agentihooks.session_ids import agent_session_id, is_safe_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

MAX_PAYLOAD_BYTES = 256 * 1024 * 1024


def run(arguments: Sequence[str]) -> NoReturn:
    """Handle one event, and end the process."""
    # It is over before there is any garbage worth collecting; looking for it takes a tenth of its time.
    gc.disable()
    # Nothing is buffered, all files are closed: taking the interpreter down in order takes another tenth.
    os._exit(main(arguments))


def main(arguments: Sequence[str]) -> int:
    """Handle one event of the agent that *arguments* name. Prints nothing and returns 0, whatever happens."""
    payload: Mapping[str, Any] = {}
    agent = arguments[0] if arguments else ""
    try:
        payload = _read()
        _load_settings(agent)
        if not _is_quiet(payload):
            from agentihooks import live

            live.handle(agent, payload)
    except BaseException as error:  # noqa: BLE001 - an agent must never be stopped, nor hear of it
        _note(agent, payload, error)
    return 0


def _read() -> dict[str, Any]:
    # What an agent writes must be read to the end, or it sees a broken pipe.
    payload = json.loads(sys.stdin.buffer.read(MAX_PAYLOAD_BYTES))
    if not isinstance(payload, dict):
        raise ValueError("the payload is no JSON object")  # noqa: TRY004 - the input is wrong, not the program
    return payload


def _load_settings(agent: str) -> None:
    try:
        settings.load()
    except (ValueError, OSError) as error:
        # A mistake in the file must not cost a move.
        _note(agent, {}, error)


def _is_quiet(payload: Mapping[str, Any]) -> bool:
    session_id, agent_id = payload.get("session_id"), payload.get("agent_id")
    own_id = agent_session_id(str(session_id), agent_id if isinstance(agent_id, str) else "")
    if not is_safe_session_id(own_id) or is_rolled_back():
        return False
    home = home_directory()
    event, cwd, tool = (payload.get(name) for name in ("hook_event_name", "cwd", "tool_name"))
    if not session_state.is_quiet(home, own_id, str(event), cwd, tool):
        return False
    session_state.touch(home, own_id)
    return True


def _note(agent: str, payload: Mapping[str, Any], error: BaseException) -> None:
    try:
        from agentihooks import logbook

        fields = {
            name: str(payload[name])[:200] for name in ("hook_event_name", "session_id", "agent_id") if name in payload
        }
        message = f"{type(error).__name__}: {error}"
        logbook.write(home_directory(), "error", message[:2000], agent=agent, **fields)
    except BaseException:  # noqa: BLE001, S110 - there is nobody left to tell
        pass
