"""A topic for each group, so that one group's second tries are nobody else's.

`fan_out` copies each order into `orders.billing` and `orders.mailing`; it repeats a batch when it
dies. `work` is a group of its own on one of them, and may put records back there.
"""

from collections.abc import Awaitable, Callable

from anyio import to_thread
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kgroup import Batch, Consumer, Record
from kgroup.config import ConsumerConfig
from kgroup.processing import AtLeastOnce, Per, Processor, Requeue, Wait

GROUPS = ("billing", "mailing")


async def fan_out(config: ConsumerConfig, producer: Producer, source: str = "orders") -> None:
    async def copy(batch: Batch[bytes, bytes]) -> None:
        refused: list[KafkaError] = []

        def answered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                refused.append(error)

        for record in batch:
            for group in GROUPS:
                producer.produce(
                    f"{source}.{group}",
                    record.value,
                    record.key,
                    partition=record.partition,
                    on_delivery=answered,
                    timestamp=record.timestamp,
                    headers=list(record.headers),
                )
        left = await to_thread.run_sync(producer.flush, 10.0)
        if left or refused:
            raise KafkaException(*refused)

    async with Consumer(source, config=config) as consumer:
        await Processor(consumer, copy, AtLeastOnce(Per.BATCH), stuck=Wait()).run()


async def work(
    config: ConsumerConfig,
    handle: Callable[[Record[bytes, bytes]], Awaitable[None]],
    source: str = "orders",
) -> None:
    topic = f"{source}.{config.group_id}"
    async with Consumer(topic, config=config) as consumer:
        stuck = Requeue(deadline=2, dead_letter=f"{topic}.dead", write_timeout=2)
        await Processor(consumer, handle, stuck=stuck).run()
