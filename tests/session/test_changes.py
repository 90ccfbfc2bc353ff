"""Whoever waits for a change hears of it, however it falls between the look and the wait."""

import threading
from collections.abc import Callable

import pytest

from claude_control.session.changes import Changes
from tests.threads import LIVELOCKS_WHEN_TRACED, struck
from tests.waiting import wait_until


def started(function: Callable[[], object]) -> threading.Thread:
    """Start a thread that calls a function."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_change_before_the_wait_is_not_missed() -> None:
    """A change since the count that was taken ends the wait at once, and so does a time that is up."""
    changes = Changes()
    seen = changes.count
    changes.tell()
    changes.wait(seen, None)
    changes.wait(changes.count, 0)
    assert changes.count == seen + 1


@pytest.mark.parametrize("seconds", [None, 60.0])
def test_change_wakes_all_who_wait(seconds: float | None) -> None:
    """One change ends every wait, and a second one that comes at once disturbs nobody."""
    changes = Changes()
    threads = [started(lambda: changes.wait(0, seconds)) for _ in range(3)]
    wait_until(lambda: len(changes._waiters) == 3)
    changes.tell()
    changes.tell()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
    assert not changes._waiters


@LIVELOCKS_WHEN_TRACED
def test_struck_wait_leaves_nobody_behind() -> None:
    """Wherever a thread is struck that waits for a change, it is told of none any more."""
    number, was_struck = 0, True
    while was_struck:
        number, changes = number + 1, Changes()
        was_struck = struck(lambda waits=changes.wait: waits(0, 0.0), number)  # type: ignore[misc]
        assert not changes._waiters, number
        changes.tell()
    assert number > 5
