"""Our requests that have no answer yet: one map from request id to Future, under one lock."""

import copy
import threading
from concurrent.futures import Future

from claude_control.wire.envelope import Reply

__all__ = ["REQUEST_PREFIX", "PendingReplies"]

REQUEST_PREFIX = "req_"
"""How the ids of our requests begin; the program's own are UUIDs."""


class PendingReplies:
    """Matches answers to requests.

    An entry is there before its request is written, and whoever pops it is the only one to resolve its Future, outside
    of the lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the three below
        self._futures: dict[str, Future[Reply]] = {}
        self._failure: Exception | None = None
        self._count = 0
        self.late = 0
        """Answers that nobody waited for: second ones, and those that came after their request was given up."""

    def register(self, tail: str) -> tuple[str, "Future[Reply]"]:
        """Make an entry; returns its request id, `req_{n}_{tail}`, and its Future.

        Raises what ended the session, if it has ended.
        """
        future: Future[Reply] = Future()
        with self._lock:
            if self._failure is not None:
                raise copy.copy(self._failure)  # each caller gets its own traceback
            request_id = f"{REQUEST_PREFIX}{self._count}_{tail}"
            self._count += 1
            self._futures[request_id] = future
        return request_id, future

    def pop(self, request_id: str) -> "Future[Reply] | None":
        """Take an entry out; None if it is gone, or never was."""
        with self._lock:
            return self._futures.pop(request_id, None)

    def forget(self, tail: str) -> None:
        """Take out the entry that was made with this tail, if there is one: whoever made it may not know its id."""
        with self._lock:
            for request_id in [one for one in self._futures if one.endswith(f"_{tail}")]:
                del self._futures[request_id]

    def resolve(self, reply: Reply) -> bool:
        """Hand an answer to whoever waits for it; an answer that nobody waits for is counted. Called by the reader."""
        future = self.pop(reply.request_id)
        if future is None:
            self.late += 1
            return False
        future.set_result(reply)
        return True

    def fail_all(self, error: Exception) -> None:
        """Fail what waits and what will come; the first error stays."""
        with self._lock:
            if self._failure is None:
                self._failure = error
            futures, self._futures = list(self._futures.values()), {}
        for future in futures:
            future.set_exception(error)

    @property
    def sent(self) -> int:
        """How many requests were made."""
        return self._count

    def __len__(self) -> int:
        return len(self._futures)

    def __repr__(self) -> str:
        return f"<PendingReplies {len(self)} waiting, {self._count} made>"
