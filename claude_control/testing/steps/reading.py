"""Steps about what the stand-in reads: expecting, answering, and not reading."""

from typing import Any

from claude_control.testing.steps.records import Frame, Step


def expect(frame: Frame) -> Step:
    """Wait for the next frame of this kind, and end the run with exit code 97 if it does not fit.

    The kind is the `type`, and of a request the `subtype`. The partial frame fits if all that it names is the same.
    A frame that a step to come expects is not answered by default; frames of other kinds are. The end of input is a
    mismatch too.
    """
    return Step("expect", {"frame": frame})


def expect_prompt(text: str = "$any") -> Step:
    """Wait for the next user frame, as `expect`; no turn begins by itself then."""
    return expect({"type": "user", "message": {"content": text}})


def expect_request(subtype: str, **fields: Any) -> Step:
    """Wait for the next control request of a subtype, as `expect`; answer it with `answer`, or with `default`."""
    return expect({"type": "control_request", "request": {"subtype": subtype, **fields}})


def default() -> Step:
    """Do with the frame expected last what happens by default: answer the request, begin the turn."""
    return Step("default")


def answer(payload: Any = None, **beside: Any) -> Step:
    """Answer the request expected last; without a payload the answer has no `response` key.

    Further fields stand beside `response`.
    """
    return Step("answer", {"payload": payload, "beside": beside})


def answer_error(error: str, code: str | None = None) -> Step:
    """Answer the request expected last with an error; older programs give no code."""
    return Step("answer_error", {"error": error, "error_code": code})


def wait_eof() -> Step:
    """Wait until input has ended; the run then goes on to the end of this script."""
    return Step("wait_eof")


def stop_reading() -> Step:
    """Read no more of stdin, so that the pipe fills; the end of input is not seen either."""
    return Step("set_reading", {"reading": False})


def resume_reading() -> Step:
    """Read stdin again."""
    return Step("set_reading", {"reading": True})


def close_stdin() -> Step:
    """Close stdin: the SDK's next write fails."""
    return Step("close_stdin")
