"""Other topics are asked for, whose claims stand in another partition of the coordination topic."""

from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.types import ChangeKind, CommitOutcome, OwnershipChange, TopicPartition
from tests.consumer.ground import fill
from tests.consumer.listening import Told
from tests.consumer.marshal.claiming import LEASE, A, claiming, foreign, gives, owns, said
from tests.consumer.marshal.stage import coordinated
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

U = TopicPartition("u", 0)


def two_logs() -> InProcessBroker:
    """Return a cluster where the claims of `t` and of `u` stand in different partitions."""
    broker = coordinated(3, t=1, u=1)
    fill(broker, A, 10)
    fill(broker, U, 10)
    return broker


async def test_what_was_asked_for_before_is_committed_and_released() -> None:
    broker = two_logs()
    outcomes: list[CommitOutcome] = []

    async def commit(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        del change
        outcomes.append(await consumer.commit())

    async with claiming(broker, listener=Told(revoked=commit)) as consumer:
        assert await gives(consumer, 4) == [0, 1, 2, 3]
        began = anyio.current_time()
        consumer.subscribe("u")
        assert await gives(consumer, 2) == [0, 1]
        await owns(consumer, U)
        assert anyio.current_time() - began < LEASE / 4
        assert [outcome.ok for outcome in outcomes] == [True]
        assert said(broker, A)[-1].words == (Kind.RELEASING_PARTITION, 4)


async def test_a_takeover_of_what_is_still_in_hand_is_noticed() -> None:
    broker = two_logs()
    told = Told()
    async with claiming(broker, listener=told, enable_auto_commit=False) as consumer:
        (batch,) = (await consumer.getmany(timeout=30)).values()
        consumer.subscribe("u")
        await anyio.sleep(1)
        assert A in consumer.assignment()
        claim = said(broker, A, Kind.CLAIMING_PARTITION)[-1].offset
        foreign(broker).beat(0, claim + 1)
        await until(lambda: told.of(ChangeKind.LOST), 2.0, "the takeover is told")
        await owns(consumer, U)
        assert len(batch) == 10


async def test_who_goes_back_to_the_first_topics_has_them_again() -> None:
    broker = two_logs()
    async with claiming(broker) as consumer:
        assert await gives(consumer, 4) == [0, 1, 2, 3]
        consumer.subscribe("u")
        assert await gives(consumer, 10) == [*range(10)]
        await owns(consumer, U)
        consumer.subscribe("t", "u")
        assert await gives(consumer, 2) == [4, 5]
        await owns(consumer, A, U)
        consumer.subscribe("t")
        assert await gives(consumer, 2) == [6, 7]
        await owns(consumer, A)
