"""A mail for every order: rather none than two."""

from collections.abc import Callable

from kgroup import Consumer
from kgroup.config import ConsumerConfig

CONFIG = ConsumerConfig(
    bootstrap_servers="localhost:9092",
    group_id="mailing",
    backend="marshal",
    guarantee="at_most_once",
    at_most_once_records=20,
    auto_offset_reset="earliest",
)


async def mail(config: ConsumerConfig, send: Callable[[bytes | None], None]) -> None:
    async with Consumer("orders", config=config) as consumer:
        async for record in consumer:
            send(record.value)
