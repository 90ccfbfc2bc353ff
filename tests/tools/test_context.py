"""A context works outside of a session too, so that a tool can be tested by itself."""

from claude_control.tools import ToolContext


def test_context_can_be_made_by_hand() -> None:
    """A context that nobody stands behind has a signal of its own and reports to nobody."""
    context = ToolContext("f")
    context.progress(1, 2, "half")
    assert not context.signal.aborted
    assert (context.tool_use_id, context.meta, context.session) == (None, {}, None)
    assert ToolContext("f").signal is not context.signal


def test_progress_is_passed_on() -> None:
    """Each report reaches whoever listens, with what was left out as None."""
    reports: list[tuple[float, float | None, str | None]] = []
    context = ToolContext("f", progress=lambda *report: reports.append(report))
    context.progress(1)
    context.progress(2, 4, "half")
    assert reports == [(1, None, None), (2, 4, "half")]
