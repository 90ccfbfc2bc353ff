"""Resources and prompts say what they are, and give what they hold."""

import base64
from typing import Any

import pytest

from claude_control.errors import OptionsError
from claude_control.tools import Prompt, Resource, ResourceTemplate


def test_resource_of_text() -> None:
    """A text is read as it is, under its address."""
    resource = Resource("notes://a", "hello", mime_type="text/plain")
    assert resource.definition() == {"uri": "notes://a", "name": "notes://a", "mimeType": "text/plain"}
    assert resource.read() == {"contents": [{"uri": "notes://a", "mimeType": "text/plain", "text": "hello"}]}


def test_resource_of_a_function() -> None:
    """A function is called for each reading, and may give bytes."""
    numbers = iter((b"1", b"2"))
    resource = Resource("n://", lambda: next(numbers), name="n", title="N", description="numbers")
    assert resource.definition() == {"uri": "n://", "name": "n", "title": "N", "description": "numbers"}
    blobs = [resource.read()["contents"][0]["blob"] for _ in range(2)]
    assert [base64.b64decode(blob) for blob in blobs] == [b"1", b"2"]


def test_resource_of_something_else() -> None:
    """A function that gives neither a text nor bytes is at fault, and told so."""
    with pytest.raises(TypeError, match="n:// gave int"):
        Resource("n://", lambda: 3).read()  # type: ignore[arg-type,return-value]


def test_template_reads_what_fits() -> None:
    """The names of a template stand for what is between its texts, percent-encoding undone; the whole must fit."""

    def read(day: str, path: str) -> str:
        """Read a note."""
        return f"{day}: {path}"

    template = ResourceTemplate("notes://{day}/files/{+path}.md", read, name="notes", mime_type="text/markdown")
    assert template.definition() == {
        "uriTemplate": "notes://{day}/files/{+path}.md",
        "name": "notes",
        "description": "Read a note.",
        "mimeType": "text/markdown",
    }
    uri = "notes://a%20b/files/c/d.md"
    values = template.match(uri)
    assert values == {"day": "a b", "path": "c/d"}
    (contents,) = template.read(uri, values)["contents"]
    assert contents == {"uri": uri, "mimeType": "text/markdown", "text": "a b: c/d"}
    for other in ("notes://a/files/.md", "notes://a/b/files/c.md", "notes://a/files/cxmd", "notes://a/files/c.md?"):
        assert template.match(other) is None


@pytest.mark.parametrize("template", ["notes://a", "notes://{", "notes://{a}{a}", "notes://{?a}", "notes://{a*}", ""])
def test_template_of_an_unknown_form_is_refused(template: str) -> None:
    """What would never match anything is an error when it is made."""
    with pytest.raises(OptionsError, match="is no template"):
        ResourceTemplate(template, lambda a: a)


@pytest.mark.parametrize("function", [lambda other: other, lambda: "", lambda a, b: a + b, "text", None])
def test_template_and_function_must_agree(function: Any) -> None:
    """A function that could never be called with what the template names is refused."""
    with pytest.raises(OptionsError, match="notes://"):
        ResourceTemplate("notes://{a}", function)


def review(file: str, style: str = "short") -> str:
    """Review a file.

    Args:
        file: which
    """
    return f"Review {file}, {style}."


def test_prompt_of_a_function() -> None:
    """Parameters are the arguments, and the text becomes a message of the user's."""
    prompt = Prompt(review)
    assert prompt.definition() == {
        "name": "review",
        "description": "Review a file.",
        "arguments": [{"name": "file", "required": True, "description": "which"}, {"name": "style", "required": False}],
    }
    assert prompt.get({"file": "a.py"})["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "Review a.py, short."}}
    ]
    assert prompt.missing({"file": "a"}) == []
    assert prompt.missing({"fil": "a"}) == ["file", "fil"]


def test_prompt_of_messages() -> None:
    """A prompt may return messages of its own, and be named otherwise."""
    messages = [{"role": "assistant", "content": {"type": "text", "text": "Yes?"}}]
    prompt = Prompt(lambda: messages, name="hello", description="d")
    assert (prompt.name, prompt.get({})["messages"]) == ("hello", messages)


@pytest.mark.parametrize("value", [3, [1], None])
def test_prompt_of_something_else(value: Any) -> None:
    """What is neither a text nor messages is at fault, and told so."""
    with pytest.raises(TypeError, match="p returned"):
        Prompt(lambda: value, name="p").get({})


async def later() -> str:
    """Return nothing."""
    return ""


@pytest.mark.parametrize("function", [later, 3])
def test_only_plain_functions_are_prompts(function: Any) -> None:
    """A coroutine function is refused when the prompt is made."""
    with pytest.raises(OptionsError, match="plain function"):
        Prompt(function)
