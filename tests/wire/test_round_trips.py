"""Whatever can be said can be written and read back: values made from the declarations.

Rows of equal lengths are read by a faster path (a run), so the arrays here repeat few rows often.
"""

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgroup.errors import DecodeError
from kgroup.testing.strategies import messages as drawn
from kgroup.wire import messages
from kgroup.wire.messages import (
    JoinGroupResponse,
    JoinGroupResponseMember,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kgroup.wire.schema import Message, decode, encode

TRIED = [
    "JoinGroupRequest", "JoinGroupResponse", "MetadataResponse", "FetchRequest", "FetchResponse",
    "OffsetFetchResponse", "ConsumerGroupHeartbeatResponse", "ApiVersionsResponse",
    "DescribeGroupsResponse", "ListGroupsRequest",
]  # fmt: skip
quick = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", TRIED)
@quick
@given(data=st.data())
def test_a_message_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    cls: type[Message] = getattr(messages, name)
    version = data.draw(st.sampled_from(cls.VERSIONS))
    given_ = data.draw(drawn(cls, version))
    written = encode(given_, version)
    assert decode(cls, version, written) == given_
    cut = data.draw(st.integers(0, max(len(written) - 1, 0)))
    if written:
        with pytest.raises(DecodeError):
            decode(cls, version, written[:cut])


@quick
@given(data=st.data())
def test_any_bytes_are_a_message_or_a_decode_error(data: st.DataObject) -> None:
    cls: type[Message] = getattr(messages, data.draw(st.sampled_from(TRIED)))
    version = data.draw(st.sampled_from(cls.VERSIONS))
    written = bytearray(encode(data.draw(drawn(cls, version)), version))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(written)))
        written[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    with contextlib.suppress(DecodeError):
        assert isinstance(decode(cls, version, bytes(written)), cls)


# -- runs ----------------------------------------------------------------------------------


def joined(*members: JoinGroupResponseMember) -> JoinGroupResponse:
    return JoinGroupResponse(protocol_name="range", leader="a", member_id="a", members=members)


def member(member_id: str, size: int, instance: str | None = None) -> JoinGroupResponseMember:
    return JoinGroupResponseMember(
        member_id=member_id, group_instance_id=instance, metadata=member_id[:1].encode() * size
    )


SHAPES: dict[str, Callable[[int], JoinGroupResponseMember]] = {
    "all alike": lambda i: member(f"m{i:05}", 100),
    "all alike, empty": lambda _: member("", 0),
    "lengths of two bytes": lambda i: member(f"{i:0200}", 500),
    "lengths of three bytes": lambda i: member(f"{i:05}", 20_000),
    "two by two": lambda i: member(f"m{i:05}", 10 + i // 2 % 2),
    "every one different": lambda i: member(f"m{i}" * (i % 7), i % 11),
    "one in ten different": lambda i: member(f"m{i:05}", 99 if i % 10 else 3),
    "null now and then": lambda i: member(f"m{i:05}", 9, None if i % 5 else "instance"),
    "no text is ascii": lambda i: member(f"é{i:03}", 1, "ü"),
    "lengths around one byte": lambda i: member("x" * (125 + i // 4 % 4), 126),
}


@pytest.mark.parametrize("version", [0, 5, 6, 9])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_read_as_a_run_are_the_rows_that_were_written(shape: str, version: int) -> None:
    rows = [SHAPES[shape](i) for i in range(41)]
    if version < 5:
        rows = [member(row.member_id, len(row.metadata)) for row in rows]
    answer = joined(*rows)
    assert decode(JoinGroupResponse, version, encode(answer, version)) == answer


@pytest.mark.parametrize("version", [5, 9])
def test_a_run_cut_at_any_byte_is_an_error(version: int) -> None:
    written = encode(joined(*(member(f"m{i}", 3) for i in range(9))), version)
    for cut in range(len(written)):
        with pytest.raises(DecodeError):
            decode(JoinGroupResponse, version, written[:cut])


@pytest.mark.parametrize("version", [5, 9])
def test_a_length_that_lies_in_the_midst_of_a_run_is_an_error(version: int) -> None:
    written = encode(joined(*(member(f"m{i}", 3) for i in range(9))), version)
    at = written.index(b"m6")
    for length in {0, 1, 2, 3, 4, 200, 255} - {written[at - 1]}:
        lying = written[: at - 1] + bytes((length,)) + written[at:]
        with pytest.raises(DecodeError):
            decode(JoinGroupResponse, version, lying)


@pytest.mark.parametrize("version", [5, 9])
def test_a_name_that_is_not_utf8_in_the_midst_of_a_run_is_an_error(version: int) -> None:
    written = encode(joined(*(member(f"m{i}", 3) for i in range(9))), version)
    with pytest.raises(DecodeError, match="not UTF-8"):
        decode(JoinGroupResponse, version, written.replace(b"m6", b"\xff6"))


def test_words_for_people_in_a_run_are_replaced_where_they_are_not_utf8() -> None:
    rows = tuple(
        OffsetFetchResponsePartition(partition_index=i, committed_offset=i, metadata="old")
        for i in range(9)
    )
    answer = OffsetFetchResponse(topics=(OffsetFetchResponseTopic(name="t", partitions=rows),))
    written = encode(answer, 5)
    at = written.rindex(b"old")
    (topic,) = decode(OffsetFetchResponse, 5, written[:at] + b"\xff" + written[at + 1 :]).topics
    assert [row.metadata for row in topic.partitions] == ["old"] * 8 + ["\ufffdld"]


def test_a_row_with_unknown_tags_in_the_midst_of_a_run_is_read() -> None:
    written = encode(joined(*(member(f"m{i}", 3) for i in range(9))), 9)
    end = written.index(b"m6") + len(b"m6" + b"\0" + b"\4mmm")
    tagged = written[:end] + bytes.fromhex("01 09 02 aabb") + written[end + 1 :]
    assert decode(JoinGroupResponse, 9, tagged) == decode(JoinGroupResponse, 9, written)


@pytest.mark.parametrize("version", [2, 8])
@pytest.mark.parametrize("count", range(7))
def test_rows_of_numbers_only_are_read(count: int, version: int) -> None:
    rows = tuple(
        OffsetCommitResponsePartition(partition_index=i, error_code=-i) for i in range(count)
    )
    answer = OffsetCommitResponse(topics=(OffsetCommitResponseTopic(name="t", partitions=rows),))
    assert decode(OffsetCommitResponse, version, encode(answer, version)) == answer


@pytest.mark.parametrize("version", [0, 5, 7, 9, 12])
def test_partitions_whose_replicas_change_in_number_are_read(version: int) -> None:
    partitions = tuple(
        MetadataResponsePartition(
            partition_index=i,
            leader_id=i % 3,
            replica_nodes=tuple(range(3)),
            isr_nodes=tuple(range(3 if i % 7 else i % 4)),
        )
        for i in range(50)
    )
    topic = MetadataResponseTopic(name="t", partitions=partitions)
    answer = MetadataResponse(brokers=(), topics=(topic,))
    assert decode(MetadataResponse, version, encode(answer, version)) == answer
