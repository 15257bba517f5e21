"""`attribute`: 1,000 transitions, 100,000 events."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from agentihooks import Engine
from benchmarks.measure import Ratio, medians

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = datetime(2026, 10, 8, tzinfo=UTC)


def _read_times(events: list[dict[str, Any]]) -> None:
    for event in events:
        datetime.fromisoformat(event["at"])


def ratios() -> Iterator[Ratio]:
    """Measure against reading the events' times, in the order of time and shuffled."""
    engine = Engine.in_memory()
    for minute in range(1000):
        scope = {"project_id": "github.com/fixture/alpha", "task": f"task-{minute % 7}", "branch": f"b{minute}"}
        engine.record_scope("s", scope, _BEGIN + timedelta(minutes=minute))
    ordered = [
        {"at": (_BEGIN + timedelta(seconds=0.6 * number)).isoformat(timespec="milliseconds"), "attrs": {}}
        for number in range(100_000)
    ]
    shuffled = random.Random(1).sample(ordered, len(ordered))
    for name, events in (("in the order of time", ordered), ("shuffled", shuffled)):
        ours, times = medians(lambda: engine.attribute("s", events), lambda: _read_times(events))  # noqa: B023
        yield Ratio(f"cost of datetime.fromisoformat on each event's time, {name}", ours / times, at_most=6)
