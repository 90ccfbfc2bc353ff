"""The documentation holds: its Python runs, its commands exist, its links lead somewhere, and no page is lost.

A block says what it is in the words after its fence:

    python              a whole program; it is run here, against a scripted CLI
    python real         the same, but with the real program; tests/real/test_documentation.py runs it
    python fragment     what cannot run by itself; it only has to be valid
    sh                  commands; their programs, files and flags have to exist
    console             what a terminal shows; another test writes it, which a comment above the block names
    text, json, {…}     neither

`CLAUDE_CONTROL_WRITE_TABLES=1 pytest tests/test_documentation.py` writes the tables anew that are made from the code.
"""

import ast
import inspect
import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import claude_control
from claude_control.cli import group
from claude_control.options import Options
from claude_control.session.session import Session
from claude_control.testing.scripted_cli import ScriptedCLI, ScriptedCLIFactory
from claude_control.testing.steps import TurnScript, ask, reply, result, turn, use_tool
from docs import hook_tables, option_tables, outcome_tables, session_tables
from docs.session_tables import control_names
from tests import documents, sources
from tests.documents import Block, Page

PAGES = documents.pages()
BLOCKS = documents.blocks()
PROGRAMS = [block for block in BLOCKS if block.info == "python"]
FRAGMENTS = [block for block in BLOCKS if block.info == "python fragment"]
SHELL = [block for block in BLOCKS if block.info == "sh"]

# Every prompt gets all that the examples look at: a command that they allow, one they deny, a file they guard.
EVERY_PROMPT = turn(
    reply("Let me look."),
    use_tool("Bash", {"command": "git commit -m done"}),
    use_tool("Bash", {"command": "git push"}),
    use_tool("Read", {"file_path": ".env"}, asks=False),
    reply("Done."),
)

# What a block's program plays instead, by the block's name.
CALL_STOCK = {
    "subtype": "mcp_message",
    "server_name": "shop",
    "message": {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "stock", "arguments": {"item": "A-17"}},
    },
}
QUESTIONS = {
    "questions": [
        {
            "question": text,
            "header": text,
            "options": [{"label": "A"}, {"label": "B, b"}],
            "multiSelect": text == "Which?",
        }
        for text in ("What?", "Which?")
    ]
}
NAME = {
    "subtype": "elicitation",
    "mcp_server_name": "hotel",
    "message": "Whom is it for?",
    "mode": "form",
    "requested_schema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "property_order": ["name"],
}
DIALOG = {
    "subtype": "request_user_dialog",
    "dialog_kind": "refusal_fallback_prompt",
    "payload": {"originalModel": "a", "fallbackModel": "b"},
}
SCRIPTS: dict[str, TurnScript] = {
    "docs/topics/permissions.md, Questions": turn(use_tool("AskUserQuestion", QUESTIONS), reply("Thanks.")),
    "docs/topics/permissions.md, Plans": turn(use_tool("ExitPlanMode", {"plan": "Build, then test."}), reply("Done.")),
    "docs/topics/elicitation.md, Forms": turn(ask(NAME), reply("Booked.")),
    "docs/topics/elicitation.md, A person answers later": turn(ask(NAME), reply("Booked.")),
    "docs/topics/elicitation.md, Dialogs of the program": turn(ask(DIALOG), reply("Booked.")),
    "docs/topics/turns.md, An answer as data": turn(result(structured_output={"version": "1.2", "changes": []})),
    "docs/topics/tools.md, Tools in your process": turn(ask(CALL_STOCK), reply("Twelve.")),
}


@pytest.fixture
def cli(
    request: pytest.FixtureRequest, scripted_cli: ScriptedCLIFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ScriptedCLI:
    """Return the stand-in that `CLAUDE_CONTROL_CLI` names; the working directory is the test's own."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    cli = scripted_cli(every_prompt=SCRIPTS.get(str(parameters.get("block")), EVERY_PROMPT))
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(cli.command)} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("CLAUDE_CONTROL_CLI", str(program))
    monkeypatch.chdir(tmp_path)
    return cli


# -- blocks ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_leaks")
@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_python_runs(block: Block, cli: ScriptedCLI, request: pytest.FixtureRequest) -> None:
    """Each Python block is a whole program: it runs to its end, and sends nothing that the program would not take.

    What it defines as a test is run too, with the fixtures that it asks for.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(block.code, str(block), "exec"), names)
    for name, function in names.items():
        if name.startswith("test_"):
            function(*map(request.getfixturevalue, inspect.signature(function).parameters))
    cli.check()


def run_readme(heading: str) -> None:
    """Run a block of the README that others of these tests look at more closely."""
    (block,) = (block for block in PROGRAMS if (block.page, block.heading) == ("README.md", heading))
    exec(compile(block.code, str(block), "exec"), {"__name__": "__main__"})


def test_readme_begins_with_one_line() -> None:
    """The first command of the README sets everything up from a checkout and shows the main things at work."""
    first = next(block for block in SHELL if block.page == "README.md")
    assert first.code == "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/claude-control demo\n"


def test_first_example_asks_twice(cli: ScriptedCLI, capsys: pytest.CaptureFixture[str]) -> None:
    """The first example of the README watches one turn, waits for another in the same session, and is short."""
    run_readme("Ask, watch, ask again")
    assert len(cli.sessions) == 1
    assert "Let me look." in capsys.readouterr().out.splitlines()
    assert [frame["type"] for frame in cli.received()].count("user") == 2
    (first,) = (block for block in PROGRAMS if block.heading == "Ask, watch, ask again")
    assert len(first.code.splitlines()) <= 10


def test_permission_example_decides(cli: ScriptedCLI) -> None:
    """The permission callback of the README lets the commit run and keeps the push from running."""
    run_readme("Decide what it may do")
    outcomes = {event["input"].get("command"): event["outcome"] for event in cli.events("tool")}
    assert (outcomes["git commit -m done"], outcomes["git push"]) == ("ran", "denied")


def test_hook_example_guards(cli: ScriptedCLI) -> None:
    """The hook of the README keeps the guarded file from being read, though reading needs no permission."""
    run_readme("Hook into its steps")
    assert [event["outcome"] for event in cli.events("tool") if event["name"] == "Read"] == ["denied"]


def test_fragments_are_valid() -> None:
    """What is declared a fragment of a program is Python, and no whole program that only wants to escape being run."""
    for block in FRAGMENTS:
        statements = ast.parse(block.code).body
        assert not any(isinstance(statement, ast.Import | ast.ImportFrom) for statement in statements), block


def test_every_block_says_what_it_is() -> None:
    """No block is left out of these tests by saying nothing, or something that nobody knows."""
    real = sum(block.info == "python real" for block in BLOCKS)  # tests/real/test_documentation.py has as many
    run = len(PROGRAMS) + real + len(FRAGMENTS)
    assert run == sum("python" in block.info for block in BLOCKS) >= 10
    known = {"python", "python real", "python fragment", "sh", "console", "text", "json", "{toctree}"}
    assert [str(block) for block in BLOCKS if block.info not in known] == []


@pytest.mark.parametrize(
    "block", [block for block in PROGRAMS if str(block).startswith("docs/topics/tools.md, Tools in")]
)
def test_tool_example_answers(block: Block, cli: ScriptedCLI) -> None:
    """The first tool of the page about tools is called by the program and answers with what its function returns."""
    exec(compile(block.code, str(block), "exec"), {"__name__": "__main__"})
    (answer,) = (frame["response"]["response"] for frame in cli.received() if frame["type"] == "control_response")
    told = answer["mcp_response"]["result"]["structuredContent"]
    assert told == {"item": "A-17", "warehouse": "main", "pieces": 12}


@pytest.mark.parametrize("block", [block for block in PROGRAMS if block.page == "docs/topics/permissions.md"])
def test_permission_examples_decide(block: Block, cli: ScriptedCLI) -> None:
    """Each example of the page about permissions answers what it is asked as the page says."""
    exec(compile(block.code, str(block), "exec"), {"__name__": "__main__"})
    sent = [frame["response"]["response"] for frame in cli.received() if frame["type"] == "control_response"]
    kinds = [[update["type"] for update in answer.get("updatedPermissions", ())] for answer in sent]
    if block.heading == "Questions":
        assert sent[0]["updatedInput"]["answers"] == {"What?": "A", "Which?": 'A, "B, b"'}
    elif block.heading == "Plans":
        assert (sent[0]["behavior"], kinds) == ("allow", [["setMode"]])
    elif block.heading == "Changing the rules":
        assert kinds == [["addRules"], ["addRules"]]
    elif block.heading == "Deciding about tools":
        assert [answer["behavior"] for answer in sent] == ["allow", "deny"]
        assert sent[0]["updatedInput"]["command"].endswith(" --dry-run")
    else:
        assert [answer["behavior"] for answer in sent] == ["allow", "allow"]


def test_scripts_belong_to_blocks() -> None:
    """Every special script is that of a block that is there."""
    assert set(SCRIPTS) <= {str(block) for block in PROGRAMS}


def test_captures_are_written_by_tests() -> None:
    """What a terminal shows was never typed in: the comment above it names what another test compares it with."""
    for page in PAGES:
        fences = len(re.findall(r"^```console$", page.text, re.MULTILINE))
        assert len(re.findall(r"^<!-- [a-z]+: [\w-]+ -->\n+```console$", page.text, re.MULTILINE)) == fences, page


def test_json_is_valid() -> None:
    """A block of JSON is JSON."""
    for block in BLOCKS:
        assert block.info != "json" or json.loads(block.code) is not None, block


# -- tables from the code ----------------------------------------------------------------------------------------------

TABLES = session_tables.TABLES | option_tables.TABLES | outcome_tables.TABLES | hook_tables.TABLES
_MARKED = re.compile(r"(<!-- begin: ([\w-]+) -->\n)(.*?)(<!-- end: \2 -->)", re.DOTALL)


@pytest.mark.parametrize("name", TABLES)
def test_table_is_what_the_code_says(name: str) -> None:
    """A table that is made from the code stands in a page as the code makes it now."""
    (page,) = (page for page in PAGES if f"<!-- begin: {name} -->" in page.text)
    table = f"\n{TABLES[name]()}\n\n"
    text = page.path.read_text(encoding="utf-8")
    if os.environ.get("CLAUDE_CONTROL_WRITE_TABLES"):
        text = _MARKED.sub(lambda found: found[1] + table + found[4] if found[2] == name else found[0], text)
        page.path.write_text(text, encoding="utf-8")
    (written,) = (found[3] for found in _MARKED.finditer(text) if found[2] == name)
    assert written == table


def test_methods_are_all_there() -> None:
    """The page of the session has a section for every method, and the README a line for each control method."""
    sections = re.findall(r"^### (\w+)$", Page(documents.DOCS / "reference" / "session.md").text, re.MULTILINE)
    methods = [name for name in dir(Session) if inspect.isfunction(getattr(Session, name)) and name[0] != "_"]
    assert sorted(sections) == methods
    rows = TABLES["control-methods"]().splitlines()[2:]
    assert [row.split("`")[1].split("(")[0] for row in rows] == control_names()
    assert all(re.search(r"\| \d+\.\d+\.\d+[^|]*\|$", row) for row in rows)


# -- commands ----------------------------------------------------------------------------------------------------------


def simple_commands(line: str) -> Iterator[list[str]]:
    """Yield the commands of a line of shell, each as its words; redirections are left out."""
    line = re.sub(r'"?\$\(([^)]*)\)"?', r"; \1 ;", line)  # what is in $(…) is a command too
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.commenters = "#"
    words: list[str] = []
    tokens = list(lexer)
    for i, token in enumerate(tokens):
        if token and set(token) <= set("();|&"):
            yield words
            words = []
        elif not (token in "<>" or (i and tokens[i - 1] in "<>")):
            words.append(token)
    yield words


COMMANDS = [
    pytest.param(words, id=f"{block.page}: {shlex.join(words)}")
    for block in SHELL
    for line in block.code.splitlines()
    for words in simple_commands(line)
    if words
]

# Whose commands are not ours to check.
FOREIGN = {"git", "curl", "eval", "source"}


def check_own_command(arguments: list[str]) -> None:
    """Raise click's error for words that `claude-control` would not take."""
    context = click.Context(group, info_name="claude-control")
    command: click.Command | None = group
    if arguments and not arguments[0].startswith("-"):
        command, arguments = group.get_command(context, arguments[0]), arguments[1:]
    assert command is not None, "there is no such command"
    command.make_parser(click.Context(command, parent=context)).parse_args(args=list(arguments))


def check_python(arguments: list[str]) -> None:
    """Check that what Python is told to run is there."""
    if arguments[0] != "-m":
        assert (sources.ROOT / arguments[0]).is_file()
    elif arguments[1] not in ("venv", "pydoc"):
        module = sources.ROOT / arguments[1].replace(".", "/")
        assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file()


@pytest.mark.parametrize("words", COMMANDS)
def test_command_exists(words: list[str]) -> None:
    """Each command in a block of shell is one that is there, with flags that it has."""
    program = os.path.basename(words[0])
    if program == "claude-control":
        check_own_command(words[1:])
    elif program in ("python", "python3"):
        check_python(words[1:])
    elif program == "pip":
        extras = re.findall(r"\[([\w,]+)\]", " ".join(words))
        declared = (sources.ROOT / "setup.cfg").read_text(encoding="utf-8")
        assert all(re.search(rf"^{name} =", declared, re.MULTILINE) for name in ",".join(extras).split(",") if name)
    elif program in ("tox", "pytest", "sphinx-build"):
        assert all((sources.ROOT / word).exists() for word in words[1:] if "/" in word and "_build" not in word)
    else:
        assert program in FOREIGN


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_named_flags_exist(page: Page) -> None:
    """A command of ours between backquotes is one, and the page of the command line names no flag that is not there."""
    for code in page.inline_code:
        if code.startswith("claude-control ") and "…" not in code and "|" not in code and "<" not in code:
            check_own_command(shlex.split(code)[1:])
    if page.path.name == "command-line.md":
        found = [group.get_command(click.Context(group), name) for name in group.list_commands(click.Context(group))]
        flags = {flag for command in found if command for one in command.params for flag in one.opts} | {"--version"}
        named = {code.split()[0] for code in page.inline_code if re.match(r"--[a-z]", code)}
        assert named <= flags


# -- links -------------------------------------------------------------------------------------------------------------


def resolve(page: Page, target: str) -> tuple[Path, str]:
    """Return the file that a link means, and the heading in it."""
    name, _, anchor = target.partition("#")
    return ((page.path.parent / name).resolve() if name else page.path), anchor


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Page) -> None:
    """Each link inside of the project names a file that is there, and a heading that stands in it."""
    for target in page.links:
        path, anchor = resolve(page, target)
        assert path.exists(), target
        assert path.is_relative_to(sources.ROOT), target
        if anchor:
            assert anchor in Page(path).anchors, target


def linked(page: Page) -> set[Path]:
    """Return the files that a page links to; a folder stands for what is in it."""
    paths = {resolve(page, target)[0] for target in page.links}
    return paths | {path / "index.md" for path in paths if path.is_dir()}


def test_no_page_is_lost() -> None:
    """From the README and from the documentation's index, links lead to every page and every example."""
    everything = {page.path for page in PAGES if documents.DOCS in page.path.parents}
    everything |= set((documents.DOCS / "examples").glob("*.py"))
    for start in (documents.DOCS / "index.md", sources.ROOT / "README.md"):
        seen, waiting = {start}, [start]
        while waiting:
            found = {path for path in linked(Page(waiting.pop())) if path.is_file()} - seen
            seen |= found
            waiting += [path for path in found if path.suffix == ".md"]
        assert sorted(everything - seen) == []


def test_every_page_is_in_the_tree() -> None:
    """The table of contents that Sphinx makes has every page of the documentation once."""
    entries: list[str] = []
    for page in PAGES:
        for block in page.blocks:
            if block.info == "{toctree}":
                names = [line for line in block.code.splitlines() if line and not line.startswith(":")]
                entries += [(page.path.parent / f"{name}.md").as_posix() for name in names]
    pages = {page.path.as_posix() for page in PAGES if documents.DOCS in page.path.parents}
    assert sorted(entries) == sorted(pages - {(documents.DOCS / "index.md").as_posix()})


# -- claims ------------------------------------------------------------------------------------------------------------


OFFICIAL = Page(documents.DOCS / "topics" / "official-sdk.md")


def test_names_of_the_comparison_exist() -> None:
    """The page about the official SDK names nothing of ours that is not there."""
    rows = [row.split("|") for row in OFFICIAL.text.split("## Names")[1].splitlines() if row.startswith("| `")]
    words = {word for row in rows for word in re.findall(r"`(?:session\.)?([A-Za-z]\w+)", row[2])}
    names = words - {"with", "await", "for"}
    assert len(names) > 10
    assert [name for name in names if not hasattr(claude_control, name) and not hasattr(Session, name)] == []


def test_servers_of_the_mcp_library_are_taken_as_there() -> None:
    """The form that the page shows for servers in this process is taken with one of the mcp library."""
    from mcp.server.mcpserver import MCPServer

    assert '`{"type": "sdk", "name": …, "instance": server}`' in OFFICIAL.text
    Options(mcp_servers={"mine": {"type": "sdk", "name": "mine", "instance": MCPServer("mine")}})
