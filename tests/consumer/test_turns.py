"""Partitions take turns at each read, or a read stays with one (`stay_with_partition`)."""

from itertools import groupby
from typing import Any

import anyio
import pytest

from kgroup.types import TopicPartition
from tests.consumer.entered import A, B, C, by_hand
from tests.consumer.shelf import Shelf

pytestmark = pytest.mark.anyio


def runs_of(tps: list[TopicPartition]) -> list[int]:
    """Return how often in a row each partition was read, in order."""
    return [len([*run]) for _, run in groupby(tps)]


async def test_single_reads_take_turns_unless_they_are_to_stay() -> None:
    for stays, runs in ((False, [1] * 6), (True, [3, 3])):
        shelf = Shelf(t=2)
        shelf.fill(A, 3)
        shelf.fill(B, 3)
        async with by_hand(shelf, A, B, stay_with_partition=stays) as stage:
            await anyio.sleep(1)
            read = [(await stage.consumer.getone(timeout=1)).tp for _ in range(6)]
            assert runs_of(read) == runs


async def test_staying_reads_one_fetch_of_a_partition_at_a_time() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 40, per_batch=2)
    shelf.fill(B, 40, per_batch=2)
    options: dict[str, Any] = {"stay_with_partition": True, "max_partition_fetch_bytes": 1}
    async with by_hand(shelf, A, B, **options) as stage:
        await anyio.sleep(1)
        read = [(await stage.consumer.getone(timeout=1)).tp for _ in range(12)]
        assert runs_of(read) == [2] * 6


async def test_reads_with_a_limit_go_on_where_the_limit_was_met() -> None:
    shelf = Shelf(t=3)
    for tp in (A, B, C):
        shelf.fill(tp, 10)
    async with by_hand(shelf, A, B, C, stay_with_partition=True) as stage:
        await anyio.sleep(1)
        found = [await stage.consumer.getmany(max_records=15) for _ in range(2)]
        (first, begun), (rest, last) = ([*each] for each in found)
        assert begun == rest
        assert {first, begun, last} == {A, B, C}
        assert [len(batch) for each in found for batch in each.values()] == [10, 5, 5, 10]
