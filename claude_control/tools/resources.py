"""Resources and prompts that a server offers beside its tools."""

import inspect
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import attrs

from claude_control.errors import OptionsError
from claude_control.records import frozen
from claude_control.tools.contents import EmbeddedResource, text_block
from claude_control.tools.descriptions import describe

__all__ = ["Prompt", "Resource", "ResourceTemplate"]

_VARIABLE = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}")


@frozen(eq=False)
class Resource:
    """Something to read, by its `uri`: a text, bytes, or a function without parameters that returns either.

    The function is called for every reading, on a thread of the session's.
    """

    uri: str
    content: str | bytes | Callable[[], str | bytes] = attrs.field(repr=False)
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None

    def definition(self) -> dict[str, Any]:
        """Return what `resources/list` says of it."""
        named = {"title": self.title, "description": self.description, "mimeType": self.mime_type}
        given = {key: value for key, value in named.items() if value is not None}
        return {"uri": self.uri, "name": self.name or self.uri, **given}

    def read(self) -> dict[str, Any]:
        """Return what `resources/read` gives; raises what the function raises, and TypeError for what is no content."""
        return _contents(self.uri, self.content() if callable(self.content) else self.content, self.mime_type)


@frozen(eq=False)
class ResourceTemplate:
    """Many things to read, by addresses of one form: `ResourceTemplate("notes://{day}", read_note)`.

    `{name}` in `uri_template` stands for a text without a "/", `{+name}` for one that may have some. The function gets
    them by these names, percent-encoding undone, and returns a text or bytes.
    """

    uri_template: str
    function: Callable[..., str | bytes] = attrs.field(repr=False)
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    _pattern: re.Pattern[str] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_pattern", _as_pattern(self.uri_template))  # a frozen record completes itself
        if not callable(self.function) or inspect.iscoroutinefunction(self.function):
            raise OptionsError(f"{self.uri_template} needs a plain function that reads it", field="resources")
        try:
            inspect.signature(self.function).bind(**dict.fromkeys(self._pattern.groupindex, ""))
        except TypeError as error:
            text = f"the function of {self.uri_template} does not take what the template names: {error}"
            raise OptionsError(text, field="resources") from error

    def definition(self) -> dict[str, Any]:
        """Return what `resources/templates/list` says of it."""
        description = self.description or describe(self.function.__doc__).text or None
        named = {"title": self.title, "description": description, "mimeType": self.mime_type}
        given = {key: value for key, value in named.items() if value is not None}
        return {"uriTemplate": self.uri_template, "name": self.name or self.uri_template, **given}

    def match(self, uri: str) -> dict[str, str] | None:
        """Return what stands in the places of the template's names, None for an address of another form."""
        found = self._pattern.fullmatch(uri)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}

    def read(self, uri: str, values: dict[str, str]) -> dict[str, Any]:
        """Return what `resources/read` gives for one address; raises as `Resource.read` does."""
        return _contents(uri, self.function(**values), self.mime_type)


def _contents(uri: str, content: object, mime_type: str | None) -> dict[str, Any]:
    if not isinstance(content, str | bytes):
        raise TypeError(f"{uri} gave {type(content).__name__}, where a text or bytes are needed")
    return {"contents": [EmbeddedResource(uri, content, mime_type).contents()]}


def _as_pattern(template: str) -> re.Pattern[str]:
    """Return what matches the addresses of a template; raises `OptionsError` for a form that is not understood."""
    pieces = _VARIABLE.split(template)  # text, "+" or "", name, text, …
    names = pieces[2::3]
    if not names or len(set(names)) < len(names) or any("{" in text or "}" in text for text in pieces[::3]):
        text = f"{template!r} is no template: it needs names such as {{day}} or {{+path}}, each of them once"
        raise OptionsError(text, field="resources")
    pattern = re.escape(pieces[0])
    for plus, name, text in zip(pieces[1::3], names, pieces[3::3], strict=True):
        pattern += f"(?P<{name}>{'.+' if plus else '[^/]+'}){re.escape(text)}"
    return re.compile(pattern)


@frozen(eq=False)
class Prompt:
    """A prompt that a user may choose by its name.

    `function` returns its text, or MCP's own messages as a list of dicts. Its parameters are the prompt's arguments;
    they come as texts. Descriptions are those of its docstring.
    """

    function: Callable[..., str | list[dict[str, Any]]]
    name: str = ""
    description: str = ""
    arguments: tuple[dict[str, Any], ...] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        if not callable(self.function) or inspect.iscoroutinefunction(self.function):
            raise OptionsError("a prompt is a plain function that returns a text", field="prompts")
        said = describe(self.function.__doc__)
        set_field = object.__setattr__  # a frozen record completes itself
        set_field(self, "name", self.name or self.function.__name__)
        set_field(self, "description", self.description or said.text)
        set_field(
            self,
            "arguments",
            tuple(
                {"name": each.name, "required": each.default is each.empty, **_about(said.parameters.get(each.name))}
                for each in inspect.signature(self.function).parameters.values()
            ),
        )

    def definition(self) -> dict[str, Any]:
        """Return what `prompts/list` says of it."""
        about = {"description": self.description} if self.description else {}
        return {"name": self.name, **about, "arguments": list(self.arguments)}

    def missing(self, arguments: dict[str, Any]) -> list[str]:
        """Return the names of required arguments that were not given, and of given ones that there are not."""
        known = {each["name"] for each in self.arguments}
        needed = [each["name"] for each in self.arguments if each["required"] and each["name"] not in arguments]
        return needed + [name for name in arguments if name not in known]

    def get(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return what `prompts/get` gives; raises what the function raises."""
        returned = self.function(**arguments)
        if isinstance(returned, str):
            returned = [{"role": "user", "content": text_block(returned)}]
        if not isinstance(returned, list) or not all(isinstance(message, dict) for message in returned):
            raise TypeError(f"{self.name} returned {type(returned).__name__}, where a text or messages are needed")
        return {"description": self.description, "messages": returned}


def _about(description: str | None) -> dict[str, str]:
    return {} if description is None else {"description": description}
