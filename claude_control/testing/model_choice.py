"""Which answer fits a request: a pure reading of the conversation that the program sends.

The newest script in the user's texts decides. Its answer number k is for the request that comes after k answers of the
model, so a retried request gets the same answer again, and tool results, continuations and hook feedback get the next.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import attrs

from claude_control.testing.model_prompt import Script, Turn, scripts_in
from claude_control.testing.model_script import Answer, Text, ToolCall

__all__ = ["Choice", "choose"]

# What the program says to the model after an interrupt (2.0.75 to 2.1.332): the script before it is over.
_INTERRUPTED = "[Request interrupted by user"
# The program's own requests for a summary (/compact); they repeat the conversation, its script included.
_SUMMARY_WANTED = ("detailed summary of th", "Do NOT use any tools", "Do NOT call any tools")

_SIDE_ANSWER = Answer(Text("A side answer."))
_SUMMARY = Answer(Text("<analysis>None.</analysis>\n<summary>A summary of the conversation.</summary>"))


@attrs.frozen
class Choice:
    """What answers a request: a turn, and, if it comes from a script, the script's id and the answer's number in it."""

    turn: Turn
    script_id: str | None = None
    step: int | None = None


def choose(body: Mapping[str, Any], default: Answer) -> Choice:
    """Return what answers a request to the Messages API; `default` is for one that no script is in force for.

    Requests that the program makes for itself (titles, summaries) get a plain text. Raises ValueError when the
    conversation holds a script that cannot be read.
    """
    messages: Sequence[Mapping[str, Any]] = body.get("messages") or []
    tools = bool(body.get("tools"))
    if messages and any(wanted in text for text in _texts(messages[-1]) for wanted in _SUMMARY_WANTED):
        return Choice(Turn((), _SUMMARY))
    place, script = _script_in_force(messages, quoted=tools)
    if script is None:
        return Choice(Turn((), default if tools else _SIDE_ANSWER))
    step = _answers_after(messages[place + 1 :])
    turn = script.turn(step)
    answer = turn.answer or default
    if not tools and any(isinstance(part, ToolCall) for part in answer.parts):
        return Choice(Turn((), _SIDE_ANSWER))
    return Choice(Turn(turn.before, answer), script.id, step)


def _script_in_force(messages: Sequence[Mapping[str, Any]], *, quoted: bool) -> tuple[int, Script | None]:
    """Return the newest script and the place of its message; (-1, None) if there is none or an interrupt ended it.

    `quoted` admits a script in the middle of a text, where the program puts a prompt that it folds into a running turn.
    """
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].get("role") != "user":
            continue
        for text in reversed(list(_texts(messages[place]))):
            found = [item for item in scripts_in(text) if quoted or item[0] == 0]
            if text.rfind(_INTERRUPTED) >= (found[-1][1] if found else 0):
                return -1, None
            if found:
                return place, found[-1][2]
    return -1, None


def _answers_after(messages: Sequence[Mapping[str, Any]]) -> int:
    """Count the answers of the model; the program may send one answer as several messages in a row."""
    return sum(1 for role, _ in groupby(message.get("role") for message in messages) if role == "assistant")


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a message, those inside of tool results left out."""
    content = message.get("content")
    if isinstance(content, str):
        yield content
        return
    for block in content or []:
        if isinstance(block, Mapping) and block.get("type") == "text":
            yield str(block.get("text", ""))
