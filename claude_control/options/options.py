"""`Options`: every knob of one session."""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import attrs

from claude_control.errors import OptionsError
from claude_control.likeness import closest
from claude_control.options.callbacks import check_callback, check_dialog_kinds
from claude_control.options.checks import (
    MIB,
    boolean,
    byte_count,
    not_built,
    optional,
    seconds,
    seconds_or_zero,
    to_tuple,
)
from claude_control.options.environment import SecondsFrom
from claude_control.options.identity import check_together
from claude_control.options.official import OfficialOptions
from claude_control.options.showing import show
from claude_control.options.travelling import read_document, unportable_fields, write_document
from claude_control.records import frozen

__all__ = ["Options", "merge_options"]


def _line_limit(options: OfficialOptions) -> int:
    return 64 * MIB if options.max_buffer_size is None else options.max_buffer_size


@frozen(kw_only=True, repr=False)
class Options(OfficialOptions):
    """Everything that can be chosen for one session; checked when it is made, `OptionsError` says what is wrong.

    Pickles if its callables do; `to_dict()` and `from_dict()` are for JSON. `repr` shows what differs from the
    defaults, without secrets. How long things may take can also be set for a whole process, by environment variables
    such as CLAUDE_CONTROL_HOOK_TIMEOUT. They are read when options are made, which then keep their times wherever they
    go.
    """

    # How long things may take, in seconds.

    initialize_timeout: float | None = attrs.field(
        factory=SecondsFrom("CLAUDE_CONTROL_INITIALIZE_TIMEOUT", 60.0), validator=seconds
    )
    """Seconds for the handshake, MCP servers included; None for no limit. The program's
    CLAUDE_CODE_STREAM_CLOSE_TIMEOUT (milliseconds) raises it."""

    control_timeout: float | None = attrs.field(
        factory=SecondsFrom("CLAUDE_CONTROL_CONTROL_TIMEOUT", 60.0), validator=seconds
    )
    """Seconds for the answer to a control request; None for no limit."""

    hook_timeout: float | None = attrs.field(
        factory=SecondsFrom("CLAUDE_CONTROL_HOOK_TIMEOUT", 60.0), validator=seconds
    )
    """Seconds for a hook callback that has no timeout of its own; None for no limit."""

    write_timeout: float | None = attrs.field(
        factory=SecondsFrom("CLAUDE_CONTROL_WRITE_TIMEOUT", 30.0), validator=seconds
    )
    """Seconds for the program to take one line; None for no limit."""

    idle_timeout: float | None = attrs.field(default=None, validator=not_built)
    """Seconds without a word from a program that should be working. Not implemented yet."""

    interrupt_grace: float = attrs.field(
        factory=SecondsFrom("CLAUDE_CONTROL_INTERRUPT_GRACE", 2.0, bounded=True), validator=seconds_or_zero
    )
    """Seconds that an interrupted turn gets to end, on Ctrl-C and at close."""

    exit_grace: float = attrs.field(
        factory=SecondsFrom("CLAUDE_CONTROL_EXIT_GRACE", 5.0, bounded=True), validator=seconds_or_zero
    )
    """Seconds that the program gets to end by itself at close; then it gets SIGTERM."""

    terminate_grace: float = attrs.field(
        factory=SecondsFrom("CLAUDE_CONTROL_TERMINATE_GRACE", 5.0, bounded=True), validator=seconds_or_zero
    )
    """Seconds between SIGTERM and SIGKILL."""

    # How much may pile up, in bytes.

    inbox_bytes: int = attrs.field(default=32 * MIB, validator=byte_count)
    """Bytes of unread messages kept in memory; what is beyond goes to a temporary file, nothing is lost."""

    max_line_bytes: int = attrs.field(default=attrs.Factory(_line_limit, takes_self=True), validator=byte_count)
    """Bytes of the longest line that is read, 64 MiB by default; a longer one is skipped and reported."""

    # What else is ours.

    spawn: Callable[..., Any] | None = attrs.field(default=None, validator=optional(check_callback))
    """Starts the program elsewhere, in a container or over ssh: (argv, env, cwd) -> Transport. What does not fit on the
    command line (settings, MCP servers with secrets) lies in a file of this machine, which the program must be able to
    read there."""

    on_question: Callable[..., Any] | None = attrs.field(default=None, validator=optional(check_callback))
    """Answers the model's questions: (questions, context) -> {question.question: label or text}, None or Deny. Without
    it and can_use_tool the model cannot ask any."""

    on_plan: Callable[..., Any] | None = attrs.field(default=None, validator=optional(check_callback))
    """Judges the model's plans: (plan, context) -> Allow | Deny."""

    on_elicitation: Callable[..., Any] | None = attrs.field(default=None, validator=optional(check_callback))
    """Answers what MCP servers outside of this process ask a person: (request, context) -> Accept | Decline | None.
    Without it, and for None, the question is cancelled. 2.0.75 and 2.1.7 offer no such questions to their servers."""

    on_user_dialog: Callable[..., Any] | None = attrs.field(default=None, validator=optional(check_callback))
    """Shows a dialog of the program: (request, context) -> its result, a JSON value, or None if it was dismissed."""

    supported_dialog_kinds: Sequence[str] = attrs.field(default=(), converter=to_tuple, validator=check_dialog_kinds)
    """The kinds of dialogs that on_user_dialog can show; the program is told so, and sends no others (2.1.332)."""

    allow_bypass: bool = attrs.field(default=False, validator=boolean)
    """Let the session use bypassPermissions, from the start or later; without it that mode is refused everywhere."""

    orphan_guard: bool = attrs.field(default=True, validator=boolean)
    """End the program and its tools if this process dies."""

    strict: bool = attrs.field(default=False, validator=boolean)
    """Refuse what is only warned about otherwise: a can_use_tool, on_question or on_plan that other options keep from
    being asked."""

    if not TYPE_CHECKING:

        def __new__(cls, *_arguments: Any, **fields: Any) -> Any:  # noqa: D102 - as that of object
            # Before the generated __init__, whose TypeError would not say what was meant.
            check_names(fields)
            return object.__new__(cls)

    def __attrs_post_init__(self) -> None:
        check_together(self)

    def __repr__(self) -> str:
        return show(self)

    def portable(self) -> tuple[str, ...]:
        """Return the names of the set fields that cannot travel as data, () if all can.

        Callables cannot, nor what lives in this process. Pickle carries more: functions that it finds by their names.
        """
        return unportable_fields(self)

    def to_dict(self, *, skip: Collection[str] = ()) -> dict[str, Any]:
        """Return what differs from the defaults as data for JSON, with the "version" of that form.

        Values are whole, secrets of `env`, `settings` and `mcp_servers` too: keep the dict as safe as those. Paths
        become texts. Raises `OptionsError` for fields that cannot travel and are not named in `skip`;
        `skip=options.portable()` leaves them all out.
        """
        return write_document(self, skip)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the options that `to_dict()` wrote, checked anew; what it left out has the built-in default.

        This process's environment changes none of them. Raises `OptionsError` for another version, an unknown name or
        a wrong value.
        """
        fields = read_document(cls, document)
        check_names(fields)
        return cls(**fields)


def check_names(fields: Mapping[Any, Any]) -> None:
    """Raise `OptionsError` for a name that is no option, and say which one it may have been."""
    known = _names()
    for name in fields:
        if name not in known:
            close = closest(str(name), known)
            meant = f"; did you mean {close!r}?" if close else ""
            raise OptionsError(f"there is no option {name!r}{meant}", field=str(name))


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(attrs.fields_dict(Options))


def merge_options(options: Options | None = None, **fields: Any) -> Options:
    """Return `options` with `fields` in place of its own; raises `OptionsError`."""
    if options is None:
        return Options(**fields)
    if not isinstance(options, Options):
        raise OptionsError(f"options must be Options or None, not {type(options).__name__}", field="options")
    if not fields:
        return options
    check_names(fields)
    if "max_line_bytes" in fields or "max_buffer_size" in fields:  # two names of one thing: the new one wins
        limit = fields.get("max_line_bytes") or fields.get("max_buffer_size")
        fields = {"max_buffer_size": None, **({"max_line_bytes": limit} if limit else {}), **fields}
    return attrs.evolve(options, **fields)
