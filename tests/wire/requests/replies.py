"""The golden samples of control requests: what was asked of the real programs, and every answer that came."""

import functools
import json
from pathlib import Path
from typing import Any

import attrs

from claude_control.wire.envelope import Reply, read_reply

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


@attrs.frozen
class Exchange:
    """One request and its answers, from a program of this version; paths are scrubbed, long texts and lists are cut."""

    version: str
    name: str
    request: dict[str, Any]
    answers: tuple[dict[str, Any], ...]

    @property
    def reply(self) -> Reply:
        """The first answer: the old programs answer some requests twice, and only the first counts."""
        reply = read_reply(self.answers[0])
        assert reply is not None
        return reply

    def __str__(self) -> str:
        return f"{self.version}/{self.name}"


@functools.cache
def exchanges() -> tuple[Exchange, ...]:
    """Return all samples, of all versions."""
    return tuple(_read(file) for file in sorted(GOLDEN.glob("*/replies/*.json")))


def exchange(name: str) -> Exchange:
    """Return one sample by "version/name"."""
    return next(one for one in exchanges() if str(one) == name)


def _read(file: Path) -> Exchange:
    content = json.loads(file.read_text(encoding="utf-8"))
    return Exchange(file.parts[-3], file.stem, content["request"], tuple(content["answers"]))
