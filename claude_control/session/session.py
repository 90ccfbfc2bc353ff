"""Session: one live conversation, as its user sees it.

The first session that is made loads what it consists of (`needs`); this module alone is light.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from claude_control import loading
from claude_control.deadline import SLICE, Deadline, wait_event
from claude_control.errors import ConcurrencyError, InitializeError, SessionClosedError
from claude_control.process import forks
from claude_control.session.control import Control, Timeout
from claude_control.unset import UNSET
from claude_control.wire import requests

if TYPE_CHECKING:
    from claude_control.options import Options
    from claude_control.session import needs
    from claude_control.session.calls import PendingReply
    from claude_control.session.capabilities import Capabilities
    from claude_control.session.connection import Connection
    from claude_control.session.greeting import Greeting
    from claude_control.session.ledger import Usage
    from claude_control.session.opening import Opening
    from claude_control.session.stats import Stats
    from claude_control.session.subscriptions import Subscription
    from claude_control.session.tasks import Task
    from claude_control.session.turn import Consumer, Turn
    from claude_control.wire.messages import Message
    from claude_control.wire.prompts import Prompt
    from claude_control.wire.support import Program

__all__ = ["Session", "close_all"]

OPENING_PATIENCE = 10.0
"""Seconds that close() waits for an open() in another thread to give up."""

T = TypeVar("T")


class Session(Control):
    """One live conversation with Claude Code.

    Use it as a context manager, or call `open()` and `close()`. Every method may be called from any thread, and control
    methods from callbacks too. Methods that ask the program something raise `ControlTimeoutError` when it does not
    answer in time, `ControlRequestError` when it answers with an error, `NotSupportedError` when the running program is
    too old, and `SessionClosedError` or its subclass `ProcessExitedError` when the session has ended. `timeout` is in
    seconds everywhere: not given, the configured default; None, for ever.
    """

    def __init__(self, options: Options | None = None, **fields: Any) -> None:
        """Take the options, or fields of `Options`, which win over them. No I/O happens here. Raises `OptionsError`."""
        global needs  # loaded by the first session, so that a program that makes none does without
        needs = loading.import_module("claude_control.session.needs")
        self.options = needs.merge_options(options, **fields)
        self._connection: Connection | None = None
        self._starting: Connection | None = None  # while it is being opened
        self._opening: Opening | None = None
        self._greeting: Greeting | None = None
        self._lock = threading.Lock()  # guards the opening: calls from other threads wait for it
        self._owner = os.getpid()
        self._closed = False
        chosen = None if self.options.continue_conversation else str(needs.uuid4())
        kept = None if self.options.fork_session else self.options.resume
        self._session_id = self.options.session_id or kept or chosen

    # -- life cycle ----------------------------------------------------------------------------------------------------

    def open(self) -> Self:
        """Start the program and complete the handshake; returns the session.

        Raises a `StartError` (`CLINotFoundError`, `SpawnError`, `InitializeError` …) with nothing left running; a
        session that is closed, or failed to open, is not opened again.
        """
        forks.require_owner(self._owner, "this session")
        with self._lock:
            if self._closed:
                raise SessionClosedError("the session is closed; a session is opened once, so make a new one")
            if self._connection is not None:
                raise ConcurrencyError("the session is open already; use it, or make another one")
            try:
                self._connection, self._greeting = self._start()
                if self._closed:  # meanwhile, by a thread that could not wait for it
                    raise SessionClosedError("the session was closed while it was being opened")
            except BaseException:
                self._closed = True
                self._undo_opening()
                raise
            finally:
                self._starting = None
            return self

    def _start(self) -> tuple[Connection, Greeting]:
        def note(connection: Connection) -> None:
            self._starting = connection
            if self._closed:  # by another thread, while the program was being looked for
                raise InitializeError("the session was closed")

        opening = self._opening = needs.Opening()
        try:
            opening.start(self.options, self._session_id, weakref.ref(self), note)
            return opening.finish()
        except InitializeError as error:
            if self._closed:  # by another thread, meanwhile
                raise SessionClosedError("the session was closed while it was being opened") from error
            raise

    def _undo_opening(self) -> None:
        """Give back what an open() has, or still makes, whose caller was struck by Ctrl-C."""
        opening, starting = self._opening, self._starting
        if starting is not None and not (starting.gate.ready or starting.released.is_set()):
            needs.call_bounded(starting.transport, "kill")
        if opening and wait_event(opening.begun, Deadline(OPENING_PATIENCE)) and opening.connection:
            needs.close_connections([opening.connection], timeout=None)

    def close(self, wait: bool = False, timeout: float | None = None, kill_tools: bool = True) -> None:
        """End the session and leave nothing behind. Idempotent, bounded, and allowed in callbacks.

        A turn that runs is interrupted, unless `wait` lets it end first. `timeout` in seconds bounds the whole; without
        it the options' graces add up to 12 seconds, which only a program that hangs takes. With `kill_tools` processes
        that the program's tools left running are ended too.
        """
        connection = self._begin_close()
        if connection is not None:
            connection.kill_tools = kill_tools
            needs.close_connections([connection], timeout=timeout, wait=wait)

    def _begin_close(self) -> Connection | None:
        """Let nothing be opened any more; returns what is open."""
        if os.getpid() != self._owner:
            return None  # the parent's session; what was inherited of it was closed at the fork
        self._closed = True
        self._stop_opening()
        return self._connection

    def _stop_opening(self) -> None:
        """Make an open() in another thread fail, which gives everything back, and wait for it."""
        starting = self._starting
        if starting is not None:
            needs.call_bounded(starting.transport, "kill")
        in_callback = starting is not None and starting.pool.owns_this_thread()  # the opener may wait for it
        if self._connection is None and not in_callback and self._lock.acquire(timeout=OPENING_PATIENCE):
            self._lock.release()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is None or connection.has_closer or os.getpid() != self._owner:
            return
        text = f"{self!r} was dropped without close(); it is closed in the background"
        arguments = {"connections": [connection], "timeout": None}
        with contextlib.suppress(RuntimeError):  # the interpreter shuts down: its exit handler closes what is open
            threading.Thread(target=needs.close_connections, kwargs=arguments, name="claude-close", daemon=True).start()
        warnings.warn(text, ResourceWarning, stacklevel=2)  # last: it may be told to raise

    def _live(self) -> Connection:
        connection = self._connection or self._opened()
        connection.check_owner()
        return connection

    def _opened(self) -> Connection:
        """Return the connection once an open() in another thread is through."""
        forks.require_owner(self._owner, "this session")
        connection, starting = self._connection, self._starting
        if connection is None and starting is not None and starting.pool.owns_this_thread():
            return starting  # a callback that the handshake itself waits for
        while self._connection is None and self._lock.locked():  # an open() in another thread
            if self._lock.acquire(timeout=SLICE):
                self._lock.release()
        connection = self._connection
        if connection is None:
            state = "closed; make a new one" if self._closed else "not open; call open() or use it in a with statement"
            raise SessionClosedError(f"the session is {state}")
        return connection

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """One of new, opening, idle, running, waiting (for an answer of ours), closing, closed and failed."""
        connection = self._connection
        if connection is None:
            return "closed" if self._closed else "opening" if self._lock.locked() else "new"
        if connection.released.is_set() or connection.closing:
            return "closed" if connection.released.is_set() else "closing"
        if connection.has_ended:
            return "failed"
        if connection.answers.waiting_for_person:
            return "waiting"
        return "running" if connection.conversation.busy else "idle"

    @property
    def session_id(self) -> str | None:
        """The conversation's id: what `resume` takes.

        Known from the start, but None until the first turn under `continue_conversation`; `/clear` changes it
        (2.1.332).
        """
        connection = self._connection
        return connection.facts.session_id if connection is not None else self._session_id

    @property
    def server_info(self) -> requests.InitializeReply:
        """What the program said of itself at the start: commands, models, agents, account."""
        self._live()
        assert self._greeting is not None
        return self._greeting.read()

    @property
    def program(self) -> Program:
        """What is known of the running program's version and abilities."""
        return self._live().program

    @property
    def capabilities(self) -> Capabilities:
        """What the running program can do; more is known after the first turn."""
        connection = self._live()
        names = (*self.server_info.capabilities, *connection.facts.capabilities)
        return needs.Capabilities(connection.program, tuple(dict.fromkeys(names)))

    @property
    def program_version(self) -> str | None:
        """The program's version; older ones than 2.1.332 say it in their first turn only, so it may be None before."""
        return self._live().program.version

    @property
    def stderr_tail(self) -> str:
        """The last 16 KiB that the program wrote to stderr, without what looks like a secret."""
        return self._live().stderr_tail()

    @property
    def stats(self) -> Stats:
        """The counters so far."""
        return needs.read_stats(self._live())

    @property
    def usage(self) -> Usage | None:
        """The tokens that were spent since the session was opened, in turns of the program's own too; see `Usage`.

        None while nothing is known. What a turn has spent is `turn.usage`.
        """
        return self._live().conversation.usage()

    @property
    def cost_usd(self) -> float | None:
        """What the session has cost since it was opened, in dollars, by the program's own estimate.

        None before the first result. A resumed conversation's earlier cost is not in it, whatever the program's total
        says (2.1.332 goes on from the old total).
        """
        usage = self.usage
        return usage.cost_usd if usage is not None else None

    # -- the conversation ----------------------------------------------------------------------------------------------

    def ask(self, prompt: Prompt, *, verbatim: bool | None = None) -> Turn:
        """Send a prompt, a text or content blocks, and return its `Turn` at once.

        While another turn runs the prompt waits inside the SDK, so that prompts never merge. With `verbatim` a leading
        "/" is no command and an "@" mentions no file; None means the option `verbatim_prompts`. Raises `OptionsError`
        for an empty prompt, `NotSupportedError` if the program cannot take this one verbatim.
        """
        content, connection = needs.check_prompt(prompt), self._checked_connection()
        return needs.Turn(connection.prompting.ask(content, str(needs.uuid4()), verbatim=verbatim), connection, self)

    def send(
        self, prompt: Prompt, *, priority: str | None = None, should_query: bool = True, verbatim: bool | None = None
    ) -> str:
        """Write a prompt at once and return its uuid.

        The program may merge it with others, fold it into the turn that runs or start a turn of its own, whose messages
        go to `messages()`. `priority` "now" ends the turn that runs, "next" joins it behind its tool call as without
        one, "later" waits for its end; with `should_query=False` the prompt is only noted, for the next one that asks.
        Both need 2.1.332, else `NotSupportedError`. Raises `ControlTimeoutError` when it cannot be written within
        `write_timeout`.
        """
        content, uuid, prompting = needs.check_prompt(prompt), str(needs.uuid4()), self._checked_connection().prompting
        prompting.send(content, uuid, verbatim=verbatim, priority=priority, should_query=should_query)
        return uuid

    def messages(self) -> Iterator[Message]:
        """Iterate the messages of no turn of ours: what `send()` leads to, and turns that the program starts itself.

        It waits for more until the session is closed, and raises `ProcessExitedError` if the program ends. The newest
        10,000 are kept; `MessagesDropped` says how many were dropped. One consumer at a time; leaving the loop keeps
        the place.
        """
        return _MessageIterator(self._live().messages, self)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What runs beside the turns, or inside of one for long, and the newest 100 that are over, oldest first."""
        return self._live().facts.tasks.snapshot()

    def wait_tasks(self, timeout: Timeout = UNSET) -> None:
        """Wait until no background task runs; not given and None both mean for ever.

        Raises `NotSupportedError` if one was started by a program that does not tell its end (2.0.75 and 2.1.7), and
        otherwise as `wait_idle()`.
        """
        needs.wait_tasks(self._live(), timeout)

    def wait_idle(self, timeout: Timeout = UNSET) -> None:
        """Wait until no turn runs, no prompt waits and no background task runs; not given and None mean for ever.

        2.0.75 and 2.1.7 tell no tasks, which are then not waited for. Raises `WaitTimeoutError` when the time is up,
        `ConcurrencyError` in a callback, and what ended the session if it ends first.
        """
        needs.wait_idle(self._live(), timeout)

    def subscribe(self, function: Callable[[Message], None]) -> Subscription:
        """Call `function(message)` with every message, in order, on a callback thread, until the handle's `close()`."""
        return self._live().subscriptions.add(function)

    # -- control -------------------------------------------------------------------------------------------------------

    def interrupt(self, *, cancel_queued: bool = False, timeout: Timeout = UNSET) -> requests.InterruptReply:
        """Stop the turn that runs; prompts that wait stay, unless `cancel_queued` drops them.

        Returns the program's receipt before the turn's result is there.
        """
        return self._checked_connection().prompting.interrupt(cancel_queued=cancel_queued, timeout=timeout)

    @overload
    def request(self, request: requests.Request[T], *, timeout: Timeout = UNSET) -> T: ...
    @overload
    def request(
        self, request: str, fields: dict[str, Any] | None = None, *, timeout: Timeout = UNSET
    ) -> dict[str, Any]: ...
    def request(self, request: Any, fields: dict[str, Any] | None = None, *, timeout: Timeout = UNSET) -> Any:
        """Send any control request and return its reply.

        A record of `requests`, or a subtype with its fields as on the wire.
        """
        return self._call(self._checked_request(needs.as_request(request, fields)), timeout)

    def submit(self, request: requests.Request[T]) -> PendingReply[T]:
        """Send a control request and return at once; its line may be written some milliseconds later, with others."""
        return self._checked_connection().calls.submit(self._checked_request(request))

    def _checked_request(self, request: requests.Request[T]) -> requests.Request[T]:
        """Return a request that a user made, unless it would take a server in this process away behind its back."""
        if request.subtype == requests.MCPSetServers.subtype:
            self._checked_connection().callbacks.servers.check_kept(request.body().get("servers"))
        return request

    def _call(self, request: requests.Request[T], timeout: Timeout) -> T:
        connection = self._connection or self._opened()
        connection.check_alive()
        return connection.calls.call(request, timeout)

    def _replacing(self, servers: Mapping[str, Any]) -> contextlib.AbstractContextManager[Mapping[str, Any]]:
        return self._checked_connection().callbacks.servers.replacing(servers)

    def _checked_connection(self) -> Connection:
        connection = self._connection or self._opened()
        connection.check_alive()
        return connection

    def __repr__(self) -> str:
        return f"<Session {self.session_id or 'without id'} {self.state}>"


class _MessageIterator(Iterator["Message"]):
    """The iterator of `messages()`; all of them share one consumer, so that none loses the other's messages."""

    def __init__(self, consumer: Consumer, session: Session) -> None:
        self._consumer = consumer
        self._session = session  # who reads its messages keeps it open

    def __next__(self) -> Message:
        return next(self._consumer)


def close_all(sessions: Iterable[Session], timeout: float | None = None) -> None:
    """Close many sessions together.

    Every input first, then all ends, so that it takes about as long as the slowest one. `timeout` in seconds bounds
    the whole.
    """
    begun = [session._begin_close() for session in sessions]
    if begun:
        needs.close_connections([connection for connection in begun if connection is not None], timeout=timeout)
