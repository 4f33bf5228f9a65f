"""The same with kafka-python, whose loop blocks: it runs in a thread, and the test waits."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import kafka
import pytest
from kafka.errors import CommitFailedError

from kgroup.testing import InProcessBroker
from kgroup.testing.requests import OffsetCommitRequest

pytestmark = pytest.mark.kgroup_broker(topics={"orders": 2})

GROUP = "billing"
IMPATIENT = {"heartbeat_interval_ms": 20, "retry_backoff_ms": 10, "fetch_max_wait_ms": 50}


def handle_orders(
    consumer: kafka.KafkaConsumer, handle: Callable[[str], None], over: Event
) -> None:
    """What is tested: handle a batch, commit it, poll for the next one."""
    consumer.subscribe(["orders"])
    while not over.is_set():
        batch = consumer.poll(timeout_ms=500)  # 3.0 forgets an assignment that takes longer
        for records in batch.values():
            for record in records:
                handle(record.value.decode())
        try:
            if batch:
                consumer.commit()
        except CommitFailedError:
            pass  # the partitions are somebody else's by now, who handles these orders again
    consumer.close()


@contextmanager
def worker(broker: InProcessBroker, name: str, gate: Event | None = None) -> Iterator[list[str]]:
    """Run the program for as long as a block lasts; a gate stops it in the middle of an order."""
    handled: list[str] = []

    def handle(order: str) -> None:
        handled.append(order)
        if gate:
            gate.wait(5)

    consumer = kafka.KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers,
        group_id=GROUP,
        client_id=name,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **IMPATIENT,
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
