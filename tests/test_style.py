"""Every source file keeps the house rules on form, and the checks that say so can fail."""

import pytest

from tests import sources, style

TOPS = ("claude_control", "benchmarks", "tests")


@pytest.mark.parametrize("top", TOPS)
def test_sources_keep_the_rules(top: str) -> None:
    """Every module is short and documented, and its functions are short; tests state guarantees and do not sleep."""
    assert [line for source in sources.modules(top) for line in style.complaints(source)] == []


def test_files_are_finished_and_portable() -> None:
    """No file holds unfinished work or a path of the machine it was written on."""
    assert [line for name, text in style.texts() for line in style.text_complaints(name, text)] == []


def test_texts_reach_every_part_of_the_project() -> None:
    """The files read are those of all folders and of the top level."""
    names = {name for name, _ in style.texts()}
    assert {"setup.cfg", "LICENSE", ".ci/run", "docs/index.md", "tests/style.py", "claude_control/errors.py"} <= names


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("claude_control.a", '"""A."""\n' + "x = 1\n" * 400, "claude_control.a: 401 lines, more than 400"),
        ("tests.test_a", '"""A."""\n' + "x = 1\n" * 600, "tests.test_a: 601 lines, more than 600"),
        ("claude_control.a", "x = 1", "claude_control.a: no docstring"),
        ("claude_control.a.utils", '"""A."""', "claude_control.a.utils: the name says nothing about what is inside"),
        (
            "claude_control.a",
            '"""A."""\ndef _f():\n' + "    x = 1\n" * 60,
            "claude_control.a:2 _f: 61 lines, more than 60",
        ),
        ("claude_control.a", '"""A."""\ndef f(): ...', "claude_control.a:2 f: no docstring"),
        ("claude_control.a", '"""A."""\nclass C: ...', "claude_control.a:2 C: no docstring"),
        ("benchmarks.a", '"""A."""\nclass C:\n    """C."""\n    def m(self): ...', "benchmarks.a:4 C.m: no docstring"),
        ("tests.test_a", '"""A."""\ndef test_x(): ...', "tests.test_a:2 test_x: no docstring"),
        ("tests.test_a", '"""A."""\n@pytest.fixture\ndef x(): ...', "tests.test_a:3 x: no docstring"),
        (
            "tests.test_a",
            '"""A."""\ndef test_x():\n    """One.\n\n    Two."""',
            "tests.test_a:2 test_x: the guarantee takes more than one line",
        ),
        ("tests.test_a", '"""A."""\ntime.sleep(1)', "tests.test_a:2 sleeps; wait for an event instead"),
        ("tests.test_a", '"""A."""\nsleep(1)', "tests.test_a:2 sleeps; wait for an event instead"),
    ],
)
def test_broken_rule_is_reported(name: str, text: str, complaint: str) -> None:
    """Each broken rule on form is found, with its place and its reason."""
    assert list(style.complaints(sources.Source(name=name, is_package=False, text=text))) == [complaint]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests.wire", ""),
        ("claude_control.a", '"""A."""\nclass _C:\n    def m(self):\n        def n(): ...'),
        ("claude_control.a", '"""A."""\nclass C:\n    """C."""\n    def __repr__(self): ...'),
        ("claude_control.a", '"""A."""\n@typing.overload\ndef f(): ...\ndef f():\n    """F."""'),
        ("tests.test_a", '"""A."""\nCHILD = "import time; time.sleep(60)"\ndef source(): ...'),
    ],
)
def test_kept_rules_pass(name: str, text: str) -> None:
    """What the rules allow is not complained about."""
    assert list(style.complaints(sources.Source(name=name, is_package=False, text=text))) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("# TO" + "DO: finish", "a.md:1 unfinished"),
        ("see /ro" + "ot/notes", "a.md:1 names a path of one machine"),
        ("see /ho" + "me/alice/notes", "a.md:1 names a path of one machine"),
        (f"see {sources.ROOT}", "a.md:1 names a path of one machine"),
        ("see ~/.claude/local, /usr/bin/env, {folder}/home/a and https://x.example/work/", ""),
    ],
)
def test_text_line_is_judged(line: str, complaint: str) -> None:
    """Unfinished lines and paths of one machine are found; places that every machine has are not."""
    assert "".join(style.text_complaints("a.md", line)) == complaint
