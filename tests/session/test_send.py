"""What goes out with a prompt and what is refused: priority, should_query, verbatim; prompts that are taken back."""

from typing import Any

import pytest

from claude_control import NotSupportedError, OptionsError, Session
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import reply, wait_gate
from claude_control.wire.prompts import PRIORITIES, is_expanded, prompt_fields
from tests.session.conftest import OpenScripted
from tests.waiting import wait_until

OLD = pytest.mark.parametrize("program", ["2.0.75", "2.1.7"])
FIELDS = ("priority", "shouldQuery", "client_composed")


def prompts(cli: ScriptedCLI) -> list[dict[str, Any]]:
    """The fields that stood beside each prompt that the program read."""
    frames = [frame for frame in cli.received() if frame.get("type") == "user"]
    return [{name: frame[name] for name in FIELDS if name in frame} for frame in frames]


def test_a_plain_prompt_has_no_field(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """What nobody asked for is not written."""
    cli = scripted_cli()
    session = open_scripted(cli)
    session.ask("/cost @file").result()
    session.send("hello")
    wait_until(lambda: prompts(cli) == [{}, {}])


@pytest.mark.parametrize("priority", PRIORITIES)
def test_priority_and_should_query_are_written(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, priority: str
) -> None:
    """2.1.332 gets both under the names that it knows."""
    cli = scripted_cli()
    open_scripted(cli).send("hello", priority=priority, should_query=False)
    wait_until(lambda: prompts(cli) == [{"priority": priority, "shouldQuery": False}])


def test_verbatim_is_the_option_unless_the_call_says_otherwise(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """With `verbatim_prompts` every prompt is marked, but for those that say `verbatim=False`; and the other way."""
    cli = scripted_cli()
    session = open_scripted(cli, verbatim_prompts=True)
    session.ask("one").result()
    session.ask("two", verbatim=False).result()
    session.send("three")
    wait_until(lambda: prompts(cli) == [{"client_composed": True}, {}, {"client_composed": True}])
    other = scripted_cli()
    open_scripted(other).ask("four", verbatim=True).result()
    assert prompts(other) == [{"client_composed": True}]


@OLD
@pytest.mark.parametrize("said", [{"priority": "next"}, {"should_query": False}, {"verbatim": True}], ids=str)
def test_older_programs_are_not_told(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str, said: dict[str, Any]
) -> None:
    """What 2.0.75 and 2.1.7 would ignore raises, names the version that knows it, and nothing is written or waits."""
    cli = scripted_cli(program=program)
    session = open_scripted(cli)
    with pytest.raises(NotSupportedError, match=r"2\.1\.332") as caught:
        session.send("/cost", **said)
    assert caught.value.needs == "2.1.332"
    assert session.state == "idle"
    assert session.ask("hello").result().result == "answer to: hello"
    assert prompts(cli) == [{}]


@OLD
def test_older_programs_take_verbatim_what_they_do_not_expand(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted, program: str
) -> None:
    """A prompt without a leading slash and without an @ is verbatim anyway; any other one raises."""
    cli = scripted_cli(program=program)
    session = open_scripted(cli, verbatim_prompts=True)
    session.ask("and/or").result()
    for prompt in ("/clear", "read @secret", [{"type": "text", "text": "hi"}, {"type": "text", "text": "/clear"}]):
        with pytest.raises(NotSupportedError):
            session.ask(prompt)
    session.ask("/cost", verbatim=False).result()
    assert prompts(cli) == [{}, {}]


def test_priority_is_checked() -> None:
    """A word that is no priority raises, and says which there are."""
    with pytest.raises(OptionsError, match="now, next, later") as caught:
        prompt_fields(priority="soon")
    assert caught.value.field == "priority"


@pytest.mark.parametrize(
    ("prompt", "expanded"),
    [
        ("/cost", True),
        (" /cost", True),
        ("a/b", False),
        ("mail me@home", True),
        ([{"type": "text", "text": "x"}], False),
        ([{"type": "text", "text": "x"}, {"type": "text", "text": "@x"}], True),
        ([{"type": "image", "source": {"data": "@/"}}], False),
        ([{"type": "text", "text": None}], False),
    ],
)
def test_what_might_be_expanded(prompt: Any, expanded: bool) -> None:
    """A leading slash in any text block, or an @ anywhere in one, is enough."""
    assert is_expanded(prompt) is expanded


def _busy_with(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> tuple[ScriptedCLI, Session, Any]:
    cli = scripted_cli(prompts=[[wait_gate("go"), reply("one")]])
    session = open_scripted(cli)
    asked = session.ask("hello")
    wait_until(lambda: session._live().conversation.router.running)
    return cli, session, asked


def test_a_sent_prompt_that_is_taken_back_holds_nothing_up(
    scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted
) -> None:
    """After `cancel_async_message()` of a `send()` the session becomes idle with the turn that ran."""
    cli, session, asked = _busy_with(scripted_cli, open_scripted)
    uuid = session.send("never mind")
    assert session.cancel_async_message(uuid).cancelled
    assert not session.cancel_async_message(uuid).cancelled
    cli.open_gate("go")
    assert asked.result().result == "one"
    session.wait_idle(timeout=10)
    assert session.ask("next").result().result == "answer to: next"


def test_a_prompt_that_began_is_not_taken_back(scripted_cli: ScriptedCLIFactory, open_scripted: OpenScripted) -> None:
    """Too late, the program says so, and the turn goes on."""
    cli, session, asked = _busy_with(scripted_cli, open_scripted)
    assert not session.cancel_async_message(asked.uuid).cancelled
    cli.open_gate("go")
    assert asked.result().result == "one"
