"""Orders, and an answer for whoever supervises the process."""

from collections.abc import Callable

from kgroup import Consumer, Record
from kgroup.config import ConsumerConfig
from kgroup.observe.health import Limits, Monitor
from kgroup.observe.health_server import serving
from kgroup.processing import Processor


async def bill(
    config: ConsumerConfig, handle: Callable[[Record[bytes, bytes]], None], port: int = 8080
) -> None:
    async with (
        Consumer("orders", config=config) as consumer,
        Monitor(consumer, Limits(stuck=300.0)).running() as monitor,
    ):
        with serving(monitor, port):
            await Processor(consumer, handle).run()
