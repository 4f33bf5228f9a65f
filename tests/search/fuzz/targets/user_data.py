"""T11: the user data of assignors: other members' bytes, and no reader may mind what they are.

Decides: the first byte of an input names the owner of the rest. 0: the eager sticky assignor; 1:
the cooperative one; both are read as a second reader reads them, or refused. 2 and above: it is cut
up and handed to the members of a small group, which every assignor then divides.
"""

import itertools
from typing import Final

from kgroup.assignors import BUILT_IN, GroupSubscription, Member, PartitionRacks
from kgroup.assignors.claims import cooperative_claim, settle, sticky_claim
from kgroup.assignors.leader import divide
from kgroup.errors import DecodeError
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.wire.user_data import (
    decode_cooperative_user_data,
    decode_sticky_user_data,
    encode_cooperative_user_data,
    encode_sticky_user_data,
)
from tests.search.fuzz.recorded import lines
from tests.search.fuzz.records_reference import Liberty, read_sticky
from tests.search.fuzz.reference import Refused
from tests.search.fuzz.target import Tape, Target, sure

_STICKY, _COOPERATIVE = 0, 1
_KINDS: Final = 4
_NO_GENERATION: Final = -1
_MOST: Final = 63
_TOPICS: Final = {"a": dict.fromkeys(range(3), PartitionRacks()), "t": {0: PartitionRacks()}}


def check(data: bytes) -> bool:
    kind, rest = (data[0] % _KINDS if data else 0), data[1:]
    match kind:
        case 0:
            return _sticky(rest)
        case 1:
            return _cooperative(rest)
        case _:
            return _divided(rest)


def _sticky(data: bytes) -> bool:
    claim = sticky_claim(Member(member_id="m", topics=frozenset(), user_data=data))
    try:
        read = decode_sticky_user_data(data)
    except DecodeError as error:
        sure(not claim.partitions, "what cannot be read claims nothing", claim)
        try:
            other, _ = read_sticky(data)
        except Refused:
            return False
        sure(False, "refused, but the second reader accepts", error, other)
    expected, liberties = read_sticky(data)
    sure((list(read.partitions), read.generation_id) == expected, "both readers agree", read)
    sure(not data or claim.partitions == read.partitions, "it is what the member claims", claim)
    if Liberty.REPLACED in liberties:
        return True
    written = encode_sticky_user_data(read.partitions, read.generation_id)
    again = decode_sticky_user_data(written)
    sure(sorted(again.partitions) == sorted(read.partitions), "it means the same", written, data)
    sure(again.generation_id == read.generation_id, "of the same generation", written, data)
    sure(written == data or liberties, "written as it was read", written, data)
    return True


def _cooperative(data: bytes) -> bool:
    member = Member(member_id="m", topics=frozenset(), user_data=data, version=1)
    claim = cooperative_claim(member)
    try:
        generation_id = decode_cooperative_user_data(data)
    except DecodeError:
        sure(claim.generation_id is None and len(data) < 4, "four bytes are enough", data)
        return False
    number = int.from_bytes(data[:4], "big", signed=True)
    sure(generation_id == (number if number >= 0 else None), "the generation", generation_id)
    sure(claim.generation_id == generation_id, "it is what the member claims", claim)
    written = encode_cooperative_user_data(generation_id)
    sure(written == data[:4] or number < _NO_GENERATION, "written as it was read", written)
    return True


def _divided(data: bytes) -> bool:
    tape = Tape(data)
    members = []
    for number in range(1 + tape.below(4)):
        size = tape.below(1 + _MOST)
        members.append(
            Member(
                member_id=f"m{number}",
                topics=frozenset(("a", "t") if tape.below(3) else ("a",)),
                owned=(TopicPartition("a", tape.below(4)),) if tape.below(2) else (),
                generation_id=(None, 3, 4)[tape.below(3)],
                user_data=tape.take(size),
            )
        )
    group = GroupSubscription(tuple(members), _TOPICS)
    for claim in (sticky_claim, cooperative_claim):
        held = settle(group.members, claim, group.partitions).held
        every = [index for indices in held.values() for index in indices]
        sure(len(every) == len(set(every)), "what is held is held once", held)
    for assignor in BUILT_IN.values():
        for protocol in assignor.supported_protocols:
            if (
                protocol is RebalanceProtocol.COOPERATIVE
                or protocol is assignor.supported_protocols[0]
            ):
                divide(assignor, group, protocol)
    return True


def read(data: bytes) -> object:
    kind, rest = (data[0] % _KINDS if data else 0), data[1:]
    return (
        decode_cooperative_user_data(rest)
        if kind == _COOPERATIVE
        else decode_sticky_user_data(rest)
    )


def corpus() -> list[bytes]:
    """What Java's assignors wrote, alone and in small groups."""
    written = list(dict.fromkeys(lines("consumer_protocol/user_data", "hex")))
    odd = [b"", b"\0" * 4, b"\0\0\0\1", b"\x7f\xff\xff\xff", b"\xff" * 8, b"\x80\0\0\0"]
    some = [*written, *odd]
    alone = [bytes((kind,)) + each for kind in (_STICKY, _COOPERATIVE) for each in some]
    together = [
        bytes((2, 1, min(len(one), _MOST), 1, 1, 1, 1))
        + one[:_MOST]
        + bytes((min(len(other), _MOST), 1, 1, 1, 2))
        + other[:_MOST]
        for one, other in itertools.pairwise(some)
    ]
    return [*alone, *together[::2]]


USER_DATA: Final = Target(
    name="T11",
    about="user data of any bytes is read as a second reader reads it, or claims nothing",
    corpus=corpus,
    check=check,
    read=read,
)
