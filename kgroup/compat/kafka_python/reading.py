"""kafka-python's ways to read: `poll`, and iteration.

Decides: that what one read returned is done at the next read, as there, where offsets are committed
by themselves inside `poll` only.
Never: loses a record that a deserialiser refused: it comes first at the next read, until a seek.
"""

from collections.abc import Iterator
from typing import Any, Self

from kafka.errors import IllegalStateError
from kafka.structs import TopicPartition

from kgroup.compat.kafka_python.errors import translating
from kgroup.compat.kafka_python.keywords import MOST_RECORDS
from kgroup.compat.kafka_python.life import Life
from kgroup.compat.kafka_python.records import listed_raw
from kgroup.consumer import Record
from kgroup.errors import NotOwnedError
from kgroup.sync import Batch

__all__ = ["Reading"]

Bytes = bytes | None


class Reading(Life):
    """Reads."""

    _iterating: tuple[float, int, Iterator[Record[Bytes, Bytes]]] | None = None
    """`consumer_timeout_ms` and `max_poll_records`, which may change between two records, and what
    iterates with them."""

    def poll(
        self,
        timeout_ms: float = 0,
        max_records: int | None = None,
        update_offsets: bool = True,  # noqa: FBT001, FBT002 - kafka-python's signature
    ) -> dict[TopicPartition, list[Any]]:
        """Return what is there, waiting only while there is nothing.

        Args:
            timeout_ms: how long to wait for a first record.
            max_records: most records altogether, None for `max_poll_records`.
            update_offsets: must be True; there it is for internal use.

        Raises:
            ValueError: the time is negative, or the number not positive.
            TypeError: it is not a number.
            IllegalStateError: the consumer is closed.
            KafkaError: what the listener, a partition or the group has come to.
        """
        if timeout_ms < 0:
            raise ValueError("Timeout must not be negative")
        if not update_offsets:
            raise NotImplementedError("update_offsets=False: for kafka-python's own use")
        most = self._most(max_records)
        if self._closed:
            raise IllegalStateError("KafkaConsumer is closed")
        self._join()
        with translating():
            batches = self._consumer.getmany(max_records=most, timeout=timeout_ms / 1000)
        return self._listed(list(batches.values()))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:  # noqa: ANN401 - kafka-python's ConsumerRecord, a named tuple
        """Return the next record; the iteration ends, and may go on, after `consumer_timeout_ms`.

        Raises:
            ValueError, TypeError: `max_poll_records` is none, as in `poll`.
            KafkaError: as `poll`.
        """
        if self._closed:
            raise StopIteration("KafkaConsumer closed")
        limit, most = self.config["consumer_timeout_ms"], self.config["max_poll_records"]
        going = self._iterating
        if going is None or going[:2] != (limit, most):
            going = self._begin(limit, most)
        if self._wish is not None:
            self._join()
        try:  # `translating` costs as much as a record
            record = next(going[2], None)
        except Exception:
            with translating():
                raise
        if record is None:
            raise StopIteration
        try:
            made = self._make(record)
        except BaseException:
            self._go_back(record)
            raise
        self._count(made)
        return made

    def _begin(self, limit: float, most: int) -> tuple[float, int, Iterator[Record[Bytes, Bytes]]]:
        self._most(None)
        timeout = None if limit < 0 or limit == float("inf") else limit / 1000
        with translating():
            self._iterating = limit, most, self._consumer.records(timeout=timeout)
        return self._iterating

    def _most(self, max_records: int | None) -> int:
        most = self.config["max_poll_records"] if max_records is None else max_records
        if not isinstance(most, int):
            raise TypeError("max_records must be an integer")
        if most <= 0:
            raise ValueError("max_records must be positive")
        return min(int(most), MOST_RECORDS)

    def _listed(self, batches: list[Batch[Bytes, Bytes]]) -> dict[TopicPartition, list[Any]]:
        try:
            found = self._made(batches)
        except (KeyboardInterrupt, SystemExit):
            # Nobody gets any of it, so all of it comes with the next poll.
            for batch in batches:
                batch.give_back(batch.first)
            raise
        for records in found.values():
            for each in records:
                self._count(each)
        return found

    def _made(self, batches: list[Batch[Bytes, Bytes]]) -> dict[TopicPartition, list[Any]]:
        """Make records up to one that is refused, which raises when it is the first."""
        found: dict[TopicPartition, list[Any]] = {}
        for number, batch in enumerate(batches):
            made: list[Any] = []
            if self._raw:
                found[TopicPartition(*batch.partition)] = listed_raw(batch)
                continue
            try:
                for record in batch:
                    made.append(self._make(record))  # noqa: PERF401 - what was made so far counts
            except Exception:
                batch.give_back(made[-1].offset + 1 if made else batch.first)
                for rest in batches[number + 1 :]:
                    rest.give_back(rest.first)
                if made:
                    found[TopicPartition(*batch.partition)] = made
                if not found:
                    raise
                break
            found[TopicPartition(*batch.partition)] = made
        return found

    def _go_back(self, record: Record[Bytes, Bytes]) -> None:
        try:
            self._consumer.seek(record.tp, record.offset)
        except NotOwnedError:
            return  # its new owner reads it again

    def _count(self, made: Any) -> None:  # noqa: ANN401 - kafka-python's record
        self._records_consumed += 1
        sizes = made.serialized_key_size, made.serialized_value_size
        self._bytes_consumed += max(sizes[0], 0) + max(sizes[1], 0)
