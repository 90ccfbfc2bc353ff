"""Imports go one way, and the check that says so can fail."""

import pytest

from tests import layers, sources


def source(name: str, text: str) -> sources.Source:
    """Return a made-up module; a name that ends in a dot is a package."""
    return sources.Source(name=name.rstrip("."), is_package=name.endswith("."), text=text)


def test_package_keeps_the_order() -> None:
    """No module of the package imports against the order, the purity rule or a library's owner."""
    assert layers.violations(sources.modules()) == []


def test_every_module_has_a_row() -> None:
    """Every top-level name of the package has its place in the order, so none escapes the check."""
    units = {module.name.split(".")[1] for module in sources.modules() if "." in module.name}
    assert units - {layers.TESTING} <= {unit for row in layers.ROWS for unit in row}


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("claude_control.errors", "import claude_control.log", "errors:1 imports claude_control.log, which"),
        ("claude_control.wire.a", "from claude_control.session import turn", "session.turn, which stands above"),
        ("claude_control.wire.a", "from ..session.turn import Turn", "claude_control.session.turn, which stands above"),
        ("claude_control.wire.", "from ..session import turn", "claude_control.wire:1 imports"),
        ("claude_control.wire.a", "from claude_control import session", "session, which stands above"),
        ("claude_control.wire.a", "from claude_control import Session", "imports claude_control, which stands above"),
        ("claude_control.wire.a", "def f():\n    import claude_control.session.turn", "wire.a:2 imports"),
        ("claude_control.wire.a", "if TYPE_CHECKING:\n    from ..process import pipes", "wire.a:2 imports"),
        ("claude_control.wire.a", "import_module('claude_control.session')", "session, which stands above"),
        ("claude_control.wire.a", "importlib.import_module(f'claude_{x}')", "whose name is computed"),
        ("claude_control.wire.a", "__import__(name)", "whose name is computed"),
        ("claude_control.novel", "import claude_control.errors", "claude_control.novel has no row"),
        ("claude_control.cli.run", "from claude_control import novel", "claude_control.novel has no row"),
        ("claude_control.session.a", "from claude_control.testing import scripted_cli", "only cli.demo may"),
        ("claude_control.cli.demonstration", "import claude_control.testing", "only cli.demo may"),
        ("claude_control.wire.a", "import threading", "imports threading, but is pure"),
        ("claude_control.wire.b.c", "def f():\n    from os import path", "wire.b.c:2 imports os, but is pure"),
        ("claude_control.session.routing", "from concurrent.futures import Future", "concurrent, but is pure"),
        ("claude_control.wire.envelope", "import orjson", "imports orjson; only wire.framing may"),
        ("claude_control.session.a", "from asyncio import run", "imports asyncio; only tools.link, tools.portal may"),
        ("claude_control.session.a", "from click.testing import CliRunner", "imports click; only cli may"),
    ],
)
def test_violation_is_reported(name: str, text: str, complaint: str) -> None:
    """Each kind of forbidden import is found and named with its line, wherever in the module it hides."""
    others = [source(f"claude_control.{unit}", "") for unit in ("session.turn", "session.", "process.", "novel")]
    found = layers.violations([source(name, text), *others])
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claude_control.session.a", "from claude_control.wire import framing\nimport threading, os"),
        ("claude_control.session.a", "from . import turn\nfrom .turn import Turn\nfrom .. import errors"),
        ("claude_control.wire.framing", "import orjson, json"),
        ("claude_control.wire.osmosis", "import enum, attrs"),
        ("claude_control.", "from claude_control.session import Session\nimport_module(table[name])"),
        ("claude_control.cli.run", "from claude_control import Session\nimport click"),
        ("claude_control.cli.demo", "from claude_control.testing import scripted_cli"),
        ("claude_control.testing.a", "import orjson, asyncio\nfrom claude_control import Session\n__import__(name)"),
        ("claude_control.__main__", "from claude_control.cli import main"),
        ("claude_control.abort", "from claude_control import log"),
    ],
)
def test_allowed_import_passes(name: str, text: str) -> None:
    """What the order allows is not complained about."""
    others = [source(f"claude_control.{unit}", "") for unit in ("errors", "session.turn", "session.", "log")]
    assert layers.violations([source(name, text), *others]) == []


def test_siblings_may_not_import_each_other() -> None:
    """Two names of one row may depend on each other in one direction only."""
    abort = source("claude_control.abort", "from claude_control import log")
    log = source("claude_control.log", "import claude_control.abort")
    assert layers.violations([abort, log]) == [
        "claude_control.abort:1 and claude_control.log:1: abort and log import each other"
    ]
