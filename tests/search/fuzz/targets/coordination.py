"""T7: values, headers and timestamps of a log of claims, which any producer may have written.

Decides: an input is a tape for up to eight records, each a byte for its length and one for its
place in time, then its headers and its value. `decode` agrees with a second reader; nothing makes
the world raise; equal logs give equal worlds, read in one go, twice side by side, or the short way.
"""

import re
from typing import Final

from kgroup.marshal.catching_up import CatchUp
from kgroup.marshal.messages import Message, decode, encode
from kgroup.marshal.rules import Compat, Verdict, WorldRules
from kgroup.marshal.world import World
from tests.marshal.logs import columns_of
from tests.search.fuzz.target import Tape, Target, sure
from tests.vectors import load, names

_RECORDS: Final = 8
_SHORT: Final = 255
_HEADERS: Final = ("kg-v", "kg-epoch", "kg-start", "kg-hi", "kg-nonce", "other")
_TIMES: Final = (1_700_000_000_000, -1, 0, 1_700_000_120_000, 2**63 - 1, -(2**63))
_NUMBER: Final = re.compile(rb"[+-]?[0-9]+")
_COUNTS: Final = {
    b"Heartbeat": 9,
    b"ClaimingPartition": 8,
    b"ReleasingPartition": 9,
    b"ClaimingMessages": 9,
    b"ReleaseGroup": 9,
}

Row = tuple[int, int, bytes | None, tuple[tuple[str, bytes | None], ...]]


def rows(data: bytes) -> tuple[WorldRules, list[Row]]:
    tape = Tape(data)
    rules = WorldRules(
        append_time=bool(tape.below(2)),
        complete=bool(tape.below(2)),
        compat=tape.pick((Compat.AUTO, Compat.STRICT, Compat.GO)),
    )
    found: list[Row] = []
    while tape.left and len(found) < _RECORDS:
        size, time = tape.below(_SHORT + 1), tape.pick(_TIMES)
        headers = tuple((tape.pick(_HEADERS), _word(tape)) for _ in range(tape.below(4)))
        value = tape.rest() if size == _SHORT else tape.take(size)
        found.append((len(found), time, value or None, headers))
    return rules, found


def _word(tape: Tape) -> bytes | None:
    return tape.pick((b"1", b"0", b"60", None, tape.take(tape.below(24))))


def check(data: bytes) -> bool:
    rules, found = rows(data)
    world, beside = World(rules), World(rules)
    accepted = False
    for row in found:
        verdict = world.apply(*row)
        sure(beside.apply(*row) is verdict, "the same record does the same", row)
        sure(beside.digest() == world.digest(), "and leaves the same world", row)
        accepted = accepted or isinstance(verdict, Verdict)
        _decoded(row[2])
    again = World(rules)
    for row in found:
        again.apply(*row)
    sure(again.digest() == world.digest(), "equal logs give equal worlds", found)
    short, columns = World(rules), columns_of(found)
    CatchUp(short).fold(columns, columns.raw_rows())
    sure(short.digest() == world.digest(), "the short way leads to the same world", found)
    sure(len(world.keys) <= len(found), "no more keys than records", len(world.keys))
    return accepted


def _decoded(value: bytes | None) -> None:
    read = decode(value)
    expected = _readable(value)
    sure(isinstance(read, Message) is expected, "both readers agree", value, read)
    if isinstance(read, Message):
        sure(decode(encode(read)) == read, "it is the same when it is written again", value, read)


def _readable(value: bytes | None) -> bool:
    """The rule of the original library, and of its releases of a group while it had them."""
    fields = (value or b"").split(b"/")
    if _COUNTS.get(fields[0]) != len(fields):
        return False
    if not all(_is_number(fields[place]) for place in (1, 2, 7, *range(8, len(fields)))):
        return False
    return fields[0] != b"ReleaseGroup" or (fields[6] == b"" and int(fields[7]) == 0)


def _is_number(field: bytes) -> bool:
    if _NUMBER.fullmatch(field) is None:
        return False
    digits = field.lstrip(b"+-").lstrip(b"0")
    return (
        len(digits) < 20
        and -(2**63) <= int(field[:1].strip(b"0123456789") + (digits or b"0")) < 2**63
    )


def read(data: bytes) -> object:
    rules, found = rows(data)
    world = World(rules)
    for row in found:
        world.apply(*row)
    return world


def corpus() -> list[bytes]:
    """What the original library wrote to real brokers, and the same with kgroup's headers."""
    found: list[bytes] = []
    for name in names("marshal"):
        if not name.endswith(".records"):
            continue
        for line in load(name):
            value = bytes.fromhex(line["value_hex"]) if "value_hex" in line else line["value"]
            value = value.encode() if isinstance(value, str) else value or b""
            found.append(b"\1\1\0\xff\0\0" + value)
            if len(value) < _SHORT:
                record = bytes((len(value), 0, 2, 0, 0, 1, 2)) + value
                found.append(b"\0\0\0" + record + record)
    return list(dict.fromkeys(found))


COORDINATION: Final = Target(
    name="T7",
    about="a log of claims changes the world by its records alone, whatever these are",
    corpus=corpus,
    check=check,
    read=read,
    tokens=(b"/", b"Heartbeat/1/1700000000/", b"ClaimingPartition/", b"/-1", b"/99999999"),
)
