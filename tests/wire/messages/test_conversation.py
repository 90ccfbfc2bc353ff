"""What the model and the user's side say."""

from typing import Any

import pytest

from claude_control.wire.content import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from claude_control.wire.messages import AssistantMessage, UserMessage, decode


def assistant(**message: Any) -> AssistantMessage:
    """Return the message that the program wraps around an API message."""
    decoded = decode({"type": "assistant", "message": message, "session_id": "s", "uuid": "u"})
    assert isinstance(decoded, AssistantMessage)
    return decoded


def user(content: Any, **fields: Any) -> UserMessage:
    """Return a user message as the program writes it."""
    decoded = decode({"type": "user", "message": {"role": "user", "content": content}, **fields})
    assert isinstance(decoded, UserMessage)
    return decoded


def test_api_message_is_flattened() -> None:
    """The fields of the API's message are the fields of ours."""
    message = assistant(id="msg_1", model="m", usage={"input_tokens": 1}, stop_reason="end_turn", content=[])
    assert (message.message_id, message.model, message.stop_reason) == ("msg_1", "m", "end_turn")
    assert message.usage == {"input_tokens": 1}
    assert (message.session_id, message.uuid) == ("s", "u")


@pytest.mark.parametrize("message", [None, "text", [], 5])
def test_message_of_a_wrong_type_is_empty(message: Any) -> None:
    """An assistant message without its API message has no content and no model."""
    decoded = decode({"type": "assistant", "message": message})
    assert isinstance(decoded, AssistantMessage)
    assert (decoded.content, decoded.model, decoded.text) == ([], "", "")


def test_text_is_that_of_text_blocks() -> None:
    """The text of an answer leaves out thinking and tool calls."""
    content = [ThinkingBlock("hm", ""), TextBlock("Hello, "), ToolUseBlock("t", "Bash", {}), TextBlock("world")]
    assert AssistantMessage(content=content, model="m").text == "Hello, world"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "one"}], "one"),
        ([{"type": "text", "text": "one"}, {"type": "thinking"}, {"type": "text", "text": "two"}], "onetwo"),
        ([{"type": "text", "text": 5}, {"type": "text", "text": "two"}], "two"),
        ([{"type": "thinking", "thinking": "hm", "text": "no"}], ""),
        ([{"type": "text", "text": None}], ""),
        ([{"type": "text"}], ""),
        (["x"], ""),
        ("x", ""),
        ([], ""),
        (None, ""),
    ],
)
def test_text_is_what_its_content_tells(content: Any, text: str) -> None:
    """The text of an answer is its text blocks', with nothing of what is odd."""
    decoded = decode({"type": "assistant", "message": {"content": content}})
    assert isinstance(decoded, AssistantMessage)
    assert decoded.text == text


def test_tests_can_construct_messages() -> None:
    """Messages are constructed by keyword or by position, as the official SDK's are."""
    by_keyword = AssistantMessage(content=[TextBlock("hi")], model="m")
    assert by_keyword == AssistantMessage([TextBlock("hi")], "m")
    assert repr(by_keyword) == "AssistantMessage(content=[TextBlock(text='hi')], model='m')"
    assert UserMessage("hi", "u", "t") == UserMessage(content="hi", uuid="u", parent_tool_use_id="t")


def test_user_content_may_be_a_text() -> None:
    """A user message is a text or blocks; both have a text."""
    assert user("hi").content == user("hi").text == "hi"
    blocks = user([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}])
    assert blocks.text == "a\nb"


def test_tool_result_arrives_in_a_user_message() -> None:
    """The result of a tool is a block, and the tool's own value beside it, of any JSON type."""
    message = user([{"type": "tool_result", "tool_use_id": "t", "content": "out"}], tool_use_result="Error: x")
    assert isinstance(message.content, list)
    [block] = message.content
    assert isinstance(block, ToolResultBlock)
    assert (block.tool_use_id, block.text, message.tool_use_result) == ("t", "out", "Error: x")
    assert message.text == ""


def test_user_flags_have_our_names() -> None:
    """What the wire spells in camel case is spelled as the rest here."""
    message = user("hi", isReplay=True, isSynthetic=True, shouldQuery=False)
    assert (message.is_replay, message.is_synthetic, message.should_query) == (True, True, False)


def test_origin_of_an_injected_message() -> None:
    """An injected message says where it comes from; a malformed origin is none."""
    assert user("hi", origin={"kind": "task-notification"}).origin == {"kind": "task-notification"}
    assert user("hi", origin={"sort": "x"}).origin is None
