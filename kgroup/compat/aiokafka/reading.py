"""The facade's calls that deliver records.

Decides: that what is delivered is done, and may be committed by itself, as aiokafka has it; that
a read about partitions which are not held waits for them.
Never: holds a record across an await, so that a cancelled read loses none.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any, Final, Self, TypeAlias

from aiokafka.errors import ConsumerStoppedError
from aiokafka.structs import ConsumerRecord, TopicPartition

from kgroup import Batch, ClosedError, DeserializationError, Record
from kgroup import TopicPartition as OurPartition
from kgroup.compat.aiokafka.errors import translating
from kgroup.compat.aiokafka.life import Life
from kgroup.compat.aiokafka.partitions import all_partitions, ours, theirs
from kgroup.compat.aiokafka.records import listed, listed_raw, one
from kgroup.compat.aiokafka.refusing import refusing

__all__ = ["Reading"]

_Found: TypeAlias = dict[OurPartition, Batch[Any, Any]]
_Record: TypeAlias = "ConsumerRecord[Any, Any]"

_LOOK_AGAIN: Final = 0.5
"""Seconds after which partitions that were not held are looked for again."""


class Reading(Life):
    """Three ways to get records."""

    _records: AsyncIterator[Record[Any, Any]] | None = None

    async def getone(self, *partitions: TopicPartition) -> _Record:
        """Return the next record, waiting for it.

        Args:
            partitions: to read from, none for all.

        Raises:
            ConsumerStoppedError: the consumer is stopped, or was while this waited.
            KafkaError: what a partition, a topic or the group has met.
        """
        try:
            # Nothing awaits once a record is taken: a read that is cancelled has not taken one.
            if self._records is not None and not partitions and not self._closed:
                return one(await anext(self._records))
            async with refusing():
                self._check_read(partitions)
                self._native()
            return one(await (self._next_of(ours(partitions)) if partitions else self._next()))
        except StopAsyncIteration:
            self._records = None  # another start has another consumer
            self._native()  # which knows when something else has ended it
            raise ConsumerStoppedError from None
        except Exception:
            with translating():
                raise

    async def getmany(
        self,
        *partitions: TopicPartition,
        timeout_ms: float = 0,
        max_records: object = None,
    ) -> dict[TopicPartition, list[_Record]]:
        """Return what is there, of each partition at most what one fetch brought.

        Args:
            partitions: to read from, none for all.
            timeout_ms: longest wait for a first record.
            max_records: most records altogether, None for `max_poll_records`.

        Raises:
            ValueError: `max_records` is no positive int.
            ConsumerStoppedError: the consumer was stopped before the call.
            KafkaError: as `getone`.
        """
        async with refusing():
            self._check_read(partitions)
            limit = _sound_limit(max_records)
            self._native()
        with translating():
            found = await self._read(ours(partitions), limit, max(timeout_ms, 0) / 1000)
            make = listed_raw if self._options.deserializers.are_raw else listed
            return _all_delivered(found, make)

    def __aiter__(self) -> Self:
        if self._closed:
            raise ConsumerStoppedError
        return self

    async def __anext__(self) -> _Record:
        """Return the next record, until the consumer is stopped."""
        records = self._records
        # As there, a loop calls the `getone` of a subclass for each record.
        if records is not None and not self._closed and type(self).getone is Reading.getone:
            try:
                return one(await anext(records))
            except StopAsyncIteration:
                pass  # `getone` knows why
            except Exception:
                with translating():
                    raise
        try:
            return await self.getone()
        except ConsumerStoppedError:
            raise StopAsyncIteration from None

    def _check_read(self, partitions: tuple[object, ...]) -> None:
        if not all_partitions(partitions):
            raise AssertionError("partitions must be TopicPartition instances")
        if self._closed:
            raise ConsumerStoppedError

    def _next(self) -> Awaitable[Record[Any, Any]]:
        """Return what awaits the next record of all partitions; it stops when the consumer does."""
        self._records = aiter(self._native())
        return anext(self._records)

    async def _next_of(self, partitions: Collection[OurPartition]) -> Record[Any, Any]:
        """Return the next record of some partitions, waiting until one of them is held.

        Raises:
            ConsumerStoppedError: the consumer is stopped.
        """
        while not self._closed:
            native = self._native()
            held = [tp for tp in partitions if native.owns(tp)]
            nap = None if len(held) == len(partitions) else _LOOK_AGAIN
            if not held:
                await self._nothing_held(_LOOK_AGAIN)
                continue
            try:
                return await native.getone(*held, timeout=nap)
            except TimeoutError:
                continue
            except ClosedError:
                break
        raise ConsumerStoppedError

    async def _read(
        self, partitions: Collection[OurPartition], limit: int | None, timeout: float
    ) -> _Found:
        """Wait for records; nothing when the time is up, or the consumer is stopped."""
        loop = self._loop
        deadline = loop.time() + timeout
        while not self._closed:
            native, left = self._native(), max(deadline - loop.time(), 0.0)
            held = [tp for tp in partitions if native.owns(tp)]
            nap = left if len(held) == len(partitions) else min(left, _LOOK_AGAIN)
            if held or not partitions:
                try:
                    found = await native.getmany(*held, max_records=limit, timeout=nap)
                except ClosedError:
                    break
            else:
                found = await self._nothing_held(nap)
            if found or left <= nap:
                return found
        return {}

    async def _nothing_held(self, nap: float) -> _Found:
        """Wait until something may be held: a call for partitions not held gets no records."""
        failure = self._native().failure
        if failure is not None:
            await asyncio.sleep(0)  # as when it is refused at once
            raise failure.with_traceback(None)
        with suppress(TimeoutError):
            async with asyncio.timeout(nap):
                await self._rounds.changed()
        return {}


def _sound_limit(max_records: object) -> int | None:
    if max_records is None:
        return None
    if not isinstance(max_records, int) or max_records < 1:
        raise ValueError("`max_records` must be a positive Integer")
    return max_records


def _all_delivered(
    found: _Found, make: Callable[[Batch[Any, Any]], list[_Record]]
) -> dict[TopicPartition, list[_Record]]:
    """Return the records of several batches, which are done with that.

    One whose first record is refused waits its turn. None is done before all are made: what stops
    the making, a deserialiser's or a signal's KeyboardInterrupt, takes no record away.

    Raises:
        DeserializationError: nothing else was there.
    """
    made: dict[OurPartition, list[_Record]] = {}
    refused: Exception | None = None
    try:
        for tp, batch in found.items():
            try:
                made[tp] = make(batch)
            except DeserializationError as error:
                refused = refused or error
    except BaseException:
        for batch in found.values():
            batch.give_back(batch.first)
        raise
    if refused is not None and not made:
        raise refused
    for tp in made:
        found[tp].done()
    return {theirs(tp): records for tp, records in made.items()}
