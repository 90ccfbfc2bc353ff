"""Tests mirror the source: `tests/wire/test_framing.py` holds the guarantees of `claude_control/wire/framing.py`."""
