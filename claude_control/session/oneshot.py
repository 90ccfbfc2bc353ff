"""One prompt in a session of its own."""

from collections.abc import Iterator
from typing import Any, TypeVar, cast, overload

from claude_control.deadline import Deadline
from claude_control.errors import OptionsError, StructuredOutputError
from claude_control.options import Options, merge_options
from claude_control.session.idle import follow
from claude_control.session.session import Session
from claude_control.wire.messages import Message, ResultMessage
from claude_control.wire.prompts import Prompt

__all__ = ["query", "run"]

T = TypeVar("T")


def query(prompt: Prompt, options: Options | None = None, **fields: Any) -> Iterator[Message]:
    """Ask once and iterate everything that comes of it, background tasks included, until the program rests.

    Leaving the loop early and closing the generator interrupts and closes. Raises what `Session.open()` and iterating a
    `Turn` raise, and `ProcessExitedError` too if the program dies during the background work.
    """
    with Session(options, **fields) as session:
        yield from session.ask(prompt)
        yield from follow(session._live(), Deadline(None))


@overload
def run(
    prompt: Prompt, options: Options | None = None, *, output_type: type[T], timeout: float | None = None, **fields: Any
) -> T: ...
@overload
def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    output_type: None = None,
    timeout: float | None = None,
    **fields: Any,
) -> ResultMessage: ...
def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    output_type: type[T] | None = None,
    timeout: float | None = None,
    **fields: Any,
) -> ResultMessage | T:
    """Ask once, wait until the program rests, background tasks included, and return the result.

    With `output_type` (a type that msgspec understands: attrs, dataclass, TypedDict, Struct, list[int] …) the model is
    made to answer in its schema, and the value is returned instead. `timeout` in seconds bounds all of it; then
    `WaitTimeoutError` is raised and the session closed. Raises what `Turn.result()` raises,
    `ProcessExitedError` too if the program dies during the background work, and `StructuredOutputError` when no fitting
    output came.
    """
    deadline = Deadline(timeout)
    if output_type is not None:
        fields["output_format"] = _output_format(output_type)
    with Session(merge_options(options, **fields)) as session:
        result = session.ask(prompt).result(timeout=deadline.remaining())
        for _ in follow(session._live(), deadline):
            pass
    return result if output_type is None else _parse(result, output_type)


def _output_format(output_type: Any) -> dict[str, Any]:
    import msgspec

    try:
        schema = msgspec.json.schema(output_type)
    except TypeError as error:
        raise OptionsError(f"output_type has no JSON schema: {error}", field="output_type") from error
    return {"type": "json_schema", "schema": _inlined(schema)}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Put the outermost object in place of its reference: the program wants an object there."""
    reference = schema.get("$ref", "")
    definitions = schema.get("$defs", {})
    name = reference.removeprefix("#/$defs/")
    if not reference or name not in definitions:
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**rest, **definitions[name]}


def _parse(result: ResultMessage, output_type: type[T]) -> T:
    import msgspec

    try:
        return msgspec.convert(result.structured_output, output_type)
    except msgspec.ValidationError as error:
        wanted = output_type.__qualname__ if isinstance(output_type, type) else repr(output_type)
        text = f"the output does not fit {wanted}: {error}; {StructuredOutputError.advice}"
        raise StructuredOutputError(text, result=cast(Any, result), outcome="structured_output") from error
