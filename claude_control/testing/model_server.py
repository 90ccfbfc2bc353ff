"""A scripted model: enough of the Messages API, on loopback, for the real program to run whole conversations offline.

    with ModelServer() as server, Session(env=server.environment(tmp_path)) as session:
        turn = session.ask(script(ToolCall("Bash", command="ls"), Text("done")))
        assert turn.result().result == "done"

The script travels in the prompt (see `script`), so one server serves any number of sessions at once.
"""

from collections.abc import Callable
from functools import partial
from os import PathLike, fspath
from types import TracebackType
from typing import Self

from claude_control.testing.loopback import LoopbackServer
from claude_control.testing.model_backend import MESSAGES_PATH, Model
from claude_control.testing.model_http import ModelHandler
from claude_control.testing.model_requests import ModelRequest, SentAnswer
from claude_control.testing.model_script import Answer, Block, Text

__all__ = ["ModelServer"]

# Far more than the threads need once their sockets are cut and their waits ended; a test's own timeout is 60 s.
_STOP_SECONDS = 10.0
_DEFAULT = Answer(Text("Hello from the model server."))


class ModelServer:
    """A scripted model server on 127.0.0.1; start it with `with` or `start()`.

    `default` answers prompts that carry no script and what comes after the end of one. `gate_timeout` (seconds) is how
    long a request waits at a closed `Gate`. Leaving `with` raises the first error of the server's own, if there was
    one.
    """

    def __init__(self, *, default: Answer | Block = _DEFAULT, gate_timeout: float = 30.0) -> None:
        self._model = Model(default if isinstance(default, Answer) else Answer(default), gate_timeout)
        self._listener: LoopbackServer | None = None
        self._stopped = False

    # Life cycle

    def start(self) -> Self:
        """Listen on a free port; raises RuntimeError when the server was started before."""
        if self._listener is not None:
            raise RuntimeError("a model server starts once")
        self._listener = LoopbackServer("model-server", partial(ModelHandler, self._model))
        self._listener.start()
        return self

    def stop(self) -> None:
        """Cut all connections and end all threads within 10 s, whatever they wait for; idempotent."""
        if self._listener is None or self._stopped:
            return
        self._stopped = True
        self._model.gates.stop()
        left = self._listener.stop(_STOP_SECONDS)
        if left:
            raise RuntimeError(f"threads of the model server did not end: {', '.join(left)}")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        failures = self._listener.failures if self._listener is not None else []
        if failures and error is None:
            raise RuntimeError("the model server failed while it answered") from failures[0]

    # For the program

    @property
    def url(self) -> str:
        """The base address for `ANTHROPIC_BASE_URL`; raises RuntimeError before the start."""
        if self._listener is None:
            raise RuntimeError("the model server was not started")
        return f"http://127.0.0.1:{self._listener.port}"

    def environment(self, home: str | PathLike[str]) -> dict[str, str]:
        """Return variables that point the real program at this server and away from everything else.

        They are to be merged over the present environment. `home` becomes HOME, and its `.claude` the configuration
        directory, so that the user's own settings and history are neither read nor written. The names are known to
        2.0.75, 2.1.7 and 2.1.332.
        """
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "sk-ant-test-key",
            "ANTHROPIC_AUTH_TOKEN": "",
            "CLAUDE_CODE_OAUTH_TOKEN": "",
            "CLAUDE_CODE_USE_BEDROCK": "",
            "CLAUDE_CODE_USE_VERTEX": "",
            "HOME": fspath(home),
            "CLAUDE_CONFIG_DIR": f"{fspath(home)}/.claude",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    # For the test

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """The newest 1000 requests, oldest first: those to the Messages API and all others."""
        return self._model.log.all()

    @property
    def requests_dropped(self) -> int:
        """How many older requests are no longer in `requests`."""
        return self._model.log.dropped

    @property
    def answers(self) -> tuple[SentAnswer, ...]:
        """What was answered so far, to the program's own requests too, with its token counts."""
        return self._model.sent()

    def wait_for_request(
        self,
        matching: Callable[[ModelRequest], bool] | str | None = None,
        *,
        count: int = 1,
        timeout: float | None = 10.0,
    ) -> ModelRequest:
        """Return the matching request number `count`, after waiting for it at most `timeout` seconds.

        Raises `WaitTimeoutError` when the time is up. `matching` is a function of the request, or a scripted prompt for
        the requests that its script answers; without it every request for an answer matches. A request is there before
        it is answered.
        """
        if isinstance(matching, str):
            prompt = matching
            return self._model.log.wait(lambda request: request.answers(prompt), count, timeout)
        return self._model.log.wait(matching or _is_for_messages, count, timeout)

    def release(self, name: str) -> None:
        """Open the gate of this name, for the request that waits there and for all that come later."""
        self._model.gates.release(name)

    def wait_for_gate(self, name: str, *, timeout: float | None = 10.0) -> None:
        """Wait until a request stands at the gate; raises `WaitTimeoutError` after `timeout` seconds."""
        self._model.gates.wait_until_reached(name, timeout)

    def __repr__(self) -> str:
        state = "stopped" if self._stopped else "new" if self._listener is None else self.url
        return f"<ModelServer {state}, {len(self.requests)} requests>"


def _is_for_messages(request: ModelRequest) -> bool:
    """Tell whether a request wants an answer of the model."""
    return request.method == "POST" and request.path == MESSAGES_PATH
