"""What a coordinator reads of a subscription; the recorded cuts hold what it stumbles over."""

import struct

import pytest

from kgroup.testing.broker.groups.member import UnreadableMetadataError, topics_of
from kgroup.wire.consumer_protocol import MemberSubscription, encode_subscription

BYTES = encode_subscription(MemberSubscription(topics=("t", "u"), user_data=b"data"))


def test_topics_are_read() -> None:
    assert topics_of(BYTES) == frozenset({"t", "u"})


def test_an_unknown_version_is_read_but_a_negative_one_is_not() -> None:
    assert topics_of(struct.pack(">h", 77) + BYTES[2:]) == frozenset({"t", "u"})
    assert topics_of(struct.pack(">h", 0) + BYTES[2:]) == frozenset({"t", "u"})
    assert topics_of(struct.pack(">h", -1) + BYTES[2:]) is None


def test_nothing_is_known_of_bytes_that_end_inside_a_length() -> None:
    assert topics_of(b"") is None
    assert topics_of(BYTES[:5]) is None


def test_a_length_that_promises_too_much_is_stumbled_over() -> None:
    with pytest.raises(UnreadableMetadataError, match="length of 2 where 0 byte"):
        topics_of(BYTES[:6])


def test_user_data_may_be_null_and_bytes_behind_it_are_not_read() -> None:
    head = struct.pack(">hi", 1, 0)
    assert topics_of(head + struct.pack(">i", -1)) == frozenset()
    assert topics_of(head + struct.pack(">i", 0) + b"anything") == frozenset()
