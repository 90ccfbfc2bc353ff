"""The examination of a Claude Code: found, asked for its version, and opened once without a prompt."""

import os
import platform
import time
from collections.abc import Iterator
from typing import Any

import attrs

from claude_control import errors, log
from claude_control._version import __version__
from claude_control.cli.exits import Code, code_for, told
from claude_control.cli.supported import Feature, features
from claude_control.process import discovery
from claude_control.process.version import program_version
from claude_control.records import frozen
from claude_control.session.session import Session
from claude_control.wire.requests import InitializeReply
from claude_control.wire.support import CURRENT, OLDEST, Program, parse_version

__all__ = ["Handshake", "Place", "Report", "examine"]

# What of the account says how the program is logged in, and nothing of who is.
_ACCOUNT = ("tokenSource", "apiKeySource", "subscriptionType", "apiProvider")


@frozen
class Place:
    """A place where the program may be; `problem` says why it is not used from there, None that it could be."""

    origin: str
    path: str
    problem: str | None


@frozen
class Handshake:
    """How a session opened: the seconds it took, and what went wrong, or what the program said of itself."""

    seconds: float
    error: str | None = None
    reply: InitializeReply | None = None


@frozen
class Report:
    """What was found out; `code` is the exit code."""

    code: int
    verdict: str
    places: tuple[Place, ...]
    found: discovery.Program | None = None
    version: str | None = None
    handshake: Handshake | None = None
    program: Program | None = None

    def document(self) -> dict[str, Any]:
        """Return everything as one JSON object."""
        handshake, reply = self.handshake, self.handshake.reply if self.handshake else None
        return {
            "claude_control": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "verdict": self.verdict,
            "exit_code": self.code,
            "program": self.found and {"command": list(self.found.command), "origin": self.found.origin},
            "version": self.version,
            "measured_as": self.program and self.program.measured,
            "looked_at": [attrs.asdict(place) for place in self.places],
            "handshake": handshake and {"seconds": round(handshake.seconds, 3), "error": handshake.error},
            "account": reply and _account(reply),
            "capabilities": list(reply.capabilities) if reply else None,
            "supports": {one.name: one.needs is None for one in self._features()},
        }

    def sections(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield (title, rows) for people."""
        system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
        yield "Program", [("claude_control", f"{__version__} on {system}"), *self._program_rows()]
        looked = [(place.origin, place.problem or f"{place.path} is there") for place in self.places]
        yield "Looked at", looked
        if self.handshake is not None:
            yield "Handshake", list(_handshake_rows(self.handshake))
        if self.program is not None:
            rows = [(one.name, "yes" if one.needs is None else f"no: needs {one.needs}") for one in self._features()]
            yield f"Supports (as {self.program.measured})", rows

    def _program_rows(self) -> Iterator[tuple[str, str]]:
        if self.found is None:
            yield "used", "none"
            return
        yield "used", f"{' '.join(self.found.command)} ({self.found.origin})"
        yield "version", self.version or "not told"

    def _features(self) -> tuple[Feature, ...]:
        return () if self.program is None else features(self.program, self.version)


def examine(timeout: float) -> Report:
    """Find the program, ask for its version, and open a session; `timeout` in seconds is for that."""
    places = tuple(_look())
    try:
        found = discovery.find_program()
        version = program_version(found, os.environ)
    except (errors.StartError, errors.OptionsError) as error:
        return Report(Code.NO_PROGRAM, _without_list(error), places)
    if _is_too_old(version):
        text = f"Claude Code {version} is too old: {OLDEST} is the oldest that works. Update it."
        return Report(Code.NO_PROGRAM, text, places, found, version)
    handshake, failure = _shake_hands(timeout)
    if handshake.reply is None:
        code = code_for(failure) if failure is not None else Code.FAILED
        verdict = f"{' '.join(found.command)} does not answer as Claude Code does."
        return Report(code, verdict, places, found, version, handshake)
    said = handshake.reply.version or version
    program = Program(said, handshake.reply.program.modern)
    return Report(Code.DONE, _verdict(said, handshake.reply), places, found, said, handshake, program)


def _look() -> Iterator[Place]:
    """Yield every place that the search may look at; where one is named, the others are not needed."""
    search = discovery._Search(os.environ)  # the search stops at the first find, and people want to see the rest
    named = os.environ.get(discovery.VARIABLE)
    if named:
        try:
            discovery.find_program()
            yield Place(discovery.VARIABLE, named, None)
        except (errors.CLINotFoundError, errors.OptionsError) as error:
            said = _without_list(error).partition(". ")[0].removeprefix(f"{discovery.VARIABLE}: ")
            yield Place(discovery.VARIABLE, named, said)
    else:
        yield Place(discovery.VARIABLE, "", "not set")
    for path, origin in search.candidates(discovery._PLACES):
        if path is None:
            yield Place(origin, "", "not installed, or without the program")
        else:
            yield Place(origin, path, search.problem(path))


def _shake_hands(timeout: float) -> tuple[Handshake, Exception | None]:
    began = time.monotonic()
    session = Session(initialize_timeout=timeout)
    try:
        with session:
            return Handshake(time.monotonic() - began, reply=session.server_info), None
    except errors.ClaudeControlError as error:
        return Handshake(time.monotonic() - began, error=told(error)), error


def _without_list(error: Exception) -> str:
    """Return what an error says without the places that were looked at, which stand in a list of their own here."""
    return told(error).partition(" Looked at: ")[0]


def _is_too_old(version: str | None) -> bool:
    numbers, oldest = parse_version(version or ""), parse_version(OLDEST)
    return numbers is not None and oldest is not None and numbers < oldest


def _verdict(version: str | None, reply: InitializeReply) -> str:
    numbers, newest = parse_version(version or ""), parse_version(CURRENT)
    text = f"Ready: Claude Code {version or 'of a version that is not told'} answers."
    if numbers is not None and newest is not None and numbers > newest:
        text += f" It is newer than {CURRENT}, the newest that was tested, and taken to support all that it does."
    if not _is_logged_in(reply):
        text += " It does not say that it is logged in: turns fail until it is (run it once, or set its API key)."
    return text


def _account(reply: InitializeReply) -> dict[str, str]:
    shown = {key: reply.account.get(key) for key in _ACCOUNT}
    return {key: str(log.redact(value)) for key, value in shown.items() if isinstance(value, str)}


def _is_logged_in(reply: InitializeReply) -> bool:
    sources = [reply.account.get(key) for key in ("tokenSource", "apiKeySource", "subscriptionType")]
    return any(source not in (None, "", "none") for source in sources)


def _handshake_rows(handshake: Handshake) -> Iterator[tuple[str, str]]:
    if handshake.reply is None:
        yield "failed", f"after {handshake.seconds:.1f} s: {handshake.error}"
        return
    reply = handshake.reply
    yield "answered", f"in {handshake.seconds:.1f} s"
    yield "account", ", ".join(f"{key} {value}" for key, value in _account(reply).items()) or "not told"
    yield "models", ", ".join(str(model.get("value")) for model in reply.models) or "not told"
    yield "commands", str(len(reply.commands))
    yield "capabilities", ", ".join(reply.capabilities) or "none"
