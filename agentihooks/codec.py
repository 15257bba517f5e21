"""
A scope log's lines, to and from values. The format is docs/reference/log-format, and other programs read it.

Writing is strict, reading is not: a log of an earlier or a later version stays readable, and a line that cannot be
read costs nothing but itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentihooks.clock import instant_or_none
from agentihooks.ids import transition_id
from agentihooks.model import SCOPE_FIELDS, Scope, Transition

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any


def encode_transition(transition: Transition) -> bytes:
    """
    Return the line that holds *transition*, newline included.

    Non-ASCII is escaped: whatever text a folder or branch is made of, lone surrogates included, the line is UTF-8.
    """
    return json.dumps(transition.as_dict()).encode("ascii") + b"\n"


def decode_transition(line: bytes, session_id: str, sequence: int) -> tuple[Transition, datetime] | None:
    """
    Return the transition that *line* holds, and its instant; None if it holds none that can be read.

    A missing scope field reads as "", an unknown key is ignored. A line that names another session, or has no
    readable time, holds nothing.

    Args:
        line: One line, with or without its newline.
        session_id: The session whose log it is; taken for a line that does not say.
        sequence: Taken for a line without a usable number of its own.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or row.get("session_id", session_id) != session_id:
        return None
    at = row.get("at")
    moment = instant_or_none(at)
    if not isinstance(at, str) or moment is None:
        return None
    fields: dict[str, Any] = {name: row.get(name) for name in SCOPE_FIELDS}
    own_id, own_sequence = row.get("transition_id"), row.get("sequence")
    if not isinstance(own_id, str):
        own_id = transition_id(session_id, at, Scope(**fields))
    if type(own_sequence) is not int or own_sequence < 0:
        own_sequence = sequence
    return Transition(session_id=session_id, sequence=own_sequence, at=at, transition_id=own_id, **fields), moment
