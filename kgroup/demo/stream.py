"""The steady stream of records the demo's group reads.

Decides: how much is produced, and how far each partition is.
Never: goes on after an error: a stream with a hole would make the verdict meaningless.
"""

from typing import Final

import anyio

from kgroup.demo.stage import Stage
from kgroup.net.producer import Producer
from kgroup.types import TopicPartition
from kgroup.wire.records import NewRecord

__all__ = ["Stream"]

_PAUSE: Final = 0.1


class Stream:
    """Produces to every partition of a topic, some records ten times a second.

    Args:
        producer: sends them.
        stage: is told how far each partition is.
        topic: name of the topic.
        partitions: how many it has.
        records: how many per partition and turn.
    """

    def __init__(
        self, producer: Producer, stage: Stage, topic: str, *, partitions: int, records: int = 3
    ) -> None:
        self._producer = producer
        self._stage = stage
        self._topic = topic
        self._partitions = partitions
        self._records = records
        self._ends: dict[int, int] = {}
        self._stopping = False
        self._stopped = anyio.Event()

    async def run(self) -> None:
        """Produce until `stop`."""
        turn = 0
        while not self._stopping:
            turn += 1
            async with anyio.create_task_group() as tasks:
                for partition in range(self._partitions):
                    tasks.start_soon(self._send, partition, turn)
            self._stage.change(lambda board: board.with_ends(self._ends))
            await anyio.sleep(_PAUSE)
        self._stopped.set()

    async def stop(self) -> None:
        """Stop after the present turn; everything produced is acknowledged then."""
        self._stopping = True
        await self._stopped.wait()

    async def _send(self, partition: int, turn: int) -> None:
        records = [
            NewRecord(key=b"%d" % partition, value=b"record %d of turn %d" % (number, turn))
            for number in range(self._records)
        ]
        first = await self._producer.send(TopicPartition(self._topic, partition), records)
        if first is not None:
            self._ends[partition] = first + len(records)
