"""What tests of programs on this SDK need: stand-ins for both ends of Claude Code, and checks for leaks.

`ScriptedCLI` stands in for the program and `ModelServer` for the model behind a real one; `pytest_plugin` gives both as
fixtures. Names are imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_control.testing import model_script, steps
    from claude_control.testing.leaks import LeakCheck, Snapshot, add_probe, assert_no_leaks, snapshot
    from claude_control.testing.model_prompt import script
    from claude_control.testing.model_requests import ModelRequest, SentAnswer
    from claude_control.testing.model_server import ModelServer
    from claude_control.testing.scripted_cli import Run, ScriptedCLI, ScriptedCLIFactory

_HOMES = {
    "model_prompt": ("script",),
    "model_requests": ("ModelRequest", "SentAnswer"),
    "model_server": ("ModelServer",),
    "scripted_cli": ("Run", "ScriptedCLI", "ScriptedCLIFactory"),
    "leaks": ("LeakCheck", "Snapshot", "add_probe", "assert_no_leaks", "snapshot"),
}
_HOME_OF = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}
_MODULES = ("model_script", "steps")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value  # the next access finds it at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "LeakCheck",
    "ModelRequest",
    "ModelServer",
    "Run",
    "ScriptedCLI",
    "ScriptedCLIFactory",
    "SentAnswer",
    "Snapshot",
    "add_probe",
    "assert_no_leaks",
    "model_script",
    "script",
    "snapshot",
    "steps",
]
