"""Prompts: what may be one, and what the frame that carries one may say beside it.

Measured on 2.0.75, 2.1.7 and 2.1.332. The two older programs ignore every field below: they answer a prompt that was
only to be noted, and run a command that was only to be read. So a field never reaches them.
"""

from typing import Any, Final

from claude_control.errors import OptionsError

__all__ = ["PRIORITIES", "Prompt", "check_prompt", "is_expanded", "prompt_fields"]

Prompt = str | list[dict[str, Any]]
"""A text, or content blocks."""

PRIORITIES: Final = ("now", "next", "later")
"""When a prompt that comes while a turn runs is taken up: it ends that turn, joins it, or waits for its end."""


def check_prompt(prompt: Prompt) -> Prompt:
    """Refuse what hangs or kills a program: 2.0.75 and 2.1.7 never end a turn for `[]` and exit on null."""
    if isinstance(prompt, str):
        if prompt.strip():
            return prompt
    elif isinstance(prompt, list) and prompt and all(isinstance(block, dict) and block.get("type") for block in prompt):
        return prompt
    raise OptionsError(
        "a prompt is a text that is not empty, or a list of content blocks (dicts with a type)", field="prompt"
    )


def prompt_fields(*, priority: str | None = None, should_query: bool = True, verbatim: bool = False) -> dict[str, Any]:
    """Return the fields that 2.1.332 obeys; {} for a plain prompt, which every program takes."""
    if priority is not None and priority not in PRIORITIES:
        raise OptionsError(f"priority is one of {', '.join(PRIORITIES)}, not {priority!r}", field="priority")
    fields: dict[str, Any] = {} if priority is None else {"priority": priority}
    if not should_query:
        fields["shouldQuery"] = False
    if verbatim:
        fields["client_composed"] = True
    return fields


def is_expanded(prompt: Prompt) -> bool:
    """Tell whether a program may send something else than the prompt to the model.

    A leading "/" runs a command, in the last block at least; "@" may mention a file, whose text is then added, or an
    agent or a resource.
    """
    blocks = [{"text": prompt}] if isinstance(prompt, str) else prompt
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    return any(text.lstrip().startswith("/") or "@" in text for text in texts)
