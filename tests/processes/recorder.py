"""
A process that records: `recorder.py DIRECTORY NAME COUNT`.

Waits for a line on stdin, then records COUNT scopes of its own for session `s`, all at one instant, and prints the id of
each once it is acknowledged. `FILE_SIZE` in the environment limits how large a file it may write.
"""

from __future__ import annotations

import atexit
import os
import resource
import sys

from agentihooks import Engine, Scope
from agentihooks.log import FileLog


def main(directory: str, name: str, count: str) -> None:
    """Record, at the word of whoever started this."""
    if limit := os.environ.get("FILE_SIZE"):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), limits[1]))
        # What else this process leaves behind, such as its coverage, is not limited.
        atexit.register(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
    engine = Engine(FileLog(directory))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for number in range(int(count)):
        transition = engine.record_scope("s", Scope(lane=name, branch=str(number)), "2026-10-08T10:00:00Z")
        assert transition is not None
        sys.stdout.write(f"{transition.transition_id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
