"""The plugin gives its fixtures, checks the tests that ask for it, and loads nothing heavy by itself."""

import ast
import subprocess
import sys
from collections.abc import Callable

import pytest

PLUGIN = "claude_control.testing.pytest_plugin"

Run = Callable[..., pytest.RunResult]


# Leaks for the length of the inner run only.
LEAK = """
    import os
    import pytest

    opened = []

    @pytest.fixture(scope="session")
    def leak():
        yield lambda: opened.append(os.open(os.devnull, os.O_RDONLY))
        for descriptor in opened:
            os.close(descriptor)
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A function that runs a test file under this plugin alone."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(text: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(text)
        pytester.makeconftest(LEAK)
        pytester.makeini("[pytest]\nclaude_control_leaks_grace = 0.05")
        return pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", "--strict-markers", *arguments)

    return run


def test_fixtures(run: Run) -> None:
    """A test gets a factory of scripted CLIs and a model server that listens, and leaves nothing behind."""
    result = run(
        """
        import json, subprocess, urllib.request
        import pytest

        @pytest.mark.no_leaks
        def test_scripted_cli(scripted_cli):
            cli = scripted_cli(program="2.1.7")
            done = subprocess.run([*cli.command, "--version"], capture_output=True, check=True)
            assert done.stdout == b"2.1.7 (Claude Code)\\n"

        @pytest.mark.no_leaks
        def test_model_server(model_server):
            assert model_server.url.startswith("http://127.0.0.1:")
        """
    )
    result.assert_outcomes(passed=2)


def test_script_that_was_not_followed_fails_the_test(run: Run) -> None:
    """A test errs if the program was sent what its script did not expect."""
    result = run(
        """
        import subprocess
        from claude_control.testing.steps import expect_prompt

        def test_it(scripted_cli):
            subprocess.run(scripted_cli([expect_prompt()]).command, stdin=subprocess.DEVNULL)
        """
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*input ended, but the main script expects*"])


def test_leaks_are_checked_where_it_is_asked_for(run: Run) -> None:
    """A marker or the fixture has one test checked; no other is."""
    result = run(
        """
        import os
        import pytest

        @pytest.mark.no_leaks
        def test_marked(leak): leak()

        def test_fixture(no_leaks, leak): leak()

        def test_unchecked(leak): leak()
        """
    )
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(["*left behind:*", "*descriptor * -> /dev/null*"])


def test_leaks_are_checked_everywhere_by_the_setting(run: Run) -> None:
    """The setting has every test checked, but those that are allowed to leak."""
    result = run(
        """
        import pytest

        def test_leaks(leak): leak()

        @pytest.mark.leaks_allowed("the point of this test")
        def test_allowed(leak): leak()
        """,
        "--override-ini=claude_control_no_leaks=true",
    )
    result.assert_outcomes(passed=2, errors=1)


def test_check_comes_after_all_other_fixtures(run: Run) -> None:
    """What a test's other fixtures close at its end is no leak, and what wider ones hold is none either."""
    result = run(
        """
        import os
        import pytest

        def piped():
            ends = os.pipe()
            yield
            for end in ends:
                os.close(end)

        wide = pytest.fixture(scope="module")(piped)
        narrow = pytest.fixture(autouse=True)(piped)

        @pytest.mark.no_leaks
        def test_it(wide): pass
        """
    )
    result.assert_outcomes(passed=1)


def test_plugin_is_light() -> None:
    """Loading the plugin imports none of what its fixtures need, so that coverage sees those imports."""
    code = f"import sys, {PLUGIN}; print([n for n in sys.modules if n.startswith('claude_control')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    package = {"claude_control", "claude_control._version", "claude_control.errors", "claude_control.unset"}
    assert set(ast.literal_eval(done.stdout)) <= {*package, "claude_control.testing", PLUGIN}


def test_names_of_the_package_come_late() -> None:
    """`claude_control.testing` imports a name when it is used, lists them all, and refuses others."""
    from claude_control import testing

    assert testing.ScriptedCLI.__module__ == "claude_control.testing.scripted_cli"
    assert testing.steps.say.__module__ == "claude_control.testing.steps.writing"
    assert set(dir(testing)) >= set(testing.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = testing.no_such_name
