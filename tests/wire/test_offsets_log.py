"""Records of `__consumer_offsets`, against what Kafka's own decoder says of real ones."""

import base64
import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.errors import DecodeError
from kgroup.testing.strategies import messages
from kgroup.wire.consumer_protocol import MemberAssignment, MemberSubscription
from kgroup.wire.offsets_log import (
    VALUES,
    CommitKey,
    CommitValue,
    CurrentAssignmentValue,
    GroupKey,
    GroupMember,
    GroupValue,
    Key,
    MemberKey,
    OtherKey,
    PatternKey,
    RecordType,
    Unreadable,
    assignment_of,
    read_key,
    read_record,
    subscription_of,
)
from kgroup.wire.schema import encode
from kgroup.wire.vocabulary import ZERO_UUID
from tests.vectors import load
from tests.wire.kafka_json import message_of
from tests.wire.offsets_keys import written

DELETED = "<DELETE>"
NAMES = {
    "group": "group",
    "groupId": "group",
    "topic": "topic",
    "partition": "partition",
    "memberId": "member",
    "regularExpression": "pattern",
}


def lines() -> Iterator[dict[str, Any]]:
    """Yield all records that are no marks of transactions."""
    for number in range(4):
        found = load(f"consumer_offsets/partition-{number}")
        yield from (line for line in found if not line.get("control"))


def data_of(line: dict[str, Any]) -> tuple[bytes, bytes | None]:
    value = line["value"]
    return bytes.fromhex(line["key"]), None if value is None else bytes.fromhex(value)


def key_fields(key: Key) -> dict[str, Any]:
    assert not isinstance(key, OtherKey)
    return {**key._asdict(), "type": key.type.value}


def text(value: object) -> str:
    return base64.b64encode(value if isinstance(value, bytes) else b"").decode()


def rows(tps: Any) -> list[dict[str, Any]]:
    found: dict[str, list[int]] = {}
    for tp in tps:
        found.setdefault(tp.topic, []).append(tp.partition)
    return [{"topic": topic, "partitions": numbers} for topic, numbers in found.items()]


# -- what Kafka wrote ------------------------------------------------------------------------------


def test_keys_are_those_that_kafka_reads() -> None:
    for line in lines():
        expected, key = line["expected_key"], read_key(data_of(line)[0])
        number = int(expected["type"])
        if number not in {each.value for each in RecordType}:
            assert key == OtherKey(number)
            continue
        named = {NAMES[name]: value for name, value in expected["data"].items()}
        assert key_fields(key) == {"type": number, **named}


def test_values_are_those_that_kafka_reads() -> None:
    seen: Counter[RecordType] = Counter()
    for line in lines():
        record = read_record(*data_of(line))
        if isinstance(record.key, OtherKey):
            assert (record.value, record.version) == (None, -1)
            continue
        if line["expected_value"] == DELETED:
            assert (record.value, record.version) == (None, -1)
            continue
        # Kafka's two tools differ in what they make of the bytes of members of a classic group.
        is_group = record.key.type is RecordType.GROUP
        expected = line["console"]["value"] if is_group else line["expected_value"]
        cls = VALUES[record.key.type]
        assert record.value == message_of(cls, expected["data"])
        assert record.version == int(expected["version"])
        seen[record.key.type] += 1
    # A type 4 is never written any more, and a type 0 by old brokers alone.
    assert seen.keys() == set(RecordType) - {RecordType.OLD_COMMIT, RecordType.TOPICS}


def test_what_was_read_is_written_as_it_was() -> None:
    for line in lines():
        record, value = read_record(*data_of(line)), data_of(line)[1]
        if value is not None and record.value is not None:
            assert value[:2] + encode(record.value, record.version) == value


def test_what_members_wrote_is_what_kafka_reads() -> None:
    members = 0
    for line in lines():
        record, expected = read_record(*data_of(line)), line["expected_value"]
        if not isinstance(record.value, GroupValue):
            continue
        for member, told in zip(record.value.members, expected["data"]["members"], strict=True):
            subscription = subscription_of(member.subscription, record.value.protocol_type)
            assignment = assignment_of(member.assignment, record.value.protocol_type)
            assert isinstance(subscription, MemberSubscription)
            assert isinstance(assignment, MemberAssignment)
            assert rows(assignment.partitions) == told["assignment"]["assignedPartitions"]
            asked = told["subscription"]
            assert list(subscription.topics) == asked["topics"]
            assert rows(subscription.owned) == asked.get("ownedPartitions", [])
            assert (subscription.rack or "") == (asked.get("rackId") or "")
            assert text(subscription.user_data) == (asked["userData"] or "")
            members += 1
    assert members > 30


def test_a_nul_that_librdkafka_put_behind_metadata_stays() -> None:
    values = [read_record(*data_of(line)).value for line in lines()]
    found = [value.metadata for value in values if isinstance(value, CommitValue)]
    assert any(each.endswith("\0") for each in found)
    assert max(map(len, found)) >= 3900


def test_a_commit_in_a_transaction_has_no_topic_id() -> None:
    for line in lines():
        value = read_record(*data_of(line)).value
        if isinstance(value, CommitValue):
            assert (value.topic_id == ZERO_UUID) == line["transactional"]


# -- all versions ----------------------------------------------------------------------------------


KEYS: list[Key] = [
    CommitKey(RecordType.OLD_COMMIT, "g", "t", 3),
    CommitKey(RecordType.COMMIT, "grüße/\0", "t", -1),
    GroupKey(RecordType.GROUP, ""),
    GroupKey(RecordType.TOPICS, "g"),
    MemberKey(RecordType.MEMBER, "g", "m"),
    PatternKey(RecordType.PATTERN, "g", ".*"),
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.type.name)
def test_a_key_comes_back_and_is_an_error_when_cut_or_too_long(key: Key) -> None:
    data = written(key)
    assert read_key(data) == key
    for wrong in [*(data[:end] for end in range(len(data))), data + b"\0"]:
        with pytest.raises(DecodeError):
            read_key(wrong)


@given(key=st.sampled_from(KEYS), data=st.data())
def test_a_value_comes_back_as_it_was_in_all_versions(key: Key, data: st.DataObject) -> None:
    assert not isinstance(key, OtherKey)
    cls = VALUES[key.type]
    version = data.draw(st.sampled_from(cls.VERSIONS))
    value = data.draw(messages(cls, version))
    raw = version.to_bytes(2, "big") + encode(value, version)
    assert read_record(written(key), raw) == (key, value, version)
    cut = data.draw(st.integers(0, len(raw) - 1))
    with pytest.raises(DecodeError):
        read_record(written(key), raw[:cut])


@settings(max_examples=200)
@given(data=st.data())
def test_damaged_bytes_are_one_class_of_error(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(list(lines())[::7]))
    key, value = data_of(line)
    damaged = bytearray(key + (value or b""))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        read_record(bytes(damaged[: len(key)]), bytes(damaged[len(key) :]))


# The first commit of version 4 that broke readers of other projects.
MEMBERS_OF_OLD = [
    ("000000000000000000070001610000000000000009", (7, -1, "a", 9, -1)),
    ("0001000000000000000700000000000000000009000000000000000b", (7, -1, "", 9, 11)),
    ("0002000000000000000700000000000000000009", (7, -1, "", 9, -1)),
    ("000300000000000000070000000400000000000000000009", (7, 4, "", 9, -1)),
    ("0004000000000021d4a8ffffffff010000019964f2d83600", (2217128, -1, "", 1758335260726, -1)),
]


@pytest.mark.parametrize(("data", "fields"), MEMBERS_OF_OLD)
def test_commits_of_all_versions_are_read(data: str, fields: tuple[object, ...]) -> None:
    value = read_record(written(KEYS[0]), bytes.fromhex(data)).value
    assert isinstance(value, CommitValue)
    assert fields == (
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
    )


def test_unknown_tagged_fields_are_passed_over() -> None:
    plain = bytes.fromhex("0004000000000021d4a8ffffffff010000019964f2d836")
    value = read_record(written(KEYS[1]), plain + bytes.fromhex("010702abcd")).value
    assert value == read_record(written(KEYS[1]), plain + b"\0").value


def test_a_newer_version_is_an_error_that_names_what_is_known() -> None:
    with pytest.raises(DecodeError, match=r"CommitValue.* version 5; known are 0 to 4"):
        read_record(written(KEYS[1]), bytes.fromhex("0005") + bytes(30))
    with pytest.raises(DecodeError, match="version -1; known"):
        read_record(written(KEYS[2]), bytes.fromhex("ffff"))
    with pytest.raises(DecodeError, match="no version"):
        read_record(written(KEYS[2]), b"\0")


@pytest.mark.parametrize("number", [9, 10, 15, 17, 400])
def test_a_type_that_is_not_read_is_told_by_its_number(number: int) -> None:
    assert read_record(number.to_bytes(2, "big") + b"\xff\x00", b"?") == (
        OtherKey(number),
        None,
        -1,
    )


def test_a_record_without_a_key_is_an_error() -> None:
    with pytest.raises(DecodeError, match="no key"):
        read_record(None, b"")
    with pytest.raises(DecodeError, match="negative"):
        read_record(b"\xff\xff", b"")


# -- what members wrote ----------------------------------------------------------------------------


def test_bytes_of_members_that_cannot_be_read_are_kept_with_the_reason() -> None:
    assert subscription_of(b"\0\1x", "connect") == Unreadable(
        b"\0\1x", "the protocol of 'connect' is not read"
    )
    broken = assignment_of(b"\0\1\0\0\0\7", "consumer")
    assert isinstance(broken, Unreadable)
    assert broken.data == b"\0\1\0\0\0\7"
    assert "assignment" in broken.reason
    assert assignment_of(b"", "consumer") == MemberAssignment()


def test_rows_of_members_differ_by_version_alone() -> None:
    member = GroupMember(
        member_id="m", client_id="c", client_host="/h", session_timeout=6, subscription=b"",
        assignment=b"",
    )  # fmt: skip
    value = GroupValue(
        protocol_type="consumer", generation=1, protocol="range", leader="m", members=(member,)
    )
    for version in GroupValue.VERSIONS:
        raw = version.to_bytes(2, "big") + encode(value, version)
        assert read_record(written(KEYS[2]), raw).value == value


def test_a_current_assignment_without_epochs_is_read() -> None:
    data = bytes.fromhex("000000000001000000000002" + "ab" * 16 + "020000000500")
    value = read_record(written(MemberKey(RecordType.CURRENT, "g", "m")), data + b"\1\0").value
    assert isinstance(value, CurrentAssignmentValue)
    (found,) = value.assigned_partitions
    assert (found.partitions, found.assignment_epochs) == ((5,), ())
