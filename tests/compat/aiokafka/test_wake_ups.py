"""`start()` waits for an assignment: whatever comes, at whichever turn of the loop, ends that."""

import asyncio
from collections.abc import Callable

import pytest

from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.compat.aiokafka.rounds import Rounds
from kgroup.wire.messages import SyncGroupRequest, SyncGroupResponse
from tests.compat.aiokafka.ground import A, B, Heard, broker_with, made, until

pytestmark = pytest.mark.anyio


async def test_a_change_counts_from_the_look_and_not_from_the_next_turn_of_the_loop() -> None:
    rounds = Rounds()
    change = asyncio.ensure_future(rounds.changed())
    rounds.wake()
    await asyncio.wait_for(change, 1)


def _subscribes_again(consumer: AIOKafkaConsumer) -> None:
    consumer.subscribe(["t"], listener=Heard())


def _subscribes_otherwise(consumer: AIOKafkaConsumer) -> None:
    consumer.subscribe(["t", "u"])


@pytest.mark.parametrize("change", [_subscribes_again, _subscribes_otherwise])
@pytest.mark.parametrize("turns", range(0, 30, 5))
async def test_a_start_ends_though_what_it_waits_for_changes_just_as_it_comes(
    change: Callable[[AIOKafkaConsumer], None], turns: int
) -> None:
    broker = broker_with(1, t=2, u=1)
    consumer = made(broker, "t")
    changing: list[asyncio.Task[None]] = []

    async def soon() -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        change(consumer)

    def answered(_: SyncGroupRequest, answer: SyncGroupResponse) -> SyncGroupResponse:
        changing.append(asyncio.ensure_future(soon()))
        return answer

    broker.answers.rewrite(SyncGroupRequest, answered)
    await asyncio.wait_for(consumer.start(), 60)
    await asyncio.wait_for(asyncio.gather(*changing), 60)
    await until(lambda: consumer.assignment() >= {A, B})
    await consumer.stop()
