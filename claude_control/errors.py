"""Every exception of this package; nothing else is raised on purpose.

    ClaudeControlError
    ├── OptionsError (ValueError)             an option, argument or prompt is wrong
    ├── StartError                            the program could not be started
    │   ├── CLINotFoundError                  no program was found
    │   ├── CLIVersionError                   the program's version does not fit
    │   ├── SpawnError                        the operating system refused to start it
    │   └── InitializeError                   it started, but refused or never finished the handshake
    ├── ProtocolError                         the program wrote something that the protocol does not allow
    ├── ControlRequestError                   the program answered a control request with an error
    ├── NotSupportedError                     the running program is too old for what was asked
    ├── SessionClosedError                    the session is closed, or was never opened
    │   └── ProcessExitedError                the program ended by itself
    ├── ControlTimeoutError (TimeoutError)    the program did not answer in time; the request is given up
    ├── WaitTimeoutError (TimeoutError)       we stopped waiting; what was waited for goes on
    ├── AbortedError                          what was waited for was cancelled
    ├── ConcurrencyError (RuntimeError)       two consumers of one stream, or a wait that can never end
    ├── ForkedError (RuntimeError)            the session belongs to the parent of this forked process
    └── ResultError                           a turn ended in an error
        ├── MaxTurnsError
        ├── BudgetExceededError
        ├── RateLimitedError
        ├── AuthenticationError
        ├── RefusedError
        ├── APIError
        ├── ExecutionError
        └── StructuredOutputError

Every exception pickles with all of its fields.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

__all__ = [
    "APIError",
    "AbortedError",
    "AuthenticationError",
    "BudgetExceededError",
    "CLINotFoundError",
    "CLIVersionError",
    "ClaudeControlError",
    "ConcurrencyError",
    "ControlRequestError",
    "ControlTimeoutError",
    "ExecutionError",
    "ForkedError",
    "InitializeError",
    "MaxTurnsError",
    "NotSupportedError",
    "OptionsError",
    "ProcessExitedError",
    "ProtocolError",
    "RateLimitedError",
    "RefusedError",
    "ResultError",
    "SessionClosedError",
    "SpawnError",
    "StartError",
    "StructuredOutputError",
    "WaitTimeoutError",
]


class ClaudeControlError(Exception):
    """The root of every exception that this package raises."""

    # The message is the only positional argument and the fields live in __dict__, so that
    # the default pickling of exceptions (class, args, __dict__) carries all of them.
    def __init__(self, message: str = "") -> None:
        super().__init__(message)


class OptionsError(ClaudeControlError, ValueError):
    """An option, an argument or a prompt is wrong; `field` names which, the text says the remedy."""

    def __init__(self, message: str = "", *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class _ProcessFields(ClaudeControlError):
    """What is known of a program that failed or ended.

    `exit_code` (None while running, unknown or killed), `signal` (its number, or None), `phase` ("start", "initialize",
    "idle", "turn" or "closing"), `stderr_tail` (its last words, at most 16 KiB), `command` (redacted),
    `program_version`.
    """

    def __init__(
        self,
        message: str = "",
        *,
        exit_code: int | None = None,
        signal: int | None = None,
        phase: str | None = None,
        stderr_tail: str = "",
        command: str | None = None,
        program_version: str | None = None,
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.signal = signal
        self.phase = phase
        self.stderr_tail = stderr_tail
        self.command = command
        self.program_version = program_version


class StartError(_ProcessFields):
    """The program could not be started; nothing of it is left running."""


class CLINotFoundError(StartError):
    """No Claude Code program was found; `looked` lists every place that was looked at."""

    def __init__(self, message: str = "", *, looked: Sequence[str] = ()) -> None:
        super().__init__(message, phase="start")
        self.looked = tuple(looked)


class CLIVersionError(StartError):
    """The program's version does not fit what was asked, or could not be told."""


class SpawnError(StartError):
    """The operating system refused to start the program; `cwd` is the directory it was to run in."""

    def __init__(self, message: str = "", *, command: str | None = None, cwd: str | None = None) -> None:
        super().__init__(message, phase="start", command=command)
        self.cwd = cwd


class InitializeError(StartError):
    """The program started, but refused the handshake, ended during it or did not finish it in time."""


class ProtocolError(_ProcessFields):
    """The program wrote something that the protocol does not allow; `raw` is what it wrote.

    The fields about the program are set where it ended the session.
    """

    def __init__(self, message: str = "", *, raw: Any = None, **program: Any) -> None:
        super().__init__(message, **program)
        self.raw = raw


class ControlRequestError(ClaudeControlError):
    """The program answered a control request with an error.

    `subtype` is the request's, `text` the program's own words, `code` its snake_case code (2.1.332; older programs send
    none).
    """

    def __init__(
        self, message: str = "", *, subtype: str | None = None, text: str = "", code: str | None = None
    ) -> None:
        super().__init__(message)
        self.subtype = subtype
        self.text = text
        self.code = code


class NotSupportedError(ClaudeControlError):
    """The running program is too old for what was asked.

    `what` is the request, field or flag, `needs` the oldest measured version that knows it, `program_version` the one
    that runs.
    """

    def __init__(
        self,
        message: str = "",
        *,
        what: str | None = None,
        needs: str | None = None,
        program_version: str | None = None,
    ) -> None:
        super().__init__(message)
        self.what = what
        self.needs = needs
        self.program_version = program_version


class SessionClosedError(_ProcessFields):
    """The session is closed, or was never opened."""


class ProcessExitedError(SessionClosedError):
    """The program ended by itself; the fields say how."""


class ControlTimeoutError(ClaudeControlError, TimeoutError):
    """The program did not answer a control request in time, and the request is given up.

    `subtype` is the request's, `timeout` the seconds that were waited.
    """

    def __init__(self, message: str = "", *, subtype: str | None = None, timeout: float | None = None) -> None:
        super().__init__(message)
        self.subtype = subtype
        self.timeout = timeout


class WaitTimeoutError(ClaudeControlError, TimeoutError):
    """A wait ended after `timeout` seconds; what was waited for goes on."""

    def __init__(self, message: str = "", *, timeout: float | None = None) -> None:
        super().__init__(message)
        self.timeout = timeout


class AbortedError(ClaudeControlError):
    """What was waited for was cancelled; `reason` says by what."""

    def __init__(self, message: str = "", *, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason


class ConcurrencyError(ClaudeControlError, RuntimeError):
    """A stream has a second consumer, or a callback waits for something that only its own return can bring."""


class ForkedError(ClaudeControlError, RuntimeError):
    """The object belongs to the parent of this forked process; open a session of its own here."""


class ResultError(ClaudeControlError):
    """A turn ended in an error; `result` is its ResultMessage, `outcome` the word for it."""

    advice: ClassVar[str] = "the session can go on"
    """What helps, as the message ends."""

    def __init__(self, message: str = "", *, result: Any = None, outcome: str | None = None) -> None:
        super().__init__(message)
        self.result = result
        self.outcome = outcome


class MaxTurnsError(ResultError):
    """The turn used up `max_turns`."""

    advice = "ask again in the same session to go on, or open one with a higher `max_turns`"


class BudgetExceededError(ResultError):
    """The session used up `max_budget_usd`."""

    advice = "a new session with a higher `max_budget_usd` and `resume` can go on"


class _APIFields(ResultError):
    """What is known of an error that came from the API; `APIError` says what the fields mean."""

    def __init__(self, message: str = "", *, status: int | None = None, kind: str | None = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.status = status
        self.kind = kind


class RateLimitedError(_APIFields):
    """The API refused the turn for too many requests, after the program's own retries.

    `resets_at` is when the limit is lifted, in Unix seconds: of a subscription's limit 2.1.332 says it to the second,
    2.0.75 and 2.1.7 to the minute, rounded down; None where the program does not know it, as with an API key. `limit`
    is the limit's name, such as "five_hour" or "seven_day" (2.1.332). `status` and `kind` are as in `APIError`.
    """

    advice = "wait before you ask again, or ask less at the same time"

    def __init__(
        self, message: str = "", *, resets_at: float | None = None, limit: str | None = None, **more: Any
    ) -> None:
        super().__init__(message, **more)
        self.resets_at = resets_at
        self.limit = limit


class AuthenticationError(_APIFields):
    """The program is not logged in, or its key was refused; `status` and `kind` are as in `APIError`."""

    advice = "log in by running `claude` in a terminal, or put a valid ANTHROPIC_API_KEY into `env`"


class RefusedError(ResultError):
    """The model refused to answer.

    `category` ("cyber", …) and `explanation` are the API's, None where it gives none (2.1.332; older programs do not
    pass them on).
    """

    advice = "change the prompt, or ask another model"

    def __init__(
        self, message: str = "", *, category: str | None = None, explanation: str | None = None, **more: Any
    ) -> None:
        super().__init__(message, **more)
        self.category = category
        self.explanation = explanation


class APIError(_APIFields):
    """The API failed the turn, after the program's own retries.

    `status` is the HTTP status, None if no answer came or the program does not say it. `kind` is the API's name for the
    error ("overloaded_error", "invalid_request_error", "not_found_error" …), or the program's own ("max_output_tokens",
    "connection_failed" …); "prompt_too_long" is a conversation that fills the model's window.
    """

    advice = "ask again later; if the status is a 4xx, look at the model's name and at the prompt first"


class ExecutionError(ResultError):
    """The program failed while it ran the turn."""

    advice = "`session.stderr_tail` may say more; if asking again fails too, open a new session"


class StructuredOutputError(ResultError):
    """The turn ended without output that fits the schema; `result.result` is the text that came instead."""

    advice = "make the schema simpler, or say in the prompt what belongs into it"
