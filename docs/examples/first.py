"""The first consumer of the README: prints the records of the topic `orders`."""

import anyio

from kgroup import Consumer


async def main() -> None:
    async with Consumer(
        "orders",
        bootstrap_servers="localhost:9092",
        group_id="billing",
        auto_offset_reset="earliest",
    ) as consumer:
        async for batch in consumer.batches():
            for record in batch:
                print(record.partition, record.offset, record.value)


anyio.run(main)
