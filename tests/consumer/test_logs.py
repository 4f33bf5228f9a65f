"""Questions about logs (ends, times, topics, lag), and seeks that need an answer."""

from collections.abc import Callable
from datetime import UTC, datetime

import anyio
import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.consumer import Consumer
from kgroup.errors import (
    ArgumentError,
    BrokerError,
    ClosedError,
    ConfigError,
    IllegalStateError,
    NotOwnedError,
    UnauthorizedError,
)
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports, virtual_wall
from kgroup.types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from kgroup.wire.messages import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    MetadataRequest,
)
from tests.consumer.entered import A, B, by_hand, config_for, entered
from tests.consumer.ground import ground, hidden
from tests.consumer.shelf import Shelf, offsets_of
from tests.search.scripted.broker import Delayed

pytestmark = pytest.mark.anyio


async def test_the_ends_of_any_partition_can_be_asked() -> None:
    shelf = Shelf(2, t=2)
    shelf.fill(A, 10)
    shelf.fill(B, 4)
    shelf.logs[A].start = 3
    async with by_hand(shelf, A) as stage:
        assert await stage.consumer.beginning_offsets(A, B) == {A: 3, B: 0}
        assert await stage.consumer.end_offsets(A, B) == {A: 10, B: 4}


async def test_end_offsets_without_arguments_are_those_of_owned_partitions() -> None:
    shelf = Shelf(t=2)
    shelf.fill(B, 4)
    async with by_hand(shelf, B) as stage:
        assert await stage.consumer.end_offsets() == {B: 4}


async def test_one_partition_without_an_answer_fails_the_question() -> None:
    shelf = Shelf(t=2)
    shelf.logs[B].error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    async with by_hand(shelf, A) as stage:
        with pytest.raises(BrokerError, match="t-1"):
            await stage.consumer.end_offsets(A, B, timeout=2)


def _at(
    offset: int, timestamp: int, asked: list[int]
) -> Callable[[ListOffsetsRequest], ListOffsetsResponse]:
    def answer(request: ListOffsetsRequest) -> ListOffsetsResponse:
        (topic,) = request.topics
        asked.extend(row.timestamp for row in topic.partitions)
        rows = tuple(
            ListOffsetsPartitionResponse(
                partition_index=row.partition_index, offset=offset, timestamp=timestamp
            )
            for row in topic.partitions
        )
        return ListOffsetsResponse(
            topics=(ListOffsetsTopicResponse(name=topic.name, partitions=rows),)
        )

    return answer


async def test_a_time_is_milliseconds_or_a_datetime_with_a_zone() -> None:
    shelf, asked = Shelf(t=2), list[int]()
    shelf.broker(1).on(ListOffsetsRequest, _at(7, 1_500, asked))
    async with by_hand(shelf, A) as stage:
        at = datetime.fromtimestamp(1.25, tz=UTC)
        found = await stage.consumer.offsets_for_times({A: 1_000, B: at})
    assert found == {A: OffsetAndTimestamp(7, 1_500), B: OffsetAndTimestamp(7, 1_500)}
    assert sorted(asked) == [1_000, 1_250]


async def test_no_record_that_young_is_none_and_no_error() -> None:
    shelf = Shelf(t=1)
    shelf.broker(1).on(ListOffsetsRequest, _at(-1, -1, []))
    async with by_hand(shelf, A) as stage:
        assert await stage.consumer.offsets_for_times({A: 1_000}) == {A: None}


@pytest.mark.parametrize("time", [-1, True, 1.5, datetime(2026, 1, 1), "now"])  # noqa: DTZ001
async def test_a_time_that_is_none_is_refused_and_nothing_is_asked(time: object) -> None:
    shelf = Shelf(t=1)
    async with by_hand(shelf, A) as stage:
        await stage.consumer.position(A)
        before = len(shelf.broker(1).requests(ListOffsetsRequest))
        with pytest.raises(ArgumentError, match="datetime with a zone"):
            await stage.consumer.offsets_for_times({A: time})  # type: ignore[dict-item]
        assert len(shelf.broker(1).requests(ListOffsetsRequest)) == before


async def test_a_key_that_is_no_partition_is_refused() -> None:
    async with by_hand(Shelf(t=1), A) as stage:
        with pytest.raises(ArgumentError, match="TopicPartition"):
            await stage.consumer.beginning_offsets("t")  # type: ignore[arg-type]


async def test_topics_lists_all_topics() -> None:
    async with by_hand(Shelf(t=1, other=2), A) as stage:
        assert await stage.consumer.topics() == {"t", "other"}


async def test_topics_of_the_brokers_are_left_out_when_they_are_not_wanted() -> None:
    broker = ground(1, t=1)
    async with Consumer(config=config_for(broker)) as consumer:
        assert await consumer.topics() == {"t", "__consumer_offsets"}
        assert await consumer.topics(internal=False) == {"t"}


# -- partitions of topics that may not exist yet -----------------------------------------------


async def test_partitions_of_any_topics_are_found() -> None:
    async with Consumer(config=config_for(ground(1, t=3, u=1))) as consumer:
        found = await consumer.find_partitions("t", "u")
        assert found == {"t": frozenset({0, 1, 2}), "u": frozenset({0})}
        assert consumer.partitions_for_topic("u") == frozenset({0})


async def test_a_topic_is_waited_for_until_it_exists() -> None:
    broker = ground(1, t=1)
    async with Consumer(config=config_for(broker)) as consumer, anyio.create_task_group() as tasks:

        async def create() -> None:
            await anyio.sleep(3.0)
            broker.create_topic("u", 2)

        tasks.start_soon(create)
        assert await consumer.find_partitions("u", "t") == {
            "u": frozenset({0, 1}),
            "t": frozenset({0}),
        }
        assert anyio.current_time() < 6.0


async def test_a_topic_that_never_comes_is_named_when_the_time_is_up() -> None:
    async with Consumer(config=config_for(ground(1, t=1))) as consumer:
        with pytest.raises(TimeoutError, match="'u' was not found within 2 s: there is no such"):
            await consumer.find_partitions("t", "u", timeout=2.0)


async def test_closing_ends_the_wait_for_a_topic() -> None:
    async with Consumer(config=config_for(ground(1, t=1))) as consumer:
        consumer.close_soon(timeout=1.0)
        with pytest.raises(ClosedError), anyio.fail_after(5.0):
            await consumer.find_partitions("u")


async def test_a_topic_that_is_refused_is_not_waited_for() -> None:
    broker = ground(1, t=1)
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    broker.answers.rewrite(MetadataRequest, lambda _, answer: hidden("t", code, answer), times=None)
    async with Consumer(config=config_for(broker)) as consumer:
        with pytest.raises(UnauthorizedError, match="t"):
            await consumer.find_partitions("t")


async def test_asking_makes_a_topic_where_that_is_wanted() -> None:
    broker = InProcessBroker(topics={"t": 1})
    config = config_for(broker, allow_auto_create_topics=True)
    async with Consumer(config=config) as consumer:
        found = await consumer.find_partitions("made", timeout=10.0)
        assert found["made"]


async def test_partitions_of_a_topic_are_known_without_asking_or_not_at_all() -> None:
    async with by_hand(Shelf(t=3, other=2), A) as stage:
        await stage.consumer.position(A)
        assert stage.consumer.partitions_for_topic("t") == frozenset(range(3))
        assert stage.consumer.partitions_for_topic("other") is None


async def test_topics_makes_the_partitions_of_other_topics_known() -> None:
    async with by_hand(Shelf(t=3, other=2), A) as stage:
        await stage.consumer.topics()
        assert stage.consumer.partitions_for_topic("other") == frozenset({0, 1})
        assert stage.consumer.partitions_for_topic("another") is None


# -- what fetching heard last ------------------------------------------------------------------


async def test_lag_counts_from_the_position() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with by_hand(shelf, A) as stage:
        assert stage.consumer.lag(A) is None
        for _ in range(4):
            await stage.consumer.getone(timeout=1)
        assert stage.consumer.lag(A) == 6
        assert stage.consumer.highwater(A) == 10


async def test_the_last_fetch_of_a_partition_has_a_time_even_when_it_brought_nothing() -> None:
    shelf = Shelf(t=2)
    async with by_hand(shelf, A) as stage:
        assert stage.consumer.last_fetch_at(A) is None
        await stage.consumer.getmany(timeout=2.0)
        first = stage.consumer.last_fetch_at(A)
        assert first is not None
        assert virtual_wall() - 1.0 <= first <= virtual_wall()
        await stage.consumer.getmany(timeout=2.0)
        later = stage.consumer.last_fetch_at(A)
        assert later is not None
        assert later > first


async def test_lag_of_a_partition_that_is_not_owned_is_refused() -> None:
    async with by_hand(Shelf(t=2), A) as stage:
        for ask in (
            stage.consumer.lag,
            stage.consumer.highwater,
            stage.consumer.last_stable_offset,
            stage.consumer.last_fetch_at,
        ):
            with pytest.raises(NotOwnedError):
                ask(B)


# -- seeks -------------------------------------------------------------------------------------


async def test_seeking_to_the_beginning_reads_everything_again() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 5)
    async with by_hand(shelf, A) as stage:
        await stage.consumer.getmany(timeout=1)
        assert await stage.consumer.seek_to_beginning() == {A: 0}
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: [0, 1, 2, 3, 4]}


async def test_after_seek_to_end_only_new_records_are_read() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 5)
    shelf.fill(B, 5)
    async with by_hand(shelf, A, B) as stage:
        assert await stage.consumer.seek_to_end(A) == {A: 5}
        shelf.fill(A, 1)
        assert (await stage.consumer.getone(A, timeout=1)).offset == 5
        assert (await stage.consumer.getone(B, timeout=1)).offset == 0


async def test_seeking_works_while_paused() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 5)
    async with by_hand(shelf, A) as stage:
        stage.consumer.pause(A)
        assert stage.consumer.paused() == {A}
        assert await stage.consumer.seek_to_end(A) == {A: 5}
        assert await stage.consumer.position(A) == 5


async def test_when_one_end_cannot_be_asked_no_position_moves() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 5)
    async with by_hand(shelf, A, B) as stage:
        await stage.consumer.position(A)
        await stage.consumer.position(B)
        shelf.logs[B].error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        with pytest.raises(BrokerError, match="t-1"):
            await stage.consumer.seek_to_end(timeout=2)
        assert await stage.consumer.position(A) == 0


async def test_a_seek_that_was_overtaken_by_another_one_moves_nothing() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 5)
    async with by_hand(shelf, A) as stage:
        await stage.consumer.position(A)
        slow = lambda request: Delayed(shelf.list_offsets(request), 0.1)  # noqa: E731 - one use
        shelf.broker(1).on(ListOffsetsRequest, slow)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.consumer.seek_to_end, A)
            await anyio.sleep(0.05)
            stage.consumer.seek(A, 2)
        assert await stage.consumer.position(A) == 2


async def test_seek_to_committed_skips_partitions_without_a_commit() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 5)
    shelf.fill(B, 5)
    async with entered(shelf) as stage:
        await stage.give(A, B)
        await stage.consumer.getmany(timeout=1)
        stage.group.offsets.clear()
        stage.group.offsets[A] = 1
        found = await stage.consumer.seek_to_committed()
        assert found == {A: OffsetAndMetadata(1), B: None}
        assert [await stage.consumer.position(tp) for tp in (A, B)] == [1, 5]


async def test_an_offset_with_its_epoch_can_be_sought() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 5)
    async with by_hand(shelf, A) as stage:
        stage.consumer.seek(A, OffsetAndMetadata(3, "", 0))
        assert (await stage.consumer.getone(timeout=1)).offset == 3


async def test_seeking_a_partition_that_is_not_owned_is_refused() -> None:
    async with by_hand(Shelf(t=2), A) as stage:
        with pytest.raises(NotOwnedError):
            await stage.consumer.seek_to_end(A, B)


async def test_committed_offsets_need_a_group() -> None:
    shelf = Shelf(t=1)
    async with by_hand(shelf, A, group_id=None) as stage:
        with pytest.raises(ConfigError, match="group_id"):
            await stage.consumer.seek_to_committed()
        with pytest.raises(ConfigError, match="group_id"):
            stage.consumer.group_metadata()


async def test_group_metadata_is_the_generation_while_a_member() -> None:
    async with entered(Shelf(t=1)) as stage:
        await stage.give(TopicPartition("t", 0))
        metadata = stage.consumer.group_metadata()
        assert metadata is not None
        assert (metadata.group_id, metadata.generation_id) == ("g", 1)


async def test_before_entering_nothing_can_be_asked() -> None:
    consumer = Consumer(config=config_for(Shelf(t=1)))
    assert consumer.paused() == frozenset()
    assert consumer.rebalances == 0
    with pytest.raises(IllegalStateError, match="async with"):
        await consumer.end_offsets(A)


async def test_a_broker_tells_which_versions_of_each_request_it_takes() -> None:
    broker = ground(t=1)
    ports = virtual_ports(broker.dial)
    servers = broker.bootstrap_servers
    async with Consumer(bootstrap_servers=servers, ports=ports) as consumer:
        found = await consumer.api_versions()
    lowest, highest = found[ApiKey.FETCH.value]
    assert lowest <= 4 < highest
