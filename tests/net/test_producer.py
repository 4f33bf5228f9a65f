"""The internal producer: a batch is stored once, or its fate is reported."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, UnauthorizedError
from kgroup.net.producer import Delivered, Producer, ProducerSettings
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kgroup.wire.records import BatchView, NewRecord
from kgroup.wire.schema import replace
from tests.net.stage import running
from tests.search.scripted.broker import Delayed, HungUp
from tests.search.scripted.cluster import ScriptedCluster
from tests.wire.records.golden import batches_of

TP = TopicPartition("log", 0)
ONE = [NewRecord(b"k", b"v")]
TWO = [NewRecord(None, b"a"), NewRecord(None, b"b")]


class Log:
    """Answers Produce and InitProducerId, and keeps the batches it was sent."""

    def __init__(self, scripted: ScriptedCluster) -> None:
        self.scripted = scripted
        self.batches: list[BatchView] = []
        self.ids = 0
        for broker in scripted.brokers:
            broker.on(InitProducerIdRequest, self.identify)
            broker.on(ProduceRequest, self.append)

    def identify(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        self.ids += 1
        return InitProducerIdResponse(producer_id=1000 + self.ids, producer_epoch=0)

    def append(self, request: ProduceRequest) -> ProduceResponse:
        return self.answer(request)

    def answer(
        self, request: ProduceRequest, code: int = 0, base_offset: int | None = None
    ) -> ProduceResponse:
        (topic,) = request.topic_data
        (data,) = topic.partition_data
        assert data.records is not None
        self.batches.extend(batches_of(data.records))
        offset = len(self.batches) if base_offset is None else base_offset
        row = PartitionProduceResponse(index=data.index, error_code=code, base_offset=offset)
        answered = TopicProduceResponse(
            name=topic.name, topic_id=topic.topic_id, partition_responses=(row,)
        )
        return ProduceResponse(responses=(answered,))

    def refuse(self, code: int):
        return lambda request: self.answer(request, code, -1)

    @property
    def identities(self) -> list[tuple[int | None, int | None]]:
        return [(batch.header.producer_id, batch.header.base_sequence) for batch in self.batches]


@pytest.fixture
def log() -> Log:
    return Log(ScriptedCluster(2, topics={"log": 2}))


@asynccontextmanager
async def producing(log: Log, **options) -> AsyncIterator[Producer]:
    async with running(log.scripted) as cluster:
        await cluster.bootstrap(5)
        yield Producer(cluster, ProducerSettings(**options))


async def test_a_batch_returns_the_offset_of_its_first_record(log: Log) -> None:
    async with producing(log) as producer:
        assert await producer.send(TP, TWO) == 1
    (request,) = log.scripted.broker(1).requests(ProduceRequest)
    assert request.acks == -1
    assert log.batches[0].columns().values() == [b"a", b"b"]


async def test_sequences_count_records_within_one_identity(log: Log) -> None:
    async with producing(log) as producer:
        for records in (ONE, TWO, ONE):
            await producer.send(TP, records)
    assert log.identities == [(1001, 0), (1001, 1), (1001, 3)]


async def test_records_without_a_time_get_the_present_one(log: Log) -> None:
    async with producing(log) as producer:
        await anyio.sleep(10)
        await producer.send(TP, ONE)
    assert log.batches[0].header.base_timestamp == int((WALL_AT_START + 10) * 1000)


async def test_the_leader_is_looked_up_once(log: Log) -> None:
    async with producing(log) as producer:
        await producer.send(TP, ONE)
        asked = len(log.scripted.broker(1).seen) + len(log.scripted.broker(2).seen)
        await producer.send(TP, ONE)
    assert len(log.scripted.broker(1).seen) + len(log.scripted.broker(2).seen) == asked + 1


async def test_one_batch_of_a_partition_is_in_flight_at_a_time(log: Log) -> None:
    times: list[float] = []

    def slow(request: ProduceRequest) -> Delayed:
        times.append(anyio.current_time())
        return Delayed(log.answer(request), 1)

    log.scripted.broker(1).on(ProduceRequest, slow)
    async with producing(log) as producer, anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(producer.send, TP, ONE)
    assert [round(at) for at in times] == [0, 1, 2]
    assert log.identities == [(1001, 0), (1001, 1), (1001, 2)]


async def test_a_lost_answer_repeats_the_same_batch(log: Log) -> None:
    def take_and_die(request: ProduceRequest) -> HungUp:
        log.answer(request)
        return HungUp()

    log.scripted.broker(1).once(ProduceRequest, take_and_die)
    async with producing(log) as producer:
        assert await producer.send(TP, ONE) == 2
    assert log.identities == [(1001, 0), (1001, 0)]


async def test_a_recognised_repetition_is_a_success(log: Log) -> None:
    log.scripted.broker(1).once(ProduceRequest, log.refuse(ErrorCode.DUPLICATE_SEQUENCE_NUMBER))
    async with producing(log) as producer:
        assert await producer.send(TP, ONE) is None


async def test_a_moved_leader_is_followed(log: Log) -> None:
    def moved(request: ProduceRequest) -> ProduceResponse:
        log.scripted.move_leader(TP, 2)
        return log.answer(request, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)

    log.scripted.broker(1).once(ProduceRequest, moved)
    async with producing(log) as producer:
        await producer.send(TP, ONE)
    assert len(log.scripted.broker(2).requests(ProduceRequest)) == 1
    assert log.identities == [(1001, 0), (1001, 0)]


async def test_a_temporary_refusal_is_asked_again(log: Log) -> None:
    log.scripted.broker(1).once(ProduceRequest, log.refuse(ErrorCode.NOT_ENOUGH_REPLICAS))
    async with producing(log) as producer:
        assert await producer.send(TP, ONE) == 2


async def test_a_refusal_is_reported_and_the_next_batch_has_a_new_identity(log: Log) -> None:
    log.scripted.broker(1).once(ProduceRequest, log.refuse(ErrorCode.MESSAGE_TOO_LARGE))
    async with producing(log) as producer:
        with pytest.raises(BrokerError, match=r"MESSAGE_TOO_LARGE.*log-0"):
            await producer.send(TP, ONE)
        await producer.send(TP, ONE)
    assert log.identities == [(1001, 0), (1002, 0)]


async def test_a_batch_after_one_of_unknown_fate_cannot_be_taken_for_it(log: Log) -> None:
    async with producing(log, delivery_timeout=5.0) as producer:
        await producer.send(TP, ONE)
        log.scripted.broker(1).once(ProduceRequest, lambda r: Delayed(log.answer(r), 6))
        with pytest.raises(TimeoutError, match="PRODUCE to log-0: not acknowledged within 5 s"):
            await producer.send(TP, ONE)
        await producer.send(TP, ONE)
    assert log.identities == [(1001, 0), (1001, 1), (1002, 0)]


async def test_a_cancelled_send_leaves_no_identity_behind(log: Log) -> None:
    def lost(request: ProduceRequest) -> Delayed:
        return Delayed(log.answer(request), 2)

    async with producing(log) as producer:
        await producer.send(TP, ONE)
        log.scripted.broker(1).once(ProduceRequest, lost)
        with anyio.move_on_after(1):
            await producer.send(TP, ONE)
        await producer.send(TP, ONE)
    assert log.identities == [(1001, 0), (1001, 1), (1002, 0)]


async def test_a_forgotten_producer_id_is_replaced(log: Log) -> None:
    async with producing(log) as producer:
        await producer.send(TP, ONE)
        log.scripted.broker(1).once(ProduceRequest, log.refuse(ErrorCode.UNKNOWN_PRODUCER_ID))
        await producer.send(TP, ONE)
    assert log.identities == [(1001, 0), (1001, 1), (1002, 0)]


async def test_a_forgotten_producer_id_in_doubt_is_reported(log: Log) -> None:
    async with producing(log) as producer:
        await producer.send(TP, ONE)
        unknown = log.refuse(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        log.scripted.broker(1).once(ProduceRequest, HungUp(), unknown)
        with pytest.raises(BrokerError, match="OUT_OF_ORDER"):
            await producer.send(TP, ONE)


async def test_a_hidden_topic_is_reported(log: Log) -> None:
    log.scripted.topics["log"].error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    async with producing(log) as producer:
        with pytest.raises(UnauthorizedError, match="log"):
            await producer.send(TP, ONE)


async def test_partitions_do_not_wait_for_each_other(log: Log) -> None:
    log.scripted.broker(1).on(ProduceRequest, lambda r: Delayed(log.answer(r), 10))
    async with producing(log) as producer, anyio.create_task_group() as tasks:
        tasks.start_soon(producer.send, TP, ONE)
        await producer.send(TopicPartition("log", 1), ONE)
        assert anyio.current_time() < 1


# -- fates as values -----------------------------------------------------------------------------


async def test_what_became_of_a_batch_comes_with_the_brokers_time(log: Log) -> None:
    def stamped(request: ProduceRequest) -> ProduceResponse:
        answer = log.answer(request)
        (topic,) = answer.responses
        (row,) = topic.partition_responses
        row = replace(row, log_append_time_ms=1234)
        return replace(answer, responses=(replace(topic, partition_responses=(row,)),))

    for broker in log.scripted.brokers:
        broker.on(ProduceRequest, stamped)
    async with producing(log) as producer:
        assert await producer.deliver(TP, ONE) == Delivered(1, 1234)


async def test_a_refused_batch_is_returned_as_a_value_and_is_not_stored(log: Log) -> None:
    for broker in log.scripted.brokers:
        broker.on(ProduceRequest, log.refuse(ErrorCode.INVALID_RECORD))
    async with producing(log) as producer:
        delivered = await producer.deliver(TP, ONE)
    assert isinstance(delivered.error, BrokerError)
    assert (delivered.offset, delivered.maybe) == (None, False)


async def test_a_batch_that_was_sent_may_be_stored_when_its_own_time_is_over(log: Log) -> None:
    for broker in log.scripted.brokers:
        broker.on(ProduceRequest, lambda request: Delayed(log.answer(request), 20))
    async with producing(log) as producer:
        delivered = await producer.deliver(TP, ONE, timeout=3.0)
        assert anyio.current_time() == pytest.approx(3.0, abs=0.5)
    assert isinstance(delivered.error, TimeoutError)
    assert delivered.maybe


async def test_a_batch_that_waited_for_its_turn_was_certainly_not_stored(log: Log) -> None:
    for broker in log.scripted.brokers:
        broker.on(ProduceRequest, lambda request: Delayed(log.answer(request), 20))
    async with producing(log) as producer, anyio.create_task_group() as tasks:
        tasks.start_soon(producer.send, TP, ONE)
        await anyio.sleep(1.0)
        delivered = await producer.deliver(TP, TWO, timeout=3.0)
    assert isinstance(delivered.error, TimeoutError)
    assert not delivered.maybe
    assert len(log.batches) == 1
