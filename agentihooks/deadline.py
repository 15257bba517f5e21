"""A limit on the time of calls that keep none: resolving a name, reading an answer that drips, a library's retries."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def within(timeout_s: float, function: Callable[[], T]) -> T:
    """
    Return what *function* returns.

    It runs in a thread of its own, which is left behind once the time is up and does not keep the process from
    ending: *function* must not touch what the caller goes on with.

    Raises:
        TimeoutError: It did not end within *timeout_s* seconds.
        Exception: Whatever *function* raises.
    """
    call = _Call(function)
    thread = Thread(target=call.run, daemon=True)
    thread.start()
    thread.join(timeout_s)
    return call.result(timeout_s)


class _Call(Generic[T]):
    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._values: list[T] = []
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._values.append(self._function())
        except Exception as error:  # noqa: BLE001 - it is raised where somebody waits for it
            self._error = error

    def result(self, timeout_s: float) -> T:
        if self._error is not None:
            raise self._error
        if not self._values:
            raise TimeoutError(f"no answer within {timeout_s:g} s")
        return self._values[0]
