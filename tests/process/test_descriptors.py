"""Descriptors are closed once, by whoever holds them last."""

import os

import pytest

from claude_control.process import descriptors
from claude_control.process.descriptors import Descriptor, pipe


def is_open(fd: int) -> bool:
    """Whether the number is that of an open descriptor."""
    return os.path.exists(f"/proc/self/fd/{fd}")


def test_descriptor_is_closed_once() -> None:
    """A second close does not touch the number, which may be somebody else's by then."""
    reading, writing = pipe()
    number = reading.fd
    reading.close()
    again = os.dup2(writing.fd, number)
    reading.close()
    assert is_open(again)
    os.close(again)
    writing.close()
    assert repr(writing) == "<Descriptor closed>"


def test_programs_do_not_inherit_a_pipe() -> None:
    """Both ends are closed in programs that are started elsewhere in this process."""
    ends = pipe()
    assert [os.get_inheritable(end.fd) for end in ends] == [False, False]
    for end in ends:
        end.close()


def test_dropped_descriptor_is_closed_with_a_warning() -> None:
    """A descriptor that nobody holds any more is closed, and a ResourceWarning says that it was forgotten."""
    reading, writing = os.pipe()
    os.close(writing)
    descriptor = Descriptor(reading)
    with pytest.warns(ResourceWarning, match=f"descriptor {reading} was never closed"):
        del descriptor
    assert not is_open(reading)


def test_closed_descriptors_are_forgotten() -> None:
    """What is noted for forked children goes with the close, whoever closes it."""
    noted = set(descriptors._open.by_number)
    reading, writing = pipe()
    assert set(descriptors._open.by_number) - noted == {reading.fd, writing.fd}
    reading.close()
    with pytest.warns(ResourceWarning, match="never closed"):
        del writing
    assert set(descriptors._open.by_number) == noted
