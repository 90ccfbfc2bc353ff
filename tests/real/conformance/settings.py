"""Requests about settings, hooks and permission rules."""

import json

from claude_control.testing.model_script import ToolCall
from claude_control.wire import requests
from tests.real.conformance.lab import Lab
from tests.real.conformance.probes import Topic

TOPIC = Topic("settings")
RULE = "Bash(touch:*)"


@TOPIC.answers(requests.GetHooksListing())
def get_hooks_listing(lab: Lab) -> object:
    """A hook of the project's settings is listed."""
    folder = lab.workspace / ".claude"
    folder.mkdir(exist_ok=True)
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}
    (folder / "settings.json").write_text(json.dumps({"hooks": {"PostToolUse": [hook]}}))
    reply = lab.session.request(requests.GetHooksListing())
    return [(row.event, row.matcher) for row in reply.hooks] == [("PostToolUse", "Bash")]


@TOPIC.works(requests.ApplyFlagSettings({}))
def apply_flag_settings(lab: Lab) -> object:
    """A command that was asked about is not asked about any more once a rule allows it."""
    before = lab.asks_about(ToolCall("Bash", command="touch first", description="make a file"))
    lab.session.request(requests.ApplyFlagSettings({"permissions": {"allow": [RULE]}}))
    after = lab.asks_about(ToolCall("Bash", command="touch second", description="make a file"))
    return before and not after and (lab.workspace / "second").exists()


@TOPIC.answers(requests.GetSettings())
def get_settings(lab: Lab) -> object:
    """A rule that was applied is in force, and its source is told."""
    lab.session.request(requests.ApplyFlagSettings({"permissions": {"allow": [RULE]}}))
    reply = lab.session.request(requests.GetSettings())
    rules = {source.source: source.settings.get("permissions") for source in reply.sources}
    return RULE in reply.effective["permissions"]["allow"] and rules["flagSettings"] == {"allow": [RULE]}


@TOPIC.answers(requests.ListPermissionRules())
def list_permission_rules(lab: Lab) -> object:
    """A rule that was applied is listed."""
    lab.session.request(requests.ApplyFlagSettings({"permissions": {"allow": [RULE]}}))
    rules = lab.session.request(requests.ListPermissionRules()).rules
    return ("allow", RULE, "flagSettings") in {(rule.behavior, rule.rule, rule.source) for rule in rules}


@TOPIC.works(requests.UpdateSettings("localSettings", {"outputStyle": "default"}))
def update_settings(lab: Lab) -> object:
    """The settings file of the project holds the value."""
    lab.session.request(requests.UpdateSettings("localSettings", {"outputStyle": "Explanatory"}))
    written = json.loads((lab.workspace / ".claude" / "settings.local.json").read_text())
    return written["outputStyle"] == "Explanatory"
