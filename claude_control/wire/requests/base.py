"""What every request record has in common."""

import functools
import typing
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from claude_control.records import frozen
from claude_control.wire.conformance import FIELDS, SUBTYPES
from claude_control.wire.fields import wire_name
from claude_control.wire.framing import encode
from claude_control.wire.requests.replying import ReplyRecord, reply_reader
from claude_control.wire.support import CURRENT, MEASURED, OLDEST

__all__ = ["SHORT", "EmptyReply", "Request", "encode_body", "is_fixed", "newest", "wire_fields"]

ReplyT = TypeVar("ReplyT", covariant=True)

SHORT = 40
"""How many characters a value may have that an error repeats."""


class Request(Generic[ReplyT]):
    """A request that we send; subclasses are frozen records named for their subtype.

    A field is sent under its wire name (`wire.fields`), unless it has its default. The reply is read into the record
    that the class is parametrized with. Fields are checked when a request is made: `OptionsError` says what is wrong.
    """

    __slots__ = ()

    subtype: ClassVar[str]

    def body(self) -> dict[str, Any]:
        """Return the `request` object of the wire: the subtype and its fields."""
        body: dict[str, Any] = {"subtype": self.subtype}
        for name, field in wire_fields(type(self)).items():
            value = getattr(self, field.name)
            if value != field.default:
                body[name] = dict(value) if isinstance(value, Mapping) else value
        return body

    def reply(self, response: dict[str, Any]) -> ReplyT:
        """Read the payload of the program's answer (`{}` if it sent none).

        Raises `ProtocolError` where a field has the wrong kind of container.
        """
        kind: Any = type(self)
        record, check, new, put_raw = _reply_reader(kind)
        check(response, "the payload", (self.subtype, response))
        reply: ReplyT = new(record)
        put_raw(reply, response)
        return reply

    def needs(self) -> tuple[str, str]:
        """Return what of this request is newest, in words, and the oldest measured program that knows it."""
        kind: Any = type(self)
        fixed = _fixed(kind)
        return newest(self.body()) if fixed is None else fixed[0]


def encode_body(request: Request[Any]) -> bytes:
    """Return the `request` object of the wire as a line of JSON; raises `OptionsError` as `encode` does."""
    kind: Any = type(request)
    fixed = _fixed(kind)
    return encode(request.body()) if fixed is None else fixed[1]


def is_fixed(request: Request[Any]) -> bool:
    """Tell whether a request has no fields, so that it is always the same."""
    kind: Any = type(request)
    return _fixed(kind) is not None


@functools.cache
def _fixed(request: Any) -> tuple[tuple[str, str], bytes] | None:
    """Return what a request without fields needs and sends: it is always the same. None if it has some."""
    if not attrs.has(request) or attrs.fields(request):
        return None
    made: Any = request()
    body = made.body()
    return newest(body), encode(body)


def wire_fields(record: type[Request[Any]]) -> "dict[str, attrs.Attribute[Any]]":
    """Return the fields of a request record by what they are called on the wire."""
    kind: Any = record  # the stubs of attrs and of functools disagree about what can be hashed
    return _wire_fields(kind)


@functools.cache
def _wire_fields(record: Any) -> "dict[str, attrs.Attribute[Any]]":
    return {wire_name(record, field.name): field for field in attrs.fields(record)}


@functools.cache
def _reply_reader(request: Any) -> tuple[Any, ...]:
    """Return the record that a request class is parametrized with, `X` of `class Ask(Request[X])`, and its reader."""
    bases = (base for kind in request.__mro__ for base in vars(kind).get("__orig_bases__", ()))
    record = next(typing.get_args(base)[0] for base in bases if typing.get_origin(base) is Request)
    return record, *reply_reader(record)


_GROWN = frozenset(subtype for subtype, _ in FIELDS)  # subtypes with fields that are newer than they are


def newest(body: dict[str, Any]) -> tuple[str, str]:
    """Return what of a `request` object is newest, such as "rewind_files(dry_run=True)", and who first knew it.

    A field that is None or False asks for nothing. A subtype that was never measured needs the current program.
    """
    subtype = body["subtype"]
    found = (subtype, SUBTYPES.get(subtype, CURRENT))
    if subtype not in _GROWN:
        return found
    for name, value in body.items():
        if value is None or value is False:
            continue
        short = isinstance(value, int) or (isinstance(value, str) and len(value) <= SHORT)
        said = f"{name}={value!r}" if short else f"{name}=…"
        needs = FIELDS.get((subtype, name), FIELDS.get((subtype, said), OLDEST))
        if MEASURED.index(needs) > MEASURED.index(found[1]):
            found = (f"{subtype}({said})", needs)
    return found


@frozen(repr=False)
class EmptyReply(ReplyRecord):
    """An answer that says only that the request was carried out."""
