"""Run the benchmarks by name, by default all of them, and print each ratio beside its bound."""

from __future__ import annotations

import importlib
import sys

NAMES = ("transcript", "attribution", "record", "lookup", "hook", "stop")


def main() -> int:
    """Return 1 if a ratio is out of its bound: on a noisy machine a reason to run again, not yet to worry."""
    missed = 0
    for name in sys.argv[1:] or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"{name}: {(module.__doc__ or '').strip().splitlines()[0]}")
        for ratio in module.ratios():
            print(f"  {ratio}")
            missed += not ratio.is_kept
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
