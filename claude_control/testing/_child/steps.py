"""What each step of a script does; the keys of `STEPS` are the names in the script file."""

from __future__ import annotations

import json
import os
import signal
import sys

from .frames import fresh_id
from .loop import Wait
from .outbox import encode
from .program import Ended
from .tools import await_answers, call_hooks, permission_request, use_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from . import Frame, Play
    from .playing import ScriptRun

_FLOOD_LINE = b"x" * 79 + b"\n"


def _say(run: ScriptRun, step: Frame) -> Play:
    for frame in step["frames"]:
        run.program.say(_object(run.fill(frame)))
    yield from ()


def _raw(run: ScriptRun, step: Frame) -> Play:
    run.program.outbox.put(step["data"].encode("latin-1"))
    yield from ()


def _split(run: ScriptRun, step: Frame) -> Play:
    """Write a frame in pieces, each its own write, with a pause between them."""
    frame, size, outbox = _object(run.fill(step["frame"])), step["size"], run.program.outbox
    run.program.before(frame)
    data = encode(frame)
    for start in range(0, len(data), size):
        outbox.put(data[start : start + size])
        yield Wait(lambda: not outbox.waiting)
        if step["pause"]:
            yield Wait(seconds=step["pause"])


def _burst(run: ScriptRun, step: Frame) -> Play:
    """Write many copies of a frame in one go; only `$n` and `$uuid` differ from one to the next."""
    number, uuid = "@number@", "@uuid@"
    frame = _object(run.fill(_marked(step["frame"], {"$n": number, "$uuid": uuid})))
    run.program.before(frame)
    line, stamp = encode(frame), os.urandom(4).hex()
    numbered = json.dumps(number).encode()
    pieces = []
    for n in range(step["count"]):
        copy = line.replace(numbered, b"%d" % n)
        pieces.append(copy.replace(uuid.encode(), b"%s-0000-4000-a000-%012x" % (stamp.encode(), n)))
    run.program.outbox.put(b"".join(pieces))
    yield from ()


def _marked(value: object, marks: Frame) -> object:
    if isinstance(value, dict):
        return {key: _marked(item, marks) for key, item in value.items()}
    if isinstance(value, list):
        return [_marked(item, marks) for item in value]
    return marks.get(value, value) if isinstance(value, str) else value


def _expect(run: ScriptRun, step: Frame) -> Play:
    yield Wait(lambda: run.claimed() is not None)
    run.frame = run.claimed()


def _answer(run: ScriptRun, step: Frame) -> Play:
    run.program.replies.success(_expected(run), run.fill(step["payload"]), **step["beside"])
    yield from ()


def _answer_error(run: ScriptRun, step: Frame) -> Play:
    fields = {key: step[key] for key in ("error", "error_code") if step.get(key) is not None}
    run.program.replies.error(_expected(run), **fields)
    yield from ()


def _default(run: ScriptRun, step: Frame) -> Play:
    run.program.default(_expected(run))
    yield from ()


def _expected(run: ScriptRun) -> Frame:
    """The frame that was expected last."""
    if run.frame is None:
        raise ValueError(f"a step of the {run.name} script answers, but nothing was expected before it")
    return run.frame


def _ask(run: ScriptRun, step: Frame) -> Play:
    request_id = run.program.ask(_object(run.fill(step["request"])), step["request_id"])
    run.asked.append(request_id)
    if step["wait"]:
        yield from await_answers(run, [request_id], step["timeout"])


def _ask_permission(run: ScriptRun, step: Frame) -> Play:
    tool_use_id = step["tool_use_id"] or f"toolu_{fresh_id()[:8]}"
    request = permission_request(run, step["tool"], step["input"], tool_use_id)
    yield from _ask(run, {**step, "request": {**request, **step["extra"]}})


def _call_hook(run: ScriptRun, step: Frame) -> Play:
    asked = call_hooks(run, step["event"], _object(run.fill(step["input"])), step["callback_id"])
    run.asked += asked
    if not asked:
        run.program.journal.note("no_hook", hook_event=step["event"])
    if step["wait"]:
        yield from await_answers(run, asked, step["timeout"])


def _wait_answers(run: ScriptRun, step: Frame) -> Play:
    yield from await_answers(run, run.asked, None)


def _cancel(run: ScriptRun, step: Frame) -> Play:
    run.program.cancel(step["request_id"] or run.asked[-1])
    yield from ()


def _delay(run: ScriptRun, step: Frame) -> Play:
    yield Wait(seconds=step["seconds"])


def _wait_gate(run: ScriptRun, step: Frame) -> Play:
    path = os.path.join(run.program.script["folder"], "gates", step["name"])
    yield Wait(lambda: os.path.exists(path), polled=True)


def _wait_eof(run: ScriptRun, step: Frame) -> Play:
    yield Wait(lambda: run.program.ended)


def _wait_idle(run: ScriptRun, step: Frame) -> Play:
    yield run.program.turns.over()


def _stderr(run: ScriptRun, step: Frame) -> Play:
    _write_all(2, step["text"].encode("utf-8", "surrogatepass"))
    yield from ()


def _flood_stderr(run: ScriptRun, step: Frame) -> Play:
    """Write much to stderr; as in a real program, all else stands still while nobody reads it."""
    count = step["count"]
    _write_all(2, (_FLOOD_LINE * (count // len(_FLOOD_LINE) + 1))[:count])
    yield from ()


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _crash(run: ScriptRun, step: Frame) -> Play:
    raise Ended(step["code"])
    yield  # which makes this a script


def _die(run: ScriptRun, step: Frame) -> Play:
    run.program.outbox.drain()
    number = signal.Signals[step["signal"]]
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    run.program.journal.note("exit", code=-number)
    os.kill(os.getpid(), number)
    yield Wait()


def _ignore_signals(run: ScriptRun, step: Frame) -> Play:
    for name in step["signals"]:
        signal.signal(signal.Signals[name], signal.SIG_IGN)
    yield from ()


def _close_stdout(run: ScriptRun, step: Frame) -> Play:
    run.program.outbox.close()
    yield from ()


def _close_stdin(run: ScriptRun, step: Frame) -> Play:
    run.program.close_input()
    yield from ()


def _set_reading(run: ScriptRun, step: Frame) -> Play:
    run.program.reading = step["reading"]
    yield from ()


def _hang(run: ScriptRun, step: Frame) -> Play:
    """Do nothing more: neither read, nor write, nor see the end of input; only signals end it."""
    run.program.outbox.drain()
    while True:
        signal.pause()
    yield  # which makes this a script


def _leave_child(run: ScriptRun, step: Frame) -> Play:
    """Start a process in a session of its own that holds our output open, as a tool that outlives its program."""
    code = "import time; time.sleep(float(__import__('sys').argv[1]))"
    command = [sys.executable, "-I", "-S", "-c", code, str(step["seconds"])]
    environment = {**os.environ, "CLAUDE_CONTROL_SCRIPTED": run.program.script["folder"]}
    pid = os.fork()
    if pid == 0:
        _become(command, environment, step["holds_output"], step["ignores_sigterm"])
    run.program.journal.note("left_child", pid=pid)
    yield from ()


def _become(command: list[str], environment: dict[str, str], holds_output: bool, ignores_sigterm: bool) -> None:
    """Turn the forked child into the process that is left behind."""
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_IGN if ignores_sigterm else signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0,) if holds_output else (0, 1, 2):
            os.dup2(null, descriptor)
        os.execve(command[0], command, environment)
    finally:
        os._exit(127)


def _reply(run: ScriptRun, step: Frame) -> Play:
    """Write an assistant's text; in pieces first, if partial messages were asked for or a pause is to be made."""
    program, frames, turn = run.program, run.program.frames, run.turn
    text = str(run.fill(step["text"])) if step["text"] is not None else f"answer to: {turn.text[:200] if turn else ''}"
    pieces = [text] if step["pause"] is None else text.split(" ")
    if program.partials:
        program.say(*frames.opening())
    for number, word in enumerate(pieces):
        piece = word if number == 0 else f" {word}"
        if turn:
            turn.partial += piece
        if program.partials:
            program.say(frames.piece(piece))
        if step["pause"]:
            yield Wait(seconds=step["pause"])
    program.say(frames.assistant([{"type": "text", "text": text}], turn.names() if turn else []))
    if program.partials:
        program.say(*frames.closing())
    if turn:
        turn.reply, turn.partial = text, ""


def _result(run: ScriptRun, step: Frame) -> Play:
    fields, turn = _object(run.fill(step["fields"])), run.turn
    if turn:
        turn.result(**fields)
    else:
        run.program.say_result(run.program.frames.result("", [], **fields))
    yield from ()


def _background_turn(run: ScriptRun, step: Frame) -> Play:
    run.program.turns.add_own(step["turn"])
    yield from ()


def _note(run: ScriptRun, step: Frame) -> Play:
    run.program.journal.note("note", text=step["text"])
    yield from ()


def _object(value: object) -> Frame:
    """Return a value that a script gives where an object belongs."""
    if not isinstance(value, dict):
        raise TypeError(f"not an object: {value!r}")
    return value


STEPS: dict[str, Callable[[ScriptRun, Frame], Play]] = {
    "answer": _answer,
    "answer_error": _answer_error,
    "ask": _ask,
    "ask_permission": _ask_permission,
    "background_turn": _background_turn,
    "burst": _burst,
    "call_hook": _call_hook,
    "cancel": _cancel,
    "close_stdin": _close_stdin,
    "close_stdout": _close_stdout,
    "crash": _crash,
    "default": _default,
    "delay": _delay,
    "die": _die,
    "expect": _expect,
    "flood_stderr": _flood_stderr,
    "hang": _hang,
    "ignore_signals": _ignore_signals,
    "leave_child": _leave_child,
    "note": _note,
    "raw": _raw,
    "reply": _reply,
    "result": _result,
    "say": _say,
    "set_reading": _set_reading,
    "split": _split,
    "stderr": _stderr,
    "use_tool": use_tool,
    "wait_answers": _wait_answers,
    "wait_eof": _wait_eof,
    "wait_gate": _wait_gate,
    "wait_idle": _wait_idle,
}
