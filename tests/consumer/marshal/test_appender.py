"""Messages to the coordination topic: order, time, deadlines, and how failures are reported."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from kgroup.backends.marshal.appender import Appender, AppenderSettings
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, IllegalStateError
from kgroup.marshal.events import Append, AppendFailed
from kgroup.marshal.messages import Extension, Kind, Message, decode, read_extension
from kgroup.marshal.plan import coordination_partition
from kgroup.marshal.presence import PRESENCE_SUFFIX
from kgroup.net.cluster import Cluster
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.wire.messages import InitProducerIdRequest, ProduceRequest
from kgroup.wire.records import Codec, iter_batches
from tests.consumer.marshal.stage import LOG, coordinated, running

pytestmark = pytest.mark.anyio


@dataclass(slots=True)
class ClaimLog:
    """An appender at work, what it failed to do, and tickets."""

    appender: Appender
    cluster: Cluster
    failed: list[AppendFailed] = field(default_factory=list)
    tickets: int = 0

    def say(
        self, tail: int, *, topic: str = "t", kind: Kind = Kind.HEARTBEAT, timeout: float = 30.0
    ) -> None:
        self.tickets += 1
        extension = Extension(3, 1000, 60, b"n%d" % self.tickets)
        self.appender.append(Append(self.tickets, kind, topic, 0, tail, extension, timeout))


@asynccontextmanager
async def writing(
    broker: InProcessBroker, partitions: int | None = 1, *, most_waiting: int = 10_000
) -> AsyncIterator[ClaimLog]:
    async with running(broker) as cluster, anyio.create_task_group() as tasks:
        failed: list[AppendFailed] = []
        settings = AppenderSettings("g", "A", "i1", most_waiting=most_waiting)

        def partition_of(topic: str) -> int | None:
            return None if partitions is None else coordination_partition(topic, partitions)

        appender = Appender(settings, cluster, partition_of, failed.append)
        await tasks.start(appender.run)
        yield ClaimLog(appender, cluster, failed)
        tasks.cancel_scope.cancel()


def messages(broker: InProcessBroker, partition: int = 0) -> list[Message]:
    found = [decode(record.value) for record in broker.partition(LOG, partition).records()]
    return [each for each in found if isinstance(each, Message)]


def tails(broker: InProcessBroker) -> list[int]:
    return [each.tail for each in messages(broker)]


async def test_a_message_names_its_sender_and_has_headers_and_no_key() -> None:
    broker = coordinated()
    async with writing(broker) as claim_log:
        claim_log.say(7)
        await anyio.sleep(1.0)
    (record,) = broker.partition(LOG).records()
    (message,) = messages(broker)
    assert record.key is None
    assert (message.client_id, message.instance_id, message.group_id) == (b"A", b"i1", b"g")
    assert (message.kind, message.topic, message.tail) == (Kind.HEARTBEAT, b"t", 7)
    assert read_extension(record.headers) == Extension(3, 1000, 60, b"n1")


async def test_the_appender_prepares_before_the_first_message() -> None:
    broker = coordinated()
    async with writing(broker) as claim_log:
        claim_log.appender.expect("t")
        await anyio.sleep(1.0)
        assert len(broker.requests_of(InitProducerIdRequest)) == 1
        before = len(broker.requests)
        claim_log.say(7)
        await anyio.sleep(1.0)
    assert [type(each.request) for each in broker.requests[before:]] == [ProduceRequest]
    assert tails(broker) == [7]


async def test_a_failed_preparation_is_repeated_with_the_message() -> None:
    broker = coordinated()
    broker.answers.error(InitProducerIdRequest, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, times=1)
    async with writing(broker) as claim_log:
        claim_log.appender.expect("t")
        await anyio.sleep(1.0)
        assert not claim_log.failed
        claim_log.say(7)
        await anyio.sleep(1.0)
    assert tails(broker) == [7]


async def test_waiting_messages_go_in_one_idempotent_uncompressed_batch() -> None:
    broker = coordinated()
    async with writing(broker) as claim_log:
        for tail in range(50):
            claim_log.say(tail)
        await anyio.sleep(1.0)
    (request,) = broker.requests_of(ProduceRequest)
    data = request.topic_data[0].partition_data[0].records
    assert data is not None
    (batch,) = iter_batches(data)
    assert (batch.codec, batch.is_transactional, request.acks) == (Codec.NONE, False, -1)
    assert batch.producer_id is not None
    assert tails(broker) == [*range(50)]


async def test_order_is_kept_while_batches_are_slow() -> None:
    broker = coordinated()
    broker.node(1).slow(0.5)
    async with writing(broker) as claim_log:
        for tail in range(40):
            claim_log.say(tail)
            await anyio.sleep(0.1)
        await anyio.sleep(10.0)
    assert tails(broker) == [*range(40)]
    assert 2 < len(broker.requests_of(ProduceRequest)) < 20


async def test_a_batch_whose_answer_was_lost_is_stored_once() -> None:
    broker = coordinated()
    broker.answers.lose(ProduceRequest, times=1)
    async with writing(broker) as claim_log:
        claim_log.say(1)
        await anyio.sleep(60.0)
        claim_log.say(2)
        await anyio.sleep(5.0)
    assert tails(broker)[-1:] == [2]
    assert tails(broker).count(2) == 1


async def test_messages_about_members_go_where_the_claims_of_their_topic_are() -> None:
    broker = coordinated(50)
    async with writing(broker, 50) as claim_log:
        claim_log.say(0, topic="orders" + PRESENCE_SUFFIX)
        await anyio.sleep(1.0)
    (message,) = messages(broker, coordination_partition("orders", 50))
    assert message.topic == b"orders~members"


# -- time --------------------------------------------------------------------------------------


async def test_a_message_is_a_second_behind_in_whole_seconds() -> None:
    broker = coordinated(configs={})
    async with writing(broker) as claim_log:
        await anyio.sleep(10.7)
        claim_log.say(1)
        await anyio.sleep(1.0)
    (message,) = messages(broker)
    assert message.time == int(WALL_AT_START + 9)
    assert broker.partition(LOG).records()[0].timestamp == message.time * 1000


async def test_a_broker_that_is_behind_is_believed() -> None:
    broker = coordinated()
    broker.node(1).skew(-90.0)
    async with writing(broker) as claim_log:
        claim_log.say(1)
        await anyio.sleep(10.0)
        claim_log.say(2)
        await anyio.sleep(1.0)
    first, second = messages(broker)
    assert first.time == int(WALL_AT_START - 1)
    assert WALL_AT_START + 10 - 90 - 3 < second.time < WALL_AT_START + 10 - 90


async def test_a_broker_that_is_ahead_is_not() -> None:
    broker = coordinated()
    broker.node(1).skew(90.0)
    async with writing(broker) as claim_log:
        claim_log.say(1)
        await anyio.sleep(10.0)
        claim_log.say(2)
        await anyio.sleep(1.0)
    assert messages(broker)[1].time <= WALL_AT_START + 9


# -- failures ----------------------------------------------------------------------------------


async def test_nothing_is_sent_after_its_deadline() -> None:
    broker = coordinated()
    log = broker.partition(LOG)
    log.move_to(None)
    async with writing(broker) as claim_log:
        claim_log.say(1, timeout=5.0)
        claim_log.say(2, timeout=60.0)
        await anyio.sleep(10.0)
        assert [each.ticket for each in claim_log.failed] == [1, 2]
        log.move_to(1)
        claim_log.say(3)
        await anyio.sleep(10.0)
    assert tails(broker) == [3]
    assert not any(each.maybe for each in claim_log.failed)
    assert isinstance(claim_log.failed[0].error, TimeoutError)


async def test_a_message_behind_a_lost_batch_fails_unsent_at_its_deadline() -> None:
    broker = coordinated()
    rule = broker.answers.ignore(ProduceRequest, times=None)
    async with writing(broker) as claim_log:
        claim_log.say(1, timeout=20.0)
        await anyio.sleep(1.0)
        claim_log.say(2, timeout=5.0)
        await anyio.sleep(30.0)
        rule.cancel()
        await anyio.sleep(30.0)
    first, second = claim_log.failed
    assert (first.ticket, first.maybe) == (1, True)
    assert (second.ticket, second.maybe) == (2, False)
    assert "was not sent" in str(second.error)
    assert tails(broker) == []


async def test_a_refused_message_is_reported_and_the_next_is_written() -> None:
    broker = coordinated()
    broker.answers.error(ProduceRequest, ErrorCode.INVALID_RECORD, times=1)
    async with writing(broker) as claim_log:
        claim_log.say(1)
        await anyio.sleep(1.0)
        claim_log.say(2)
        await anyio.sleep(1.0)
    (failed,) = claim_log.failed
    assert (failed.ticket, failed.maybe) == (1, False)
    assert isinstance(failed.error, BrokerError)
    assert tails(broker) == [2]


async def test_success_is_not_reported() -> None:
    broker = coordinated()
    async with writing(broker) as claim_log:
        claim_log.say(1)
        await anyio.sleep(100.0)
    assert claim_log.failed == []


async def test_too_many_messages_fail_at_once() -> None:
    broker = coordinated()
    async with writing(broker, most_waiting=3) as claim_log:
        for tail in range(5):
            claim_log.say(tail)
        assert [(each.ticket, each.maybe) for each in claim_log.failed] == [(4, False), (5, False)]
        assert isinstance(claim_log.failed[0].error, IllegalStateError)
        assert claim_log.appender.waiting == 3


async def test_a_message_before_the_partitions_are_known_fails_unsent() -> None:
    broker = coordinated()
    async with writing(broker, None) as claim_log:
        claim_log.say(1)
        await anyio.sleep(1.0)
    assert [(each.ticket, each.maybe) for each in claim_log.failed] == [(1, False)]
    assert broker.requests_of(ProduceRequest) == []
