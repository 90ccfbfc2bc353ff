"""The sources that the other checks read are really all there."""

from tests import sources


def test_modules_finds_the_package() -> None:
    """The package's modules are found with their dotted names, packages marked as such."""
    found = {source.name: source for source in sources.modules()}
    assert found["claude_control.cli"].is_package
    assert not found["claude_control.errors"].is_package
    assert "claude_control._version" in found


def test_modules_finds_the_tests() -> None:
    """The tests are sources too, this one among them."""
    assert __name__ in {source.name for source in sources.modules("tests")}


def test_functions_yields_methods_and_nested_functions() -> None:
    """Functions at every depth are yielded, so no check can be dodged by nesting."""
    text = "def a():\n    def b(): ...\nclass C:\n    async def d(self): ...\n"
    source = sources.Source(name="x", is_package=False, text=text)
    assert sorted(function.name for function in sources.functions(source)) == ["a", "b", "d"]


def test_leftovers_of_tools_are_not_sources() -> None:
    """What tools cache inside the tree belongs to nobody, whatever the folder."""
    assert sources.is_leftover(sources.ROOT / "claude_control" / ".mypy_cache" / "3.11" / "a.py")
    assert sources.is_leftover(sources.ROOT / "tests" / "__pycache__" / "a.pyc")
    assert not sources.is_leftover(sources.ROOT / "tests" / "test_sources.py")
