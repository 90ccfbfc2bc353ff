"""Requests that steer a conversation: interrupt, permission mode, model, thinking, waiting prompts."""

import json
from types import MappingProxyType

from claude_control import StreamEvent, Turn
from claude_control.testing.model_prompt import script
from claude_control.testing.model_script import Text, ToolCall, Words
from claude_control.wire import requests
from tests.real.conformance.lab import PATIENCE, Lab, text_of
from tests.real.conformance.probes import Topic

TOPIC = Topic(
    "steering",
    MappingProxyType(
        {
            "include_partial_messages": True,
            "system_prompt": {"type": "preset", "preset": "claude_code", "append": "CANARY-ADDED"},
        }
    ),
)
MODES = Topic("modes")
NO_UUID = "00000000-0000-4000-8000-000000000000"


def _stream(lab: Lab) -> Turn:
    """Begin a turn that streams for long."""
    turn = lab.session.ask(script(Words(400, pause=0.05)))
    next(message for message in turn if isinstance(message, StreamEvent))
    return turn


def _write(lab: Lab, name: str) -> tuple[bool, bool]:
    """Let the model write a file; tell whether the callback was asked, and whether it was written."""
    path = lab.workspace / name
    asked = lab.asks_about(ToolCall("Write", file_path=str(path), content="new\n"))
    return asked, path.exists()


@TOPIC.works(requests.Initialize({}))
def initialize(lab: Lab) -> object:
    """A text given with it stands in the system prompt that the model gets."""
    return "CANARY-ADDED" in lab.ask().system


@TOPIC.answers(requests.Initialize({}), "sent again")
def reinitialize(lab: Lab) -> object:
    """The answer has the commands once more, and the text given at first still stands in the system prompt."""
    reply = lab.session.request(requests.Initialize({}))
    return bool(reply.commands) and "CANARY-ADDED" in lab.ask().system


@TOPIC.works(requests.Interrupt())
def interrupt(lab: Lab) -> object:
    """A turn that streams ends as interrupted."""
    turn = _stream(lab)
    lab.session.interrupt()
    turn.result(PATIENCE)
    return turn.outcome == "interrupted"


@TOPIC.works(requests.Interrupt(cancel_queued=True), "cancel_queued")
def interrupt_all(lab: Lab) -> object:
    """A prompt that waits in the program never reaches the model."""
    turn, waiting = _stream(lab), script(Text("late"))
    lab.session.send(waiting)
    lab.session.request(requests.Interrupt(cancel_queued=True))
    turn.result(PATIENCE, check=False)
    lab.ask()
    return not lab.reached_model(waiting)


@TOPIC.works(requests.CancelAsyncMessage(NO_UUID))
def cancel_async_message(lab: Lab) -> object:
    """A prompt that waits in the program never reaches the model, while the turn goes on."""
    turn, waiting = _stream(lab), script(Text("late"))
    uuid = lab.session.send(waiting)
    reply = lab.session.request(requests.CancelAsyncMessage(uuid))
    assert turn.state == "running"
    lab.session.interrupt()
    turn.result(PATIENCE)
    lab.ask()
    return reply.cancelled and not lab.reached_model(waiting)


@TOPIC.works(requests.SetModel("claude-haiku-4-5"))
def set_model(lab: Lab) -> object:
    """The next request to the API names the model."""
    lab.session.request(requests.SetModel("claude-haiku-4-5"))
    return str(lab.ask().model).startswith("claude-haiku-4-5")


@TOPIC.works(requests.SetModel(None), "model=None")
def set_default_model(lab: Lab) -> object:
    """The next request to the API names the model that the session began with."""
    first = next(request.model for request in lab.server.requests if request.tools)
    lab.session.request(requests.SetModel("claude-sonnet-4-5"))
    other = lab.ask().model
    lab.session.request(requests.SetModel(None))
    return other != first and lab.ask().model == first


@TOPIC.works(requests.SetMaxThinkingTokens(2000))
def set_max_thinking_tokens(lab: Lab) -> object:
    """The next request to the API has the budget."""
    lab.session.request(requests.SetModel("claude-sonnet-4-5"))
    lab.session.request(requests.SetMaxThinkingTokens(2000))
    return lab.ask().body.get("thinking", {}).get("budget_tokens") == 2000


@TOPIC.works(requests.SetMaxThinkingTokens(0), "max_thinking_tokens=0")
def think_no_more(lab: Lab) -> object:
    """The next request to the API has no budget."""
    lab.session.request(requests.SetMaxThinkingTokens(2000))
    lab.session.request(requests.SetMaxThinkingTokens(0))
    return "budget_tokens" not in lab.ask().body.get("thinking", {})


@TOPIC.works(requests.SetMaxThinkingTokens(2000, "omitted"), "thinking_display")
def thinking_display(lab: Lab) -> object:
    """The next request to the API asks for that display of the thinking."""
    displays = []
    for display in ("summarized", "omitted"):
        lab.session.request(requests.SetMaxThinkingTokens(2000, display))
        displays.append(lab.ask().body.get("thinking", {}).get("display"))
    # "omitted" becomes another word on the way
    return displays[0] == "summarized" and displays[1] not in ("summarized", None)


@MODES.works(requests.SetPermissionMode("default"))
def set_permission_mode(lab: Lab) -> object:
    """In "acceptEdits" a file is written unasked, in "default" it is asked about."""
    lab.session.request(requests.SetPermissionMode("acceptEdits"))
    accepted = _write(lab, "accepted")
    lab.session.request(requests.SetPermissionMode("default"))
    return accepted == (False, True) and _write(lab, "default") == (True, True)


@MODES.works(requests.SetPermissionMode("plan"), "mode='plan'")
def plan(lab: Lab) -> object:
    """The model is told that it may only plan."""
    lab.session.request(requests.SetPermissionMode("default"))
    before = "plan mode is active" in _last_prompt(lab)
    lab.session.request(requests.SetPermissionMode("plan"))
    return not before and "plan mode is active" in _last_prompt(lab)


def _last_prompt(lab: Lab) -> str:
    messages = json.loads(text_of(lab.ask()))["messages"]
    said = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    return json.dumps(messages[said[-1] + 1 if said else 0 :]).lower()


@MODES.works(requests.SetPermissionMode("dontAsk"), "mode='dontAsk'")
def dont_ask(lab: Lab) -> object:
    """A file is neither asked about nor written."""
    lab.session.request(requests.SetPermissionMode("dontAsk"))
    return _write(lab, "unasked") == (False, False)


@MODES.works(requests.SetPermissionMode("manual"), "mode='manual'")
def manual(lab: Lab) -> object:
    """The answer says "default", and a file is asked about."""
    reply = lab.session.request(requests.SetPermissionMode("manual"))
    return _write(lab, "manual") == (True, True) and reply.mode == "default"


@MODES.works(requests.SetPermissionMode("auto"), "mode='auto'")
def auto(lab: Lab) -> object:
    """A command that makes a file runs unasked."""
    lab.session.request(requests.SetPermissionMode("auto"))
    asked = lab.asks_about(ToolCall("Bash", command="touch auto", description="make a file"))
    return not asked and (lab.workspace / "auto").exists()


@MODES.works(requests.SetPermissionMode("bypassPermissions"), "mode='bypassPermissions', not launched for it")
def bypass(lab: Lab) -> object:
    """In a session that was not launched for it a command runs unasked; the SDK never lets this pass."""
    lab.session.request(requests.SetPermissionMode("default"))
    lab.session.request(requests.SetPermissionMode("bypassPermissions"))
    asked = lab.asks_about(ToolCall("Bash", command="touch bypassed", description="make a file"))
    return not asked and (lab.workspace / "bypassed").exists()
