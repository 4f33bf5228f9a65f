"""Positions in the part of the log of claims that members do not read at first."""

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import CommitFailedError
from kgroup.marshal.messages import Extension, Kind, Message, encode, write_extension
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.wire.messages import FetchRequest, OffsetCommitRequest
from kgroup.wire.records import NewRecord, encode_batch
from tests.consumer.marshal.claiming import LEASE, A, claiming, gives, kafka
from tests.consumer.marshal.stage import LOG, reading
from tests.contracts.application import until

pytestmark = pytest.mark.anyio

HOURS = 3600.0
GUARANTEES = pytest.mark.parametrize("guarantee", ["at_least_once", "at_most_once"])


def say(broker: InProcessBroker, ago: float, kind: Kind, tail: int = 0, **words: bytes) -> None:
    """Write a message of a member that left long ago."""
    time = int(WALL_AT_START - ago)
    who = words.get("instance", b"i"), words.get("client", b"gone"), words.get("group", b"g")
    message = Message(kind, time, *who, b"t", 0, tail)
    headers = tuple(write_extension(Extension(None, 1000)))
    record = NewRecord(None, encode(message), headers, time * 1000)
    with broker.changing() as core:
        partition = core.cluster.partition(broker.partition(LOG).tp)
        assert partition is not None
        batch = encode_batch([record])
        partition.log.append(batch, epoch=partition.epoch, now_ms=time * 1000)


def old_log(*, tail: int = 7, batches: int = 0, size: int = 60_000) -> InProcessBroker:
    """Return a cluster in whose log the last owner released six hours ago, and others wrote on."""
    broker = kafka()
    say(broker, 6 * HOURS, Kind.CLAIMING_PARTITION)
    say(broker, 6 * HOURS, Kind.HEARTBEAT, tail)
    say(broker, 6 * HOURS, Kind.RELEASING_PARTITION, tail)
    for _ in range(batches):
        say(broker, 5 * HOURS, Kind.HEARTBEAT, 1, group=b"other", client=b"x" * size)
    for _ in range(3):
        say(broker, 1.0, Kind.HEARTBEAT, 1, group=b"other")
    return broker


# -- what counts -------------------------------------------------------------------------------


@GUARANTEES
@pytest.mark.parametrize("reset", ["earliest", "latest", "none"])
async def test_a_night_does_not_make_a_position_forgotten(guarantee: str, reset: str) -> None:
    async with claiming(old_log(), guarantee=guarantee, auto_offset_reset=reset) as consumer:
        assert await gives(consumer, 2) == [7, 8]


async def test_at_least_once_a_commit_needs_no_recalling() -> None:
    broker = old_log()
    broker.group("g").commit({A: 4})
    async with claiming(broker) as consumer:
        assert await gives(consumer, 2) == [4, 5]


# -- how it is read ----------------------------------------------------------------------------


@pytest.mark.slow
@GUARANTEES
async def test_a_log_that_takes_longer_to_read_than_a_question_is_read_once(
    guarantee: str,
) -> None:
    """
    1. the log before the window takes a dozen seconds to fetch, a question two;
    2. the question fails, and the part read by then is kept;
    3. a later one finds it read.
    """
    broker = old_log(batches=300)
    broker.node(1).slow(0.3)
    async with claiming(broker, guarantee=guarantee, request_timeout=2.0) as consumer:
        assert await gives(consumer, 1, timeout=120.0) == [7]
    asked = [
        row.fetch_offset
        for request in broker.requests_of(FetchRequest)
        for topic in request.topics
        for row in topic.partitions
        if not request.max_wait_ms and row.partition_max_bytes > 64 * 1024
    ]
    assert asked == sorted(set(asked)), "no part is read twice"
    assert len(asked) < 10, "several megabytes at a time"


def of_old_parts(request: FetchRequest) -> bool:
    """Tell whether a fetch is one that recalls, and is behind its first megabyte."""
    rows = [row for topic in request.topics for row in topic.partitions]
    return not request.max_wait_ms and any(row.fetch_offset > 3 for row in rows)


async def test_a_recall_that_fails_midway_goes_on_from_there() -> None:
    broker = old_log(batches=100)
    async with reading(broker) as events:
        await events.opened()
        rule = broker.answers.error(
            FetchRequest, ErrorCode.NOT_LEADER_OR_FOLLOWER, where=of_old_parts, times=None
        )
        caught = None
        try:
            await events.reader.recall(A, 3.0)
        except TimeoutError as error:
            caught = str(error)
        assert caught is not None
        assert "is read up to " in caught
        assert "NOT_LEADER_OR_FOLLOWER" in caught
        rule.cancel()
        assert await events.reader.recall(A, 30.0) == 7
    asked = [
        row.fetch_offset
        for request in broker.requests_of(FetchRequest)
        for topic in request.topics
        for row in topic.partitions
        if not request.max_wait_ms and row.partition_max_bytes > 64 * 1024
    ]
    assert asked.count(0) == 1


# -- trouble -----------------------------------------------------------------------------------


async def test_trouble_shows_until_the_first_position_is_recalled() -> None:
    broker = old_log(batches=100)
    rule = broker.answers.error(
        FetchRequest, ErrorCode.NOT_LEADER_OR_FOLLOWER, where=of_old_parts, times=None
    )
    async with claiming(broker, request_timeout=2.0) as consumer:
        await until(lambda: consumer.membership.trouble, 60.0, "says so")
        assert "is read up to" in str(consumer.membership.trouble)
        assert await consumer.getmany(timeout=1.0) == {}, "what passes by itself ends no read"
        rule.cancel()
        assert await gives(consumer, 1, timeout=120.0) == [7]
        await anyio.sleep(LEASE)
        assert consumer.membership.trouble is None


async def test_commits_refused_for_good_are_raised_by_every_read() -> None:
    broker = kafka()
    async with claiming(broker, enable_auto_commit=False) as consumer:
        assert await gives(consumer, 1) == [0]
        rule = broker.answers.error(
            OffsetCommitRequest, ErrorCode.GROUP_AUTHORIZATION_FAILED, times=None
        )
        assert (await consumer.commit({A: 1})).ok, "the log has it"
        await until(lambda: consumer.membership.trouble, 60.0, "says so")
        with pytest.raises(CommitFailedError, match="GROUP_AUTHORIZATION_FAILED"):
            await consumer.getone(timeout=1.0)
        rule.cancel()
        await anyio.sleep(LEASE)
        assert consumer.owns(A)
        assert consumer.membership.trouble is None
        assert await gives(consumer, 1) == [1]
