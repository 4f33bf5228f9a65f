"""A blocking consumer closes in time, and its thread ends, whatever brokers do."""

import gc
import sys
import threading
import time
import weakref

import anyio
import pytest

from kgroup.errors import IllegalStateError, NoBrokerError
from kgroup.sync import Consumer
from tests.sync.ground import A, grounded, in_thread, until, until_waiting


def running() -> set[str]:
    return {each.name for each in threading.enumerate() if each.name.startswith("kgroup ")}


def test_a_closed_consumer_has_no_thread() -> None:
    with grounded() as ground:
        with ground.by_hand(A) as consumer:
            assert running() == {"kgroup kgroup"}
        assert not running()
        consumer.close()


def test_closing_ends_reads_of_other_threads() -> None:
    with (
        grounded() as ground,
        ground.by_hand(A) as consumer,
        in_thread(lambda: list(consumer)) as came,
    ):
        until_waiting(consumer, 1)
        consumer.close()
    assert came == [[]]


@pytest.mark.slow
def test_a_member_closes_in_time_though_no_broker_answers() -> None:
    with grounded(1) as ground:
        consumer = ground.consumer("t", group_id="g")
        with consumer:
            consumer.getone(timeout=10)
            ground.broker.node(1).slow(60.0)
            began = time.monotonic()
            consumer.close(timeout=1.0)
            assert time.monotonic() - began < 2.0
            assert not running()


@pytest.mark.slow
def test_many_members_close_in_time_while_they_are_at_work() -> None:
    with grounded(200, partitions=4) as ground:
        took: list[float] = []

        def live(number: int) -> None:
            consumer = ground.consumer("t", group_id="g", client_id=f"c{number}")
            with consumer:
                for _ in zip(range(5), consumer.records(timeout=0.2), strict=False):
                    pass
                began = time.monotonic()
                consumer.close(timeout=5.0)
                took.append(time.monotonic() - began)

        threads = [threading.Thread(target=live, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert len(took) == 8
        assert max(took) < 5.5
        assert not running()


def test_a_consumer_without_a_broker_leaves_no_thread() -> None:
    consumer = Consumer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout=0.2)
    with pytest.raises(NoBrokerError), consumer:
        pass
    assert not running()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_consumer_may_be_used_in_the_task_of_another_event_loop(backend: str) -> None:
    async def read() -> int:
        with ground.by_hand(A) as consumer:
            return consumer.getone(timeout=10).offset

    with grounded(1) as ground:
        assert anyio.run(read, backend=backend) == 0


def test_a_consumer_is_entered_once() -> None:
    with grounded() as ground:
        consumer = ground.consumer()
        with consumer, pytest.raises(IllegalStateError, match="entered once"):
            consumer.__enter__()


@pytest.mark.parametrize(("commit", "stored"), [(True, 6), (False, None)])
def test_closing_commits_records_that_are_done_unless_commit_is_false(
    commit: bool, stored: int | None
) -> None:
    with grounded(6) as ground:
        with ground.by_hand(A, group_id="g") as consumer:
            consumer.getmany(timeout=10)[A].done()
            consumer.close(commit=commit)
        found = ground.broker.group("g").offsets.get(A)
    assert (found and found.offset) == stored


@pytest.mark.parametrize("calls", [0, 1])
def test_a_consumer_dropped_unclosed_warns_and_ends(calls: int) -> None:
    with grounded(1) as ground:
        consumer = ground.consumer("t", group_id="g", auto_offset_reset="earliest")
        seen = weakref.ref(consumer)
        consumer.__enter__()
        try:
            held = sys.getrefcount(seen())
            for _ in range(calls):
                consumer.getone(timeout=10)
            # A call is answered a moment before its task on the loop is over.
            until(lambda: sys.getrefcount(seen()) <= held)
            thread = next(each for each in threading.enumerate() if each.name == "kgroup kgroup")
            with pytest.warns(ResourceWarning, match="Unclosed consumer"):  # noqa: PT031 - both warn
                del consumer
                gc.collect()
            thread.join(5)
            assert not thread.is_alive()
        finally:
            if (left := seen()) is not None:  # it failed before
                left.close()
