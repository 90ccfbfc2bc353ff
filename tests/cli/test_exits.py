"""Exit codes, and what is said about the exception behind them."""

import pytest

from claude_control import errors
from claude_control.cli.exits import Stopped, code_for, told


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.MaxTurnsError("m"), 1),
        (errors.ProcessExitedError("m"), 1),
        (errors.InitializeError("m"), 1),
        (errors.ControlRequestError("m"), 1),
        (OSError("disk full"), 1),
        (errors.OptionsError("m"), 2),
        (errors.CLINotFoundError("m"), 3),
        (errors.CLIVersionError("m"), 3),
        (errors.SpawnError("m"), 3),
        (errors.NotSupportedError("m"), 3),
        (errors.WaitTimeoutError("m"), 124),
        (errors.ControlTimeoutError("m"), 124),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
        (Stopped(143), 143),
    ],
)
def test_exception_has_its_code(error: BaseException, code: int) -> None:
    """Each kind of exception ends the command with the code that is documented for it."""
    assert code_for(error) == code


def test_option_is_named_by_its_flag() -> None:
    """An error about an option says which flag gave it."""
    error = errors.OptionsError("allowed_tools has 'Bash('", field="allowed_tools")
    assert told(error) == "--allow: allowed_tools has 'Bash('"


def test_secrets_and_codes_are_not_told() -> None:
    """What the program said in its last words reaches the terminal without its secrets and without its codes."""
    error = errors.ProcessExitedError("it said: \x1b[2JANTHROPIC_API_KEY=sk-ant-abcdefgh \x1b]0;t\x07")
    assert "abcdefgh" not in told(error)
    assert "\x1b" not in told(error)
