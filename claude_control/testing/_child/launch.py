"""The command line of a run: what the stand-in understands of the SDK's flags."""

from __future__ import annotations

_BYPASS = ("--dangerously-skip-permissions", "--allow-dangerously-skip-permissions")


class Launch:
    """The flags that the SDK appended; both `--flag=value` and `--flag value` are understood."""

    __slots__ = ("argv",)

    def __init__(self, argv: list[str]) -> None:
        self.argv = argv

    def has(self, flag: str) -> bool:
        """Tell whether a flag was given."""
        return any(argument.partition("=")[0] == flag for argument in self.argv)

    def value(self, flag: str) -> str | None:
        """Return the value of a flag, None without it."""
        for index, argument in enumerate(self.argv):
            name, equals, value = argument.partition("=")
            if name == flag:
                return value if equals else next(iter(self.argv[index + 1 :]), None)
        return None

    @property
    def session_id(self) -> str | None:
        """The session's id, if it is given or resumed."""
        return self.value("--session-id") or (None if self.has("--fork-session") else self.value("--resume"))

    @property
    def mode(self) -> str:
        """The permission mode at the start."""
        return "bypassPermissions" if self.has(_BYPASS[0]) else self.value("--permission-mode") or "default"

    @property
    def bypass_allowed(self) -> bool:
        """Whether bypassPermissions may be asked for later (2.1.332)."""
        return self.mode == "bypassPermissions" or self.has(_BYPASS[1])

    def rejected(self, flags: list[str]) -> str | None:
        """Return the first argument that is one of the flags which this version does not know."""
        return next((name for name in (a.partition("=")[0] for a in self.argv) if name in flags), None)
