"""Running functions in threads at the same moment, and striking a thread from outside."""

import ctypes
import dis
import gc
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

_LOOKS = ("CALL", "RESUME", "JUMP_BACKWARD")  # after these CPython looks for an exception from outside

# CPython 3.11 goes round in circles at a traced function's RESUME while an exception waits for a blocked thread, so
# that whoever holds the lock never gives it back (ceval.c, DO_TRACING). The runs without coverage do such tests.
LIVELOCKS_WHEN_TRACED = pytest.mark.skipif(
    sys.version_info < (3, 12) and sys.gettrace() is not None, reason="CPython 3.11 livelocks under a trace function"
)


def together(functions: Sequence[Callable[[], T]], timeout: float = 20.0) -> list[T]:
    """Run every function in a thread of its own, all released at once; returns their results in order.

    Raises what the first of them raised, and AssertionError if one has not ended after `timeout` seconds.
    """
    gate = threading.Barrier(len(functions))
    results: list[T | None] = [None] * len(functions)
    errors: list[BaseException] = []

    def run(index: int, function: Callable[[], T]) -> None:
        gate.wait(timeout)
        try:
            results[index] = function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=item, daemon=True) for item in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
        assert not thread.is_alive(), "a thread has not ended"
    if errors:
        raise errors[0]
    return results  # type: ignore[return-value]  # every function has returned


def strike(thread: threading.Thread, error: type[BaseException]) -> None:
    """Raise an exception in another thread, as Celery's time limits and debuggers do."""
    assert thread.ident is not None
    hit = ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(error))
    assert hit == 1, "no such thread"


class Struck(BaseException):
    """Stands for what a debugger or a time limit raises in a thread from outside."""


def struck(work: Callable[[], object], number: int) -> bool:
    """Do some work, with an exception from outside at this place of our code; False if it has fewer places.

    Such an exception comes where CPython looks for one: after a call, at the begin of a function, and at the end of a
    loop's body. So a failing place is found every time, and not once in ten thousand runs.
    """
    last: dict[FrameType, int] = {}
    places = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal places
        if event == "call":
            if not frame.f_globals.get("__name__", "").startswith("claude_control."):
                return None  # another's: the garbage collector's callbacks, for instance
            frame.f_trace = trace  # without this and the last line CPython 3.12 and 3.13 do not heed the one between
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            sys.settrace(trace)
        if event != "opcode":
            return trace
        before, last[frame] = last.get(frame, 0), frame.f_lasti
        if dis.opname[frame.f_code.co_code[before]].startswith(_LOOKS):
            places += 1
            if places == number:
                raise Struck
        return trace

    before = sys.gettrace()
    gc.disable()  # what raises in a finalizer is printed, and lost
    sys.settrace(trace)
    try:
        work()
    except Struck:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return False
