"""Times side by side in one run, as medians; single figures mean nothing on a machine that others share."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable


@attrs.frozen
class Ratio:
    """What was measured, and the bound it is held to."""

    what: str
    value: float
    at_most: float = float("inf")
    at_least: float = 0.0

    @property
    def is_kept(self) -> bool:
        """Whether the ratio is within its bound."""
        return self.at_least <= self.value <= self.at_most

    def __str__(self) -> str:
        bound = f"at most {self.at_most:g}" if self.at_most < float("inf") else f"at least {self.at_least:g}"
        return f"{'ok  ' if self.is_kept else 'MISS'} {self.value:6.2f}  {self.what} ({bound})"


def medians(*measured: Callable[[], object], rounds: int = 7) -> list[float]:
    """Return the median time of each, in seconds, taken in turns so that a busy moment hits all of them alike."""
    times: list[list[float]] = [[] for _ in measured]
    for _ in range(rounds):
        for number, run in enumerate(measured):
            started = time.perf_counter()
            run()
            times[number].append(time.perf_counter() - started)
    return [statistics.median(each) for each in times]
