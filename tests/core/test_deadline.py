"""A limit on the time of calls that keep none."""

from __future__ import annotations

import threading

import pytest

from agentihooks.deadline import within


def test_result() -> None:
    """What the function returns is returned, also where it is nothing."""
    assert (1, None) == (within(30.0, lambda: 1), within(30.0, lambda: None))


def test_error() -> None:
    """What the function raises is raised."""
    with pytest.raises(ZeroDivisionError):
        within(30.0, lambda: 1 / 0)


def test_too_late() -> None:
    """A function that does not end in time is not waited for."""
    done = threading.Event()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        within(0.05, done.wait)
    done.set()


def test_does_not_keep_the_process() -> None:
    """What is left behind does not keep the process from ending."""
    done = threading.Event()
    threads = []

    def note() -> None:
        threads.append(threading.current_thread())
        done.wait()

    with pytest.raises(TimeoutError):
        within(0.05, note)
    assert [True] == [thread.daemon for thread in threads]
    done.set()
