"""Orders into a ledger, by a group that claims its partitions in a log."""

from kgroup import Consumer
from kgroup.config import ConsumerConfig
from kgroup.types import TopicPartition

CONFIG = ConsumerConfig(
    bootstrap_servers="localhost:9092",
    group_id="billing",
    backend="marshal",
    auto_offset_reset="earliest",
)


class Ledger:
    """Takes entries, and refuses those of an owner that was taken over from."""

    def __init__(self) -> None:
        self.entries: list[bytes | None] = []
        self._fences: dict[TopicPartition, int] = {}

    def write(self, tp: TopicPartition, fence: int, values: list[bytes | None]) -> bool:
        if fence < self._fences.get(tp, 0):
            return False
        self._fences[tp] = fence
        self.entries += values
        return True


async def bill(config: ConsumerConfig, ledger: Ledger) -> None:
    async with Consumer("orders", config=config) as consumer:
        async for batch in consumer.batches():
            assert batch.token is not None
            ledger.write(batch.partition, batch.token.generation_id, batch.values())
