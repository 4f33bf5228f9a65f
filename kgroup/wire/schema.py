"""How a message of the Kafka protocol is declared, made, written and read.

Decides: what a message object is. A class is declared once for all versions; its objects are
immutable, have slots and take keyword arguments only; mypy checks the arguments and that each
field's annotation fits its type on the wire. A field that every version has and that Kafka gives
no default must be given; any other has Kafka's default.
Never: which version is spoken; `kgroup.net` negotiates it for each connection.

Sources: the message definitions of Apache Kafka 4.3; KIP-482 (flexible versions).
"""

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, NoReturn, TypeVar, dataclass_transform, get_args

from kgroup.codes import ApiKey
from kgroup.errors import LocalProtocolError, UnsupportedVersionError
from kgroup.wire.compile import constructor, decoder, encoder
from kgroup.wire.source import REQUIRED, Field
from kgroup.wire.vocabulary import WireType

T = TypeVar("T")
M = TypeVar("M", bound="Message")
R_co = TypeVar("R_co", bound="Message", covariant=True)

_ROW: Final = range(0)
_UNWRITABLE: Final = (struct.error, AttributeError, TypeError, ValueError, OverflowError)


class Message:
    """A value of the protocol: a request, a response, or a row inside one.

    Class facts: `FIELDS` are the declared fields in the order of the wire. `VERSIONS` are those
    that can be read and written, `FLEXIBLE` is the first with compact forms and tagged fields,
    None = no version has them; a row has none of its own (an empty range), it follows its message.
    """

    __slots__ = ()

    FIELDS: ClassVar[Mapping[str, Field]] = MappingProxyType({})
    VERSIONS: ClassVar[range] = _ROW
    FLEXIBLE: ClassVar[int | None] = None

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.FIELDS)
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.FIELDS)))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {name: getattr(self, name) for name in self.FIELDS}
        return _remake, (type(self), values)


class Request(Message, Generic[R_co]):
    """A message that is answered by an `R_co`; `RESPONSE` is that class."""

    __slots__ = ()

    api_key: ClassVar[ApiKey]
    RESPONSE: ClassVar[type[Message]]


def wire(
    type: WireType[T],  # noqa: A002 - reads as the declaration it is
    *,
    since: int = 0,
    until: int | None = None,
    default: T = REQUIRED,
    ignorable: bool = False,
    tag: int | None = None,
) -> T:
    """Declare a field.

    Args:
        type: how it is written; `nullable(...)` and `nullable_from(version, ...)` allow None.
        since: first version that has it.
        until: last version that has it; None = still there.
        default: value when not given, or not in the version read; without one it must be given.
        ignorable: a version that lacks it is written without it; otherwise a value that is not
            the default makes `encode` raise.
        tag: number of a tagged field (KIP-482), written only when not at its default.
    """
    field: Any = Field(type, since, until, default, ignorable, tag)
    return field  # type: ignore[no-any-return]  # the decorator replaces it by a slot of type T


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(wire,))
def message(
    *, versions: range = _ROW, flexible: int | None = None, api: ApiKey | None = None
) -> Callable[[type[M]], type[M]]:
    """Make a class of `wire` fields into a message class.

    Args:
        versions: what can be read and written; left out for a row.
        flexible: first version with compact forms and tagged fields; None = no version.
        api: what a request asks for; left out for a response or a row.
    """

    def declare(cls: type[M]) -> type[M]:
        body = dict(cls.__dict__)
        fields = {name: value for name, value in body.items() if isinstance(value, Field)}
        for name in (*fields, "__dict__", "__weakref__"):
            body.pop(name, None)
        if api is not None:
            body["api_key"] = api
            body["RESPONSE"] = get_args(body["__orig_bases__"][0])[0]
        body.update(
            __slots__=tuple(fields), FIELDS=MappingProxyType(fields), VERSIONS=versions,
            FLEXIBLE=flexible, __init__=_fill, __setattr__=_refuse, __delattr__=_refuse,
        )  # fmt: skip
        made: Any = type(cls.__name__, cls.__bases__, body)
        return made  # type: ignore[no-any-return]  # the same class, with slots

    return declare


def encode(message: Message, version: int) -> bytes:
    """Write the body of a message in a version, without any header.

    Raises:
        UnsupportedVersionError: the version is not one of the class's, or lacks a field that is
            not at its default and must not be lost.
        LocalProtocolError: a value does not fit its type on the wire.
    """
    cls: Any = type(message)
    flexible = _is_flexible(cls, version)
    try:
        return encoder(cls, version, flexible=flexible)(message)
    except _UNWRITABLE as error:
        raise LocalProtocolError(f"{cls.__name__} v{version} cannot be written: {error}") from error


def decode(cls: type[M], version: int, data: bytes | memoryview) -> M:
    """Read the body of a message in a version, from all of `data`.

    Raises:
        UnsupportedVersionError: the version is not one of the class's.
        DecodeError: the bytes are not such a message, or more than one.
    """
    known: Any = cls
    made: M = decoder(known, version, flexible=_is_flexible(cls, version))(data)
    return made


def replace(message: M, **changes: object) -> M:
    """Return a copy of a message with some fields changed.

    Raises:
        TypeError: there is no such field.
    """
    values = {name: getattr(message, name) for name in message.FIELDS}
    return type(message)(**{**values, **changes})


def _is_flexible(cls: type[Message], version: int) -> bool:
    if version not in cls.VERSIONS:
        known = cls.VERSIONS
        reason = f"version {version} is not spoken" + (
            f", only {known.start} to {known.stop - 1}" if known else "; a row is not a message"
        )
        raise UnsupportedVersionError(cls.__name__, reason)
    return cls.FLEXIBLE is not None and version >= cls.FLEXIBLE


def _fill(self: Message, **values: object) -> None:
    cls: Any = type(self)
    constructor(cls)(self, **values)


def _refuse(self: Message, name: str, _value: object = None) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be changed")


def _remake(cls: type[M], values: Mapping[str, Any]) -> M:
    return cls(**values)
