"""Asks a person through one of the user's callbacks, now or later, and turns whatever happens into one answer."""

import os
from collections.abc import Callable
from typing import Any

import attrs

from claude_control import log
from claude_control.abort import AbortSignal
from claude_control.log import error_text
from claude_control.process import forks
from claude_control.records import frozen
from claude_control.session.answers import Handler, OpenRequest
from claude_control.session.running import Runner, name_of

__all__ = ["AskContext", "Asker", "LateAnswer"]

_log = log.get(__name__)


@frozen(eq=False)
class AskContext:
    """What `on_elicitation` and `on_user_dialog` are told beside the request.

    `signal` fires when the answer is no longer wanted: the program withdrew the request (an interrupt makes it do so),
    the session was closed or the program ended. `session` is the session that asks; control calls on it work.
    """

    signal: AbortSignal
    session: Any = attrs.field(repr=False)
    _later: Callable[[], "LateAnswer"] = attrs.field(repr=False)

    def answer_later(self) -> "LateAnswer":
        """Keep the request open after the callback returns, whatever it returns; no thread waits for the answer."""
        return self._later()


class LateAnswer:
    """A request that a person, or another thread, answers later; it has no time limit of ours."""

    def __init__(self, answer: Callable[[object], bool], signal: AbortSignal) -> None:
        self._answer = answer
        self.signal = signal
        """Fires when the answer is no longer wanted."""

    def answer(self, value: object) -> bool:
        """Give what the callback could have returned; returns True if it was accepted, False if it came too late.

        Raises `OptionsError` for a wrong value: the request is then still open.
        """
        return self._answer(value)


class Asker:
    """Runs one callback for requests that end with one answer of a person; `unanswered` is what is sent without one.

    `read` makes the answer of what the callback returns for a request, and raises `OptionsError` for what cannot be
    one.
    """

    def __init__(
        self,
        runner: Runner,
        option: str,
        function: Callable[[Any, AskContext], object] | None,
        session: Callable[[], Any],
        *,
        unanswered: dict[str, Any],
        read: Callable[[object, Any], dict[str, Any]],
    ) -> None:
        self._runner = runner
        self._option = option  # the option that holds the function
        self._handler = Handler(function, self._run, lambda _request, _text: unanswered, True)
        self._read = read
        self._session = session  # returns the Session, or None when it was dropped
        self._unanswered = unanswered

    def start(self, request_id: str, request: Any) -> OpenRequest | None:
        """Begin to answer a request; returns what is to run on the pool, if anything. Called by the reader."""
        open_request = self._runner.open(request_id, self._handler, request)
        if open_request is None or self._handler.function is not None:
            return open_request
        _log.info("person.nobody_asked", option=self._option)
        self._runner.answers.answer(open_request, self._unanswered)
        return None

    def _run(self, open_request: OpenRequest) -> None:
        if not self._runner.answers.is_open(open_request):
            return
        function, request = self._handler.function, open_request.asked
        owner = os.getpid()
        later: list[LateAnswer] = []

        def answer(value: object) -> bool:
            forks.require_owner(owner, "this request")
            return self._runner.answers.answer(open_request, self._read(value, request))

        def answer_later() -> LateAnswer:
            later.append(LateAnswer(answer, open_request.signal))
            return later[-1]

        try:
            returned = function(request, AskContext(open_request.signal, self._session(), answer_later))
            if not later:
                answer(returned)
        except BaseException as error:  # an unanswered request hangs the turn, whatever was raised
            text = error_text(error)
            _log.warning("person.failed", option=self._option, function=name_of(function), error=text)
            self._runner.answers.answer(open_request, self._unanswered)
