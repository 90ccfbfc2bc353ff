"""Waiting for something to become true, with a bound and without a fixed sleep."""

import threading
import time
from collections.abc import Callable

_LOOK = threading.Event()  # never set: its wait is a pause between two looks


def wait_until(condition: Callable[[], object], timeout: float = 30.0) -> None:
    """Return once `condition()` is true; raises AssertionError after `timeout` seconds."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"not true within {timeout} s"
        _LOOK.wait(0.005)
