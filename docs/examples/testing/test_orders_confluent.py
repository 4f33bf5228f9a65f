"""The same with confluent-kafka, whose loop blocks too: librdkafka has threads of its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event

import pytest
from confluent_kafka import Consumer, KafkaException

from kgroup.testing import InProcessBroker
from kgroup.testing.requests import OffsetCommitRequest

pytestmark = pytest.mark.kgroup_broker(topics={"orders": 2})

GROUP = "billing"
# A retry that is due before librdkafka 2.16 has found its coordinator again cuts the connection it
# is about to make, which can go on for seconds: `retry.backoff.ms` is not as short as the others.
IMPATIENT = {
    "auto.commit.interval.ms": 20,
    "fetch.wait.max.ms": 50,
    "heartbeat.interval.ms": 20,
    "retry.backoff.ms": 300,
}


def handle_orders(consumer: Consumer, handle: Callable[[str], None], over: Event) -> None:
    """What is tested: handle an order, have it committed, poll for the next one."""
    consumer.subscribe(["orders"])
    while not over.is_set():
        message = consumer.poll(0.02)
        if message is None or message.error():
            continue
        handle((message.value() or b"").decode())
        with suppress(KafkaException):  # the partition may be somebody else's by now
            consumer.store_offsets(message)  # to be committed soon, or with the partition revoked
    consumer.close()


@contextmanager
def worker(broker: InProcessBroker, name: str, gate: Event | None = None) -> Iterator[list[str]]:
    """Run the program for as long as a block lasts; a gate stops it in the middle of an order."""
    handled: list[str] = []

    def handle(order: str) -> None:
        handled.append(order)
        if gate:
            gate.wait(5)

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": GROUP,
            "client.id": name,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            **IMPATIENT,
        }
    )
    over = Event()
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(handle_orders, consumer, handle, over)
        try:
            yield handled
        finally:
            over.set()
            running.result(10)


def test_orders_are_handled_and_committed(kgroup_broker: InProcessBroker) -> None:
    kgroup_broker.partition("orders", 0).append("tea", "milk")
    kgroup_broker.partition("orders", 1).append("bread")
    with worker(kgroup_broker, "A") as handled:
        kgroup_broker.wait_until(lambda: len(handled) == 3)
    assert kgroup_broker.group(GROUP).committed == {("orders", 0): 2, ("orders", 1): 1}


def test_a_rebalance_loses_nothing_and_repeats_nothing(kgroup_broker: InProcessBroker) -> None:
    group = kgroup_broker.group(GROUP)
    with worker(kgroup_broker, "A") as first, worker(kgroup_broker, "B") as second:
        kgroup_broker.wait_until(lambda: group.has_settled(members=2))
        kgroup_broker.partition("orders", 0).append("tea")
        kgroup_broker.partition("orders", 1).append("bread")
        kgroup_broker.wait_until(lambda: len(first) == len(second) == 1)
        group.rebalance()
        kgroup_broker.partition("orders", 0).append("milk")
        kgroup_broker.wait_until(lambda: len(first + second) >= 3)
    assert sorted(first + second) == ["bread", "milk", "tea"]
    assert group.committed == {("orders", 0): 2, ("orders", 1): 1}


def test_who_loses_a_partition_spoils_nothing_with_a_late_commit(
    kgroup_broker: InProcessBroker,
) -> None:
    group, gate = kgroup_broker.group(GROUP), Event()
    with worker(kgroup_broker, "A", gate) as first, worker(kgroup_broker, "B") as second:
        kgroup_broker.wait_until(lambda: group.has_settled(members=2))
        (lost,) = group.member("A").partitions
        kgroup_broker.partition(*lost).append("tea")
        kgroup_broker.wait_until(lambda: first == ["tea"])
        group.expire("A")
        kgroup_broker.wait_until(lambda: second == ["tea"])
        kgroup_broker.partition(*lost).append("milk")
        kgroup_broker.wait_until(lambda: group.committed.get(lost) == 2)
        gate.set()
        kgroup_broker.wait_until(lambda: group.has_settled(members=2))
    assert (first, second) == (["tea"], ["tea", "milk"])
    assert group.committed[lost] == 2


def test_a_coordinator_that_moves_costs_nothing(kgroup_cluster: InProcessBroker) -> None:
    group = kgroup_cluster.group(GROUP)
    kgroup_cluster.partition("orders").append("tea")
    with worker(kgroup_cluster, "A") as handled:
        kgroup_cluster.wait_until(lambda: handled == ["tea"])
        generation = group.generation
        group.move()
        kgroup_cluster.partition("orders").append("milk")
        kgroup_cluster.wait_until(lambda: group.committed.get(("orders", 0)) == 2)
        assert group.generation == generation
    assert handled == ["tea", "milk"]


def test_a_commit_whose_answer_is_lost_is_repeated_and_no_order_is(
    kgroup_broker: InProcessBroker,
) -> None:
    group = kgroup_broker.group(GROUP)
    lost = kgroup_broker.answers.hang_up(OffsetCommitRequest)  # once; it has taken effect
    kgroup_broker.partition("orders").append("tea")
    with worker(kgroup_broker, "A") as handled:
        kgroup_broker.wait_until(lambda: lost.count == 1)
        kgroup_broker.partition("orders").append("milk")
        kgroup_broker.wait_until(lambda: group.committed.get(("orders", 0)) == 2)
    assert handled == ["tea", "milk"]
