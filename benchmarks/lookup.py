"""`scope_at` in a process that keeps its log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from agentihooks import Engine
from benchmarks.measure import Ratio, medians

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BEGIN = datetime(2026, 10, 8, tzinfo=UTC)


def _asker(length: int) -> Callable[[], None]:
    engine = Engine.in_memory()
    for number in range(length):
        engine.record_scope("s", {"branch": f"b{number}"}, _BEGIN + timedelta(minutes=number))
    moments = [_BEGIN + timedelta(minutes=number * length / 1000) for number in range(1000)]

    def ask() -> None:
        for moment in moments:
            engine.scope_at("s", moment)

    return ask


def ratios() -> Iterator[Ratio]:
    """Measure a thousand questions to a log a thousand times as long."""
    few, many = medians(_asker(100), _asker(100_000))
    yield Ratio("cost at 100,000 transitions, by that at 100", many / few, at_most=2.5)
