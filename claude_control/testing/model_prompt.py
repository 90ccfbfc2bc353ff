"""Scripts inside prompts: a script travels to the model server in the text of the prompt that it answers.

So every prompt brings its own answers along, and sessions that run at the same time never take each other's.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from claude_control.testing.model_script import (
    Answer,
    Before,
    Block,
    Delay,
    Drop,
    Gate,
    HttpError,
    LongText,
    Step,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    Words,
)

__all__ = ["Script", "Turn", "script", "scripts_in"]

_MARK = "model-script: "
_KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (Answer, Delay, Drop, Gate, HttpError, LongText, StreamError, Text, Thinking, ToolCall, Words)
}
# The program looks for file mentions and for its own tags in prompts; inside JSON strings these can be escaped.
_INERT = {ord(character): f"\\u{ord(character):04x}" for character in "@<>"}
_decoder = json.JSONDecoder()


@attrs.frozen
class Turn:
    """One answer of a script with what happens before it; the answer is None after the script's last one."""

    before: tuple[Before, ...]
    answer: Answer | None


@attrs.frozen
class Script:
    """A script as the server reads it: its id, unique for each call of `script`, and its turns."""

    id: str
    turns: tuple[Turn, ...]

    def turn(self, index: int) -> Turn:
        """Return the turn that answers the request number `index`; an empty one past the end."""
        return self.turns[index] if index < len(self.turns) else Turn((), None)


def script(*steps: Step) -> str:
    """A prompt that carries a script: its steps answer, one after the other, the requests that the prompt leads to.

    Raises ValueError for something that cannot be a step.
    """
    for step in steps:
        if not isinstance(step, Step):
            raise ValueError(f"not a step of a script: {step!r}")
    record = {"id": secrets.token_hex(4), "steps": [_encoded(step) for step in steps]}
    return _MARK + json.dumps(record).translate(_INERT)


def scripts_in(text: str) -> Iterator[tuple[int, int, Script]]:
    """Yield (start, end, script) for each script in a text, in order; a script inside of a script is not seen.

    Raises ValueError when one cannot be read.
    """
    end = 0
    while (start := text.find(_MARK, end)) >= 0:
        record, end = _decoder.raw_decode(text, start + len(_MARK))
        try:
            yield start, end, Script(record["id"], _turns([_decoded(step) for step in record["steps"]]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a script: {error!r}") from error


def _turns(steps: Sequence[Step]) -> tuple[Turn, ...]:
    """Group the steps into answers, each with what comes before it."""
    turns: list[Turn] = []
    before: list[Before] = []
    for step in steps:
        if isinstance(step, Answer | Block):
            turns.append(Turn(tuple(before), step if isinstance(step, Answer) else Answer(step)))
            before.clear()
        else:
            before.append(step)
    return (*turns, Turn(tuple(before), None)) if before else tuple(turns)


def _encoded(step: Any) -> dict[str, Any]:
    """Return a step as JSON: the name of its class and its fields."""
    fields = attrs.asdict(step, recurse=False)
    if isinstance(step, Answer):
        fields["parts"] = [_encoded(part) for part in step.parts]
        fields["usage"] = dict(step.usage)
        fields["headers"] = dict(step.headers)
    return {"step": type(step).__name__, **fields}


def _decoded(record: Mapping[str, Any]) -> Any:
    """Return the step that `_encoded` wrote."""
    fields = dict(record)
    kind = _KINDS[fields.pop("step")]
    if kind is Answer:
        return Answer(*(_decoded(part) for part in fields.pop("parts")), **fields)
    if kind is ToolCall:
        return ToolCall(fields["name"], **fields["input"])
    return kind(**fields)
