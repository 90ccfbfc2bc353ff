"""The program's requests that have no answer yet: exactly one answer for each, by whoever comes first.

An entry is popped once: by the callback's answer, by the program's own cancel, by our time limit, or at the end of the
session. Only an answer and the denial of a time limit are written.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from claude_control.abort import AbortSignal
from claude_control.errors import OptionsError
from claude_control.records import define
from claude_control.wire import envelope
from claude_control.wire.framing import encode

__all__ = ["Answers", "Handler", "OpenRequest"]

REMEMBERED = 100
"""How many answered requests are known again when the program lists them: it had not read our answers yet."""


@define(eq=False)
class Handler:
    """How the requests of one kind are answered; one for all of them, for many may wait at the same time.

    `begin` starts on a request, on a thread of the pool. `denial` makes what is written for one that fails, runs out of
    time, or is open when the session closes.
    """

    function: Any
    """The user's; None where nobody can be asked."""
    begin: Callable[["OpenRequest"], None]
    denial: Callable[["OpenRequest", str], dict[str, Any]]
    asks_person: bool = False


@define(eq=False)
class OpenRequest:
    """A request of the program that waits for our answer; it is itself the work that is handed to a thread."""

    request_id: str
    signal: AbortSignal
    handler: Any
    """A `Handler`, of a kind that is its own business."""
    asked: Any = None
    """What is asked."""
    row: Any = None
    """The row in which it waits for its turn, if in any."""
    is_kept: bool = False
    """Whether it stays open when its callback returns, to be answered later."""
    since: float = 0.0
    """When it came, on the monotonic clock, if that matters."""

    def __call__(self) -> None:
        """Begin to answer it; on a thread of the pool."""
        self.handler.begin(self)

    def denial(self, text: str) -> dict[str, Any]:
        """Return what is written for it when it fails, for this reason."""
        made: dict[str, Any] = self.handler.denial(self, text)
        return made


class Answers:
    """The open requests, under one lock."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write  # hands a line to the writer; may raise OSError when the program is gone
        # Guards _open, _answered, _over and `late`. The reader adds without it where no other entry is in the way: that
        # is one step, and it looks then whether the end has come meanwhile.
        self._lock = threading.Lock()
        self._open: dict[str, OpenRequest] = {}
        self._ending: dict[str, OpenRequest] = {}  # those that were open at the end, until they are told
        self._answered: deque[str] = deque(maxlen=REMEMBERED)
        self._over: str | None = None
        self._told = False  # what follows the end was done to its last step
        self.received = 0
        self.on_end: Callable[[str], object] = lambda _reason: None
        """Called with the reason when the book is closed, after the signals."""
        self.late = 0
        """Answers that came after their request was cancelled, timed out or closed; they are dropped."""

    def add(self, request: OpenRequest) -> bool:
        """Note a request; False once the session is over. Called by the reader."""
        self.received += 1
        if self._open.setdefault(request.request_id, request) is not request:
            with self._lock:  # nobody may take out the older one just now
                self._open[request.request_id] = request
        if self._over is None:
            return True
        with self._lock:  # it alone: whoever ended it may have been struck before he took out the others
            if self._open.get(request.request_id) is request:
                del self._open[request.request_id]
        return False

    def knows(self, request_id: str) -> bool:
        """Tell whether a request is open here, or was answered so lately that the program may not have read it."""
        with self._lock:
            return request_id in self._open or request_id in self._answered

    def is_open(self, request: OpenRequest) -> bool:
        """Tell whether the request still waits for its answer."""
        return self._open.get(request.request_id) is request

    def answer(self, request: OpenRequest, response: dict[str, Any]) -> bool:
        """Answer a request; False if it is too late.

        Raises `OptionsError` for a response that JSON has no form for: the request is then still open.
        """
        line = encode(envelope.success(request.request_id, response))
        if not self._take(request):
            with self._lock:
                self.late += 1
            return False
        self._send(line)
        return True

    def refuse(self, request_id: str, text: str) -> None:
        """Answer a request that was never added with a control error. Never for hooks: it lets their tool run."""
        self._send(encode(envelope.failure(request_id, text)))

    def fail(self, request_id: str, text: str) -> None:
        """Answer a request that could not be begun: with its denial, or a control error if it was never added."""
        if not self.deny(request_id, text) and not self.knows(request_id):
            self.refuse(request_id, text)

    def deny(self, request_id: str, text: str) -> bool:
        """Answer a request with its denial if it is open, or a control error if that has no form in JSON."""
        request = self._open.get(request_id)
        if request is None:
            return False
        try:
            self.answer(request, request.denial(text))
        except OptionsError:  # it repeats something that came: an id that is nested 600 deep
            if self._take(request):
                self.refuse(request_id, text)
        return True

    def cancel(self, request_id: str) -> None:
        """Drop a request that the program withdrew: its signal fires and nothing is written. Called by the reader."""
        with self._lock:
            request = self._open.pop(request_id, None)
        if request is not None:
            request.signal.fire("cancelled")

    def time_out(self, request: OpenRequest, text: str) -> bool:
        """Write the denial of a request whose time is up, and fire its signal; False if it was answered before."""
        line = encode(envelope.success(request.request_id, request.denial(text)))
        if not self._take(request):
            return False
        self._send(line)
        request.signal.fire("timeout")
        return True

    def end(self, reason: str, *, deny: bool) -> None:
        """Close the book: every open request's signal fires with `reason`; with `deny` its denial is written first."""
        if self._told:
            return
        with self._lock:
            self._over = reason
            self._ending.update(self._open)
            self._open = {}
        for request in list(self._ending.values()):
            if deny:
                self._send(encode(envelope.success(request.request_id, request.denial(f"The session was {reason}."))))
            request.signal.fire(reason)
            self._ending.pop(request.request_id, None)  # not before: who is struck leaves it to the next end
        self.on_end(reason)
        self._told = True

    @property
    def waiting_for_person(self) -> bool:
        """Whether a question to a person is open: a permission, an elicitation, a dialog."""
        return any(request.handler.asks_person for request in list(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    def __repr__(self) -> str:
        return f"<Answers {len(self)} open of {self.received}, {self.late} late>"

    def _take(self, request: OpenRequest) -> bool:
        name = request.request_id
        with self._lock:
            if self._open.get(name) is not request:
                return False
            del self._open[name]
            self._answered.append(name)
        return True

    def _send(self, line: bytes) -> None:
        try:
            self._write(line)
        except OSError:  # a program that is gone or going is nothing to tell here: the reader tells it, with its exit
            return
