"""Whose is this frame? Decided here, from the frames alone.

A prompt is *written*, then *begins*, then its result *ends* it. Between begin and end every frame is its turn's; all
other frames belong to turns that the program started itself, or to nobody.

How a begin and an end are told differs:

* 2.1.332 names the prompts: `command_lifecycle` says "started", `init`, `assistant` and `result` carry
  `user_message_uuids`. The `init` and the result of a turn that the program started name none; after a background task
  the result has an `origin`, after a scheduled wakeup it has not.
  A prompt that waits while such a turn runs a tool is folded into it: it is then "completed" shortly before the result,
  which names it.
* 2.0.75 and 2.1.7 name nothing, but echo each prompt (`--replay-user-messages`) before its first whole assistant
  message. A result answers every prompt echoed since the last result; with no echo (a slash command, a blocked prompt)
  the oldest one written. An echo that starts with `<task-notification>` announces a turn of the program's own, which
  answers nobody unless a prompt is folded into it, and so echoed. The echo comes after `init` and the turn's first
  deltas, so once a background task may exist these are held back until it is known whose they are; before that they can
  only be the prompt's.
"""

import enum
from typing import Any

import attrs

__all__ = ["Decision", "Place", "Router"]


class Place(enum.Enum):
    """Where a frame goes."""

    TURN = "turn"
    """To the turn of ours that runs."""
    PROGRAM = "program"
    """To `messages()`."""
    NOBODY = "nobody"
    """To taps only: news for the SDK alone."""
    ECHO = "echo"
    """Nowhere: an echo that only we asked for."""
    HELD = "held"
    """Kept by the caller until a later decision releases it."""


@attrs.frozen
class Decision:
    """What to do with a frame.

    `release` says where the frames held so far go, before this one. `begins` and `ends` speak of our turn;
    `ended_by_result` tells a turn that has its result from one that was cancelled without.
    """

    place: Place
    release: Place | None = None
    begins: bool = False
    ends: bool = False
    ended_by_result: bool = True


_TO_TURN = Decision(Place.TURN)
_TO_PROGRAM = Decision(Place.PROGRAM)
_TO_NOBODY = Decision(Place.NOBODY)
_ECHO = Decision(Place.ECHO)
_HELD = Decision(Place.HELD)
_BEGINS = Decision(Place.TURN, begins=True)
_ENDS = Decision(Place.TURN, ends=True)
_STARTED = Decision(Place.NOBODY, begins=True)
_CANCELLED = Decision(Place.NOBODY, ends=True, ended_by_result=False)

_NOTIFICATION = "<task-notification>"
_COMMAND_OUTPUT = "<local-command-stdout>"
_MODEL_ECHO = f"{_COMMAND_OUTPUT}Set model to"
_BACKGROUND_RESULT = "running in background with ID"


class Router:
    """The state of one conversation as far as the ownership of frames goes.

    Not thread-safe: the caller holds a lock.
    """

    def __init__(self, *, keep_echoes: bool = False) -> None:
        self.modern = True  # until initialize is answered nothing else can arrive but frames of the program's own
        self.current: str | None = None
        """The uuid of our prompt that was written and has no result yet."""
        self.running = False
        """Whether that prompt has begun."""
        self._over = False  # 2.1.332: the program is done with that prompt, but the result that names it has not come
        self.state: str | None = None
        """The program's own word for its state.

        Running, requires_action, idle; None before the first (and always on old programs).
        """
        self._keep_echoes = keep_echoes
        self._sent: dict[str, bool] = {}  # prompts from send() without a result -> whether the program has named them
        self._begun: set[str] = set()  # old programs: prompts echoed since the last result
        self._own_turn = False  # old programs: the turn that runs is the program's own
        self._seen = False  # a turn began that names no prompt (2.1.332), or while none was out (old programs)
        self._holding = False
        self._background = False  # old programs: a background task may exist, so a turn may be the program's own

    @property
    def free(self) -> bool:
        """Whether the next prompt of ours may be written.

        Nothing of ours or of `send()` is out, and the program is idle.
        """
        return self.current is None and not self._sent and self.state in (None, "idle")

    @property
    def own_turn(self) -> bool:
        """Whether a turn of the program's own runs, as far as its frames tell."""
        return self._own_turn or self._seen

    def written(self, uuid: str, *, ours: bool) -> None:
        """Note that a prompt is on its way to the program; `ours` for one that has a Turn."""
        if ours:
            self.current, self.running = uuid, False
        else:
            self._sent[uuid] = False

    def withdraw(self, uuid: str) -> None:
        """Forget a prompt that could not be written."""
        self._sent.pop(uuid, None)
        if uuid == self.current:
            self._end()

    def route(self, frame: dict[str, Any]) -> Decision:
        """Decide where a frame goes, and note what it says of turns."""
        return self._route_modern(frame) if self.modern else self._route_old(frame)

    # -- 2.1.332: the frames name their prompts ------------------------------------------------------------------------

    def _route_modern(self, frame: dict[str, Any]) -> Decision:
        kind = frame.get("type")
        if kind == "assistant" and self.running:
            return _TO_TURN  # nearly all whole messages
        if kind == "result":
            return self._modern_result(frame)
        if kind == "command_lifecycle":
            return self._lifecycle(frame)
        if kind == "system" and frame.get("subtype") == "session_state_changed":
            return self._state_changed(frame)
        if kind == "user" and frame.get("isReplay") is True and self._is_our_echo(frame):
            return _ECHO
        if self.running:
            return _TO_TURN
        prompts = _prompts_of(frame)
        if self.current is not None and self.current in prompts:
            self.running = True
            return _BEGINS
        if frame.get("subtype") == "init" and not prompts:
            self._seen = True
        return _TO_PROGRAM

    def _is_our_echo(self, frame: dict[str, Any]) -> bool:
        """Tell an echo that comes only because we asked for echoes: of a prompt, or of a change of the model."""
        if self._keep_echoes:
            return False
        uuid = frame.get("uuid")
        ours = isinstance(uuid, str) and (uuid == self.current or uuid in self._sent)
        return ours or _text_of(frame).startswith(_MODEL_ECHO)

    def _modern_result(self, frame: dict[str, Any]) -> Decision:
        named = _prompts_of(frame)
        for uuid in named:
            self._sent.pop(uuid, None)
        own, self._seen = self._seen and not self.running, False
        nameless = not named and not frame.get("origin") and not own
        if self.current is None or not (self.current in named or nameless):
            return _TO_PROGRAM
        self._end()
        return _ENDS

    def _lifecycle(self, frame: dict[str, Any]) -> Decision:
        uuid, state = frame.get("command_uuid"), frame.get("state")
        over = state in ("completed", "cancelled")
        if not isinstance(uuid, str):
            return _TO_NOBODY
        if uuid in self._sent:
            self._sent[uuid] = True
            if over:
                del self._sent[uuid]
        if uuid != self.current:
            return _TO_NOBODY
        if over and self.running and self.state is not None:
            self._over = True  # folded into a turn of the program's own: the result comes next, or at the latest "idle"
        elif over:  # its result, if there is one, has come before
            self._end()
            return _CANCELLED
        elif state == "started" and not self.running:
            self.running = True
            return _STARTED
        return _TO_NOBODY

    def _state_changed(self, frame: dict[str, Any]) -> Decision:
        state = frame.get("state")
        self.state = state if isinstance(state, str) else None
        if state == "idle":  # whatever the program had named is over
            self._sent = {uuid: named for uuid, named in self._sent.items() if not named}
            self._seen = False
            if self._over:
                self._end()
                return _CANCELLED
        if frame.get("sdk_host_only") is True:
            return _TO_NOBODY
        return _TO_TURN if self.running else _TO_PROGRAM

    # -- 2.0.75 and 2.1.7: the echoes tell -----------------------------------------------------------------------------

    def _route_old(self, frame: dict[str, Any]) -> Decision:
        kind = frame.get("type")
        if kind == "result":
            return self._old_result()
        if kind == "user":
            if frame.get("isReplay") is True:
                return self._echo(frame)
            self._background = self._background or _announces_background(frame)
        elif kind == "assistant":
            self._background = self._background or _starts_background(frame)
        elif frame.get("subtype") == "init" and self.current is None and not self._sent:
            self._seen = True
        return self._old_place()

    def _old_place(self) -> Decision:
        if self.running:
            return _TO_TURN
        if self._own_turn or self.current is None:
            return _TO_PROGRAM
        if self._background:
            self._holding = True
            return _HELD
        self.running = True
        return _BEGINS

    def _echo(self, frame: dict[str, Any]) -> Decision:
        uuid, text = frame.get("uuid"), _text_of(frame)
        if isinstance(uuid, str) and uuid == self.current:
            self._begun.add(uuid)
            begins, self.running = not self.running, True
            return Decision(self._echo_place(), release=self._release(Place.TURN), begins=begins)
        if isinstance(uuid, str) and uuid in self._sent:
            self._begun.add(uuid)
            return Decision(self._echo_place(), release=self._release(Place.PROGRAM))
        if text.startswith(_NOTIFICATION) and not self._begun:
            self._own_turn, self.running = True, False
            return Decision(Place.PROGRAM, release=self._release(Place.PROGRAM))
        if text.startswith((_NOTIFICATION, _COMMAND_OUTPUT)):
            return (
                self._old_place()
            )  # comes without our asking: news inside of a turn, or all that a slash command says
        return _ECHO

    def _echo_place(self) -> Place:
        if not self._keep_echoes:
            return Place.ECHO
        return Place.TURN if self.running else Place.PROGRAM

    def _release(self, place: Place) -> Place | None:
        held, self._holding = self._holding, False
        return place if held else None

    def _old_result(self) -> Decision:
        answered = self._begun
        if not answered and not self._own_turn:
            answered = {self.current or next(iter(self._sent), "")}  # with no echo, the oldest one written
        for uuid in answered:
            self._sent.pop(uuid, None)
        self._begun, self._own_turn, self._seen = set(), False, False
        if self.current is None or self.current not in answered:
            self.running = False
            return Decision(Place.PROGRAM, release=self._release(Place.PROGRAM))
        self._end()
        return Decision(Place.TURN, release=self._release(Place.TURN), ends=True)

    def _end(self) -> None:
        self.current, self.running, self._over = None, False, False


def _prompts_of(frame: dict[str, Any]) -> tuple[str, ...]:
    """Return the uuids of the prompts that a frame of 2.1.332 names."""
    many = frame.get("user_message_uuids")
    if isinstance(many, list):
        return tuple(uuid for uuid in many if isinstance(uuid, str))
    one = frame.get("user_message_uuid")
    return (one,) if isinstance(one, str) else ()


def _text_of(frame: dict[str, Any]) -> str:
    message = frame.get("message")
    return _first_text(message.get("content")) if isinstance(message, dict) else ""


def _first_text(content: object) -> str:
    """Return what a content, a text or a list of blocks, begins with."""
    if isinstance(content, str):
        return content
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, dict) else None
    return text if isinstance(text, str) else ""


def _blocks_of(frame: dict[str, Any]) -> list[dict[str, Any]]:
    message = frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _starts_background(frame: dict[str, Any]) -> bool:
    inputs = (block.get("input") for block in _blocks_of(frame) if block.get("type") == "tool_use")
    return any(isinstance(given, dict) and given.get("run_in_background") for given in inputs)


def _announces_background(frame: dict[str, Any]) -> bool:
    return any(
        block.get("type") == "tool_result" and _BACKGROUND_RESULT in _first_text(block.get("content"))[:200]
        for block in _blocks_of(frame)
    )
