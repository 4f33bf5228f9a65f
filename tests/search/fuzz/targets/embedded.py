"""T6: subscriptions and assignments, which any client of the group may have written.

Decides: an even first byte of an input means a subscription, an odd one an assignment. What is
read is what a second reader reads; written again it means the same, and is the same but for what
`Liberty` names.
"""

from typing import Final

from kgroup.errors import DecodeError, LocalProtocolError
from kgroup.wire.consumer_protocol import (
    NEWEST_VERSION,
    MemberAssignment,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tests.search.fuzz.recorded import lines
from tests.search.fuzz.records_reference import (
    Liberty,
    Subscription,
    read_assignment,
    read_subscription,
)
from tests.search.fuzz.reference import Refused
from tests.search.fuzz.target import Target, sure


def check(data: bytes) -> bool:
    kind, rest = data[:1], data[1:]
    if kind and kind[0] & 1:
        return _assignment(rest)
    return _subscription(rest)


def _subscription(data: bytes) -> bool:
    try:
        read = decode_subscription(data)
    except DecodeError as error:
        try:
            other, _ = read_subscription(data)
        except Refused:
            return False
        sure(False, "refused, but the second reader accepts", error, other)
    try:
        expected, liberties = read_subscription(data)
    except Refused as error:
        sure(False, "accepted, but the second reader refuses", error, read)
        raise
    sure(_values(read) == expected, "both readers agree", read, expected)
    _written(read, data, liberties)
    return True


def _values(read: MemberSubscription) -> Subscription:
    owned = list(read.owned)
    return Subscription(
        read.version, list(read.topics), read.user_data, owned, read.generation_id, read.rack
    )


def _written(read: MemberSubscription, data: bytes, liberties: set[Liberty]) -> None:
    version = min(read.version, NEWEST_VERSION)
    try:
        written = encode_subscription(read, version)
    except LocalProtocolError as error:
        sure(Liberty.REPLACED in liberties, "what was read can be written", error)
        return
    again = decode_subscription(written)
    sure(_sorted(again) == _sorted(read), "it means the same when it is written again", read)
    sure(encode_subscription(again, version) == written, "and then stays as it is", written)
    sure(written == data or liberties, "written as it was read", written, data)


def _sorted(read: MemberSubscription) -> object:
    owned = sorted(read.owned)
    return sorted(read.topics), owned, read.generation_id, read.rack, read.user_data


def _assignment(data: bytes) -> bool:
    try:
        read = decode_assignment(data)
    except DecodeError as error:
        try:
            other, _ = read_assignment(data)
        except Refused:
            return False
        sure(False, "refused, but the second reader accepts", error, other)
    try:
        expected, liberties = read_assignment(data)
    except Refused as error:
        sure(False, "accepted, but the second reader refuses", error, read)
        raise
    sure((list(read.partitions), read.user_data) == expected, "both readers agree", read, expected)
    _written_assignment(read, data, liberties)
    return True


def _written_assignment(read: MemberAssignment, data: bytes, liberties: set[Liberty]) -> None:
    try:
        written = encode_assignment(read)
    except LocalProtocolError as error:
        sure(Liberty.REPLACED in liberties, "what was read can be written", error)
        return
    again = decode_assignment(written)
    sure(sorted(again.partitions) == sorted(read.partitions), "it means the same", read)
    sure(again.user_data == read.user_data, "with the same user data", read)
    sure(encode_assignment(again) == written, "and then stays as it is", written)
    sure(written == data or liberties, "written as it was read", written, data)


def read(data: bytes) -> object:
    kind, rest = data[:1], data[1:]
    return decode_assignment(rest) if kind and kind[0] & 1 else decode_subscription(rest)


def corpus() -> list[bytes]:
    """What Java's classes wrote and read, and what other clients send."""
    folder = "consumer_protocol"
    subscriptions = [
        *lines(f"{folder}/subscription", "hex"),
        *lines(f"{folder}/member_data", "subscription_hex"),
        *lines(f"{folder}/decode_odd", "hex"),
    ]
    assignments = [*lines(f"{folder}/assignment", "hex"), *lines(f"{folder}/decode_odd", "hex")]
    found = [*(b"\0" + each for each in subscriptions), *(b"\1" + each for each in assignments)]
    return list(dict.fromkeys((*found, b"\1")))


EMBEDDED: Final = Target(
    name="T6",
    about="subscriptions and assignments mean the same when they are written again, or are refused",
    corpus=corpus,
    check=check,
    read=read,
)
