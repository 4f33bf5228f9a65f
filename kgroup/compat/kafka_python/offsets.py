"""kafka-python's calls about offsets: commits, positions, seeks, and what the logs hold.

Decides: what is refused before anything is asked, in which words, as kafka-python does.
Never: holds logic of its own.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kafka.errors import CommitFailedError, IllegalStateError
from kafka.future import Future
from kafka.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

from kgroup.compat.kafka_python.errors import asking_logs, of_outcome, translated, translating
from kgroup.compat.kafka_python.keywords import pass_over
from kgroup.compat.kafka_python.life import Life
from kgroup.compat.raising import to_commit_again
from kgroup.errors import CommitFailedError as OurCommitFailedError
from kgroup.errors import NotOwnedError
from kgroup.types import CommitOutcome
from kgroup.types import OffsetAndMetadata as OurOffset
from kgroup.types import TopicPartition as OurPartition

__all__ = ["Offsets"]

_FOR_EVER: Final = float("inf")
_COMMITTED: Final = True
"""What a future of a commit, and its callback, get when all is well."""

Callback = Callable[[Mapping[TopicPartition, OffsetAndMetadata], object], object]
"""Told the offsets, and an exception or True."""


class Offsets(Life):
    """Where reading goes on, what is committed, what the logs hold."""

    # -- commits ---------------------------------------------------------------------------

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit, and wait.

        Args:
            offsets: None for the positions of all that is assigned.
            timeout_ms: None for `request_timeout_ms`.

        Raises:
            IllegalStateError: there is no group_id.
            TypeError: offsets are something else.
            CommitFailedError, KafkaError: nothing, or not everything, was committed.
        """
        what = self._committable(offsets)
        if what is not None and not what:
            return
        limit = self.config["request_timeout_ms"] if timeout_ms is None else timeout_ms
        until = time.monotonic() + limit / 1000
        with translating():
            while True:
                try:
                    self._consumer.commit(what, timeout=max(until - time.monotonic(), 0.0))
                except OurCommitFailedError as error:
                    what = {**to_commit_again(error, self._consumer.owns, CommitFailedError)}
                else:
                    return

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: Callback | None = None,
    ) -> Future:
        """Commit without waiting.

        Args:
            offsets: None for the positions of all that is assigned.
            callback: called with the offsets and an exception or True, inside a later call of this
                consumer; None for `default_offset_commit_callback`.

        Returns:
            kafka-python's future; it needs no call of this consumer to be done.

        Raises:
            IllegalStateError, TypeError: as `commit`.
        """
        what = self._committable(offsets)
        future = Future()
        if what is not None and not what:
            return future.success(_COMMITTED)
        tell = callback or self.config["default_offset_commit_callback"] or pass_over

        def call_back(outcome: CommitOutcome) -> None:
            shown = {_theirs(tp): _their(each.offset) for tp, each in outcome.partitions.items()}
            tell(shown, of_outcome(outcome) or _COMMITTED)

        try:
            answered = self._consumer.commit_soon(what, call_back)
        except NotOwnedError as error:
            return future.failure(translated(error))
        answered.add_done_callback(lambda done: _settle(future, done.result()))
        return future

    def committed(
        self,
        partition: TopicPartition,
        metadata: bool = False,  # noqa: FBT001, FBT002 - kafka-python's signature
        timeout_ms: float | None = None,
    ) -> int | OffsetAndMetadata | None:
        """Return what the group has committed of a partition, None for nothing.

        Args:
            partition: any.
            metadata: whether an OffsetAndMetadata is returned instead of the offset.
            timeout_ms: None for `request_timeout_ms`.

        Raises:
            IllegalStateError: there is no group_id.
            TypeError: `partition` is not a TopicPartition.
            KafkaTimeoutError, KafkaError: it could not be asked for.
        """
        self._check_group()
        _check((partition,), "partition must be a TopicPartition namedtuple")
        with translating():
            found = self._consumer.committed(_ours(partition), timeout=_seconds(timeout_ms))
        offset = found[_ours(partition)]
        if offset is None:
            return None
        return _their(offset) if metadata else offset.offset

    # -- positions -------------------------------------------------------------------------

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int | None:
        """Return the offset of the next record; None when it is not known in time.

        Raises:
            TypeError: `partition` is not a TopicPartition.
            IllegalStateError: it is not assigned.
        """
        self._check_assigned(partition)
        limit = _FOR_EVER if timeout_ms is None else timeout_ms / 1000
        try:
            with translating():
                return self._consumer.position(_ours(partition), timeout=limit)
        except Exception as error:
            if isinstance(error.__cause__, TimeoutError):
                return None
            raise

    def highwater(self, partition: TopicPartition) -> int | None:
        """Return the end of the log as its last fetch said, None before the first.

        Raises:
            TypeError, IllegalStateError: as `position`.
        """
        self._check_assigned(partition)
        with translating():
            return self._consumer.highwater(_ours(partition))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at an offset.

        Raises:
            TypeError: `partition` is not a TopicPartition.
            ValueError: the offset is negative or no int, or the partition is not assigned.
        """
        _check((partition,), "partition must be a TopicPartition namedtuple")
        if not _is_offset(offset):
            raise ValueError("Offset must be int >= 0")
        try:
            self._consumer.seek(_ours(partition), offset)
        except NotOwnedError as error:
            raise ValueError("Unassigned partition") from error

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on at the first offsets; of all partitions when none are named.

        Raises:
            TypeError: one of them is not a TopicPartition.
            ValueError: one of them, or any at all, is not assigned.
            KafkaTimeoutError: a log could not be asked.
        """
        asked = self._sought(partitions)
        with translating():
            self._consumer.seek_to_beginning(*asked)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Go on behind the last records; as `seek_to_beginning`."""
        asked = self._sought(partitions)
        with translating():
            self._consumer.seek_to_end(*asked)

    # -- logs ------------------------------------------------------------------------------

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset each log holds.

        Raises:
            KafkaTimeoutError: a partition had no answer in `timeout_ms`.
        """
        return self._ends(self._consumer.beginning_offsets, partitions, timeout_ms)

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset the next record of each log gets; as `beginning_offsets`."""
        return self._ends(self._consumer.end_offsets, partitions, timeout_ms)

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a time, None where there is none.

        Raises:
            ValueError: a time is negative.
            KafkaTimeoutError: a partition had no answer in `timeout_ms`.
        """
        for tp, at in timestamps.items():
            if at < 0:
                raise ValueError(
                    f"The target time for partition {tp} is {at}. "
                    "The target time cannot be negative."
                )
        asked = {_ours(tp): int(at) for tp, at in timestamps.items()}
        if not asked:
            return {}
        with asking_logs():
            found = self._consumer.offsets_for_times(asked, timeout=_seconds(timeout_ms))
        return {
            _theirs(tp): None
            if each is None
            else OffsetAndTimestamp(each.offset, each.timestamp, _epoch(each.leader_epoch))
            for tp, each in found.items()
        }

    # -- checks ----------------------------------------------------------------------------

    def _ends(
        self,
        ask: Callable[..., dict[OurPartition, int]],
        partitions: Iterable[TopicPartition],
        timeout_ms: float | None,
    ) -> dict[TopicPartition, int]:
        asked = [_ours(tp) for tp in partitions]
        if not asked:
            return {}
        with asking_logs():
            found = ask(*asked, timeout=_seconds(timeout_ms))
        return {_theirs(tp): offset for tp, offset in found.items()}

    def _committable(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None
    ) -> dict[OurPartition, int | OurOffset] | None:
        self._check_group()
        if offsets is None:
            return None
        sound = all(isinstance(tp, TopicPartition) for tp in offsets) and all(
            isinstance(each, OffsetAndMetadata) for each in offsets.values()
        )
        if not sound:
            raise TypeError("offsets must be dict[TopicPartition, OffsetAndMetadata]")
        return {
            _ours(tp): OurOffset(
                each.offset,
                each.metadata or "",
                each.leader_epoch if each.leader_epoch >= 0 else None,
            )
            for tp, each in offsets.items()
        }

    def _check_group(self) -> None:
        if self.config["group_id"] is None:
            raise IllegalStateError("Requires group_id")

    def _check_assigned(self, partition: TopicPartition) -> None:
        _check((partition,), "partition must be a TopicPartition namedtuple")
        if _ours(partition) not in self._assigned():
            raise IllegalStateError("Partition is not assigned")

    def _sought(self, partitions: tuple[TopicPartition, ...]) -> list[OurPartition]:
        _check(partitions, "partitions must be TopicPartition namedtuples")
        owned = self._assigned()
        if not partitions and not owned:
            raise ValueError("No partitions are currently assigned")
        for tp in partitions:
            if tp not in owned:
                raise ValueError(f"Unassigned partition: {tp}")
        return [_ours(tp) for tp in partitions]


def _check(partitions: Iterable[object], words: str) -> None:
    if not all(isinstance(each, TopicPartition) for each in partitions):
        raise TypeError(words)


def _is_offset(given: object) -> bool:
    return isinstance(given, int) and given >= 0


def _settle(future: Future, outcome: CommitOutcome) -> None:
    error = of_outcome(outcome)
    if error is None:
        future.success(_COMMITTED)
    else:
        future.failure(error)


def _ours(tp: TopicPartition) -> OurPartition:
    return OurPartition(*tp)


def _theirs(tp: OurPartition) -> TopicPartition:
    return TopicPartition(*tp)


def _their(offset: OurOffset) -> OffsetAndMetadata:
    return OffsetAndMetadata(offset.offset, offset.metadata, _epoch(offset.leader_epoch))


def _epoch(given: int | None) -> int:
    return -1 if given is None else given


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
