"""A consumer whose group, or one of whose topics, is closed to it for a while (architecture 5).

Authorisation errors are no failures: every read raises them while they last, and success ends them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.consumer import Consumer
from kgroup.errors import CommitFailedError, UnauthorizedError
from kgroup.testing import InProcessBroker
from kgroup.types import Cause, ChangeKind, MemberState, TopicPartition
from kgroup.wire.frames import request_class
from kgroup.wire.messages import OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseTopics
from kgroup.wire.schema import replace
from tests.consumer.entered import A, Bytes, config_for
from tests.consumer.ground import fill, ground
from tests.consumer.listening import Heard
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test

CLOSED = ErrorCode.GROUP_AUTHORIZATION_FAILED
SESSION, HEARTBEAT = 10.0, 3.0


@dataclass
class Scene:
    broker: InProcessBroker
    consumer: Consumer[Bytes, Bytes]
    heard: Heard


@asynccontextmanager
async def member(*closed: ApiKey, **topics: int) -> AsyncIterator[Scene]:
    """Enter a consumer of `t` and others whose group is closed to it on some APIs."""
    broker = ground(0, **{"t": 1, **topics})
    fill(broker, A, 200)
    close(broker, *closed)
    heard = Heard()
    times = {"session_timeout": SESSION, "heartbeat_interval": HEARTBEAT}
    config = config_for(broker, enable_auto_commit=False, **times)
    async with Consumer("t", *topics, config=config, listener=heard) as consumer:
        yield Scene(broker, consumer, heard)


def close(broker: InProcessBroker, *apis: ApiKey) -> None:
    """Close the group to clients on these APIs, and open it on all others."""
    broker.answers.clear()
    for api in apis:
        broker.answers.error(request_class(api), CLOSED, times=None)


async def refused(consumer: Consumer[Bytes, Bytes], within: float = 30.0) -> UnauthorizedError:
    """Read until that is refused."""
    with anyio.fail_after(within):
        while True:
            try:
                await consumer.getone(timeout=1.0)
            except UnauthorizedError as error:
                return error
            except TimeoutError:
                pass
            await anyio.sleep(0.5)  # there are records for 100 s


async def reads_again(consumer: Consumer[Bytes, Bytes], within: float = 30.0) -> None:
    with anyio.fail_after(within):
        while True:
            try:
                await consumer.getone(timeout=1.0)
            except (UnauthorizedError, TimeoutError):
                await anyio.sleep(0.1)
            else:
                return


JOINING = (
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.OFFSET_FETCH,
)


@pytest.mark.parametrize("api", JOINING, ids=lambda api: api.name)
async def test_every_read_of_a_closed_group_says_so_until_it_is_opened(api: ApiKey) -> None:
    async with member(api) as on:
        for _ in range(3):
            error = await refused(on.consumer)
            assert (error.api, error.code) == (api.name, CLOSED)
            assert error.resources == ("g",)
        assert on.consumer.failure is None
        close(on.broker)
        await reads_again(on.consumer)
        assert on.consumer.membership.state is MemberState.STABLE


async def test_an_iterator_ends_with_the_error_and_a_new_one_reads_on() -> None:
    async with member(ApiKey.JOIN_GROUP) as on:
        with pytest.raises(UnauthorizedError, match="group 'g'"):
            await anext(aiter(on.consumer))
        close(on.broker)
        await anyio.sleep(2.0)
        async for record in on.consumer:
            assert record.offset == 0
            break


async def test_a_group_that_is_closed_under_a_member_costs_its_partitions_by_the_clock() -> None:
    async with member() as on:
        await reads_again(on.consumer)
        closed_at = anyio.current_time()
        close(on.broker, *JOINING, ApiKey.HEARTBEAT)
        error = await refused(on.consumer)
        assert error.api == "HEARTBEAT"
        assert on.consumer.owns(A), "nobody else can own it yet"
        await until(lambda: on.heard.of(ChangeKind.LOST), SESSION, "everything is lost")
        assert anyio.current_time() - closed_at < SESSION
        (change,) = on.heard.of(ChangeKind.LOST)
        assert change.kind is ChangeKind.LOST
        assert change.cause is Cause.SESSION_EXPIRED
        await refused(on.consumer)
        close(on.broker)
        await reads_again(on.consumer)


async def test_a_commit_that_is_not_permitted_tells_its_caller_and_every_reader() -> None:
    async with member() as on:
        await reads_again(on.consumer)
        close(on.broker, ApiKey.OFFSET_COMMIT)
        with pytest.raises(CommitFailedError, match="GROUP_AUTHORIZATION_FAILED"):
            await on.consumer.commit()
        error = await refused(on.consumer)
        assert error.api == "OFFSET_COMMIT"
        close(on.broker)
        await reads_again(on.consumer)
        assert (await on.consumer.commit()).ok


async def test_closing_a_consumer_of_a_closed_group_takes_no_time() -> None:
    async with member(ApiKey.JOIN_GROUP) as on:
        await refused(on.consumer)
        before = anyio.current_time()
        await on.consumer.close(timeout=5.0)
        assert anyio.current_time() - before < 1.0


def closed_topic(answer: OffsetFetchResponse, name: str) -> OffsetFetchResponse:
    """Have one topic of an answer closed."""

    def but(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopics:
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        rows = (replace(row, committed_offset=-1, error_code=code) for row in topic.partitions)
        return replace(topic, partitions=tuple(rows)) if topic.name == name else topic

    (group,) = answer.groups
    group = replace(group, topics=tuple(but(topic) for topic in group.topics))
    return replace(answer, groups=(group,))


async def test_a_closed_topic_hides_no_other_when_committed_offsets_are_read() -> None:
    other = TopicPartition("u", 0)
    async with member(u=1) as on:
        fill(on.broker, other, 3)
        closed = on.broker.answers.rewrite(
            OffsetFetchRequest, lambda _, answer: closed_topic(answer, "u"), times=None
        )
        owns = on.consumer.owns
        await until(lambda: owns(A) and owns(other), 30.0, "both are owned")
        for offset in range(20):
            assert (await on.consumer.getone(A, timeout=30.0)).offset == offset
        for _ in range(2):
            with pytest.raises(UnauthorizedError) as caught:
                await on.consumer.getone(other, timeout=30.0)
            assert caught.value.resources == ("u",)
        closed.cancel()
        await anyio.sleep(5.0)
        assert (await on.consumer.getone(other, timeout=30.0)).offset == 0
