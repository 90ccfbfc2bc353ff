"""What every record that is read from the wire has in common."""

from typing import Any

import attrs

from claude_control.records import frozen

__all__ = ["WireRecord"]


@frozen(repr=False)
class WireRecord:
    """The base of messages, blocks and their parts.

    Every field has a default, because every field may be missing on the way in: a missing field, or one of another
    type than its annotation, is its default. `raw` is the decoded object as it came, with what no field stands for;
    it takes no part in `==` and `repr()`, so that a block that came equals one that you make. The dicts and lists of a
    record are those of `raw`: copy them before changing them, and use no record that holds some as a key.
    """

    raw: dict[str, Any] = attrs.field(factory=dict, kw_only=True, repr=False, eq=False)

    def __repr__(self) -> str:
        shown = (field.name for field in attrs.fields(type(self)) if field.repr)
        parts = [f"{name}={getattr(self, name)!r}" for name in shown if not self._is_default(name)]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _is_default(self, name: str) -> bool:
        """Whether a field has the value it has when it is missing; most fields of most messages do."""
        default = getattr(attrs.fields(type(self)), name).default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # the stubs show the class as a function
            default = default.factory()
        return bool(getattr(self, name) == default)
