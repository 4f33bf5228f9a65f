"""The messages of a coordination topic, to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.marshal.messages import Kind, Message, Reject, decode, encode

A = b"3f2a9c01", b"web-01", b"shop.billing", b"orders"

WORKED = {
    b"Heartbeat/1/1700000000/3f2a9c01/web-01/shop.billing/orders/7/123456": Message(
        Kind.HEARTBEAT, 1_700_000_000, *A, 7, 123_456
    ),
    b"Heartbeat/0/1445000000/ii/cl/gr/t/0/0": Message(
        Kind.HEARTBEAT, 1_445_000_000, b"ii", b"cl", b"gr", b"t", 0, 0, version=0
    ),
    b"ClaimingPartition/1/1700000000/3f2a9c01/web-01/shop.billing/orders/7": Message(
        Kind.CLAIMING_PARTITION, 1_700_000_000, *A, 7
    ),
    b"ClaimingPartition/4/2/ii/cl/gr/t/3": Message(
        Kind.CLAIMING_PARTITION, 2, b"ii", b"cl", b"gr", b"t", 3, version=4
    ),
    b"ReleasingPartition/1/1700000300/3f2a9c01/web-01/shop.billing/orders/7/130000": Message(
        Kind.RELEASING_PARTITION, 1_700_000_300, *A, 7, 130_000
    ),
    b"ClaimingMessages/1/1700000000/3f2a9c01/web-01/shop.billing/orders/7/123500": Message(
        Kind.CLAIMING_MESSAGES, 1_700_000_000, *A, 7, 123_500
    ),
    b"ReleaseGroup/0/1700000000/77aa01bc/admin-1/shop.billing//0/1700000900": Message(
        Kind.RELEASE_GROUP,
        1_700_000_000,
        b"77aa01bc",
        b"admin-1",
        b"shop.billing",
        b"",
        0,
        1_700_000_900,
        version=0,
    ),
}


@pytest.mark.parametrize("value", WORKED)
def test_a_message_is_written_and_read_to_the_byte(value: bytes) -> None:
    assert decode(value) == WORKED[value]
    assert encode(WORKED[value]) == value


BEAT = b"Heartbeat/1/1700000000/i/c/g/t/0/7"

UNREADABLE = {
    None: Reject.NULL,
    b"": Reject.FIELDS,
    b"banana": Reject.FIELDS,
    b"Heartbeat/1700000000/c/g/t/0/7": Reject.FIELDS,
    b"Heartbeat//1700000000/i/c/g/t/0/7": Reject.VERSION,
    b"Heartbeat/x/1700000000/i/c/g/t/0/7": Reject.VERSION,
    b"Heartbeat/1/1700000000/i/c/g/t//7": Reject.PARTITION,
    b"Heartbeat/1/1700000000/i/c/h/g/t/0/7": Reject.PARTITION,
    b"Heartbeat/1/now/i/c/g/t/0/7": Reject.TIME,
    b"heartbeat/1/1700000000/i/c/g/t/0/7": Reject.KIND,
    b"Heartbeat /1/1700000000/i/c/g/t/0/7": Reject.KIND,
    b"Takeover/1/1700000000/i/c/g/t/0/7": Reject.KIND,
    b"Heartbeat/1/1700000000/i/c/g/t/0": Reject.COUNT,
    b"Heartbeat/1/1700000000/i/c/g/t/0/7/8": Reject.COUNT,
    b"ClaimingPartition/1/1700000000/i/c/g/t/0/7": Reject.COUNT,
    b"ReleasingPartition/1/1700000000/i/c/g/t/0": Reject.COUNT,
    b"Heartbeat/1/1700000000/i/c/g/t/0/": Reject.TAIL,
    b"Heartbeat/1/1700000000/i/c/g/t/0/ 7": Reject.TAIL,
    b"Heartbeat/1/1700000000/i/c/g/t/0/7\n": Reject.TAIL,
    b"Heartbeat/1/1700000000/i/c/g/t/0/1_000": Reject.TAIL,
    b"Heartbeat/1/1700000000/i/c/g/t/0/7.0": Reject.TAIL,
    b"Heartbeat/1/1700000000/i/c/g/t/0/\xd9\xa3": Reject.TAIL,
    b"Heartbeat/1/1700000000/i/c/g/t/0/9223372036854775808": Reject.TAIL,
    b"Heartbeat/1/1700000000/i/c/g/t/0/" + b"9" * 5000: Reject.TAIL,
    b"ReleaseGroup/0/1700000000/i/c/g/t/0/1700000900": Reject.RELEASE_GROUP,
    b"ReleaseGroup/0/1700000000/i/c/g//1/1700000900": Reject.RELEASE_GROUP,
}


@pytest.mark.parametrize("value", UNREADABLE)
def test_what_is_no_message_says_which_rule_it_breaks_first(value: bytes | None) -> None:
    assert decode(value) is UNREADABLE[value]


ODD = {
    b"Heartbeat/99/1700000000/i/c/g/t/0/+7": BEAT.replace(b"/1/", b"/99/", 1),
    b"Heartbeat/-3/1700000000/i/c/g/t/0/7": BEAT.replace(b"/1/", b"/-3/", 1),
    b"Heartbeat/1/+1700000000/i/c/g/t/006/0013": b"Heartbeat/1/1700000000/i/c/g/t/6/13",
    b"Heartbeat/1/1700000000/i/c/g/t/0/" + b"0" * 60 + b"7": BEAT,
    b"Heartbeat/1/1700000000/i/c/g/t/0/-9223372036854775808": BEAT[:-1] + b"%d" % -(2**63),
    b"Heartbeat/1/1700000000///g/t/0/7": b"Heartbeat/1/1700000000///g/t/0/7",
    b"Heartbeat/1/1700000000/i/a\xff b/g/t/0/7": b"Heartbeat/1/1700000000/i/a\xff b/g/t/0/7",
}


@pytest.mark.parametrize("value", ODD)
def test_what_the_original_reads_is_read_and_written_plainly(value: bytes) -> None:
    message = decode(value)
    assert isinstance(message, Message)
    assert encode(message) == ODD[value]


_ids = st.binary(max_size=20).filter(lambda word: b"/" not in word)
_longs = st.integers(-(2**63), 2**63 - 1)


@given(st.sampled_from(Kind), st.tuples(_longs, _longs, _longs), st.tuples(_ids, _ids, _ids, _ids))
def test_every_message_comes_back(
    kind: Kind, numbers: tuple[int, int, int], ids: tuple[bytes, bytes, bytes, bytes]
) -> None:
    time, partition, tail = numbers
    message = Message(kind, time, *ids, partition, tail)
    if kind is Kind.RELEASE_GROUP:
        message = message._replace(topic=b"", partition=0)
    if kind is Kind.CLAIMING_PARTITION:
        message = message._replace(tail=0)
    assert decode(encode(message)) == message


@given(st.binary(max_size=200) | st.from_regex(rb"[A-Za-z]*(/[^/]{0,9}){7,9}", fullmatch=True))
@pytest.mark.slow
def test_any_bytes_are_a_message_or_rejected(value: bytes) -> None:
    found = decode(value)
    assert isinstance(found, Reject) or decode(encode(found)) == found
