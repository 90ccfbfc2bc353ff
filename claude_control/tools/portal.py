"""The thread with an event loop on which a server of the `mcp` library runs: one for each server that is in use.

A server that is given to several sessions runs on one loop, as the things that it shares among its calls demand; and a
server that blocks its loop holds up no other one. A thread starts with the first task and ends with the last.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from claude_control import log
from claude_control.process import forks

__all__ = ["Portal", "spawn"]

_log = log.get(__name__)

Begin = Callable[[], Coroutine[Any, Any, None]]


class Portal:
    """One loop and its thread. It holds its server, so that nothing else gets the same identity meanwhile."""

    def __init__(self, server: object, name: str, leave: Callable[["Portal"], bool]) -> None:
        self.server = server
        self.tasks = 0
        """How many tasks there are, or are to come; guarded by the lock of the table."""
        self._leave = leave  # takes note that a task has ended; returns whether it was the last one
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name=f"claude-mcp-{name}", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            self._loop.close()
            raise

    def call(self, function: Callable[[], object]) -> None:
        """Call a function on the loop, soon; nothing happens once the loop has ended. Never waits."""
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # it is closed
            _log.debug("portal.closed", thread=self._thread.name)

    def begin(self, begin: Begin) -> None:
        """Begin a task; on the loop."""
        self._loop.create_task(begin()).add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and task.exception() is not None:
            _log.error("portal.broken", thread=self._thread.name, error=repr(task.exception()))
        if self._leave(self):
            self._over.set()

    def _serve(self) -> None:
        # Not asyncio.run(): it would wait for worker threads that a tool's blocking function keeps.
        waiting = self._loop.create_task(self._over.wait())
        while not waiting.done():
            try:
                self._loop.run_until_complete(waiting)
            except (SystemExit, KeyboardInterrupt) as error:  # of a tool: it leaves the loop, whose tasks must go on
                _log.warning("portal.left", thread=self._thread.name, error=repr(error))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


class _Portals:
    """Those that are in use, by the identity of their servers."""

    def __init__(self) -> None:
        self._reset()
        self._hooked = False

    def spawn(self, server: object, name: str, begin: Begin) -> Portal:
        if not self._hooked:
            self._hooked = True
            forks.on_fork_in_child(self._reset)
        with self._lock:
            portal = self._by_server.get(id(server))
            if portal is None:
                portal = self._by_server[id(server)] = Portal(server, name, self._leave)
            portal.tasks += 1
        portal.call(lambda: portal.begin(begin))
        return portal

    def _leave(self, portal: Portal) -> bool:
        with self._lock:
            portal.tasks -= 1
            if portal.tasks == 0:
                del self._by_server[id(portal.server)]
            return portal.tasks == 0

    def _reset(self) -> None:
        self._lock = threading.Lock()  # guards the table
        self._by_server: dict[int, Portal] = {}


_portals = _Portals()


def spawn(server: object, name: str, begin: Begin) -> Portal:
    """Run `begin()` as a task on the server's loop, which starts now if there is none; returns its portal.

    Raises RuntimeError if no thread can be started.
    """
    return _portals.spawn(server, name, begin)
