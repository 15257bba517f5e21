"""Names derived from content alone, the same in every process and on every machine."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentihooks.model import Scope


def transition_id(session_id: str, at: str, scope: Scope) -> str:
    r"""
    Return the id of a transition: SHA-256, as 64 hex digits, of the JSON text of `[session_id, at, scope]`.

    The JSON text has the scope's keys sorted, separators `", "` and `": "`, and non-ASCII as `\uXXXX`
    (docs/reference/log-format).
    """
    text = json.dumps([session_id, at, scope.as_dict()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def marker_key(session_id: str, kind: str, project_id: str, task: str, content: str) -> str:
    """
    Return the idempotency key of a marker that has an attribution, so that a brain stores it once.

    `k2:` and the SHA-256, as 64 hex digits, of the JSON text of `[session_id, kind, project_id, task, content]`,
    written as for `transition_id`. The same words under two tasks are two markers (docs/reference/brain-protocol).
    """
    text = json.dumps([session_id, kind, project_id, task, content])
    return "k2:" + hashlib.sha256(text.encode()).hexdigest()


_URL_NAMESPACE = bytes.fromhex("6ba7b8119dad11d180b400c04fd430c8")


def preceding_marker_key(session_id: str, kind: str, content: str) -> str:
    """
    Return the key of a marker without an attribution: the hex of `uuid5(NAMESPACE_URL, "session-kind-content")`.

    RFC 9562, section 5.5, by hand: the uuid module costs a hook more than the rest of this one. A lone surrogate, of
    which `uuid5` makes an error, is encoded like any other character.
    """
    name = f"{session_id}-{kind}-{content}".encode("utf-8", "surrogatepass")
    digest = bytearray(hashlib.sha1(_URL_NAMESPACE + name, usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    return digest.hex()
