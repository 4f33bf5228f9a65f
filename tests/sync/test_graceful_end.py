"""A blocking consumer that ends without an exception repeats nothing that was handled."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.sync.ground import A, grounded, in_thread


def many(consumer: Any) -> None:
    consumer.getmany(timeout=10)


def batch_half_way(consumer: Any) -> None:
    for batch in consumer.batches():
        for record in batch:
            if record.offset == 7:
                return


def values(consumer: Any) -> None:
    for batch in consumer.batches():
        batch.values()
        break


def records(consumer: Any) -> None:
    for record in consumer:
        if record.offset == 7:
            break


@pytest.mark.parametrize(
    ("read", "stored"), [(many, 20), (batch_half_way, 7), (values, 20), (records, 7)]
)
def test_leaving_the_block_commits_what_was_handled(
    read: Callable[[Any], None], stored: int
) -> None:
    with grounded(20) as ground:
        with ground.by_hand(A, group_id="g") as consumer:
            read(consumer)
        assert ground.broker.group("g").offsets[A].offset == stored


@pytest.mark.parametrize("read", [many, values])
def test_what_an_exception_leaves_is_not_done(read: Callable[[Any], None]) -> None:
    with grounded(20) as ground:
        with contextlib.suppress(ZeroDivisionError), ground.by_hand(A, group_id="g") as consumer:
            read(consumer)
            raise ZeroDivisionError
        offsets = ground.broker.group("g").offsets
        assert A not in offsets or offsets[A].offset == 0


def test_what_another_thread_has_read_is_not_done() -> None:
    with grounded(20) as ground:
        with ground.by_hand(A, group_id="g") as consumer, in_thread(lambda: many(consumer)):
            pass
        offsets = ground.broker.group("g").offsets
        assert A not in offsets or offsets[A].offset == 0
