"""What several tests of pipes share."""

from collections.abc import Iterator

import pytest

from tests.process.standing import Pipe


@pytest.fixture
def pipe(no_leaks: None) -> Iterator[Pipe]:
    """A pipe that is closed at the end."""
    made = Pipe()
    yield made
    made.close()
