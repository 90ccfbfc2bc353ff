"""Steps of time and trouble: waiting, crashing, hanging, leaving processes behind."""

from claude_control.testing.steps.records import Step


def delay(seconds: float) -> Step:
    """Wait; what is read meanwhile is answered."""
    return Step("delay", {"seconds": seconds})


def wait_gate(name: str) -> Step:
    """Wait until the test opens a gate with `ScriptedCLI.open_gate`."""
    return Step("wait_gate", {"name": name})


def crash(code: int = 1) -> Step:
    """Exit with a code, everything said before being written."""
    return Step("crash", {"code": code})


def die(signal: str = "SIGKILL") -> Step:
    """Die of a signal, everything said before being written."""
    return Step("die", {"signal": signal})


def ignore_signals(*signals: str) -> Step:
    """Ignore signals from now on; without names SIGTERM."""
    return Step("ignore_signals", {"signals": signals or ("SIGTERM",)})


def hang() -> Step:
    """Do nothing more, not even at the end of input; only a signal ends it."""
    return Step("hang")


def leave_child(*, seconds: float = 60.0, holds_output: bool = True, ignores_sigterm: bool = False) -> Step:
    """Leave a process behind that lives in a session of its own and holds stdout and stderr open.

    It ends by itself after `seconds`; `ScriptedCLI.left_children` has its pid.
    """
    fields = {"seconds": seconds, "holds_output": holds_output, "ignores_sigterm": ignores_sigterm}
    return Step("leave_child", fields)


def note(text: str) -> Step:
    """Write a `note` event into the record."""
    return Step("note", {"text": text})
