"""Values made from a tape of bytes: messages from their declarations, and groups for assignors.

Decides: which value a byte stands for.
Never: raises, whatever the tape holds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

from kgroup.assignors import GroupSubscription, Member, PartitionRacks
from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import DecodeError, LocalProtocolError
from kgroup.types import TopicPartition
from kgroup.wire import messages
from kgroup.wire.frames import request_class
from kgroup.wire.schema import Message, Request, decode, encode
from kgroup.wire.source import Step, layout_of
from kgroup.wire.user_data import encode_cooperative_user_data, encode_sticky_user_data
from kgroup.wire.vocabulary import ArrayForm, BlobForm, Form, RowForm, ScalarForm
from tests import vectors
from tests.assignors.described import group as described
from tests.search.fuzz.reference import Exemption, Reading, Refused, same
from tests.search.fuzz.target import Tape, sure

_BITS: Final = {"b": 8, "h": 16, "i": 32, "q": 64}
_TEXTS: Final = ("", "a", "t", "é" * 63, "x" * 127, "y" * 128, "z" * 300, "\U0001f600")
_BLOBS: Final = (b"", b"\0", b"a" * 126, b"b" * 127, b"c" * 128, b"d" * 20_000)
_SHARES: Final = 4
_LEFT_OUT: Final = 8
_MOST_ROWS: Final = 5
_DEEP: Final = 3


def make(cls: type[Message], version: int, tape: Tape, *, anything: bool = False) -> Message:
    """Return a message that a version can carry.

    Args:
        cls: its class.
        version: of the class.
        tape: decides.
        anything: fill fields too that the version lacks.
    """
    known: Any = cls
    values: dict[str, Any] = {}
    for step in _steps(known, version, anything=anything):
        absent_too = anything and step.nullable_since is not None
        if (step.nullable or absent_too) and tape.below(_SHARES) == 1:
            values[step.name] = None
        else:
            shown = max(version, step.since) if step.until is None else min(version, step.until)
            values[step.name] = _value(step.form, shown, tape, anything=anything)
    return cls(**values)


@cache
def _steps(cls: Any, version: int, *, anything: bool) -> tuple[Step, ...]:
    layout = layout_of(cls, version)
    return (*layout.present, *layout.tagged, *(layout.absent if anything else ()))


def _value(form: Form, version: int, tape: Tape, *, anything: bool) -> Any:
    match form:
        case ScalarForm("?", _):
            return bool(tape.below(2))
        case ScalarForm("16s", _):
            return tape.take(16).ljust(16, b"\0")
        case ScalarForm(code, _):
            return number(_BITS[code], tape)
        case RowForm(cls):
            return make(cls, version, tape, anything=anything)
        case ArrayForm(item):
            return tuple(_items(item, version, tape, anything=anything))
        case BlobForm():
            return _blob(tape)
        case _:
            return text(tape)


def number(bits: int, tape: Tape) -> int:
    """Return a signed number of so many bits, small as a rule."""
    bound = 1 << (bits - 1)
    kind = tape.below(8)
    if kind < _SHARES:
        return tape.below(100)
    if kind == _SHARES:
        return int.from_bytes(tape.take(bits // 8), "big", signed=True)
    return (-1, -bound, bound - 1)[kind - _SHARES - 1]


def text(tape: Tape) -> str:
    """Return text, one of a few that are long or odd as a rule."""
    if tape.below(_SHARES) == 1:
        return tape.take(tape.below(20)).decode("utf-8", "replace")
    return tape.pick(_TEXTS)


def _blob(tape: Tape) -> bytes:
    if tape.below(_SHARES) == 1:
        return tape.take(tape.below(30))
    return tape.pick(_BLOBS[:-1]) if tape.below(_LEFT_OUT) else _BLOBS[-1]


def _items(item: Form, version: int, tape: Tape, *, anything: bool) -> Iterator[Any]:
    """Yield few different items, each one several times now and then: a run is read at once."""
    for _ in range(tape.below(_DEEP)):
        one = _value(item, version, tape, anything=anything)
        times = 1 if tape.below(_SHARES) else 1 + tape.below(_MOST_ROWS)
        for _ in range(times):
            yield one


# -- messages --------------------------------------------------------------------------------------


HEAD: Final = 2
_COMPARED: Final = 8


@cache
def keys() -> tuple[ApiKey, ...]:
    """Return the APIs that have messages."""
    return tuple(key for key in ApiKey if _named(key) in dir(messages))


def _named(key: ApiKey) -> str:
    return f"{''.join(word.title() for word in key.name.split('_'))}Request"


@cache
def _choice(key: int, version: int) -> tuple[type[Request[Any]], int]:
    known = keys()
    api = ApiKey(key) if key in known else known[key % len(known)]
    cls = request_class(api)
    return cls, cls.VERSIONS[0] + (version - cls.VERSIONS[0]) % len(cls.VERSIONS)


def chosen(data: bytes) -> tuple[type[Request[Any]], int]:
    """Return the request class and the version that an input is about."""
    return _choice(data[0] if data else 0, data[1] if len(data) > 1 else 0)


def is_flexible(cls: type[Message], version: int) -> bool:
    return cls.FLEXIBLE is not None and version >= cls.FLEXIBLE


def compared(data: bytes) -> bool:
    """Tell whether the second reader, which is slow, is asked about an input: one in eight."""
    return (len(data) + sum(data[-2:])) % _COMPARED == 0


def judge(cls: type[Message], version: int, body: bytes, message: Message) -> set[Exemption]:
    """Judge what was made of a body; return what was exempted."""
    try:
        again = encode(message, version)
    except LocalProtocolError:
        again = None  # a text that was mended may have become too long to be written
    if again == body and not compared(body):
        return set()
    row, canonical, exemptions = understood(cls, version, body)
    sure(same(row, message), f"{cls.__name__} v{version}: both readers agree", row, message)
    if again is None:
        sure(Exemption.REPLACED_TEXT in exemptions, "what was read can be written", cls.__name__)
        return exemptions
    sure(
        again == canonical, f"{cls.__name__} v{version}: written as it should be", again, canonical
    )
    sure(again == body or exemptions, f"{cls.__name__} v{version}: written as read", again, body)
    sure(decode(cls, version, again) == message, "what was written is read as the same", message)
    return exemptions


def understood(cls: type[Message], version: int, body: bytes) -> tuple[Any, bytes, set[Exemption]]:
    """Return what the second reader makes of a body that the first has accepted."""
    reading = Reading(version, body, flexible=is_flexible(cls, version))
    try:
        row, canonical = reading.message(cls)
    except Refused as error:
        sure(False, f"{cls.__name__} v{version}: accepted, but the second reader refuses", error)
        raise
    return row, canonical, reading.exemptions


def judge_refusal(cls: type[Message], version: int, body: bytes, error: DecodeError) -> None:
    """Judge that a body was refused."""
    if not compared(body):
        return
    reading = Reading(version, body, flexible=is_flexible(cls, version))
    try:
        row, _ = reading.message(cls)
    except Refused:
        return
    sure(False, f"{cls.__name__} v{version}: refused, but the second reader accepts", error, row)


def falls_back(request: type[Request[Any]], version: int, body: bytes) -> bool:
    """Tell whether an answer is to be read in version 0: it says the version is not known."""
    code = int.from_bytes(body[:2], "big", signed=True)
    unknown = len(body) > 1 and code == ErrorCode.UNSUPPORTED_VERSION
    if request.api_key is not ApiKey.API_VERSIONS or not unknown:
        return False
    response: Any = request.RESPONSE
    try:
        Reading(version, body, flexible=is_flexible(response, version)).message(response)
    except Refused:
        return True
    return False


# -- group making ----------------------------------------------------------------------------------


TOPICS: Final = ("t", "u", "v", "täglich", "t.1")
_RACKS: Final = (None, None, "a", "b", "c")
_GENERATIONS: Final = (None, 1, 2, 2, 3, 2**31 - 1)
_ODD: Final = (
    TopicPartition("gone", 0), TopicPartition("t", -1), TopicPartition("t", 10**6),
    TopicPartition("", 0),
)  # fmt: skip
_RECORDED: Final = 3
_EVERY: Final = 9


class Size(NamedTuple):
    """How many members, and partitions of a topic, there are at most."""

    members: int
    partitions: int


_SIZES: Final = (*[Size(6, 5)] * 112, *[Size(30, 60)] * 15, Size(200, 400))


def make_group(tape: Tape) -> GroupSubscription:
    """Return a group."""
    if tape.below(_RECORDED) == 1:
        return _changed(tape, recorded()[tape.below(len(recorded()))])
    size = tape.pick(_SIZES)
    racks = tape.chance(3)
    topics = {
        topic: _partitions(tape, tape.below(size.partitions + 1), racks=racks)
        for topic in TOPICS[: 1 + tape.below(len(TOPICS))]
    }
    alike = tape.below(2)
    members = [
        _member(tape, number, topics, alike=bool(alike))
        for number in range(1 + tape.below(size.members))
    ]
    return GroupSubscription(tuple(members), topics)


def _partitions(tape: Tape, count: int, *, racks: bool) -> dict[int, PartitionRacks]:
    gaps = tape.chance(8)
    shift = tape.below(4)
    known = [rack for rack in _RACKS if rack is not None]
    return {
        number * (2 if gaps else 1): PartitionRacks(
            known[(number + shift) % 3], frozenset(known[(number + shift) % 3 :])
        )
        if racks
        else PartitionRacks()
        for number in range(count)
    }


def _member(
    tape: Tape, number: int, topics: Mapping[str, Mapping[int, PartitionRacks]], *, alike: bool
) -> Member:
    names = (*topics, "missing")
    wanted = frozenset(topics if alike else (name for name in names if tape.below(2)))
    owned = _claim(tape, topics)
    generation_id = tape.pick(_GENERATIONS)
    return Member(
        member_id=f"m{number}",
        group_instance_id=f"i{99 - number}" if tape.chance(5) else None,
        topics=wanted,
        owned=owned,
        generation_id=generation_id,
        rack=tape.pick(_RACKS),
        user_data=_user_data(tape, owned, generation_id),
        version=1 if generation_id is None else 3,
    )


def _claim(
    tape: Tape, topics: Mapping[str, Mapping[int, PartitionRacks]]
) -> tuple[TopicPartition, ...]:
    claimed: list[TopicPartition] = []
    for topic, partitions in topics.items():
        every, first = tape.below(_EVERY), tape.below(_EVERY)
        if every:
            claimed += [TopicPartition(topic, number) for number in [*partitions][first::every]]
    if tape.chance(8):
        claimed.append(tape.pick(_ODD))
    if claimed and tape.chance(8):
        claimed.append(claimed[0])
    return tuple(claimed)


def _user_data(
    tape: Tape, owned: tuple[TopicPartition, ...], generation_id: int | None
) -> bytes | None:
    match tape.below(6):
        case 0 | 1:
            return encode_sticky_user_data(owned, generation_id)
        case 2:
            return encode_cooperative_user_data(generation_id)
        case 3:
            return tape.take(tape.below(24))
        case 4:
            return encode_sticky_user_data(owned, generation_id)[: tape.below(64)]
        case _:
            return None


# -- recorded groups -----------------------------------------------------------------------------


@cache
def recorded() -> tuple[GroupSubscription, ...]:
    """Return groups that Java's assignors were asked about."""
    scenarios = vectors.load("assignors/scenarios")
    drawn = vectors.load("assignors/random_cooperative-sticky")[::20]
    return tuple(described(line) for line in (*scenarios, *drawn) if len(line["members"]) < 100)


def _changed(tape: Tape, group: GroupSubscription) -> GroupSubscription:
    """Change a few members and topics of a group."""
    members = list(group.members)
    topics = {topic: dict(partitions) for topic, partitions in group.topics.items()}
    for _ in range(tape.below(4)):
        place = tape.below(len(members))
        match tape.below(5):
            case 0 if len(members) > 1:
                del members[place]
            case 1:
                owned = (*members[place].owned, *members[tape.below(len(members))].owned)
                members[place] = replace(members[place], owned=owned)
            case 2:
                members[place] = replace(members[place], generation_id=tape.pick(_GENERATIONS))
            case 3:
                members[place] = replace(members[place], user_data=tape.take(tape.below(24)))
            case _:
                for partitions in topics.values():
                    partitions[len(partitions) + tape.below(3)] = PartitionRacks()
    return GroupSubscription(tuple(members), topics)
