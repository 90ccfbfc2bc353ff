"""Who plays the demo: a stand-in for the program, or the program itself with a stand-in for the model."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from claude_control.process.discovery import find_program
from claude_control.records import frozen
from claude_control.testing import ModelServer, ScriptedCLI, model_script, script, steps

__all__ = ["SHOP", "Stage", "real_stage", "scripted_stage"]

NOTE = "touch note.txt"
SECRET = "cat .env"
POEM = "A file was made, a secret kept, and while I wrote this line, the model changed."
ENDLESS = " ".join(f"{number}," for number in range(1, 400))

SHOP = "shop"
"""The server of tools."""

STOCK, ITEM = "stock", "A-17"
"""Its tool, and what it is asked for."""

_WORD = 0.03  # seconds for each word of an answer: fast enough for a demo, slow enough to be seen


@frozen
class Stage:
    """Where the demo plays: a line about who plays, the options of the session, and the prompt of each scene."""

    cast: str
    options: Mapping[str, Any]
    prompts: Mapping[str, str]


@contextmanager
def scripted_stage() -> Iterator[Stage]:
    """Play with a stand-in for Claude Code, a child process that speaks its protocol from a script."""
    with tempfile.TemporaryDirectory(prefix="claude-control-demo-") as folder:
        scenes = {
            "Make a note.": [_tool(NOTE), steps.reply("There is a note.txt now.")],
            "What is in .env?": [_tool(SECRET, asks=False), steps.reply("Then I leave it alone.")],
            "How many A-17 are left?": [*_own_tool(), steps.reply("There are 12 of them.")],
            "Write a line about it.": [steps.reply(POEM, pause=_WORD)],
            "Count to 400.": [steps.reply(ENDLESS, pause=_WORD)],
            "Are you still there?": [steps.reply("Yes, with all we talked about.")],
        }
        cli = ScriptedCLI(folder, prompts=[steps.turn(*scene) for scene in scenes.values()])
        cast = "A stand-in for Claude Code plays along: no account, no network."
        try:
            yield Stage(cast, {"cli_path": cli.command, "cwd": folder}, {prompt: prompt for prompt in scenes})
        finally:
            cli.close()


def _own_tool() -> list[steps.Step]:
    """The use of a tool of this process, and the call that comes to it."""
    call = {"method": "tools/call", "id": 1, "params": {"name": STOCK, "arguments": {"item": ITEM}}}
    message = {"subtype": "mcp_message", "server_name": SHOP, "message": {"jsonrpc": "2.0", **call}}
    return [steps.use_tool(f"mcp__{SHOP}__{STOCK}", {"item": ITEM}), steps.ask(message)]


def _tool(command: str, **fields: Any) -> steps.Step:
    return steps.use_tool("Bash", {"command": command, "description": "for the demo"}, **fields)


@contextmanager
def real_stage() -> Iterator[Stage]:
    """Play with the Claude Code that is found here, in a scratch home and directory, and a scripted model."""
    find_program()  # says at once if there is none
    words = model_script.Text
    scenes = {
        "Make a note.": (_call(NOTE), words("There is a note.txt now.")),
        "What is in .env?": (_call(SECRET), words("Then I leave it alone.")),
        "How many A-17 are left?": (
            model_script.ToolCall(f"mcp__{SHOP}__{STOCK}", item=ITEM),
            words("There are 12 of them."),
        ),
        "Write a line about it.": (words(POEM, pause=_WORD),),
        "Count to 400.": (words(ENDLESS, pause=_WORD),),
        "Are you still there?": (words("Yes, with all we talked about."),),
    }
    with tempfile.TemporaryDirectory(prefix="claude-control-demo-") as folder, ModelServer() as server:
        home, here = Path(folder, "home"), Path(folder, "here")
        home.mkdir()
        here.mkdir()
        cast = "The real Claude Code plays along, with a scripted model on this machine: no account, no network."
        options = {"cwd": here, "env": server.environment(home)}
        yield Stage(cast, options, {prompt: script(*scene) for prompt, scene in scenes.items()})


def _call(command: str) -> model_script.ToolCall:
    return model_script.ToolCall("Bash", command=command, description="for the demo")
