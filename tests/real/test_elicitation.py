"""What an MCP server asks a person, on the real programs, with a real server on stdio that asks.

2.0.75 and 2.1.7 do not offer elicitation to their servers, so that nothing reaches us from them.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from claude_control import (
    Accept,
    AskContext,
    Decline,
    ElicitationRequest,
    HookMatcher,
    LateAnswer,
    Session,
    ToolResultBlock,
    UserMessage,
)
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Text, ToolCall
from claude_control.wire.messages import ElicitationCompleteMessage
from claude_control.wire.support import CURRENT
from tests.real.conftest import Opener, Program
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.shared]

SERVER = {"command": sys.executable, "args": [str(Path(__file__).with_name("asking_server.py"))]}
OPTIONS: dict[str, Any] = {"mcp_servers": {"asking": SERVER}, "allowed_tools": ["mcp__asking"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2},
        "age": {"type": "integer"},
        "color": {"type": "string", "enum": ["red", "blue"]},
    },
    "required": ["name"],
}
FORM = {"message": "Who are you?", "requestedSchema": SCHEMA}
URL = {"mode": "url", "message": "Log in", "url": "http://127.0.0.1:9/x", "elicitationId": "e1"}


@pytest.fixture
def current(program: Program) -> None:
    """Skip the programs that offer servers no elicitation."""
    if program.version != CURRENT:
        pytest.skip("elicitation is not offered to servers by older programs")


def asking(parameters: dict[str, Any]) -> str:
    """Return the prompt whose turn lets the server ask."""
    return script(ToolCall("mcp__asking__ask", **parameters), Text("thanks"))


def told(session: Session, parameters: dict[str, Any]) -> Any:
    """Let the server ask in a turn of its own, and return what it was answered."""
    return heard(list(session.ask(asking(parameters))))["told"]


def block_of(messages: list[Any]) -> ToolResultBlock:
    """Return the result of the turn's one call."""
    [result] = [
        block
        for message in messages
        if isinstance(message, UserMessage) and isinstance(message.content, tuple | list)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    return result


def heard(messages: list[Any]) -> Any:
    """Return what the server's tool said."""
    result = block_of(messages)
    [content] = result.content if isinstance(result.content, list | tuple) else [result.content]
    return json.loads(str(content["text"] if isinstance(content, dict) else content))


@pytest.mark.usefixtures("current")
def test_form_is_answered(open_session: Opener) -> None:
    """A form arrives with its schema and the order of its fields; accept, decline and None reach the server as such."""
    seen: list[ElicitationRequest] = []
    answers: list[Accept | Decline | None] = [Accept({"name": "Ada", "age": 36, "color": "red"}), Decline(), None]

    def on_elicitation(request: ElicitationRequest, context: AskContext) -> Accept | Decline | None:
        assert context.session is session
        assert context.session.state == "waiting"
        context.session.get_mcp_status()
        seen.append(request)
        return answers[len(seen) - 1]

    session = open_session(**OPTIONS, on_elicitation=on_elicitation)
    assert told(session, FORM) == {"action": "accept", "content": {"name": "Ada", "age": 36, "color": "red"}}
    assert told(session, FORM) == {"action": "decline"}
    assert told(session, FORM) == {"action": "cancel"}
    assert (seen[0].server_name, seen[0].message, seen[0].mode) == ("asking", "Who are you?", "form")
    assert seen[0].requested_schema == SCHEMA
    assert seen[0].property_order == ["name", "age", "color"]
    assert (seen[0].url, seen[0].elicitation_id, seen[0].title) == (None, None, None)
    wait_until(lambda: session.state == "idle", 10)


@pytest.mark.usefixtures("current")
def test_display_texts_arrive(open_session: Opener) -> None:
    """What the server says for the heading arrives as title, display name and description."""
    seen: list[ElicitationRequest] = []
    display = {"title": "A form", "displayName": "The asker", "description": "Only once"}
    session = open_session(**OPTIONS, on_elicitation=lambda request, _context: seen.append(request))
    assert told(session, {**FORM, "_meta": {"anthropic/permissionDisplay": display}}) == {"action": "cancel"}
    assert (seen[0].title, seen[0].display_name, seen[0].description) == ("A form", "The asker", "Only once")


@pytest.mark.usefixtures("current")
def test_page_is_opened_by_consent(open_session: Opener) -> None:
    """The mode url carries the page and its id; the server's word that it is done comes as a message."""
    seen: list[ElicitationRequest] = []

    def consent(request: ElicitationRequest, _context: AskContext) -> Accept:
        seen.append(request)
        return Accept()

    session = open_session(**OPTIONS, on_elicitation=consent)
    everything: list[Any] = []
    session.subscribe(everything.append)
    assert told(session, {**URL, "complete": True}) == {"action": "accept"}
    assert (seen[0].mode, seen[0].url, seen[0].elicitation_id) == ("url", URL["url"], "e1")
    assert (seen[0].requested_schema, seen[0].property_order) == ({}, [])
    wait_until(lambda: any(isinstance(message, ElicitationCompleteMessage) for message in everything), 10)
    [complete] = [message for message in everything if isinstance(message, ElicitationCompleteMessage)]
    assert (complete.mcp_server_name, complete.elicitation_id) == ("asking", "e1")


@pytest.mark.alone
@pytest.mark.usefixtures("current")
@pytest.mark.parametrize(("answer", "said"), [(Accept(), "done"), (Decline(), "declined"), (None, "canceled")])
def test_page_that_a_call_needs_first(open_session: Opener, answer: Accept | Decline | None, said: str) -> None:
    """A call that fails for want of a page (JSON-RPC -32042) is asked about alike, and made again once that is done."""
    seen: list[ElicitationRequest] = []

    def on_elicitation(request: ElicitationRequest, _context: AskContext) -> Accept | Decline | None:
        seen.append(request)
        return answer

    session = open_session(**OPTIONS, on_elicitation=on_elicitation)
    assert said in str(block_of(list(session.ask(asking({"first": URL})))).content)
    assert [(request.mode, request.url) for request in seen] == [("url", URL["url"])]


@pytest.mark.usefixtures("current")
def test_nobody_to_ask_cancels(open_session: Opener) -> None:
    """Without a handler the server hears cancel, not decline."""
    session = open_session(**OPTIONS)
    assert told(session, FORM) == {"action": "cancel"}
    assert told(session, URL) == {"action": "cancel"}


@pytest.mark.usefixtures("current")
@pytest.mark.parametrize(
    "answer", [{"action": "accept"}, Accept({"age": 3}), Accept({"name": 1}), ValueError("no"), SystemExit(1)]
)
def test_failing_handler_cancels(open_session: Opener, answer: Any) -> None:
    """A handler that raises, or whose answer does not fit the form, cancels, and the session goes on."""

    def fail(_request: ElicitationRequest, _context: AskContext) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    session = open_session(**OPTIONS, on_elicitation=fail)
    assert told(session, FORM) == {"action": "cancel"}
    assert session.ask(script(Text("on it goes"))).result().result == "on it goes"


@pytest.mark.usefixtures("current")
def test_person_answers_later(open_session: Opener) -> None:
    """An answer can come from another thread after the callback has returned; a wrong one leaves the request open."""
    later: list[LateAnswer] = []
    session = open_session(**OPTIONS, on_elicitation=lambda _request, context: later.append(context.answer_later()))
    turn = session.ask(asking(FORM))
    wait_until(lambda: bool(later), 20)
    assert session.state == "waiting"
    with pytest.raises(ValueError, match="'name'"):
        later[0].answer(Accept({}))
    assert session.state == "waiting"
    assert later[0].answer(Accept({"name": "Ada"}))
    assert not later[0].answer(Decline())
    assert heard(list(turn))["told"] == {"action": "accept", "content": {"name": "Ada"}}


@pytest.mark.usefixtures("current")
def test_interrupt_withdraws_the_question(open_session: Opener) -> None:
    """An interrupt fires the signal, a late answer is dropped, and the session goes on."""
    later: list[LateAnswer] = []
    session = open_session(**OPTIONS, on_elicitation=lambda _request, context: later.append(context.answer_later()))
    turn = session.ask(asking(FORM))
    wait_until(lambda: bool(later), 20)
    turn.interrupt()
    assert later[0].signal.wait(10)
    assert later[0].signal.reason == "cancelled"
    assert not later[0].answer(Accept({"name": "Ada"}))
    assert turn.result(check=False) is not None
    assert turn.outcome == "interrupted"
    assert session.ask(script(Text("on it goes"))).result().result == "on it goes"


@pytest.mark.alone
@pytest.mark.usefixtures("current")
def test_close_while_asked(open_session: Opener) -> None:
    """Closing the session fires the signal of an open question, does not wait for it, and leaves nothing behind."""
    fired = threading.Event()
    begun = threading.Event()

    def wait(_request: ElicitationRequest, context: AskContext) -> None:
        begun.set()
        if context.signal.wait(30):
            fired.set()

    session = open_session(**OPTIONS, on_elicitation=wait)
    session.ask(asking(FORM))
    assert begun.wait(20)
    session.close(timeout=20)
    assert fired.wait(5)
    assert session.state == "closed"


@pytest.mark.usefixtures("current")
def test_hooks_stand_around_the_question(open_session: Opener) -> None:
    """The Elicitation hook comes before the handler, ElicitationResult and Notification after it."""
    order: list[str] = []

    def note(hook_input: dict[str, Any], _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        order.append(hook_input["hook_event_name"])
        return {}

    def on_elicitation(_request: ElicitationRequest, _context: AskContext) -> Decline:
        order.append("asked")
        return Decline()

    events = ("Elicitation", "ElicitationResult", "Notification")
    hooks = {event: [HookMatcher(hooks=[note])] for event in events}
    session = open_session(**OPTIONS, on_elicitation=on_elicitation, hooks=hooks)
    assert told(session, FORM) == {"action": "decline"}
    wait_until(lambda: "Notification" in order, 10)
    assert order == ["Elicitation", "asked", "ElicitationResult", "Notification"]


@pytest.mark.usefixtures("current")
@pytest.mark.parametrize("event", ["Elicitation", "ElicitationResult"])
@pytest.mark.parametrize("action", ["accept", "decline"])
def test_hooks_of_this_process_only_watch(open_session: Opener, event: str, action: str) -> None:
    """What a callback of these two events returns is not used by the program: the handler's answer stands."""

    def answer(_input: dict[str, Any], _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        called.append(event)
        return {"hookSpecificOutput": {"hookEventName": event, "action": action, "content": {"name": "Hook"}}}

    called: list[str] = []
    hooks = {event: [HookMatcher(hooks=[answer])]}
    session = open_session(**OPTIONS, on_elicitation=lambda *_: Accept({"name": "Person"}), hooks=hooks)
    assert told(session, FORM) == {"action": "accept", "content": {"name": "Person"}}
    assert called == [event]


def test_older_programs_offer_no_elicitation(open_session: Opener, program: Program) -> None:
    """Whether a server can ask is in the capabilities that the program tells it; a handler does no harm where not."""
    asked: list[Any] = []
    session = open_session(**OPTIONS, on_elicitation=lambda request, _context: asked.append(request))
    said = heard(list(session.ask(asking(FORM))))
    assert ("elicitation" in said["offered"]) == (program.version == CURRENT) == bool(asked)
    if program.version != CURRENT:
        assert said["told"]["code"] == -32601
