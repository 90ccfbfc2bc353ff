"""Taps: every message to every subscriber, in order, off the reader."""

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from claude_control import log
from claude_control.deadline import Deadline
from claude_control.process import forks
from claude_control.session.inbox import Item, Newest
from claude_control.session.pool import CallbackPool, InOrder
from claude_control.session.reading import read_item
from claude_control.wire.framing import Decoder
from claude_control.wire.messages import Message

__all__ = ["Subscription", "Subscriptions"]

_log = log.get(__name__)


class Subscription:
    """A subscriber's handle; `close()` ends it.

    The newest 10,000 messages are kept for a function that falls behind.
    """

    def __init__(
        self, function: Callable[[Message], None], pool: CallbackPool, budget: int, remove: Callable[[Any], None]
    ) -> None:
        self._function = function
        self._stream = Newest(budget)
        self._decoder = Decoder()  # what is flawed is counted by who reads the turn
        self._runner = InOrder(pool, self._drain)
        self._remove = remove
        self._owner = os.getpid()
        self._closed = False

    def put(self, items: Sequence[Item]) -> None:
        """Hand items over. Called by the reader."""
        self._stream.put(items)
        self._runner.wake()

    def close(self) -> None:
        """Stop calling the function; what it has not seen yet is dropped. Idempotent."""
        forks.require_owner(self._owner, "this subscription")
        self._closed = True
        self._remove(self)

    def _drain(self) -> bool:
        batch = self._stream.take(Deadline(0))
        self._stream.handed = []
        for item in batch or ():
            if self._closed:
                return False
            try:
                self._function(read_item(item, self._decoder.decode))
            except BaseException as error:  # one bad message must not end the tap
                _log.warning("subscriber.failed", error=repr(error))
        return bool(batch)


class Subscriptions:
    """The taps of one session."""

    def __init__(self, pool: CallbackPool, budget: int) -> None:
        self._pool = pool
        self._budget = budget
        self._lock = threading.Lock()  # guards changes of _all, which is replaced and never changed
        self._all: tuple[Subscription, ...] = ()

    def add(self, function: Callable[[Message], None]) -> Subscription:
        """Add a subscriber."""
        subscription = Subscription(function, self._pool, self._budget, self._remove)
        with self._lock:
            self._all = (*self._all, subscription)
        return subscription

    @property
    def wanted(self) -> bool:
        """Whether there is any subscriber."""
        return bool(self._all)

    def put(self, items: list[Item]) -> None:
        """Hand items to every subscriber. Called by the reader."""
        if items:
            for subscription in self._all:
                subscription.put(items)

    def end(self) -> None:
        """Say that no more comes; what is there is still told."""
        with self._lock:
            self._all = ()

    def _remove(self, subscription: Subscription) -> None:
        with self._lock:
            self._all = tuple(one for one in self._all if one is not subscription)
