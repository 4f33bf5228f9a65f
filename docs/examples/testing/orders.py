"""A program that handles orders: consume, handle, commit. `test_orders.py` tests it.

Handled orders are committed ten at a time, and whenever the partitions are to be given up.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import CommitFailedError

TOPIC = "orders"
GROUP = "billing"


class OrderService(ConsumerRebalanceListener):
    """Hands each order to `handle`, in the order of its partition.

    Args:
        bootstrap_servers: of the Kafka, such as `localhost:9092`.
        handle: called with one record after the other.
        commit_every: so many handled orders are committed together.
        options: of `AIOKafkaConsumer`, in place of the usual ones.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        handle: Callable[[ConsumerRecord], Awaitable[None]],
        *,
        commit_every: int = 10,
        **options: Any,
    ) -> None:
        self._handle = handle
        self._commit_every = commit_every
        self._done: dict[TopicPartition, int] = {}
        self._uncommitted = 0
        self._stopping = False
        self._busy = asyncio.Lock()  # nobody commits while an order is half done
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap_servers,
            group_id=GROUP,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            **options,
        )

    async def run(self) -> None:
        """Handle orders until `stop` is called."""
        self._consumer.subscribe([TOPIC], listener=self)
        await self._consumer.start()
        async for record in self._consumer:
            async with self._busy:
                if self._stopping:
                    break
                await self._handle_one(record)

    async def stop(self) -> None:
        """Finish and commit the order in hand, and leave the group."""
        async with self._busy:
            self._stopping = True
            await self._commit()
        await self._consumer.stop()  # a listener that is at work still wants the lock

    async def _handle_one(self, record: ConsumerRecord) -> None:
        await self._handle(record)
        self._done[TopicPartition(record.topic, record.partition)] = record.offset + 1
        self._uncommitted += 1
        if self._uncommitted >= self._commit_every:
            await self._commit()

    async def _commit(self) -> None:
        done, self._done, self._uncommitted = self._done, {}, 0
        try:
            if done:
                await self._consumer.commit(done)
        except CommitFailedError:
            pass  # the partitions are somebody else's by now, who handles these orders again

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Commit what is handled before the partitions may go to another member."""
        async with self._busy:
            await self._commit()

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Nothing to prepare: reading goes on at the committed offsets."""
