"""Who leads and comes back at once: what came meanwhile is its own, and the reader looks whether it does."""

import os
from functools import partial

import pytest

from claude_control.process import standby
from tests.process.standing import Pipe
from tests.waiting import wait_until

_NULL = os.open(os.devnull, os.O_WRONLY)


def lead_briefly(pipe: Pipe, *, wrote: bytes = b"", taken: int = 100) -> list[bytes]:
    """Take so much of the next output, in this thread, and leave to come back at once."""
    steps, took = [partial(pipe.write, wrote)], list[bytes]()

    def waits() -> bool:
        while steps:  # once it leads, for the reader has what comes before that
            steps.pop()()
        return not took

    def take(chunk: bytes) -> bytes:
        took.append(chunk[:taken])
        return chunk[taken:]

    pipe.standby.lead(waits, take, 10, returns=lambda: True)
    return took


def test_who_comes_back_has_what_came_meanwhile(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who leaves to come back at once has the output of the time in between, of which the reader is not told."""
    monkeypatch.setattr(standby, "_TICK", 60)
    pipe.stand()
    assert lead_briefly(pipe, wrote=b"first") == [b"first"]
    for _ in range(20):
        pipe.write(b"meanwhile")
        assert lead_briefly(pipe) == [b"meanwhile"]
    assert pipe.standby._standing and pipe.was_left == []
    pipe.write(b"end")
    pipe.standby.lead(lambda: True, bytes, 10)  # who cannot deal with it leaves it to the reader
    assert pipe.read() == b"end"


@pytest.mark.parametrize("output", [b"", b"late"])
def test_reader_watches_again_where_nobody_comes_back(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, output: bytes
) -> None:
    """What is put off is done at the reader's looks, which end soon; it has what had come, and what comes then."""
    monkeypatch.setattr(standby, "_LOOK", 60)
    pipe.stand()
    assert lead_briefly(pipe, wrote=b"first") == [b"first"]
    pipe.write(output)
    wait_until(lambda: pipe.looks > 0 and not pipe.standby.ticks)
    if not output:
        pipe.write(b"end")
    assert pipe.read() == (output or b"end")


def test_rest_of_what_was_taken_is_the_readers(pipe: Pipe) -> None:
    """What `take` returns of some output is read by the reader, and nothing else of it."""
    pipe.stand()
    assert lead_briefly(pipe, wrote=b"mine, and more", taken=4) == [b"mine"]
    assert pipe.read() == b", and more"


def test_end_of_output_is_the_readers(pipe: Pipe) -> None:
    """Who leads leaves at the end of output at once, however long it may wait, and the reader has the end."""
    pipe.stand()
    chunks: list[bytes] = []

    def waits() -> bool:
        os.dup2(_NULL, pipe.writing)  # once it leads; nobody has the pipe's own end then
        return True

    pipe.standby.lead(waits, lambda chunk: chunks.append(chunk) or chunk, 10)  # type: ignore[func-returns-value]
    assert chunks == [b""]
    assert pipe.read() == b""
    assert not pipe.standby.ticks
