"""The README's Python runs as it stands, against a stand-in for the program."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import reply, turn, use_tool
from tests import sources

README = (sources.ROOT / "README.md").read_text(encoding="utf-8")

# Every prompt gets all that the examples look at: a command that they allow, one they deny, a file they guard.
EVERY_PROMPT = turn(
    reply("Let me look."),
    use_tool("Bash", {"command": "git commit -m done"}),
    use_tool("Bash", {"command": "git push"}),
    use_tool("Read", {"file_path": ".env"}, asks=False),
    reply("Done."),
)


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield (heading, code) of every Python block of a Markdown text."""
    title = ""
    for heading, code in re.findall(r"^## ([^\n]+)$|^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        title = heading or title
        if code:
            yield title, code


EXAMPLES = dict(blocks(README))


@pytest.fixture
def cli(scripted_cli: ScriptedCLIFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedCLI:
    """Return the stand-in that `CLAUDE_CONTROL_CLI` names; the working directory is the test's own."""
    cli = scripted_cli(every_prompt=EVERY_PROMPT)
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(cli.command)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("CLAUDE_CONTROL_CLI", str(program))
    monkeypatch.chdir(tmp_path)
    return cli


@pytest.mark.parametrize("title", EXAMPLES)
def test_example_runs(title: str, cli: ScriptedCLI, capsys: pytest.CaptureFixture[str]) -> None:
    """Each example runs to its end, prints something, and sends the program nothing that it would not take."""
    exec(compile(EXAMPLES[title], f"README.md, {title}", "exec"), {"__name__": "readme"})
    cli.check()
    assert len(cli.sessions) == 1
    assert capsys.readouterr().out.strip()


def test_permission_example_decides(cli: ScriptedCLI) -> None:
    """The permission callback lets the commit run and keeps the push from running."""
    exec(EXAMPLES["Decide what it may do"], {"__name__": "readme"})
    outcomes = {event["input"].get("command"): event["outcome"] for event in cli.events("tool")}
    assert (outcomes["git commit -m done"], outcomes["git push"]) == ("ran", "denied")


def test_hook_example_guards(cli: ScriptedCLI) -> None:
    """The hook keeps the guarded file from being read, though reading needs no permission."""
    exec(EXAMPLES["Hook into its steps"], {"__name__": "readme"})
    assert [event["outcome"] for event in cli.events("tool") if event["name"] == "Read"] == ["denied"]


def test_all_examples_are_found() -> None:
    """Every Python block of the README stands under a heading of its own, and so is run."""
    assert len(EXAMPLES) == README.count("\n```python\n") >= 4
