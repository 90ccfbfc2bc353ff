"""The golden samples of messages: what the real programs wrote, one object a file, and strategies that vary it."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from hypothesis import strategies as st

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

Place = tuple[str | int, ...]
"""Where something stands in a JSON value: keys and indexes, outermost first."""


@attrs.frozen
class Sample:
    """One message as a program of this version wrote it; paths are scrubbed, and long texts may be cut."""

    version: str
    name: str
    text: str

    @property
    def raw(self) -> dict[str, Any]:
        """The decoded object, a fresh one each time."""
        decoded: dict[str, Any] = json.loads(self.text)
        return decoded

    def __str__(self) -> str:
        return f"{self.version}/{self.name}"


@functools.cache
def samples() -> tuple[Sample, ...]:
    """Return all samples, of all versions."""
    files = sorted(GOLDEN.glob("*/messages/*.json"))
    return tuple(Sample(file.parts[-3], file.stem, file.read_text(encoding="utf-8")) for file in files)


# Any JSON value, and what the tolerant parser lets through besides: NaN, infinities, integers of any length.
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def paths(value: Any, above: Place = ()) -> Iterator[Place]:
    """Yield where everything inside a JSON value stands."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*above, key)
        yield from paths(item, (*above, key))


def replaced(raw: dict[str, Any], path: Place, value: Any) -> dict[str, Any]:
    """Return the object with another value at a path; changes the object."""
    place: Any = raw
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return raw


@st.composite
def altered(draw: st.DrawFn) -> dict[str, Any]:
    """Return a sample with one thing in it, at any depth, replaced by any JSON value."""
    raw = draw(st.sampled_from(samples())).raw
    path = draw(st.sampled_from(list(paths(raw))))
    return replaced(raw, path, draw(json_values))
