"""The program: `agentihooks`, or `python -m agentihooks`. Agents wait for a hook, so it is told apart first."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a hook or a verb, by default what the process was called with; return its exit code."""
    is_process = arguments is None
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] != ["hook"] or arguments[1:2] in (["-h"], ["--help"]):
        from agentihooks.cli import main as verb

        return verb(arguments)
    from agentihooks import hook

    return hook.run(arguments[1:]) if is_process else hook.main(arguments[1:])


if __name__ == "__main__":
    sys.exit(main())
