"""
What the hooks would have done, done for every transcript on this machine.

For sessions whose hooks never ran, were killed, or timed out. Sweeping again records nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from agentihooks.errors import AgentihooksError, NotATranscript
from agentihooks.harvest import Harvest
from agentihooks.home import is_rolled_back
from agentihooks.observe import without_task
from agentihooks.outgoing import Sender
from agentihooks.session_ids import is_safe_session_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentihooks.engine import Engine
    from agentihooks.transcript import TranscriptFile


@attrs.define(kw_only=True)
class SweepResult:
    """How many transcripts were read, what came of it, and which could not be read, with the reason."""

    transcripts: int = 0
    recorded: int = 0
    markers: int = 0
    failed: dict[str, str] = attrs.field(factory=dict)


def known_transcripts(engine: Engine, environ: Mapping[str, str]) -> list[TranscriptFile]:
    """Return every agent's transcripts, the oldest first; a session's main chain before its subagents."""
    found = [
        file
        for files in engine.plugins.each("agentihooks_find_transcripts", environ=environ, session_id="")
        for file in files
        if is_safe_session_id(file.session_id)
    ]
    # Subagents take their task from the parent, whose history has to be there first.
    return sorted(found, key=lambda file: (file.agent_id != "", file.modified_at, file.path))


def sweep(
    engine: Engine,
    home: str,
    environ: Mapping[str, str],
    files: list[TranscriptFile],
    progress: Callable[[], None],
    *,
    takes_markers: bool = True,
) -> SweepResult:
    """
    Read *files*, in their order, each from where the last pass over it ended. Markers are put by, not sent.

    Args:
        engine: Where to record.
        home: Its home directory.
        environ: Whose folders and git settings to use; what it says of a task is ignored.
        files: See `known_transcripts`.
        progress: Called after each file.
        takes_markers: If not, they are left where they are: a later pass that takes them finds them all.
    """
    result = SweepResult()
    is_preceding = is_rolled_back(environ)
    environ = without_task(environ)
    for file in files:
        try:
            harvest = Harvest(Sender(session_id=file.session_id), engine, home, environ, is_preceding=is_preceding)
            companion = harvest if takes_markers else None
            while True:
                done = engine.read_on(file.session_id, file.path, environ, companion, records=not is_preceding)
                result.recorded += done.recorded
                if not harvest.is_full:
                    break
            result.markers += harvest.found
            result.transcripts += 1
        except NotATranscript:
            # A file that an agent named and has not written to yet, or one that is something else.
            pass
        except Exception as error:  # noqa: BLE001 - one file must not keep the others from being read
            result.failed[file.path] = _reason(error)
        progress()
    return result


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) if isinstance(error, OSError | ValueError | AgentihooksError) else repr(error)
