"""What the tests of tools have in common."""

from collections.abc import Iterator

import pytest

from claude_control.deadline import Deadline
from claude_control.session.pool import CallbackPool
from tests.tools.peers import Latch


@pytest.fixture
def pool() -> Iterator[CallbackPool]:
    """A session's pool for callbacks; at the end all that runs in it must end."""
    made = CallbackPool("claude-test-callback")
    yield made
    made.close()
    assert made.join(Deadline(10)) == []


@pytest.fixture
def latch() -> Iterator[Latch]:
    """A latch that is opened at the end, whatever the test did."""
    made = Latch()
    yield made
    made.open()
