"""A rebalance timeout shorter than the poll interval, and the bounds of both."""

from typing import Any

import anyio
import pytest

from kgroup.testing import InProcessBroker
from tests.consumer.entered import A, B, Grouped, grouped
from tests.consumer.ground import ground
from tests.contracts.application import until

pytestmark = pytest.mark.anyio

APART: dict[str, Any] = {"rebalance_timeout": 10.0, "max_poll_interval": 120.0}


def filled() -> InProcessBroker:
    broker = ground(t=2)
    for tp in (A, B):
        broker.partition(*tp).append("0", "1", "2")
    return broker


async def first_batches(stage: Grouped) -> object:
    """Return everything there is, and with it the hold on both partitions."""
    await stage.owns(A, B)
    return await stage.consumer.getmany(timeout=5)


async def test_a_batch_in_hand_beyond_the_rebalance_timeout_costs_no_membership() -> None:
    async with grouped(filled(), **APART) as stage:
        held = await first_batches(stage)
        await anyio.sleep(100)
        assert held
        assert stage.consumer.assignment() == {A, B}
        await anyio.sleep(30)
        assert stage.consumer.assignment() == set()


async def test_a_batch_in_hand_delays_an_eager_round_by_half_the_rebalance_timeout() -> None:
    async with grouped(filled(), assignors=("range",), **APART) as stage:
        held = await first_batches(stage)
        stage.peers.add("other", "t", assignor="range")
        await anyio.sleep(4)
        assert stage.consumer.assignment() == {A, B}
        await anyio.sleep(4)
        assert held
        assert len(stage.consumer.assignment()) == 1


async def test_a_leader_looks_at_the_topics_of_others_at_once_however_long_its_pauses() -> None:
    """It waits for metadata as long as a quarter of the round lasts, then does without."""
    pauses: dict[str, Any] = {"retry_backoff": 30.0, "retry_backoff_max": 30.0}
    async with grouped(ground(t=2, u=1), **APART, **pauses) as stage:
        await stage.owns(A, B)
        stage.peers.add("other", "u")
        await until(lambda: stage.peers.given("other"), 6.0, "the other is given its topic")
