"""Answers about the cluster that cannot be true (N12)."""

import struct
import tracemalloc
from collections.abc import Callable
from typing import Any, Final

import anyio
import pytest

from kgroup.errors import DecodeError, NoBrokerError
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
)
from kgroup.wire.schema import Message, replace
from tests.bad_input.stage import check_pace, cluster, goes_on, outlive, playing
from tests.bad_input.surgery import Kind, spliced

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Change = Callable[[Any], Message]


def rewriting(kind: Kind, change: Change) -> Callable[[InProcessBroker], object]:
    return lambda broker: broker.answers.rewrite(kind, lambda _, each: change(each), times=None)


# -- N12: brokers --------------------------------------------------------------------------------


def row(node_id: int, host: str = "broker-9", port: int = 9092) -> MetadataResponseBroker:
    return MetadataResponseBroker(node_id=node_id, host=host, port=port)


def with_brokers(*rows: MetadataResponseBroker) -> Change:
    return lambda answer: replace(answer, brokers=answer.brokers + rows)


def only_brokers(*rows: MetadataResponseBroker) -> Change:
    return lambda answer: replace(answer, brokers=rows)


STRANGE: Final[dict[str, Change]] = {
    "port 0": with_brokers(row(9, port=0)),
    "port 70000": with_brokers(row(9, port=70_000)),
    "port -1": with_brokers(row(9, port=-1)),
    "no host": with_brokers(row(9, host="")),
    "node -1": with_brokers(row(-1)),
    "one twice": with_brokers(row(9), row(9, host="elsewhere")),
    "one that is not there": with_brokers(row(9)),
}


@pytest.mark.parametrize("change", STRANGE.values(), ids=STRANGE)
async def test_n12_a_broker_that_cannot_be_is_skipped_with_its_entry(change: Change) -> None:
    broker = cluster(2)
    rewriting(MetadataRequest, change)(broker)
    async with playing(broker) as play:
        await play.read_all()
        await goes_on(play)


KNOWN: Final[dict[str, Change]] = {
    "port 0": only_brokers(row(1, "broker-1", 0), row(2, "broker-2")),
    "no host": only_brokers(row(1, "", 9092), row(2, "broker-2")),
    "twice": only_brokers(row(1, "nowhere"), row(1, "broker-1"), row(2, "broker-2")),
    "none at all": only_brokers(),
    "none that can be": only_brokers(row(1, "broker-1", 0), row(2, "", 9092)),
}


@pytest.mark.parametrize("change", KNOWN.values(), ids=KNOWN)
async def test_n12_what_was_known_of_a_broker_stays_in_place_of_what_cannot_be(
    change: Change,
) -> None:
    broker = cluster(2)
    async with playing(broker, metadata_max_age=1.0) as play:
        await play.read_all()
        rewriting(MetadataRequest, change)(broker)
        began = anyio.current_time()
        await play.read_for(6.0)
        assert play.asked(began, MetadataRequest) >= 3
        play.write()
        await play.read_all()
        assert anyio.current_time() - began < 7.0
        check_pace(play, began)
        broker.answers.clear()
        await play.commit_all()


async def test_n12_the_error_names_the_brokers_that_cannot_be_when_there_are_no_others() -> None:
    broker = cluster()
    rewriting(MetadataRequest, KNOWN["none that can be"])(broker)
    with pytest.raises(NoBrokerError, match="no usable broker: broker 1 at 'broker-1':0: port 0"):
        async with playing(broker, bootstrap_timeout=5.0):
            pass
    assert len(broker.requests) <= 20 * anyio.current_time()


async def test_n12_more_brokers_than_can_be_are_not_believed_and_cost_little() -> None:
    broker = cluster()
    count = 150_000
    rows = b"".join(struct.pack(">iBsi2x", 10 + i, 2, b"h", 9092) for i in range(count))

    def flood(frame: bytes) -> bytes:
        known = frame[13] - 1
        total = known + count + 1
        varint = bytes((total & 0x7F | 0x80, total >> 7 & 0x7F | 0x80, total >> 14))
        return spliced(frame, 13, varint + rows)

    async with playing(broker) as play:
        await play.read_all()
        broker.answers.rewrite_bytes(MetadataRequest, flood)
        tracemalloc.start()
        try:
            with pytest.raises(DecodeError, match="150001 brokers"):
                await play.consumer.topics()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # The broker of this test has the bytes as well, several times.
        assert peak < (16 + 4) * len(rows) + 2**20
        await goes_on(play)


# -- N12: partitions -----------------------------------------------------------------------------


def partition(number: int, leader: int = 1, **fields: Any) -> MetadataResponsePartition:
    plain: dict[str, Any] = {"leader_epoch": 0, "replica_nodes": (1,), "isr_nodes": (1,)}
    return MetadataResponsePartition(
        partition_index=number, leader_id=leader, **{**plain, **fields}
    )


def with_partitions(*rows: MetadataResponsePartition) -> Change:
    def change(answer: MetadataResponse) -> MetadataResponse:
        topics = tuple(
            replace(topic, partitions=topic.partitions + rows) for topic in answer.topics
        )
        return replace(answer, topics=topics)

    return change


def led_by(node_id: int) -> Change:
    def change(answer: MetadataResponse) -> MetadataResponse:
        topics = tuple(
            replace(
                topic,
                partitions=tuple(replace(each, leader_id=node_id) for each in topic.partitions),
            )
            for topic in answer.topics
        )
        return replace(answer, topics=topics)

    return change


def topics_twice(answer: MetadataResponse) -> MetadataResponse:
    return replace(answer, topics=answer.topics * 2)


def topics_without_names(answer: MetadataResponse) -> MetadataResponse:
    return replace(answer, topics=tuple(replace(each, name=None) for each in answer.topics))


BAD_PARTITIONS: Final[dict[str, Change]] = {
    "one twice": with_partitions(partition(0, leader=2), partition(1, leader=2)),
    "number -1": with_partitions(partition(-1)),
    "number -2^31": with_partitions(partition(-(2**31))),
    "leader -2": led_by(-2),
    "leader -2^31": led_by(-(2**31)),
    "a topic twice": topics_twice,
}


@pytest.mark.parametrize("change", BAD_PARTITIONS.values(), ids=BAD_PARTITIONS)
async def test_n12_what_was_known_of_a_partition_stays_in_place_of_what_cannot_be(
    change: Change,
) -> None:
    broker = cluster(2)
    async with playing(broker, metadata_max_age=1.0) as play:
        await play.read_all()
        before = play.consumer.membership
        rewriting(MetadataRequest, change)(broker)
        began = anyio.current_time()
        await play.read_for(6.0)
        assert play.asked(began, MetadataRequest) >= 3
        check_pace(play, began)
        await goes_on(play)
        assert play.consumer.partitions_for_topic("orders") == frozenset({0, 1})
        assert play.consumer.membership.claims == before.claims


@pytest.mark.parametrize(
    "change",
    [*BAD_PARTITIONS.values(), topics_without_names, led_by(9)],
    ids=[*BAD_PARTITIONS, "no names", "leader 9"],
)
async def test_n12_partitions_that_cannot_be_are_outlived(change: Change) -> None:
    await outlive(rewriting(MetadataRequest, change))
