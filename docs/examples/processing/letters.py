"""Orders that cannot be billed become dead letters; what was mended is read on."""

from collections.abc import Callable

from kgroup import Consumer, Record
from kgroup.config import ConsumerConfig
from kgroup.processing import DeadLetter, Processor, Report, ReportKind


async def bill(
    config: ConsumerConfig,
    handle: Callable[[Record[bytes, bytes]], None],
    mend: Callable[[Report], None],
) -> None:
    async with Consumer("orders", config=config) as consumer:
        stuck = DeadLetter("orders-dead", attempts=3)
        processor = Processor(consumer, handle, stuck=stuck)

        def hear(report: Report) -> None:
            if report.kind is ReportKind.STOPPED:  # the letter could not be written
                mend(report)
                processor.go_on(report.tp)

        processor.hear(hear)
        await processor.run()
