"""Other people's clients on the sockets of an in-process cluster, in real time.

A client that a failed test left behind would look for its broker until the process ends, and tests
that are run later would fail of what it leaves lying about: what can be closed is, in any case.
Records are written when two members share: a round that comes late takes none from its reader.
"""

import asyncio
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager
from typing import Any, Final

import aiokafka
import confluent_kafka
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewTopic as AioTopic
from confluent_kafka import admin as confluent_admin

from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.types import TopicPartition

with warnings.catch_warnings():
    # Imports of kafka-python use what Python has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka
    from kafka.admin import NewTopic as PythonTopic

# confluent-kafka's own type hints name none of its admin module.
AdminClient: Any = confluent_admin.AdminClient
ConfluentTopic: Any = confluent_admin.NewTopic  # type: ignore[attr-defined]

PATIENCE: Final = 30.0
"""Seconds: a late member has the other one wait for a heartbeat, on a busy machine too."""
HURRY_MS: Final = 5_000
"""Milliseconds for what a client does at its end; its broker may be gone."""

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def broker() -> InProcessBroker:
    """Two brokers; the short delay lets two members that start at once form one round."""
    settings = BrokerSettings(initial_rebalance_delay=0.15)
    return InProcessBroker(nodes=2, topics={"orders": 2}, settings=settings)


@pytest.fixture
def bootstrap(broker: InProcessBroker) -> Iterator[str]:
    with broker.serve() as served:
        yield served.bootstrap


def values(broker: InProcessBroker, number: int) -> list[bytes | None]:
    return [record.value for record in broker.partition("orders", number).records()]


def within(seconds: float, happened: Callable[[], bool]) -> bool:
    """Wait, in a thread of its own right, until something has happened."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not happened() and time.monotonic() < deadline:
        pause.wait(0.01)
    return happened()


def shared(broker: InProcessBroker) -> bool:
    return [len(each) for each in broker.group("g").assignment.values()] == [1, 1]


def write(broker: InProcessBroker) -> None:
    broker.partition("orders", 0).append("a", "b")
    broker.partition("orders", 1).append("c")


# -- aiokafka ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_members_of_aiokafka_share_read_seek_and_commit(
    broker: InProcessBroker, bootstrap: str
) -> None:
    def member() -> aiokafka.AIOKafkaConsumer:
        return aiokafka.AIOKafkaConsumer(
            "orders",
            bootstrap_servers=bootstrap,
            group_id="g",
            auto_offset_reset="earliest",
            heartbeat_interval_ms=200,
        )

    async def scenario() -> list[bytes]:
        async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
            members = [member(), member()]
            for each in members:
                stack.push_async_callback(each.stop)
            await asyncio.gather(*(each.start() for each in members))
            assert await asyncio.to_thread(
                within, PATIENCE, lambda: [len(each.assignment()) for each in members] == [1, 1]
            )
            write(broker)
            got = []
            for each in members:
                (tp,) = each.assignment()
                got += [(await each.getone()).value for _ in range(2 - tp.partition)]
                each.seek(tp, 0)
                got.append((await each.getone()).value)
                await each.commit()
        return sorted(got)

    assert asyncio.run(scenario()) == [b"a", b"a", b"b", b"c", b"c"]
    assert {tp: at.offset for tp, at in broker.group("g").offsets.items()} == {FIRST: 1, SECOND: 1}


@pytest.mark.slow
def test_a_member_of_aiokafka_stays_while_one_of_librdkafka_brings_the_next_protocol() -> None:
    """KIP-848: the coordinator divides for both, and for aiokafka alone when the other has left."""
    settings = BrokerSettings(consumer_heartbeat_interval=0.2)
    broker = InProcessBroker(topics={"orders": 2}, settings=settings)

    async def stay(bootstrap: str) -> None:
        member = aiokafka.AIOKafkaConsumer(
            "orders", bootstrap_servers=bootstrap, group_id="g", heartbeat_interval_ms=200
        )

        async def owns(count: int) -> None:
            assert await asyncio.to_thread(
                within, PATIENCE, lambda: len(member.assignment()) == count
            )

        async with asyncio.timeout(2 * PATIENCE), member:
            await owns(2)
            other = confluent_kafka.Consumer(
                {"bootstrap.servers": bootstrap, "group.id": "g", "group.protocol": "consumer"}
            )
            with closing(other):
                other.subscribe(["orders"])
                assert await asyncio.to_thread(
                    within, PATIENCE, lambda: bool(other.poll(0.1) or other.assignment())
                )
                await owns(1)
                assert broker.group("g").view().leader is None
            await owns(2)
            assert broker.group("g").view().leader is not None

    with broker.serve() as served:
        asyncio.run(stay(served.bootstrap))


def test_a_transaction_of_aiokafka_is_read_committed(
    broker: InProcessBroker, bootstrap: str
) -> None:
    async def scenario() -> list[bytes]:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="x")
        async with asyncio.timeout(PATIENCE), producer:
            await producer.begin_transaction()
            await producer.send_and_wait("orders", b"no", partition=0)
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send_and_wait("orders", b"yes", partition=0)
        reader = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed"
        )
        async with asyncio.timeout(PATIENCE), reader:
            reader.assign([aiokafka.TopicPartition("orders", 0)])
            await reader.seek_to_beginning()
            return [(await reader.getone()).value]

    assert asyncio.run(scenario()) == [b"yes"]
    assert values(broker, 0) == [b"no", b"yes"]


def test_aiokafka_makes_a_topic(broker: InProcessBroker, bootstrap: str) -> None:
    async def scenario() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        try:
            async with asyncio.timeout(PATIENCE):
                await admin.start()
                await admin.create_topics([AioTopic("more", 3, 1)])
        finally:
            await admin.close()

    asyncio.run(scenario())
    assert broker.partition("more", 2).end == 0


# -- kafka-python ------------------------------------------------------------------------------


@contextmanager
def polling(bootstrap: str, got: list[bytes]) -> Iterator[None]:
    """Have two members read in threads while a block runs; they commit when it has gone well."""
    over, well = threading.Event(), threading.Event()

    def run() -> None:
        member = kafka.KafkaConsumer(
            "orders",
            bootstrap_servers=bootstrap,
            group_id="g",
            auto_offset_reset="earliest",
            heartbeat_interval_ms=200,
        )
        try:
            while not over.is_set():
                for batch in member.poll(timeout_ms=50).values():
                    got.extend(record.value for record in batch)
            if well.is_set():
                member.commit(timeout_ms=HURRY_MS)
        finally:
            member.close(autocommit=False, timeout_ms=HURRY_MS)

    members = [threading.Thread(target=run) for _ in range(2)]
    try:
        for each in members:
            each.start()
        yield
        well.set()
    finally:
        over.set()
        for each in members:
            each.join(PATIENCE)
    assert not any(each.is_alive() for each in members)


@pytest.mark.slow
def test_two_members_of_kafka_python_share_read_and_commit(
    broker: InProcessBroker, bootstrap: str
) -> None:
    got: list[bytes] = []
    with polling(bootstrap, got):
        assert within(PATIENCE, lambda: shared(broker))
        write(broker)
        assert within(PATIENCE, lambda: len(got) >= 3)
    assert sorted(got) == [b"a", b"b", b"c"]
    assert {tp: at.offset for tp, at in broker.group("g").offsets.items()} == {FIRST: 2, SECOND: 1}


@pytest.mark.slow
def test_a_transaction_of_kafka_python_is_read_committed(
    broker: InProcessBroker, bootstrap: str
) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, transactional_id="x")
    with ExitStack() as stack:
        stack.callback(producer.close, timeout=HURRY_MS / 1000)
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("orders", b"no", partition=0).get(PATIENCE)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send("orders", b"yes", partition=0)
        producer.commit_transaction()
    reader = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed",
        group_id=None,
        consumer_timeout_ms=PATIENCE * 1000,
    )
    with closing(reader):
        tp = kafka.TopicPartition("orders", 0)
        reader.assign([tp])
        reader.seek_to_beginning(tp)
        assert next(reader).value == b"yes"
    assert values(broker, 0) == [b"no", b"yes"]


def test_kafka_python_makes_a_topic(broker: InProcessBroker, bootstrap: str) -> None:
    with closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.create_topics([PythonTopic("more", 3, 1)])
    assert broker.partition("more", 2).end == 0


# -- confluent-kafka ---------------------------------------------------------------------------


@pytest.mark.slow
def test_two_members_of_confluent_kafka_share_read_and_commit(
    broker: InProcessBroker, bootstrap: str
) -> None:
    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "heartbeat.interval.ms": 200,
    }
    got: list[bytes | None] = []

    def poll() -> int:
        for each in members:
            message = each.poll(0.02)
            if message is not None and message.error() is None:
                got.append(message.value())
        return len(got)

    with ExitStack() as stack:
        members = [stack.enter_context(closing(confluent_kafka.Consumer(config))) for _ in range(2)]
        for each in members:
            each.subscribe(["orders"])
        assert within(PATIENCE, lambda: poll() == 0 and shared(broker))
        write(broker)
        assert within(PATIENCE, lambda: poll() >= 3)
        for each in members:
            each.commit(asynchronous=False)
    assert sorted(str(each) for each in got) == ["b'a'", "b'b'", "b'c'"]
    assert {tp: at.offset for tp, at in broker.group("g").offsets.items()} == {FIRST: 2, SECOND: 1}


@pytest.mark.slow
def test_a_transaction_of_confluent_kafka_is_read_committed(
    broker: InProcessBroker, bootstrap: str
) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": "x"})
    with closing(producer):
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        producer.produce("orders", b"no", partition=0)
        producer.flush(PATIENCE)
        producer.abort_transaction(PATIENCE)
        producer.begin_transaction()
        producer.produce("orders", b"yes", partition=0)
        producer.commit_transaction(PATIENCE)
    reader = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "h", "isolation.level": "read_committed"}
    )
    with closing(reader):
        reader.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
        message = reader.poll(PATIENCE)
    assert message is not None
    assert message.value() == b"yes"
    assert values(broker, 0) == [b"no", b"yes"]


def test_confluent_kafka_makes_a_topic_and_sees_all(
    broker: InProcessBroker, bootstrap: str
) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([ConfluentTopic("more", 3, 1)])["more"].result(PATIENCE)
    assert {"more", "orders"} <= set(admin.list_topics(timeout=PATIENCE).topics)
    assert broker.partition("more", 2).end == 0
