"""`--tools module:name`: servers of one's own on the command line, and what is said when there is none."""

from pathlib import Path

import pytest

from claude_control.testing.steps import ask, reply, turn
from tests.cli.conftest import Program
from tests.cli.terminals import piped

SHOP = """
from claude_control import ToolServer

class Shelf:
    other = ToolServer("other")

def stock(item: str) -> str:
    return f"12 of {item}"

server = ToolServer("shop", [stock])
again = ToolServer("shop")
make = lambda: server
"""
CALL = {"method": "tools/call", "id": 1, "params": {"name": "stock", "arguments": {"item": "A-17"}}}
MESSAGE = {"subtype": "mcp_message", "server_name": "shop", "message": {"jsonrpc": "2.0", **CALL}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with modules."""
    path = tmp_path / "here"
    path.mkdir()
    (path / "shop.py").write_text(SHOP)
    (path / "plain.py").write_text("value = 3")
    (path / "broken.py").write_text("import json\n\njson.loads('')")
    (path / "lacking.py").write_text("import no_such_library")
    return path


def test_tools_are_offered(program: Program, folder: Path) -> None:
    """Each server is there under its own name, and a call reaches its function."""
    cli = program(every_prompt=turn(ask(MESSAGE), reply("Twelve.")))
    flags = ("--tools", "shop:server", "--tools", "shop:Shelf.other")
    done = piped("run", "how many?", *flags, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Twelve.\n", "")
    initialize, *_ = (frame["request"] for frame in cli.received() if frame["type"] == "control_request")
    assert initialize["sdkMcpServers"] == ["shop", "other"]
    (answer,) = (frame["response"]["response"] for frame in cli.received() if frame["type"] == "control_response")
    assert answer["mcp_response"]["result"]["content"] == [{"type": "text", "text": "12 of A-17"}]


def test_chat_offers_tools_too(program: Program, folder: Path) -> None:
    """A conversation takes the same flag."""
    cli = program()
    done = piped("chat", "--tools", "shop:server", given="hi\n", cwd=folder)
    assert done.returncode == 0
    initialize, *_ = (frame["request"] for frame in cli.received() if frame["type"] == "control_request")
    assert initialize["sdkMcpServers"] == ["shop"]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["shop"], "wants MODULE:NAME, such as tools:server, not shop."),
        ([":server"], "wants MODULE:NAME"),
        (["shop:"], "wants MODULE:NAME"),
        (["./shop.py:server"], "wants MODULE:NAME"),
        (["nowhere:server"], "there is no module nowhere, neither in this directory nor installed."),
        (["shop.more:server"], "there is no module shop.more"),
        (["lacking:server"], "ModuleNotFoundError: No module named 'no_such_library'"),
        (["broken:server"], "JSONDecodeError: Expecting value"),
        (["shop:none"], "shop has no none; it has again, server."),
        (["shop:Shelf.none"], "shop has no Shelf.none; it has again, server."),
        (["plain:none"], "make one there: server = ToolServer('plain', [...])."),
        (["shop:make"], "that is a function, where a ToolServer is needed; it has again, server."),
        (["shop:ToolServer"], "that is a type, where a ToolServer is needed"),
        (["shop:server", "shop:again"], "there is a server named shop already"),
    ],
)
def test_what_is_wrong_is_told(program: Program, folder: Path, names: list[str], told: str) -> None:
    """Wrong usage ends with 2 before anything is started, and says what would be right."""
    cli = program()
    done = piped("run", "hi", *(word for name in names for word in ("--tools", name)), cwd=folder)
    said = " ".join(done.stderr.split())
    assert (done.returncode, told in said, "Traceback" in said) == (2, True, False)
    assert cli.runs() == []


def test_server_of_the_mcp_library(program: Program, folder: Path) -> None:
    """A server of the mcp library may be named as well."""
    (folder / "low.py").write_text("from mcp.server.lowlevel import Server\nserver = Server('low')")
    cli = program()
    assert piped("run", "hi", "--tools", "low:server", cwd=folder).returncode == 0
    initialize, *_ = (frame["request"] for frame in cli.received() if frame["type"] == "control_request")
    assert initialize["sdkMcpServers"] == ["low"]
