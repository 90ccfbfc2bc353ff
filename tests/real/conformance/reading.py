"""Requests that only ask: usage, cost, models, status, and what is read anew from disk."""

import pytest

from claude_control.errors import ControlRequestError
from claude_control.testing.model_script import Text, Words
from claude_control.wire import requests
from tests.real.conformance.lab import PATIENCE, Lab
from tests.real.conformance.probes import Topic
from tests.waiting import wait_until

TOPIC = Topic("reading")


@TOPIC.answers(requests.GetContextUsage())
def get_context_usage(lab: Lab) -> object:
    """Before a turn the API counts what the tools take, and there is room left."""
    before = len(lab.server.requests)
    reply = lab.session.request(requests.GetContextUsage())
    used = {category.id: category.tokens for category in reply.categories}
    return used["system_tools"] > 0 < used["free_space"] and len(lab.server.requests) > before


@TOPIC.works(requests.GetContextUsage("summary"), "detail='summary'")
def get_context_summary(lab: Lab) -> object:
    """The API is asked to count nothing; in full it would be, for what was said meanwhile."""
    lab.ask(Text("some words"))
    before = len(lab.server.requests)
    reply = lab.session.request(requests.GetContextUsage("summary"))
    summary = len(lab.server.requests)
    lab.session.request(requests.GetContextUsage("full"))
    return bool(reply.categories) and before == summary < len(lab.server.requests)


@TOPIC.answers(requests.GetSessionCost())
def get_session_cost(lab: Lab) -> object:
    """The text names an amount."""
    return "$" in lab.session.request(requests.GetSessionCost()).text


@TOPIC.answers(requests.GetUsage())
def get_usage(lab: Lab) -> object:
    """After a turn there is a cost, and its model."""
    session = lab.session.request(requests.GetUsage()).session
    assert session is not None
    return (session.total_cost_usd or 0) > 0 and bool(session.model_usage)


@TOPIC.answers(requests.GetUsage(skip_behaviors=True), "skip_behaviors")
def get_usage_only(lab: Lab) -> object:
    """The answer has the cost, and no behaviors."""
    reply = lab.session.request(requests.GetUsage(skip_behaviors=True))
    return reply.session is not None and reply.behaviors is None


@TOPIC.answers(requests.ListModels())
def list_models(lab: Lab) -> object:
    """There is a default, and what it stands for."""
    models = {model.value: model.resolved_model for model in lab.session.request(requests.ListModels()).models}
    return bool(models.get("default"))


@TOPIC.answers(requests.GetBinaryVersion())
def get_binary_version(lab: Lab) -> object:
    """It is the program's version."""
    return lab.session.request(requests.GetBinaryVersion()).version == lab.version


@TOPIC.answers(requests.GetStatus())
def get_status(lab: Lab) -> object:
    """A row has the session's id."""
    rows = [row for section in lab.session.request(requests.GetStatus()).sections for row in section.rows]
    return lab.session.session_id in [row.get("value") for row in rows]


@TOPIC.answers(requests.SetHasSubscribers(False))
def set_has_subscribers(lab: Lab) -> object:
    """The answer has nothing in it."""
    return not lab.session.request(requests.SetHasSubscribers(False)).raw


@TOPIC.works(requests.ReloadSkills())
def reload_skills(lab: Lab) -> object:
    """A skill that was written meanwhile is listed."""
    folder = lab.workspace / ".claude" / "skills" / "canary"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: canary\ndescription: sings\n---\nSing.\n")
    return "canary" in {skill["name"] for skill in lab.session.request(requests.ReloadSkills()).skills}


@TOPIC.works(requests.ReloadOutputStyles())
def reload_output_styles(lab: Lab) -> object:
    """A style that was written meanwhile is listed."""
    folder = lab.workspace / ".claude" / "output-styles"
    folder.mkdir(parents=True)
    (folder / "canary.md").write_text("---\nname: canary\ndescription: sings\n---\nSing.\n")
    return "canary" in lab.session.request(requests.ReloadOutputStyles()).available_output_styles


@TOPIC.works(requests.ReloadPlugins())
def reload_plugins(lab: Lab) -> object:
    """An agent that was written meanwhile is listed."""
    folder = lab.workspace / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "canary.md").write_text("---\nname: canary\ndescription: sings\n---\nSing.\n")
    return "canary" in {agent["name"] for agent in lab.session.request(requests.ReloadPlugins()).agents}


@TOPIC.works(requests.ReloadPlugins(add_plugins=[{"type": "local", "path": "/plug"}]), "add_plugins")
def add_plugins(lab: Lab) -> object:
    """A plugin from a folder is listed, with its command."""
    folder = lab.workspace.parent / "plug"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / "commands").mkdir()
    (folder / ".claude-plugin" / "plugin.json").write_text('{"name": "plug", "version": "1.2.3"}')
    (folder / "commands" / "hey.md").write_text("Say hey")
    reply = lab.session.request(requests.ReloadPlugins(add_plugins=[{"type": "local", "path": str(folder)}]))
    return "plug" in {plugin.name for plugin in reply.plugins} and "plug:hey" in {c["name"] for c in reply.commands}


@TOPIC.answers(requests.ReloadPlugins(refuse_if_busy=True), "refuse_if_busy")
def reload_plugins_if_idle(lab: Lab) -> object:
    """It is refused while a turn runs, and not after it."""
    turn = lab.start(Words(400, pause=0.05))
    with pytest.raises(ControlRequestError) as caught:
        lab.session.request(requests.ReloadPlugins(refuse_if_busy=True))
    lab.session.interrupt()
    turn.result()
    wait_until(lambda: lab.session.state == "idle", PATIENCE)
    return bool(lab.session.request(requests.ReloadPlugins(refuse_if_busy=True)).commands and caught.value.text)
