"""Every exception keeps its fields wherever it is carried, and stands where the drawing says."""

import builtins
import copy
import inspect
import pickle
from typing import Any

import pytest

from claude_control import errors
from claude_control.errors import ClaudeControlError

CLASSES: list[type[ClaudeControlError]] = [getattr(errors, name) for name in errors.__all__]
SAMPLES: dict[str, Any] = {"looked": ("here", "there"), "exit_code": 3, "signal": 9, "timeout": 2.5, "raw": {"a": [1]}}


def fields_of(kind: type[ClaudeControlError]) -> dict[str, Any]:
    """Return a value for every keyword of a class."""
    parameters = inspect.signature(kind).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    return {name: SAMPLES.get(name, f"the {name}") for name in names}


def drawn_tree() -> dict[str, tuple[str | None, str | None]]:
    """Return the tree of the docstring: class -> (parent, builtin base)."""
    tree: dict[str, tuple[str | None, str | None]] = {}
    above: list[str] = []
    assert errors.__doc__ is not None
    for line in errors.__doc__.splitlines():
        text = line.strip(" │├└─")
        if not text.endswith("Error") and "Error " not in text[:40]:
            continue
        name, _, rest = text.partition(" ")
        depth = (line.index(name) - 4) // 4
        builtin = rest[1 : rest.index(")")] if rest.startswith("(") else None
        above[depth:] = [name]
        tree[name] = (above[depth - 1] if depth else None, builtin)
    return tree


def real_tree() -> dict[str, tuple[str | None, str | None]]:
    """Return the same of the classes themselves."""
    tree: dict[str, tuple[str | None, str | None]] = {}
    for kind in CLASSES:
        ours = [base for base in kind.__mro__[1:] if base in CLASSES]
        theirs = [base.__name__ for base in kind.__bases__ if getattr(builtins, base.__name__, None) is base]
        tree[kind.__name__] = (ours[0].__name__ if ours else None, theirs[0] if ours and theirs else None)
    return tree


def test_drawing_is_the_real_tree() -> None:
    """The tree in the docstring has every class, below the right parent and with its builtin base."""
    assert drawn_tree() == real_tree()


def test_every_public_class_is_exported() -> None:
    """`__all__` has every exception that the module defines, and nothing else."""
    defined = {
        name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, ClaudeControlError)
    }
    assert {name for name in defined if not name.startswith("_")} == set(errors.__all__)


@pytest.mark.parametrize("kind", CLASSES)
def test_message_is_the_text(kind: type[ClaudeControlError]) -> None:
    """The message comes first and is all of the text; none is needed."""
    assert str(kind("it broke")) == "it broke"
    assert str(kind()) == ""


@pytest.mark.parametrize("kind", CLASSES)
def test_fields_are_attributes(kind: type[ClaudeControlError]) -> None:
    """Every keyword is an attribute of the same name and value."""
    given = fields_of(kind)
    error = kind("it broke", **given)
    assert {name: getattr(error, name) for name in given} == given


@pytest.mark.parametrize("kind", CLASSES)
def test_pickles_with_all_fields(kind: type[ClaudeControlError]) -> None:
    """An exception that comes from another process has its class, message, fields and notes."""
    error = kind("it broke", **fields_of(kind))
    error.add_note("a note")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(error, protocol))
        assert (type(back), back.args, vars(back)) == (kind, ("it broke",), vars(error))
        assert back.__notes__ == ["a note"]


@pytest.mark.parametrize("kind", CLASSES)
def test_copies_with_all_fields(kind: type[ClaudeControlError]) -> None:
    """A copy has all fields and a traceback of its own."""
    error = kind("it broke", **fields_of(kind))
    for back in (copy.copy(error), copy.deepcopy(error)):
        assert back is not error
        assert (type(back), back.args, vars(back)) == (kind, error.args, vars(error))
        assert back.__traceback__ is None


@pytest.mark.parametrize("kind", CLASSES)
def test_fields_are_keywords_only(kind: type[ClaudeControlError]) -> None:
    """A second positional argument is refused: fields would be mixed up silently."""
    with pytest.raises(TypeError):
        kind("it broke", "surplus")  # type: ignore[call-arg]


def test_looked_is_a_tuple() -> None:
    """The places looked at are kept whatever kind of sequence they came in, and later changes do not reach them."""
    places = ["a", "b"]
    error = errors.CLINotFoundError("none", looked=places)
    places.append("c")
    assert error.looked == ("a", "b")
