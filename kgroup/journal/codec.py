"""One entry as one line of JSON, and back.

Decides: the written form of the event log, version 1.
Never: opens a file; it is given lines and a name to report.

Grammar of a line: one JSON object. The stamp: `v` (1), `host`, `process`, `member`, `group`
(absent without one), `seq`, `at`, `wall`; then `event` (the KIND of the class) and the fields of
that class under their own names. A claim is `[topic, partition, serial]`, a partition
`[topic, partition]`, a member of a round the list of its fields, an API its Kafka name, any other
enum its value; None is left out of an object.

Tolerated on reading: fields and events of a later vocabulary (an event becomes `UnknownEvent`),
and a line that a killed process did not finish: the last one of a file, or one that the next
process closed with the mark `CUT`. Anything else that cannot be read is a `BadLine` with its place.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from types import MappingProxyType, NoneType, UnionType
from typing import Final, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

from kgroup.codes import ApiKey
from kgroup.errors import DecodeError
from kgroup.journal.events import EVENT_CLASSES, Entry, Event, RoundMember, Source, UnknownEvent
from kgroup.journal.verifiable import Verifiable, is_printed
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass

VERSION: Final = 1
"""Raised only when a reader of the former version would misread a line."""

CUT: Final = "#cut"
"""Ends a line that a killed process left unfinished; written by the next process."""

_WHAT: Final = "event log line"
_KINDS: Final[Mapping[str, type[Event]]] = MappingProxyType(
    {event.KIND: event for event in EVENT_CLASSES}
)

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {event.KIND: tuple(field.name for field in fields(event)) for event in EVENT_CLASSES}
)

_NOT_TOLD: Final[tuple[object, ...]] = ([], [], None)
"""What stands for the last fields of a round's member that an older writer left out."""

T = TypeVar("T")
Skips: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no entry.

    Args:
        where: `file:line`.
        reason: what is wrong with it.
        cut: whether a process was killed while it wrote the line; nothing to worry about.
    """

    where: str
    reason: str
    cut: bool = False


# -- writing -------------------------------------------------------------------------------


def encode_entry(entry: Entry) -> str:
    """Return the entry as one line of JSON, without the line's end."""
    source = entry.source
    row: dict[str, object] = {
        "v": VERSION,
        "host": source.host,
        "process": source.process,
        "member": source.member,
    }
    if source.group is not None:
        row["group"] = source.group
    row.update(seq=entry.seq, at=round(entry.at, 6), wall=round(entry.wall, 6))
    event = entry.event
    row["event"] = event.kind if isinstance(event, UnknownEvent) else event.KIND
    for name in _FIELDS.get(event.KIND, ()):
        value = getattr(event, name)
        if value is not None:
            row[name] = _plain(value)
    return json.dumps(row, separators=(",", ":"))


def _plain(value: object) -> object:
    if isinstance(value, Claim):
        return [value.tp.topic, value.tp.partition, value.serial]
    if isinstance(value, ApiKey):
        return value.name
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


# -- reading -------------------------------------------------------------------------------


def decode_entry(line: str, where: str = "") -> Entry:
    """Read one line.

    Args:
        line: JSON, with or without the line's end.
        where: `file:line`, kept in the entry.

    Raises:
        DecodeError: it is not an entry of a version that is known here.
    """
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DecodeError(_WHAT, f"not JSON ({error})") from error
    if not isinstance(row, dict):
        raise DecodeError(_WHAT, f"a JSON object is expected, not {type(row).__name__}")
    version = row.get("v")
    if version != VERSION:
        raise DecodeError(_WHAT, f"version {version!r}, this reader knows {VERSION}")
    return Entry(
        source=Source(
            host=_read(row, "host", _text),
            process=_read(row, "process", _text),
            member=_read(row, "member", _text),
            group=_read(row, "group", _text) if row.get("group") is not None else None,
        ),
        seq=_read(row, "seq", _whole),
        at=_read(row, "at", _number),
        wall=_read(row, "wall", _number),
        event=_event(row),
        where=where,
    )


def read_entries(
    lines: Iterable[str], name: str, skips: Skips | None = None
) -> Iterator[Entry | BadLine]:
    """Read a whole log, line by line, keeping nothing.

    Args:
        lines: lines with their ends, so that an unfinished last one is seen.
        name: what to call the log in `where`.
        skips: tells which lines are not wanted; those before the first entry are read all the same.
    """
    skips_here = None
    verifiable = Verifiable(name)
    for number, line in enumerate(lines, start=1):
        where = f"{name}:{number}"
        if not line.strip() or (skips_here is not None and skips_here(line)):
            continue
        try:
            if is_printed(line):
                yield from verifiable.entries(line, where)
            else:
                yield decode_entry(line, where)
            skips_here = skips
        except DecodeError as error:
            cut = not line.endswith("\n") or line.rstrip().endswith(CUT)
            yield BadLine(where, error.reason, cut)


def _event(row: Mapping[str, object]) -> Event:
    kind = _read(row, "event", _text)
    known = _KINDS.get(kind)
    if known is None:
        return UnknownEvent(kind)
    values: dict[str, object] = {}
    for name, (reader, absent) in _READERS[kind].items():
        if row.get(name) is not None:
            values[name] = _read(row, name, reader)
        elif absent is MISSING:
            raise DecodeError(_WHAT, f"event {kind!r} lacks {name!r}")
        else:
            values[name] = absent
    return cast("Callable[..., Event]", known)(**values)


def _read(row: Mapping[str, object], name: str, reader: Callable[[object], T]) -> T:
    value = row.get(name)
    try:
        return reader(value)
    except (ValueError, KeyError, TypeError) as error:
        raise DecodeError(_WHAT, f"{name} is {value!r}: {error}") from error


def _readers(event: type[Event]) -> Mapping[str, tuple[Callable[[object], object], object]]:
    """Return for each field how it is read and what stands for it when it is absent."""
    hints = get_type_hints(event)
    readers: dict[str, tuple[Callable[[object], object], object]] = {}
    for field in fields(event):
        hint = hints[field.name]
        absent: object = field.default
        if isinstance(hint, UnionType):
            (hint,) = (arm for arm in get_args(hint) if arm is not NoneType)
            absent = None
        readers[field.name] = (_reader(hint), absent)
    return MappingProxyType(readers)


def _reader(hint: object) -> Callable[[object], object]:
    if get_origin(hint) is tuple:
        each = _reader(get_args(hint)[0])
        return lambda value: tuple(each(item) for item in _listed(value))
    if hint is ApiKey:
        return lambda value: ApiKey[_text(value)]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return _PLAIN_READERS[cast("type", hint)]


def _listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("a list is expected")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("text is expected")
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("a whole number is expected")
    return value


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError("a number is expected")
    return float(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false is expected")
    return value


def _partition(value: object) -> TopicPartition:
    topic, partition = _listed(value)
    return TopicPartition(_text(topic), _whole(partition))


def _claim(value: object) -> Claim:
    topic, partition, serial = _listed(value)
    return Claim(TopicPartition(_text(topic), _whole(partition)), _whole(serial))


def _partitions(value: object) -> tuple[TopicPartition, ...]:
    return tuple(_partition(item) for item in _listed(value))


def _round_member(value: object) -> RoundMember:
    member_id, instance_id, partitions, *more = _listed(value)
    topics, owned, generation_id = (*more, *_NOT_TOLD[len(more) :])[:3]
    return RoundMember(
        member_id=_text(member_id),
        instance_id=None if instance_id is None else _text(instance_id),
        partitions=_partitions(partitions),
        topics=tuple(_text(topic) for topic in _listed(topics)),
        owned=_partitions(owned),
        generation_id=None if generation_id is None else _whole(generation_id),
    )


_PLAIN_READERS: Final[Mapping[type, Callable[[object], object]]] = MappingProxyType(
    {
        str: _text,
        int: _whole,
        float: _number,
        bool: _flag,
        Claim: _claim,
        TopicPartition: _partition,
        RoundMember: _round_member,
    }
)

_READERS: Final = MappingProxyType({event.KIND: _readers(event) for event in EVENT_CLASSES})
