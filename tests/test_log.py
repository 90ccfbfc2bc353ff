"""Logging: silent and free until the user asks, never in the way, and without secrets."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest
import structlog

from claude_control import log
from tests import sources

SECRET = "sk-ant-api03-AbCd_1234-xyz"


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=sources.ROOT, check=True, capture_output=True, text=True, timeout=50)


@pytest.fixture
def caught() -> Iterator[list[logging.LogRecord]]:
    """The records of every level that reach the standard tree."""
    records: list[logging.LogRecord] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    keeper, root = Keeper(), logging.getLogger("claude_control")
    before = root.level
    root.addHandler(keeper)
    root.setLevel(logging.DEBUG)
    yield records
    root.removeHandler(keeper)
    root.setLevel(before)


@pytest.fixture
def configured() -> Iterator[io.StringIO]:
    """A user's own structlog chain: JSON lines into a text."""
    written = io.StringIO()
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer(sort_keys=True)],
        wrapper_class=structlog.BoundLogger,
        logger_factory=structlog.PrintLoggerFactory(written),
    )
    yield written
    structlog.reset_defaults()


# -- in a fresh interpreter --------------------------------------------------------------------------------------------

QUIET = """
import logging, sys
{first}
from claude_control import log
logger = log.get("claude_control.test")
for method in (logger.debug, logger.info, logger.warning, logger.error): method("an.event", n=1)
print("structlog" in sys.modules, "asyncio" in sys.modules)
"""


@pytest.mark.parametrize(
    "first",
    [
        "",
        "logging.getLogger('claude_control').setLevel(logging.DEBUG)",
        "logging.getLogger('claude_control').addHandler(logging.NullHandler())",
        "logging.basicConfig(level=logging.CRITICAL)",
        "logging.basicConfig(); logging.getLogger('claude_control').propagate = False",
        "logging.basicConfig(); logging.disable(logging.CRITICAL)",
    ],
)
def test_nothing_is_imported_or_printed_unless_asked(first: str) -> None:
    """Where no handler would see a record, logging one prints nothing and does not import structlog."""
    done = run(QUIET.format(first=first))
    assert (done.stdout, done.stderr) == ("False False\n", "")


def test_records_below_the_level_cost_no_import() -> None:
    """With the standard configuration, which shows warnings, an info does not import structlog and a warning does."""
    code = """
import logging, sys
logging.basicConfig()
from claude_control import log
logger = log.get("claude_control.test")
logger.info("an.info"); before = "structlog" in sys.modules
logger.warning("a.warning", size=3); print(before, "structlog" in sys.modules)
"""
    done = run(code)
    assert done.stdout == "False True\n"
    assert done.stderr == "WARNING:claude_control.test:a.warning\n"


def test_structlog_that_is_imported_but_not_configured_prints_nothing() -> None:
    """Bare structlog prints to stdout; our records do not, even if the user's program has imported it."""
    done = run(QUIET.format(first="import structlog"))
    assert done.stdout.startswith("True ")
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


def test_half_imported_structlog_is_no_error() -> None:
    """A record that comes while another thread imports structlog is dealt with as if it were not there."""
    done = run("import sys, types\nsys.modules['structlog'] = types.ModuleType('structlog')" + QUIET.format(first=""))
    assert (done.stdout, done.stderr) == ("True False\n", "")


# -- where records go --------------------------------------------------------------------------------------------------


def test_fields_arrive_in_the_standard_tree(caught: list[logging.LogRecord]) -> None:
    """A standard handler gets the event as the message and every field as an attribute, at the right level and name."""
    logger = log.get("claude_control.here")
    logger.debug("one", size=3)
    logger.info("two", what=["x", 1])
    logger.warning("three")
    logger.error("four", deep={"a": {"b": None}})
    assert [(record.name, record.levelname, record.getMessage()) for record in caught] == [
        ("claude_control.here", level, event)
        for level, event in (("DEBUG", "one"), ("INFO", "two"), ("WARNING", "three"), ("ERROR", "four"))
    ]
    found = [vars(record) for record in caught]
    assert (found[0]["size"], found[1]["what"], found[3]["deep"]) == (3, ["x", 1], {"a": {"b": None}})


def test_percent_signs_are_no_format(caught: list[logging.LogRecord]) -> None:
    """An event is never taken for a format string."""
    log.get("claude_control.here").warning("100 %s", n=1)
    assert caught[0].getMessage() == "100 %s"


def test_configured_structlog_gets_the_records(configured: io.StringIO, caught: list[logging.LogRecord]) -> None:
    """Where the user has configured structlog, records go through that chain and not into the standard tree."""
    log.get("claude_control.here").warning("a.warning", size=3)
    assert json.loads(configured.getvalue()) == {"event": "a.warning", "level": "warning", "size": 3}
    assert caught == []


def test_structlog_configured_later_is_seen(caught: list[logging.LogRecord]) -> None:
    """A logger made and used before the user configures structlog follows the configuration from then on."""
    logger = log.get("claude_control.here")
    logger.warning("before")
    entries: list[Any] = []

    def keep(_logger: Any, _method: str, fields: Any) -> Any:
        entries.append(dict(fields))
        raise structlog.DropEvent

    structlog.configure(processors=[keep])
    try:
        logger.warning("after", size=1)
    finally:
        structlog.reset_defaults()
    assert [record.getMessage() for record in caught] == ["before"]
    assert entries == [{"event": "after", "size": 1}]


CLASHES = sorted(
    {*vars(logging.makeLogRecord({})), "message", "asctime", "stacklevel", "method_name", "extra", "logger"}
)


@pytest.mark.parametrize("name", CLASHES)
def test_clashing_field_does_not_raise(name: str, caught: list[logging.LogRecord]) -> None:
    """A field called like an attribute of log records, or like a parameter on the way, arrives under another name."""
    log.get("claude_control.here").warning("a.warning", **{name: "odd"})
    assert caught[0].getMessage() == "a.warning"
    assert "odd" in (getattr(caught[0], f"cc_{name}", None), getattr(caught[0], name, None))


@pytest.mark.parametrize("name", CLASHES)
def test_clashing_field_passes_the_users_chain(name: str, configured: io.StringIO) -> None:
    """The same holds for a chain of the user's own."""
    log.get("claude_control.here").warning("a.warning", **{name: "odd"})
    assert "odd" in json.loads(configured.getvalue()).values()


def test_clashing_context_does_not_raise(caught: list[logging.LogRecord]) -> None:
    """Neither do context variables that the user bound under such a name; they come along."""
    with structlog.contextvars.bound_contextvars(name="job", request_id="r1"):
        log.get("claude_control.here").warning("a.warning")
    found = vars(caught[0])
    assert (found["cc_name"], found["request_id"]) == ("job", "r1")


def test_broken_chain_does_not_reach_the_caller(capsys: pytest.CaptureFixture[str]) -> None:
    """A user's processor that raises is reported on stderr, and the session that logs goes on."""

    def broken(_logger: Any, _method: str, _fields: Any) -> Any:
        raise ZeroDivisionError("theirs")

    structlog.configure(processors=[broken])
    try:
        log.get("claude_control.here").warning("a.warning")
    finally:
        structlog.reset_defaults()
    assert "ZeroDivisionError: theirs" in capsys.readouterr().err


# -- secrets -----------------------------------------------------------------------------------------------------------


def test_secrets_are_redacted_in_records(caught: list[logging.LogRecord]) -> None:
    """A record never carries a key of the API, wherever in its fields it was."""
    env = {"PATH": "/bin", "ANTHROPIC_API_KEY": SECRET, "NOTE": f"uses {SECRET}"}
    log.get("claude_control.here").warning(
        "a.warning", said=f"key {SECRET}!", environment={"env": env}, argv=["-k", SECRET]
    )
    text = repr(vars(caught[0]))
    assert SECRET not in text
    assert text.count("[redacted]") == 4
    assert "/bin" in text


def test_secrets_are_redacted_in_the_users_chain(configured: io.StringIO) -> None:
    """Nor does what goes through a chain of the user's own."""
    log.get("claude_control.here").warning("a.warning", headers={"Authorization": "Basic dXNlcjpwYXNz"}, said=SECRET)
    assert "dXNlcjpwYXNz" not in configured.getvalue()
    assert SECRET not in configured.getvalue()


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "Authorization",
        "x-api-key",
        "apiKey",
        "password",
        "cookie",
        "Set-Cookie",
        "private_key",
        "credentials",
        "oauthToken",
    ],
)
def test_values_of_secret_names_are_redacted(name: str) -> None:
    """The value of a key that names a secret is hidden, whatever it is and at any depth."""
    assert log.redact({"a": [{name: {"inner": "plain"}}]}) == {"a": [{name: "[redacted]"}]}


@pytest.mark.parametrize("name", ["input_tokens", "max_thinking_tokens", "outputTokens", "monkey", "path", "model"])
def test_values_of_other_names_stay(name: str) -> None:
    """Counts of tokens and ordinary names are no secrets."""
    assert log.redact({name: 12}) == {name: 12}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"key={SECRET}", "key=[redacted]"),
        (f'{{"k":"{SECRET}"}}', '{"k":"[redacted]"}'),
        ("Authorization: Bearer abc.def-123", "Authorization: [redacted]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"),
        ("'Authorization': 'token gho_16C7e42F'", "'Authorization': 'token [redacted]'"),
        ("x-api-key: hunter2hunter2", "x-api-key: [redacted]"),
        ('"X-Api-Key": "hunter2hunter2"', '"X-Api-Key": "[redacted]"'),
        ("ANTHROPIC_AUTH_TOKEN=abc123 PATH=/bin", "ANTHROPIC_AUTH_TOKEN=[redacted] PATH=/bin"),
        ("AWS_SECRET_ACCESS_KEY=x/y+z", "AWS_SECRET_ACCESS_KEY=[redacted]"),
        ("bearer of bad news", "bearer of bad news"),
        ("Authorization failed for user bob", "Authorization failed for user bob"),
        ("MAX_THINKING_TOKENS=2000", "MAX_THINKING_TOKENS=2000"),
        ("sk-ant- alone", "sk-ant- alone"),
    ],
)
def test_secrets_in_texts_are_redacted(text: str, left: str) -> None:
    """Keys, authorization headers and printed environments are hidden in running text, and nothing else is."""
    assert log.redact(text) == left
    assert log.redact(text.encode()) == left


def test_every_kind_of_container_is_redacted() -> None:
    """Lists, tuples, sets and every kind of mapping are looked through; keys that are no texts are no problem."""
    given = [(SECRET,), {SECRET}, frozenset({SECRET}), MappingProxyType({1: SECRET, None: {"token": 1}})]
    hidden = "[redacted]"
    assert log.redact(given) == [[hidden], [hidden], [hidden], {1: hidden, None: {"token": hidden}}]


def test_redacting_does_not_change_what_it_gets() -> None:
    """The caller's own objects stay as they are."""
    given = {"env": {"API_KEY": SECRET}, "argv": [SECRET]}
    log.redact(given)
    assert given == {"env": {"API_KEY": SECRET}, "argv": [SECRET]}


def test_deep_long_and_endless_values_are_cut() -> None:
    """A structure that contains itself ends after eight levels, a long one after a hundred items."""
    endless: dict[str, Any] = {"secret": SECRET}
    endless["self"] = endless
    assert SECRET not in repr(log.redact(endless))
    assert repr(log.redact(endless)).count("self") == 8
    assert len(log.redact(list(range(1000)))) == 100
    assert len(log.redact(dict.fromkeys(range(1000)))) == 100
