"""The consumer's calls that hand out records.

Decides: names, defaults and order of these calls.
Never: holds logic of its own: each call is a few words to one part.
"""

from typing import Generic, TypeVar

from kgroup.config import ConsumerConfig
from kgroup.consumer.calls.life import Life
from kgroup.consumer.listener import Listener
from kgroup.consumer.reads.batch import Batch
from kgroup.consumer.reads.iterators import BatchIterator, RecordIterator
from kgroup.consumer.reads.polling import Polling
from kgroup.consumer.reads.record import Formats, Record
from kgroup.types import Subscription, TopicPartition

__all__ = ["ReadingCalls"]

K = TypeVar("K")
V = TypeVar("V")


class ReadingCalls(Life, Generic[K, V]):
    """Four ways to get records.

    Args:
        config: all options.
        subscription: what to ask for when entered, None for nothing.
        listener: told when partitions come and go.
        formats: the two deserialisers.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        subscription: Subscription | None,
        listener: Listener | None,
        formats: Formats[K, V],
    ) -> None:
        super().__init__(config, subscription, listener)
        self._formats = formats

    def batches(self) -> BatchIterator[K, V]:
        """Iterate over batches until closed; each is done when the next is asked for."""
        limit = self._config.max_poll_records
        return BatchIterator(self._entered().reading, self._formats, limit)

    def __aiter__(self) -> RecordIterator[K, V]:
        """Iterate over single records; each is done when the next is asked for."""
        limit = self._config.max_poll_records
        return RecordIterator(self._entered().reading, self._formats, limit)

    async def getone(self, *tps: TopicPartition, timeout: float | None = None) -> Record[K, V]:
        """Return the next record; it is done at the next read, of whatever kind, that is about
        its partition.

        Args:
            tps: partitions to read from, none for all.
            timeout: seconds, None to wait for ever.

        Raises:
            TimeoutError: nothing came in time.
            DeserializationError: a deserialiser refused the record; it stays in front.
            ClosedError, NotOwnedError, KGroupError: see `getmany`.
        """
        return await (await self._polling()).one(tps, timeout)

    async def getmany(
        self, *tps: TopicPartition, max_records: int | None = None, timeout: float = 0.0
    ) -> dict[TopicPartition, Batch[K, V]]:
        """Return what is there, waiting only while there is nothing.

        Args:
            tps: partitions to read from, none for all.
            max_records: most records altogether, None for `max_poll_records`.
            timeout: seconds to wait for a first record.

        Returns:
            At most one batch of each partition, from at most one fetch; empty when nothing came.

        Raises:
            ClosedError: the consumer was closed before the call.
            NotOwnedError: a partition named is not owned.
            KGroupError: a fatal error; what a listener raised, once; the error of a partition,
                each time it is its turn, until a seek or a success ends it.
        """
        return await (await self._polling()).many(tps, max_records, timeout)

    def note_poll(self) -> None:
        """Say that the application is alive and at work on what it was handed (KIP-62).

        Each read says so; call this where work between two reads may take longer than
        `max_poll_interval`. It costs next to nothing.
        """
        self._entered().reading.note_poll()

    @property
    def passed_over(self) -> int:
        """How many records were left out because a deserialiser refused them (policy "skip")."""
        return 0 if self._parts is None else self._parts.delivery.passed_over.count

    async def _polling(self) -> Polling[K, V]:
        limit = self._config.max_poll_records
        return Polling((await self._running()).reading, self._formats, limit)
