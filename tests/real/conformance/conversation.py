"""Requests about the conversation itself: its title, plan and text, questions beside it, its end."""

import re

import pytest

from claude_control.errors import ControlRequestError, ProcessExitedError
from claude_control.testing.model_script import Text, ToolCall
from claude_control.wire import requests
from claude_control.wire.messages import SessionTitleMessage
from tests.real.conformance.lab import PATIENCE, Lab, text_of
from tests.real.conformance.probes import Topic
from tests.waiting import wait_until

TOPIC = Topic("conversation")
NO_UUID = "00000000-0000-4000-8000-000000000000"


@TOPIC.works(requests.RenameSession("a title"))
def rename_session(lab: Lab) -> object:
    """The status names the session so, and a message tells the title."""
    lab.session.request(requests.RenameSession("CANARY-TITLE"))
    told = lab.wait_for_message(SessionTitleMessage, 0)
    rows = [row for section in lab.session.request(requests.GetStatus()).sections for row in section.rows]
    return told.title == "CANARY-TITLE" and "CANARY-TITLE" in str(rows)


@TOPIC.answers(requests.GenerateSessionTitle("a bug"))
def generate_session_title(lab: Lab) -> object:
    """There is none, for the test's environment switches such traffic off."""
    return lab.session.request(requests.GenerateSessionTitle("a bug")).title is None


@TOPIC.answers(requests.RenameSession("a title", session_id=NO_UUID), "session_id")
def rename_another(lab: Lab) -> object:
    """With the id of another session it is refused, with that of this one it is not."""
    lab.session.request(requests.RenameSession("CANARY-TITLE", session_id=lab.session.session_id))
    with pytest.raises(ControlRequestError) as caught:
        lab.session.request(requests.RenameSession("other", session_id=NO_UUID))
    return "session_id is not the current session" in caught.value.text


@TOPIC.answers(requests.ExportConversation())
def export_conversation(lab: Lab) -> object:
    """The text has what the model said."""
    lab.ask(Text("CANARY-SAID"))
    return "CANARY-SAID" in lab.session.request(requests.ExportConversation()).text


@TOPIC.works(requests.SideQuestion("what?"))
def side_question(lab: Lab) -> object:
    """The model is asked with the conversation before it, and a later prompt does not have the question."""
    before = len(lab.server.requests)
    reply = lab.session.request(requests.SideQuestion("CANARY-ASIDE"))
    asked = [text_of(request) for request in lab.server.requests[before:]]
    return (
        bool(reply.response)
        and any("CANARY-ASIDE" in text and "CANARY-SAID" in text for text in asked)
        and "CANARY-ASIDE" not in text_of(lab.ask())
    )


@TOPIC.works(requests.SideQuestion("what?", [{"question": "a", "response": "b"}]), "history")
def side_question_goes_on(lab: Lab) -> object:
    """The model is told what was asked before, and what came back."""
    before = len(lab.server.requests)
    history = [{"question": "CANARY-BEFORE", "response": "CANARY-REPLY"}]
    lab.session.request(requests.SideQuestion("and now?", history))
    asked = [text_of(request) for request in lab.server.requests[before:]]
    return any("CANARY-BEFORE" in text and "CANARY-REPLY" in text for text in asked)


@TOPIC.answers(requests.ForkConversation())
def fork_conversation(lab: Lab) -> object:
    """The answer is always that it is unsupported."""
    reply = lab.session.request(requests.ForkConversation())
    return (reply.forked, reply.reason) == (False, "unsupported")


@TOPIC.answers(requests.GetPlan())
def get_plan(lab: Lab) -> object:
    """The plan that the model wrote in plan mode comes back; before there is none."""
    assert not lab.session.request(requests.GetPlan()).exists
    lab.session.request(requests.SetPermissionMode("plan"))
    found = re.search(r"/[^\s\"\\]*plans/[\w.-]+\.md", text_of(lab.ask()))
    assert found is not None
    lab.ask(ToolCall("Write", file_path=found.group(), content="CANARY-PLAN\n"), Text("planned"))
    reply = lab.session.request(requests.GetPlan())
    return reply.exists and "CANARY-PLAN" in str(reply.content)


@TOPIC.works(requests.EndSession())
def end_session(lab: Lab) -> object:
    """The program answers and ends itself."""
    lab.session.request(requests.EndSession())
    wait_until(lambda: lab.session.state == "failed", PATIENCE)
    try:
        lab.session.request(requests.MCPStatus())
    except ProcessExitedError as error:
        return error.exit_code == 0
    return False
