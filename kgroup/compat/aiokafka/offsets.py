"""The facade's calls about offsets: commits, positions, ends of logs.

Decides: checks, their order, and what each call answers, as aiokafka has them.
Never: waits for an assignment where aiokafka refuses at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import TypeVar

from aiokafka.errors import (
    CommitFailedError,
    IllegalOperation,
    IllegalStateError,
    KafkaTimeoutError,
)
from aiokafka.structs import OffsetAndTimestamp, TopicPartition

from kgroup import (
    BrokerError,
    Consumer,
    IsolationLevel,
    NotOwnedError,
    OffsetAndMetadata,
    UnauthorizedError,
)
from kgroup import CommitFailedError as OurCommitFailedError
from kgroup import TopicPartition as OurPartition
from kgroup.compat.aiokafka.errors import translating
from kgroup.compat.aiokafka.life import Life
from kgroup.compat.aiokafka.partitions import all_partitions, ours, theirs
from kgroup.compat.aiokafka.refusing import refusing
from kgroup.compat.raising import to_commit_again
from kgroup.errors import TransportError

__all__ = ["Offsets"]

T = TypeVar("T")


class Offsets(Life):
    """Where reading goes on, what is committed, and what the logs hold."""

    # -- commits ---------------------------------------------------------------------------

    async def commit(self, offsets: object = None) -> None:
        """Commit what was delivered, or offsets of your own.

        Args:
            offsets: partition -> the next offset to read, alone or with a text, or an
                `aiokafka.structs.OffsetAndMetadata`; None for everything delivered.

        Raises:
            IllegalOperation: there is no group_id.
            ValueError, TypeError: the offsets have another shape.
            IllegalStateError: nothing is subscribed or assigned, or not one of the partitions.
            CommitFailedError: the group has moved on, or nothing was read, and no coordinator
                answered, for `max_poll_interval_ms`: another member may have the partitions.
            KafkaError: the coordinator refused.
        """
        async with refusing():
            asked = self._to_commit(offsets)
        with translating():
            await self._commit_until_answered(asked)

    async def _commit_until_answered(
        self, asked: Mapping[OurPartition, OffsetAndMetadata] | None
    ) -> None:
        native = self._native()
        while True:
            try:
                await native.commit(asked)
            except OurCommitFailedError as error:
                asked = to_commit_again(error, native.owns, CommitFailedError)
            else:
                return

    def _to_commit(self, offsets: object) -> dict[OurPartition, OffsetAndMetadata] | None:
        self._require_group()
        if self._wishes.kind is None:
            raise IllegalStateError("Not subscribed to any topics")
        if self._wishes.of_group and not self._rounds.assigned:
            raise IllegalStateError("No partitions assigned")
        native = self._native()
        asked = None if offsets is None else _sound_offsets(offsets)
        for tp in asked or ():
            if not native.owns(tp):
                raise _moved_on() if self._rounds.is_between(tp) else _unassigned(tp)
        if asked is None and self._rounds.between():
            raise _moved_on()
        return asked

    async def committed(self, partition: TopicPartition) -> int | None:
        """Return what the group has committed for a partition, None for nothing.

        Raises:
            IllegalOperation: there is no group_id.
            KafkaError: the coordinator refused, or did not answer.
        """
        async with refusing():
            self._require_group()
            native = self._native()
            (tp,) = ours([partition])
        with translating():
            return _offset((await native.committed(tp))[tp])

    def _require_group(self) -> None:
        if self._options.facade.group_id is None:
            raise IllegalOperation("Requires group_id")

    # -- positions -------------------------------------------------------------------------

    async def position(self, partition: TopicPartition) -> int:
        """Return the offset that is delivered next, waiting until it is known.

        Raises:
            IllegalStateError: the partition is not assigned.
            KafkaError: why there is no position.
        """
        async with refusing():
            (tp,) = ours([partition])
            self._native()
        with translating():
            while (found := await self._known_position(tp)) is None:
                if self._rounds.is_between(tp):
                    await self._next_round()
                elif not self._native().owns(tp):
                    raise _unassigned(tp)
        return found

    async def _known_position(self, tp: OurPartition) -> int | None:
        """Wait for a position; None when the partition is not held, or not any longer."""
        try:
            return await self._native().position(tp)
        except NotOwnedError:
            return None

    async def _next_round(self) -> None:
        failure = self._native().failure
        if failure is not None:
            raise failure.with_traceback(None)
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._rounds.changed()

    def seek(self, partition: TopicPartition, offset: object) -> None:
        """Go on at an offset, at once.

        Raises:
            ValueError: the offset is negative, or no int.
            IllegalStateError: the partition is not assigned.
        """
        if not isinstance(offset, int) or offset < 0:
            raise ValueError("Offset must be a positive integer")
        (tp,) = ours([partition])
        with translating():
            self._native().seek(tp, offset)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> bool:
        """Go on at the first offset of each log; tell whether that was found in time.

        Args:
            partitions: that are assigned; none for all.

        Raises:
            TypeError: one is no TopicPartition.
            IllegalStateError: one is not assigned.
        """
        async with refusing():
            native, tps = self._native(), self._asked(partitions)
        return await _in_time(native.seek_to_beginning(*tps))

    async def seek_to_end(self, *partitions: TopicPartition) -> bool:
        """Go on behind the last record of each log; as `seek_to_beginning`."""
        async with refusing():
            native, tps = self._native(), self._asked(partitions)
        return await _in_time(native.seek_to_end(*tps))

    async def seek_to_committed(
        self, *partitions: TopicPartition
    ) -> dict[TopicPartition, int | None]:
        """Go on at what the group has committed, where that is something; return it.

        Raises:
            TypeError, IllegalStateError: as `seek_to_beginning`.
            IllegalOperation: there is no group_id.
        """
        async with refusing():
            tps = self._asked(partitions)
            self._require_group()
        with translating():
            found = await self._native().seek_to_committed(*tps)
        return {theirs(tp): _offset(each) for tp, each in found.items()}

    def _asked(self, partitions: tuple[TopicPartition, ...]) -> list[OurPartition]:
        if not all_partitions(partitions):
            raise TypeError("partitions must be TopicPartition instances")
        held = self._native().assignment()
        if not partitions:
            if not held:
                raise AssertionError("No partitions are currently assigned")
            return sorted(held)
        missing = set(partitions) - held
        if missing:
            raise IllegalStateError(f"Partitions {missing} are not assigned")
        return ours(partitions)

    # -- what the logs hold ----------------------------------------------------------------

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, float]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a time, None where there is none.

        Args:
            timestamps: partition, assigned or not -> milliseconds since the epoch.

        Raises:
            ValueError: a time is negative.
            KafkaTimeoutError: a partition had no answer in `request_timeout_ms`.
        """
        async with refusing():
            for tp, at in timestamps.items():
                if at < 0:
                    reason = "The target time cannot be negative."
                    raise ValueError(f"The target time for partition {tp} is {at}. {reason}")
            native = self._native()
            times = {OurPartition(*tp): int(at) for tp, at in timestamps.items()}
        with translating():
            found = await _answered(native.offsets_for_times(times))
        return {
            theirs(tp): None if each is None else OffsetAndTimestamp(each.offset, each.timestamp)
            for tp, each in found.items()
        }

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the first offset that the logs of any partitions still hold.

        Raises:
            KafkaTimeoutError: a partition had no answer in `request_timeout_ms`.
        """
        return await self._ends(partitions, Consumer.beginning_offsets)

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset that the next record of each log will get; as `beginning_offsets`."""
        return await self._ends(partitions, Consumer.end_offsets)

    async def _ends(
        self,
        partitions: Iterable[TopicPartition],
        ask: Callable[..., Awaitable[Mapping[OurPartition, int]]],
    ) -> dict[TopicPartition, int]:
        async with refusing():
            tps = ours(partitions)
            native = self._native() if tps else None
        if native is None:
            await asyncio.sleep(0)  # nobody is asked, and others run all the same
            return {}
        with translating():
            found = await _answered(ask(native, *tps))
        return {theirs(tp): offset for tp, offset in found.items()}

    async def topics(self) -> set[str]:
        """Return all topics that may be seen, without those of the brokers."""
        async with refusing():
            native = self._native()
        with translating():
            return set(await native.topics(internal=False))

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the partition numbers of a topic, None while they are not known; asks nobody."""
        known = None if self._host is None else self._native().partitions_for_topic(topic)
        return None if known is None else set(known)

    # -- what fetching heard last ----------------------------------------------------------

    def highwater(self, partition: TopicPartition) -> int | None:
        """Return the end of a log as its last fetch said, None before the first.

        Raises:
            AssertionError: the partition is not assigned; also of the two below.
        """
        tp = self._held(partition)
        return None if self._host is None else self._native().highwater(tp)

    def last_stable_offset(self, partition: TopicPartition) -> int | None:
        """Return where the oldest open transaction begins; -1 unless read_committed is asked."""
        tp = self._held(partition)
        found = None if self._host is None else self._native().last_stable_offset(tp)
        committed = self._options.config.isolation_level is IsolationLevel.READ_COMMITTED
        return found if committed or found is None else -1

    def last_poll_timestamp(self, partition: TopicPartition) -> int | None:
        """Return when the two above were heard, milliseconds since the epoch."""
        tp = self._held(partition)
        at = None if self._host is None else self._native().last_fetch_at(tp)
        return None if at is None else int(at * 1000)

    def _held(self, partition: TopicPartition) -> OurPartition:
        (tp,) = ours([partition])
        held = tp in self._wishes.partitions if self._host is None else self._native().owns(tp)
        if not held:
            raise AssertionError("Partition is not assigned")
        return tp


async def _in_time(seeking: Awaitable[object]) -> bool:
    with translating():
        try:
            await seeking
        except TimeoutError:
            return False
    return True


async def _answered(asking: Awaitable[T]) -> T:
    """Wait for an answer about logs; what may come right later has simply taken too long."""
    try:
        return await asking
    except (TransportError, TimeoutError) as error:
        raise KafkaTimeoutError(str(error)) from error
    except UnauthorizedError:
        raise
    except BrokerError as error:
        if not error.retriable:
            raise
        raise KafkaTimeoutError(str(error)) from error


def _sound_offsets(given: object) -> dict[OurPartition, OffsetAndMetadata]:
    """Return offsets as `kgroup.Consumer` takes them.

    Raises:
        ValueError: it is no dict, or empty; or a value is no offset.
        TypeError: a key is no partition, or the text beside an offset is none.
    """
    if not given or not isinstance(given, dict):
        raise ValueError(given)
    return {_sound_key(tp): _sound_value(each, given) for tp, each in given.items()}


def _sound_key(tp: object) -> OurPartition:
    if not all_partitions((tp,)):
        raise TypeError("Key should be TopicPartition instance")
    assert isinstance(tp, tuple)
    return OurPartition(*tp)


def _sound_value(each: object, given: object) -> OffsetAndMetadata:
    if isinstance(each, int):
        return OffsetAndMetadata(each)
    match each:
        case (int(offset), str(metadata)):
            return OffsetAndMetadata(offset, metadata)
        case (_, metadata) if not isinstance(metadata, str):
            raise TypeError("Metadata should be a string")
        case _:
            raise ValueError(given)


def _offset(committed: OffsetAndMetadata | None) -> int | None:
    return None if committed is None else committed.offset


def _unassigned(tp: OurPartition) -> Exception:
    return IllegalStateError(f"Partition {theirs(tp)} is not assigned")


def _moved_on() -> Exception:
    return CommitFailedError(
        "The group is rebalancing: what was assigned has been given back, and may be read by "
        "another member from its last commit on"
    )
