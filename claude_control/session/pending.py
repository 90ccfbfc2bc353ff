"""Our requests that have no answer yet: one map from request id to whoever waits for it."""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import length_hint
from typing import Any, NamedTuple

from claude_control.deadline import Deadline, Waiter, wait_lock
from claude_control.wire import envelope
from claude_control.wire.requests.base import Request

__all__ = ["PLAIN_FIELDS", "REQUEST_PREFIX", "Awaited", "First", "PendingReplies", "is_echo"]

REQUEST_PREFIX = "req_"
"""How the ids of our requests begin; the program's own are UUIDs."""

PLAIN_FIELDS = 3
"""Fields of an answer that says no more than its id, its subtype and a payload: more tell of requests that wait."""


def is_echo(frame: dict[str, Any]) -> bool:
    """Tell whether a `control_response` frame is an answer of ours, which the program repeats: it means nothing.

    It does so with `--replay-user-messages` (2.0.75, 2.1.7, 2.1.332).
    """
    request_id = envelope.answered(frame)
    return request_id is not None and not request_id.startswith(REQUEST_PREFIX)


class Awaited:
    """A request and how it ended.

    A Future would do, but costs more than all the rest of a call; and this one's waits can be struck from outside at
    any step, for each thread that waits has a lock of its own, which nobody else takes.
    """

    __slots__ = ("_outcome", "_waiters", "request_id")

    def __init__(self) -> None:
        self.request_id = ""
        """The id that it has on the wire."""
        # The program's answer as a whole frame, or why there is none; None while it is waited for.
        self._outcome: dict[str, Any] | Exception | None = None
        self._waiters: list[Waiter] = []

    def _settle(self, outcome: dict[str, Any] | Exception) -> None:
        """Say how it ended. Done once, by whoever took it out of the map."""
        self._outcome = outcome
        if self._waiters:
            for waiter in tuple(self._waiters):
                try:  # noqa: SIM105  # of each answer, and `suppress` takes as long as all the rest
                    waiter.release()
                except RuntimeError:  # it was told before, by one who was struck then
                    pass

    def release_too(self, waiter: threading.Lock) -> None:
        """Let go of a lock at the end, too; the request is not yet written, or the caller looks at the outcome then."""
        self._waiters.append(waiter)

    def _wait(self, deadline: Deadline) -> bool:
        """Wait for the end; returns False when the time is up first."""
        if self._outcome is not None:
            return True
        waiter = threading.Lock()
        waiter.acquire()
        self._waiters.append(waiter)
        # Who settles it sets the outcome first and looks for waiters then; here it is the other way round.
        if self._outcome is None and not wait_lock(waiter, deadline):
            self._waiters.remove(waiter)
        return self._outcome is not None


class First(NamedTuple):
    """The first request, which may be out before there is a connection: `written` says so."""

    request: Request[Any]
    request_id: str
    line: bytes
    written: bool


class PendingReplies:
    """Matches answers to requests.

    An entry is there before its request is written, and whoever pops it is the only one to settle it, outside of the
    lock.
    """

    def __init__(self) -> None:
        self._tail = f"_{os.urandom(4).hex()}"  # so that the ids of two sessions differ
        self._lock = threading.Lock()  # guards the failure; to put one in or take it out is a single step anyway
        self._waiting: dict[str, Awaited] = {}
        self._failure: Callable[[], Exception] | None = None  # makes what ended the session, anew for each
        self._numbers = iter(range(sys.maxsize))
        self._taken: dict[str, Awaited | None] = {}  # what one who reads for the reader has taken out, and settles
        self.late = 0
        """Answers that nobody waited for: second ones, and those that came after their request was given up."""

    def new_id(self) -> str:
        """Return the id of the next request, `req_{n}_{tail}`."""
        return f"{REQUEST_PREFIX}{next(self._numbers)}{self._tail}"

    def register(self, entry: Awaited) -> int:
        """Take up a request, and give it an id if it has none; returns how many wait now.

        Raises what ended the session, if it has ended.
        """
        entry.request_id = request_id = entry.request_id or self.new_id()
        self._waiting[request_id] = entry
        # Looked at afterwards: who sets it looks for entries then, and may have settled this one.
        if self._failure is not None and self.pop(request_id) is not None:
            raise self._failure()
        return len(self._waiting)

    def pop(self, request_id: str) -> Awaited | None:
        """Take an entry out; None if it is gone, or never was."""
        return self._waiting.pop(request_id, None)

    def settle(self, frames: Iterable[dict[str, Any]]) -> int:
        """Hand answers to those who wait for them, up to the first frame that is more, or nothing of the kind.

        Returns how many those were. Called by the reader: nearly all answers go this way, the others by `resolve`.
        """
        count, take = 0, self._waiting.pop
        for frame in frames:
            try:
                body = frame["response"]
                if len(body) > PLAIN_FIELDS:
                    break
                request_id = body["request_id"]
                entry = take(request_id, None) or self._taken.pop(request_id, None)
            except (KeyError, TypeError):
                break
            if entry is None:
                break
            entry._settle(frame)
            count += 1
        return count

    def settle_all(self, frames: Sequence[dict[str, Any]]) -> bool:
        """Hand answers to those who wait for them, if all of them are plain; else none.

        Called by who reads for the reader. What one has taken out who is struck in here is found again by `settle`,
        which the reader gives the same frames.
        """
        ids, waiting = [], self._waiting
        for frame in frames:
            try:
                body = frame["response"]
                if len(body) > PLAIN_FIELDS or (request_id := body["request_id"]) not in waiting:
                    return False
            except (KeyError, TypeError):
                return False
            ids.append(request_id)
        if len({*ids}) < len(ids):
            return False
        self._taken.clear()
        popped = map(waiting.pop, ids, repeat(None))
        self._taken.update(zip(ids, popped, strict=True))  # one step, in C: it is here or there
        for request_id, frame in zip(ids, frames, strict=True):
            entry = self._taken.get(request_id)
            if entry is not None:  # else it was given up just now, or the reader was quicker
                entry._settle(frame)
        self._taken.clear()
        return True

    def resolve(self, request_id: str, answer: dict[str, Any]) -> bool:
        """Hand an answer to whoever waits for it; an answer that nobody waits for is counted. Called by the reader."""
        entry = self._waiting.pop(request_id, None)
        if entry is None:
            self.late += 1
            return False
        entry._settle(answer)
        return True

    def fail_all(self, make: Callable[[], Exception]) -> None:
        """Fail what waits and what will come, each with an error that is made for it; the first cause stays."""
        with self._lock:
            if self._failure is None:
                self._failure = make
        for request_id in tuple(self._waiting):
            error = make()  # first: who is struck in there leaves the entry to the next one who ends it
            entry = self.pop(request_id)
            if entry is not None:
                entry._settle(error)
        for request_id in tuple(self._taken):  # by one who was struck, and whose chunk the reader does not come to
            entry = self._taken.pop(request_id, None)
            if entry is not None and entry._outcome is None:
                entry._settle(make())

    @property
    def sent(self) -> int:
        """How many requests were made, refused ones among them."""
        return sys.maxsize - length_hint(self._numbers)

    def __len__(self) -> int:
        return len(self._waiting)

    def __repr__(self) -> str:
        return f"<PendingReplies {len(self)} waiting, {self.sent} made>"
