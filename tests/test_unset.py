"""The marker for "not given"."""

import copy
import pickle

from claude_control.unset import UNSET, Unset


def test_marker_is_one() -> None:
    """Copying and pickling bring back the same object, so that `is` tells."""
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET
    assert copy.deepcopy(UNSET) is UNSET
    assert list(Unset) == [UNSET]


def test_marker_is_not_none() -> None:
    """Not given differs from None, and is false."""
    values: list[object] = [UNSET, None]
    assert values[0] != values[1]
    assert not UNSET


def test_marker_says_its_name() -> None:
    """Signatures and messages show it as it is written."""
    assert repr(UNSET) == "UNSET"
