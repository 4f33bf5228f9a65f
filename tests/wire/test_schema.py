"""What a message object is, and what encode and decode refuse."""

import copy
import pickle
from typing import TYPE_CHECKING

import pytest

from kgroup.errors import DecodeError, LocalProtocolError, UnsupportedVersionError
from kgroup.wire.messages import (
    ApiVersion,
    ApiVersionsResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    MetadataRequest,
    MetadataRequestTopic,
    SyncGroupResponse,
)
from kgroup.wire.schema import Message, Request, decode, encode, message, wire
from kgroup.wire.vocabulary import Int32, Int64, String, array, nullable, rows

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


# -- objects -------------------------------------------------------------------------------


def made_and_decoded() -> list[Message]:
    return [BEAT, decode(HeartbeatRequest, 4, encode(BEAT, 4))]


@pytest.mark.parametrize("beat", made_and_decoded(), ids=["made", "decoded"])
def test_a_message_cannot_be_changed(beat: Message) -> None:
    with pytest.raises(AttributeError, match="HeartbeatRequest is immutable: 'generation_id'"):
        beat.generation_id = 2  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="immutable"):
        del beat.generation_id  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="immutable"):
        beat.unknown = 2  # type: ignore[attr-defined]
    assert beat == BEAT


@pytest.mark.parametrize("beat", made_and_decoded(), ids=["made", "decoded"])
def test_a_message_has_slots_and_no_dictionary(beat: Message) -> None:
    assert not hasattr(beat, "__dict__")


def test_a_decoded_message_is_of_the_class_itself() -> None:
    assert type(decode(HeartbeatRequest, 4, encode(BEAT, 4))) is HeartbeatRequest


def test_equal_messages_have_equal_hashes() -> None:
    same = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert same == BEAT
    assert hash(same) == hash(BEAT)
    assert HeartbeatRequest(group_id="g", generation_id=2, member_id="m") != BEAT


def test_messages_of_two_classes_are_never_equal() -> None:
    assert HeartbeatResponse() != FindCoordinatorRequest()
    assert HeartbeatResponse() != (0, 0)


def test_the_repr_of_a_message_names_each_field() -> None:
    assert repr(BEAT) == (
        "HeartbeatRequest(group_id='g', generation_id=1, member_id='m', group_instance_id=None)"
    )


def test_a_message_survives_pickle_and_copy() -> None:
    assert pickle.loads(pickle.dumps(BEAT)) == BEAT
    assert copy.deepcopy(BEAT) == BEAT


def test_a_field_without_a_default_must_be_given() -> None:
    with pytest.raises(TypeError, match=r"HeartbeatRequest.__init__\(\) missing .* 'member_id'"):
        HeartbeatRequest(group_id="g", generation_id=1)  # type: ignore[call-arg]


def test_fields_are_given_by_keyword_only() -> None:
    with pytest.raises(TypeError):
        HeartbeatRequest("g", 1, "m")  # type: ignore[call-arg]


def test_a_request_knows_its_api_and_its_response() -> None:
    assert BEAT.api_key == 12
    assert HeartbeatRequest.RESPONSE is HeartbeatResponse
    assert (range(5), 4) == (HeartbeatRequest.VERSIONS, HeartbeatRequest.FLEXIBLE)


if TYPE_CHECKING:
    # mypy reports an ignore that is not needed, so each line proves that it sees the mistake.
    HeartbeatRequest(group_id=1, generation_id=1, member_id="m")  # type: ignore[arg-type]
    HeartbeatRequest(group_id="g", generation=1, member_id="m")  # type: ignore[call-arg]
    BEAT.generation_id = 2  # type: ignore[misc]

    @message()
    class Mistyped(Message):
        text: int = wire(String)  # type: ignore[assignment]
        count: int = wire(Int32, default="0")  # type: ignore[misc]
        absent: str = wire(nullable(String))  # type: ignore[assignment]
        many: tuple[str, ...] = wire(array(Int32))  # type: ignore[arg-type]


# -- versions ------------------------------------------------------------------------------


def test_a_version_kafka_does_not_have_is_refused_both_ways() -> None:
    with pytest.raises(UnsupportedVersionError, match="version 5 is not spoken, only 0 to 4"):
        encode(BEAT, 5)
    with pytest.raises(UnsupportedVersionError, match="HeartbeatRequest"):
        decode(HeartbeatRequest, -1, b"")


def test_a_row_is_no_message() -> None:
    with pytest.raises(UnsupportedVersionError, match="a row is not a message"):
        encode(MetadataRequestTopic(name="t"), 0)


def test_a_field_that_must_not_be_lost_is_not_sent_in_a_version_without_it() -> None:
    static = HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id="i")
    with pytest.raises(
        UnsupportedVersionError,
        match=r"HeartbeatRequest\.group_instance_id cannot be sent in version 2, only from 3",
    ):
        encode(static, 2)
    assert decode(HeartbeatRequest, 3, encode(static, 3)) == static


def test_a_field_that_ended_is_not_sent_in_a_later_version() -> None:
    with pytest.raises(UnsupportedVersionError, match="only from 0 to 2"):
        encode(LeaveGroupRequest(group_id="g", member_id="m"), 3)


def test_an_ignorable_field_is_dropped_in_a_version_without_it() -> None:
    given = JoinGroupRequest(
        group_id="g", session_timeout_ms=1, rebalance_timeout_ms=9, member_id="", reason="why",
        protocol_type="consumer", protocols=(),
    )  # fmt: skip
    back = decode(JoinGroupRequest, 0, encode(given, 0))
    assert (back.rebalance_timeout_ms, back.reason) == (-1, None)


def test_null_is_not_sent_in_a_version_that_cannot_hold_it() -> None:
    with pytest.raises(UnsupportedVersionError, match="topics cannot be null in version 0"):
        encode(MetadataRequest(topics=None), 0)
    assert decode(MetadataRequest, 1, encode(MetadataRequest(topics=None), 1)).topics is None


def test_a_value_that_does_not_fit_is_our_own_error() -> None:
    with pytest.raises(LocalProtocolError, match="HeartbeatRequest v3 cannot be written"):
        encode(HeartbeatRequest(group_id="g", generation_id=1 << 31, member_id="m"), 3)
    with pytest.raises(LocalProtocolError):
        encode(HeartbeatRequest(group_id="g" * 40_000, generation_id=1, member_id="m"), 3)
    with pytest.raises(LocalProtocolError):
        encode(HeartbeatRequest(group_id="\ud800", generation_id=1, member_id="m"), 3)
    with pytest.raises(LocalProtocolError):
        encode(HeartbeatRequest(group_id=None, generation_id=1, member_id="m"), 3)  # type: ignore[arg-type]


def test_a_uuid_of_another_length_is_our_own_error() -> None:
    row = ConsumerGroupHeartbeatTopicPartitions(topic_id=b"short", partitions=())
    beat = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, topic_partitions=(row,)
    )
    with pytest.raises(LocalProtocolError, match="a uuid has 16 bytes, not 5"):
        encode(beat, 0)


def test_a_field_some_version_lacks_must_have_a_default() -> None:
    @message(versions=range(2))
    class Hasty(Request[HeartbeatResponse]):
        late: int = wire(Int64, since=1)

    with pytest.raises(TypeError, match=r"Hasty\.late needs a default: v0 lacks it"):
        decode(Hasty, 0, b"")


# -- bounds --------------------------------------------------------------------------------


def refused(cls: type[Message], version: int, data: str, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode(cls, version, bytes.fromhex(data))


def test_a_negative_length_where_null_has_no_place_is_an_error() -> None:
    refused(FindCoordinatorRequest, 0, "ffff", r"FindCoordinatorRequest\.key .* its length is -1")
    refused(FindCoordinatorRequest, 3, "000000", r"FindCoordinatorRequest\.key .* length is -1")
    refused(SyncGroupResponse, 0, "0000 ffffffff", r"assignment .* its length is -1")


def test_a_length_below_minus_one_is_an_error_even_where_null_is_allowed() -> None:
    refused(MetadataRequest, 1, "fffffffe", r"MetadataRequest\.topics .* its length is -2")
    refused(HeartbeatRequest, 3, "0000 00000001 0000 8000", r"group_instance_id .* -32768")


def test_a_count_the_bytes_left_cannot_hold_is_an_error_before_anything_is_made() -> None:
    refused(MetadataRequest, 1, "7fffffff", "2147483647 announced")
    refused(MetadataRequest, 9, "ffffffff0f 00", "4294967294 announced")
    # 20,000 int32 partitions announced with 25,000 bytes behind them.
    body = "01 01 00000000 00 00 00000000 00 00 02" + "00" * 16 + "a19c01" + "00" * 25_000
    refused(ConsumerGroupHeartbeatRequest, 0, body, "announced")


def test_a_varint_of_more_than_five_bytes_is_an_error() -> None:
    refused(FindCoordinatorRequest, 3, "808080808001", "longer than 32 bits")
    refused(FindCoordinatorRequest, 3, "ffffffff1f", "longer than 32 bits")


def test_a_varint_with_idle_bytes_is_read() -> None:
    assert decode(FindCoordinatorRequest, 3, bytes.fromhex("82808000 67 00 00")).key == "g"


def test_names_that_are_not_utf8_are_an_error() -> None:
    refused(FindCoordinatorRequest, 0, "0002 c328", "text is not UTF-8")


def test_words_for_people_that_are_not_utf8_are_replaced() -> None:
    answer = decode(
        FindCoordinatorResponse, 1, bytes.fromhex("00000000 0010 0003 61c328" + "0" * 20)
    )
    assert answer.error_message == "a\ufffd("


# -- tagged fields (KIP-482) ---------------------------------------------------------------

# ApiVersionsResponse v3: no error, no APIs, no throttling; then the tagged fields.
PLAIN = "0000 01 00000000"


def test_unknown_tags_are_skipped() -> None:
    answer = decode(ApiVersionsResponse, 3, bytes.fromhex(PLAIN + "01 63 02 aabb"))
    assert answer == ApiVersionsResponse(api_keys=())


def test_known_tags_are_read_among_unknown_ones() -> None:
    tags = "03 01 08 0000000000000007 03 01 01 63 02 aabb"
    answer = decode(ApiVersionsResponse, 3, bytes.fromhex(PLAIN + tags))
    assert (answer.finalized_features_epoch, answer.zk_migration_ready) == (7, True)


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        ("02 03 01 01 03 01 01", "tag 3 follows tag 3"),
        ("02 04 00 03 01 01", "tag 3 follows tag 4"),
        ("01 63 05 aabb", "tag 99 has 5 bytes, but only 2 are left"),
        ("01 03 02 0101", r"zk_migration_ready .* 1 bytes are left over"),
        ("01 01 04 00000000", r"finalized_features_epoch|end too early"),
        ("ffffffff0f", "4294967295 announced"),
        ("01 63", "1 announced"),
        ("01 63 81", "end too early"),
    ],
)
def test_tagged_fields_out_of_order_or_bounds_are_an_error(tags: str, reason: str) -> None:
    refused(ApiVersionsResponse, 3, PLAIN + tags, reason)


def test_a_tagged_field_at_its_default_is_not_written() -> None:
    plain = ApiVersionsResponse(api_keys=(ApiVersion(api_key=18, min_version=0, max_version=4),))
    assert encode(plain, 3).hex() == "0000 02 0012 0000 0004 00 00000000 00".replace(" ", "")


# -- views ---------------------------------------------------------------------------------


def test_records_are_a_view_into_the_frame_and_other_bytes_are_copies() -> None:
    frame = bytearray.fromhex(
        "00000000 00000001 0001 74 00000001 00000000 0000 0000000000000000 0000000000000000"
        "ffffffff 00000003 616263"
    )
    (topic,) = decode(FetchResponse, 4, memoryview(frame)).responses
    records = topic.partitions[0].records
    frame[-1:] = b"d"
    assert isinstance(records, memoryview)
    assert bytes(records) == b"abd"
    assert topic.topic == "t"


def test_a_message_without_records_does_not_hold_its_frame() -> None:
    frame = bytearray(encode(SyncGroupResponse(assignment=b"abc"), 3))
    answer = decode(SyncGroupResponse, 3, memoryview(frame))
    frame[-1:] = b"d"
    assert answer.assignment == b"abc"


def test_a_declaration_may_nest_rows_of_its_own() -> None:
    @message()
    class Row(Message):
        number: int = wire(Int32)

    @message(versions=range(1))
    class Own(Message):
        many: tuple[Row, ...] = wire(rows(Row))

    own = Own(many=(Row(number=1), Row(number=2)))
    assert decode(Own, 0, encode(own, 0)) == own
