"""Our requests that have no answer yet: one map from request id to who waits, under one lock."""

import copy
import threading

import attrs

from claude_control.session.waiting import Flag
from claude_control.wire.envelope import Reply

__all__ = ["REQUEST_PREFIX", "Expected", "PendingReplies"]

REQUEST_PREFIX = "req_"
"""How the ids of our requests begin; the program's own are UUIDs."""


@attrs.define(eq=False)
class Expected:
    """An answer that is expected: either `reply` or `error` is set, once, before `done` is."""

    reply: Reply | None = None
    error: Exception | None = None
    done: Flag = attrs.field(factory=Flag)

    def resolve(self, reply: Reply) -> None:
        """Note the answer."""
        self.reply = reply
        self.done.set()

    def fail(self, error: Exception) -> None:
        """Note why none will come."""
        self.error = error
        self.done.set()


class PendingReplies:
    """Matches answers to requests.

    An entry is there before its request is written, and whoever pops it is the only one to end it, outside of the lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the three below
        self._expected: dict[str, Expected] = {}
        self._failure: Exception | None = None
        self._count = 0
        self.late = 0
        """Answers that nobody waited for: second ones, and those that came after their request was given up."""

    def register(self, tail: str) -> tuple[str, Expected]:
        """Make an entry; returns its request id, `req_{n}_{tail}`, and what will hold the answer.

        Raises what ended the session, if it has ended.
        """
        expected = Expected()
        request_id = ""
        try:
            with self._lock:
                if self._failure is not None:
                    raise copy.copy(self._failure)  # each caller gets its own traceback
                request_id = f"{REQUEST_PREFIX}{self._count}_{tail}"
                self._count += 1
                self._expected[request_id] = expected
        except BaseException:
            self._expected.pop(request_id, None)  # an asynchronous exception may strike as the lock is given back
            raise
        return request_id, expected

    def pop(self, request_id: str) -> Expected | None:
        """Take an entry out; None if it is gone, or never was."""
        with self._lock:
            return self._expected.pop(request_id, None)

    def resolve(self, reply: Reply) -> bool:
        """Hand an answer to whoever waits for it; an answer that nobody waits for is counted. Called by the reader."""
        expected = self.pop(reply.request_id)
        if expected is None:
            self.late += 1
            return False
        expected.resolve(reply)
        return True

    def fail_all(self, error: Exception) -> None:
        """Fail what waits and what will come; the first error stays."""
        with self._lock:
            if self._failure is None:
                self._failure = error
            waiting, self._expected = list(self._expected.values()), {}
        for expected in waiting:
            expected.fail(error)

    @property
    def sent(self) -> int:
        """How many requests were made."""
        return self._count

    def __len__(self) -> int:
        return len(self._expected)

    def __repr__(self) -> str:
        return f"<PendingReplies {len(self)} waiting, {self._count} made>"
