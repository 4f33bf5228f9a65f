"""Values that cannot be: lengths, counts, varints, tags, text, codes, versions and throttles."""

import tracemalloc
from collections.abc import Callable
from typing import Final

import anyio
import pytest

from kgroup.codes import ApiKey
from kgroup.errors import BrokerError, CommitFailedError, NoBrokerError
from kgroup.testing import InProcessBroker
from kgroup.types import MemberState
from kgroup.wire.frames import decode_response, encode_response
from kgroup.wire.messages import (
    ApiVersionsRequest,
    FetchRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import replace
from tests.bad_input.stage import A, Play, check_pace, cluster, outlive, playing
from tests.bad_input.surgery import (
    ASKED,
    NEW,
    OLD,
    Kind,
    spliced,
    without_flexible_versions,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Spoil = Callable[[InProcessBroker], object]

PLAIN: Final = [kind for kind in ASKED if kind in OLD]
COUNTED: Final = [kind for kind in ASKED if kind in NEW]


def with_length(kind: Kind, varint: bytes) -> Spoil:
    """Put a varint in place of a length or count that every answer of a class has."""

    def bend(frame: bytes) -> bytes:
        try:
            at = NEW[kind](frame)
        except ValueError:  # an answer with an error, which is short of it
            return frame
        return spliced(frame, at, varint)

    return lambda broker: broker.answers.rewrite_bytes(kind, bend, times=None)


def with_old_length(kind: Kind, length: int) -> Spoil:
    """Put an integer in its place, in the versions before KIP-482."""
    at, size = OLD[kind]
    data = length.to_bytes(size, "big", signed=True)

    def spoil(broker: InProcessBroker) -> None:
        without_flexible_versions(broker)
        broker.answers.rewrite_bytes(kind, lambda frame: spliced(frame, at, data, size), times=None)

    return spoil


# -- N6: lengths below zero ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", COUNTED)
async def test_n06_null_in_a_place_where_none_may_be_is_outlived(kind: Kind) -> None:
    await outlive(with_length(kind, b"\0"))


@pytest.mark.parametrize("kind", PLAIN)
async def test_n06_lengths_below_minus_one_are_outlived(kind: Kind) -> None:
    await outlive(with_old_length(kind, -2))


async def test_n06_the_error_without_a_broker_names_the_impossible_length() -> None:
    broker = cluster()
    with_length(MetadataRequest, b"\0")(broker)
    with pytest.raises(NoBrokerError, match=r"MetadataResponse.*its length is -1"):
        async with playing(broker, bootstrap_timeout=5.0):
            pass


# -- N7: more announced than sent ----------------------------------------------------------------

MOST: Final = b"\xff\xff\xff\xff\x07"
"""2^31 - 1, and so one less announced."""


@pytest.mark.parametrize("kind", COUNTED)
async def test_n07_counts_that_the_bytes_left_cannot_hold_are_outlived(kind: Kind) -> None:
    await outlive(with_length(kind, MOST))


@pytest.mark.parametrize("kind", [MetadataRequest, OffsetFetchRequest, FetchRequest])
async def test_n07_counts_that_the_bytes_left_cannot_hold_are_outlived_in_old_versions(
    kind: Kind,
) -> None:
    await outlive(with_old_length(kind, 2**31 - 1))


@pytest.mark.parametrize("kind", [MetadataRequest, JoinGroupRequest, FetchRequest])
async def test_n07_nothing_is_allocated_for_what_is_only_announced(kind: Kind) -> None:
    """A frame has less than 1 KiB, so 16 times of it and 1 MiB are 1 MiB."""
    broker = cluster()
    async with playing(broker) as play:
        await play.read_all()
        with_length(kind, MOST)(broker)
        tracemalloc.start()
        try:
            broker.group("g").rebalance()
            play.write()
            await play.read_for(5.0)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 2**20
        broker.answers.clear()
        await play.read_all()


# -- N8: varints that are too long ---------------------------------------------------------------


@pytest.mark.parametrize(
    "varint",
    [b"\x80\x80\x80\x80\x80\x01", b"\xff\xff\xff\xff\x7f", b"\xff" * 12],
    ids=["6 bytes", "35 bits", "endless"],
)
@pytest.mark.parametrize("kind", [MetadataRequest, SyncGroupRequest, OffsetFetchRequest])
async def test_n08_varints_of_more_than_32_bits_are_outlived(kind: Kind, varint: bytes) -> None:
    await outlive(with_length(kind, varint))


# -- N9: tagged fields ---------------------------------------------------------------------------

HEADED: Final = [kind for kind in ASKED if kind is not ApiVersionsRequest]
"""Answers whose header has tags, and whose body ends with some; none of them are used."""

UNKNOWN: Final = bytes.fromhex("02 c801 03 616263 c901 00")
"""Two tags nobody knows: 200 of three bytes, 201 of none."""

BAD_TAGS: Final = {
    "twice": bytes.fromhex("02 c801 00 c801 00"),
    "unsorted": bytes.fromhex("02 c901 00 c801 00"),
    "past the end": bytes.fromhex("01 c801 ff7f"),
    "too many": b"\xff\xff\xff\xff\x0f",
}


def in_header(kind: Kind, tags: bytes) -> Spoil:
    return lambda broker: broker.answers.rewrite_bytes(
        kind, lambda frame: spliced(frame, 8, tags), times=None
    )


def behind_body(kind: Kind, tags: bytes) -> Spoil:
    return lambda broker: broker.answers.rewrite_bytes(
        kind, lambda frame: spliced(frame, len(frame) - 1, tags), times=None
    )


@pytest.mark.parametrize("place", [in_header, behind_body])
async def test_n09_tags_that_nobody_knows_are_skipped_everywhere(
    place: Callable[[Kind, bytes], Spoil],
) -> None:
    broker = cluster()
    for kind in HEADED:
        place(kind, UNKNOWN)(broker)
    async with playing(broker) as play:
        await play.read_all()
        play.write()
        await play.read_all()
        await play.consumer.commit()
        await play.consumer.end_offsets(A)
        assert play.committed()[A] == 10
        assert anyio.current_time() < 1.0
        assert play.asked(0.0, ApiVersionsRequest) <= 6  # first contact, and one for each lane
    assert all(rule.count for rule in broker.answers)


@pytest.mark.parametrize("tags", BAD_TAGS.values(), ids=BAD_TAGS)
@pytest.mark.parametrize("kind", [FindCoordinatorRequest, JoinGroupRequest, FetchRequest])
async def test_n09_tags_that_make_no_sense_are_outlived(kind: Kind, tags: bytes) -> None:
    await outlive(in_header(kind, tags))


@pytest.mark.parametrize("tags", BAD_TAGS.values(), ids=BAD_TAGS)
@pytest.mark.parametrize("kind", [MetadataRequest, HeartbeatRequest])
async def test_n09_tags_behind_a_body_that_make_no_sense_are_outlived(
    kind: Kind, tags: bytes
) -> None:
    await outlive(behind_body(kind, tags))


# -- N10: text that is none ----------------------------------------------------------------------

NO_TEXT: Final = b"\xff\xfe\x80"

NAMES: Final = {
    "topic of Metadata": (MetadataRequest, b"orders"),
    "host of Metadata": (MetadataRequest, b"broker"),
    "host of FindCoordinator": (FindCoordinatorRequest, b"broker"),
    "group of OffsetFetch": (OffsetFetchRequest, b"orders"),
    "topic of ListOffsets": (ListOffsetsRequest, b"orders"),
    "topic of OffsetCommit": (OffsetCommitRequest, b"orders"),
    "assignor of JoinGroup": (JoinGroupRequest, b"cooperative"),
    "assignor of SyncGroup": (SyncGroupRequest, b"cooperative"),
    "topic of an assignment": (SyncGroupRequest, b"orders"),
}


@pytest.mark.parametrize(("kind", "name"), NAMES.values(), ids=NAMES)
async def test_n10_names_that_are_no_text_are_outlived(kind: Kind, name: bytes) -> None:
    def bend(frame: bytes) -> bytes:
        return frame.replace(name, NO_TEXT + name[len(NO_TEXT) :])

    await outlive(lambda broker: broker.answers.rewrite_bytes(kind, bend, times=None))


async def test_n10_words_for_people_are_shown_as_far_as_they_are_text() -> None:
    broker = cluster()

    def refuse(frame: bytes) -> bytes:
        version = next(
            each.version
            for each in reversed(broker.requests)
            if isinstance(each.request, FindCoordinatorRequest)
        )
        number, answer = decode_response(FindCoordinatorRequest, version, frame[4:])
        assert isinstance(answer, FindCoordinatorResponse)
        rows = tuple(
            replace(row, error_code=42, error_message="*** is not for you")
            for row in answer.coordinators
        )
        refused = replace(answer, coordinators=rows)
        data = encode_response(refused, ApiKey.FIND_COORDINATOR, version, number)
        return data.replace(b"***", NO_TEXT)

    broker.answers.rewrite_bytes(FindCoordinatorRequest, refuse, times=None)
    async with playing(broker, by_hand=[A]) as play:
        with pytest.raises(BrokerError, match=r"INVALID_REQUEST.*\uFFFD is not"):
            await play.consumer.committed(A, timeout=5.0)


# -- N11: codes nobody knows ---------------------------------------------------------------------

UNHEARD_OF: Final = 9999

ENDS_MEMBERSHIP: Final = [
    FindCoordinatorRequest,
    JoinGroupRequest,
    SyncGroupRequest,
    HeartbeatRequest,
]


async def ends_with_code(play: Play, api: str) -> None:
    """Read until the code is raised, and check that the error names it."""
    await play.read_for(10.0)
    errors = [each for each in play.errors if str(UNHEARD_OF) in str(each)]
    assert errors
    assert all(api in str(each) for each in errors)


@pytest.mark.parametrize("kind", ENDS_MEMBERSHIP)
async def test_n11_an_unknown_code_about_the_group_ends_the_membership_by_name(
    kind: Kind,
) -> None:
    """It is never asked again: for all one knows it says "go away"."""
    broker = cluster()
    broker.answers.error(kind, UNHEARD_OF, times=None)
    async with playing(broker) as play:
        await ends_with_code(play, kind.api_key.name)
        assert play.consumer.membership.state is MemberState.FAILED
        check_pace(play, 0.0)
        asked = play.asked(0.0, kind)
        await play.read_for(10.0)
        assert play.asked(0.0, kind) == asked
        assert not play.consumer.assignment()
        assert not play.committed()


@pytest.mark.parametrize("kind", [OffsetFetchRequest, ListOffsetsRequest, FetchRequest])
async def test_n11_an_unknown_code_about_a_partition_is_raised_by_each_read_until_a_seek(
    kind: Kind,
) -> None:
    broker = cluster()
    broker.answers.error(kind, UNHEARD_OF, times=None)
    async with playing(broker) as play:
        await ends_with_code(play, kind.api_key.name)
        check_pace(play, 0.0)
        assert not any(play.read.values())
        broker.answers.clear()
        for tp in play.consumer.assignment():
            play.consumer.seek(tp, 0)
        await play.read_all()


async def test_n11_an_unknown_code_about_a_commit_fails_that_commit_only() -> None:
    broker = cluster()
    async with playing(broker) as play:
        await play.read_all()
        broker.answers.error(OffsetCommitRequest, UNHEARD_OF)
        with pytest.raises(CommitFailedError, match=str(UNHEARD_OF)):
            await play.consumer.commit()
        assert not play.committed()
        await play.consumer.commit()
        assert play.committed()[A] == 5


async def test_n11_an_unknown_code_of_a_connection_is_outlived() -> None:
    await outlive(lambda broker: broker.answers.error(ApiVersionsRequest, UNHEARD_OF, times=None))


async def test_n11_an_unknown_code_about_a_topic_is_raised_until_metadata_is_asked_anew() -> None:
    broker = cluster()
    broker.answers.error(MetadataRequest, UNHEARD_OF, times=None)
    async with playing(broker, metadata_max_age=20.0) as play:
        await ends_with_code(play, "METADATA")
        check_pace(play, 0.0)
        broker.answers.clear()
        await play.read_all()
