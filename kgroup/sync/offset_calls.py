"""The blocking consumer's calls about its own offsets: commits, positions, pauses.

Decides: that they speak of what the application was given, also while a loop over single records
has read ahead.
Never: holds logic of its own beyond that; see `kgroup.Consumer`.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio

from kgroup.consumer.commit.commit_order import log_failures
from kgroup.consumer.commit.committing import CommitCallback, Committable, Offsets
from kgroup.consumer.reads.record import Record
from kgroup.errors import ArgumentError, KGroupError
from kgroup.sync.ahead import Told
from kgroup.sync.batch import Batch
from kgroup.sync.life import Life
from kgroup.types import CommitOutcome, OffsetAndMetadata, TopicPartition

__all__ = ["OffsetCalls", "SyncCallback", "SyncCommittable"]

K = TypeVar("K")
V = TypeVar("V")

SyncCommittable: TypeAlias = Offsets | Record[Any, Any] | Batch[Any, Any] | None
"""What can be committed; see `kgroup.Consumer.commit`."""

SyncCallback: TypeAlias = Callable[[CommitOutcome], None]
"""Told what became of a commit, in a thread that is inside a call of the consumer."""


class OffsetCalls(Life[K, V]):
    """Where reading goes on, and what is committed. All may be called inside listeners."""

    def commit(
        self, what: SyncCommittable = None, *, timeout: float | None = None
    ) -> CommitOutcome:
        """Commit, and wait for the coordinator's answer.

        Args:
            what: a mapping of partitions to the next offset to read (alone, or with metadata of at
                most 4,096 bytes); a record or a batch, which stands for itself and all before it;
                or None for everything handed out so far. What is committed counts as done.
            timeout: seconds after which the wait is over, the commit goes on; None to wait for
                what becomes of it, which has deadlines of its own.

        Raises:
            TimeoutError: there was no answer in time.
            CommitFailedError: its `outcome` tells each partition, the good ones too.
            NotOwnedError: a partition is not owned, or a record or batch is from an earlier period
                of ownership; nothing was sent.
            ArgumentError, IllegalStateError: nothing was sent.
        """
        places = self._ahead.places()

        async def commit() -> CommitOutcome:
            with anyio.fail_after(timeout):
                return await self._native.commit(await self._meant(what, places))

        return self._do(commit)

    def commit_soon(
        self, what: SyncCommittable = None, callback: SyncCallback | None = None
    ) -> Future[CommitOutcome]:
        """Commit without waiting for the answer.

        Commits of a partition are carried out in the order of calls, `commit` among them. A commit
        that fails is logged when there is no callback.

        Args:
            what: as for `commit`.
            callback: called once with the outcome, good or bad, in the order of calls, in a thread
                that is inside a call of this consumer, at the latest when it closes. What it
                raises is raised once, by the next read.

        Returns:
            The outcome, good or bad, once the coordinator has answered; without any thread's help.

        Raises:
            NotOwnedError, ArgumentError, IllegalStateError: as `commit`; nothing is sent or called.
        """
        if callback is not None and not callable(callback):
            raise ArgumentError("callback", callback, "a function of a CommitOutcome, or None")
        places = self._ahead.places()
        answered: Future[CommitOutcome] = Future()
        answered.set_running_or_notify_cancel()
        carried = self._carried(answered, callback)

        async def commit() -> None:
            self._native.commit_soon(await self._meant(what, places), carried)

        self._do(commit)
        return answered

    def commit_done(self) -> CommitOutcome:
        """Commit what is done and not committed yet, and wait for the coordinator's answer.

        Raises:
            CommitFailedError: its `outcome` tells each partition, the good ones too.
            ConfigError: there is no group_id.
        """
        return self._do(self._native.commit_done, self._ahead.progress())

    def committed(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed, None where nothing.

        Args:
            tps: any partitions, owned or not; none for all that are owned.
            timeout: seconds, None for `request_timeout`.

        Raises:
            TimeoutError: no coordinator answered in time.
            BrokerError: the coordinator refused.
            ConfigError: there is no group_id.
            ArgumentError: one of `tps` is no partition; nothing was asked.
        """
        return self._do(partial(self._native.committed, *tps, timeout=timeout))

    def position(self, tp: TopicPartition, *, timeout: float | None = None) -> int:
        """Return the offset that is handed out next, waiting until it is known.

        Raises:
            NotOwnedError: the partition is not owned.
            KGroupError: why there is no position, such as `NoOffsetError`.
            TimeoutError: it was not found within `timeout` (None for `request_timeout`).
        """
        found = self._do(partial(self._native.position, tp, timeout=timeout))
        return self._ahead.places().get(tp, found)

    def seek(self, tp: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Go on at an offset, at once; what was fetched ahead is dropped.

        Args:
            tp: a partition that is owned.
            offset: the next to hand out; with a leader epoch it is checked against the log
                before anything is read (KIP-320).

        Raises:
            NotOwnedError: the partition is not owned.
            ArgumentError: the offset is negative or no whole number.
        """
        self._view(partial(self._native.seek, tp, offset), self._withdrawn(tp))

    def seek_to_beginning(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Go on at the first offset each log still holds; return those offsets.

        Args:
            tps: partitions that are owned; none for all.
            timeout: seconds, None for `request_timeout`.

        Raises:
            NotOwnedError: a partition is not owned.
            BrokerError, TimeoutError: a log could not be asked; no position has moved.
        """
        seek = partial(self._native.seek_to_beginning, *tps, timeout=timeout)
        return self._do(seek, self._withdrawn(*tps))

    def seek_to_end(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Go on behind the last record each log holds now; as `seek_to_beginning`."""
        seek = partial(self._native.seek_to_end, *tps, timeout=timeout)
        return self._do(seek, self._withdrawn(*tps))

    def seek_to_committed(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Go on at what the group has committed; return it, None where nothing is.

        A partition without a committed offset stays where it is.

        Args:
            tps: partitions that are owned; none for all.
            timeout: seconds, None for `request_timeout`.

        Raises:
            ConfigError: there is no group_id.
            NotOwnedError: a partition is not owned.
            BrokerError, TimeoutError: the coordinator could not be asked; nothing has moved.
        """
        seek = partial(self._native.seek_to_committed, *tps, timeout=timeout)
        return self._do(seek, self._withdrawn(*tps))

    def pause(self, *tps: TopicPartition) -> None:
        """Hand out nothing of some partitions until `resume`; ends with the claim."""
        self._view(partial(self._native.pause, *tps), self._withdrawn(*tps))

    def resume(self, *tps: TopicPartition) -> None:
        """Hand out records of some partitions again."""
        self._view(partial(self._native.resume, *tps))

    def paused(self) -> frozenset[TopicPartition]:
        """Return the owned partitions that are paused."""
        return self._view(self._native.paused)

    def held_back(self) -> frozenset[TopicPartition]:
        """Return the owned partitions of which nothing is handed out before a commit.

        Of those as many records as `max_uncommitted` were handed out beyond what is committed; none
        without that option. A partition may be paused besides.
        """
        return self._view(self._native.held_back)

    def _withdrawn(self, *tps: TopicPartition) -> list[Told]:
        return self._ahead.withdraw(tps)

    async def _meant(self, what: SyncCommittable, places: dict[TopicPartition, int]) -> Committable:
        """Return what a commit is about, in native terms; see `places` of `Ahead`."""
        if isinstance(what, Batch):
            return what.native
        if what is not None or not places:
            return what
        offsets: dict[TopicPartition, int | OffsetAndMetadata] = {}
        for tp in self._native.assignment():
            with suppress(KGroupError, TimeoutError):  # nothing is known of it, nor handed out
                asked = self._native.position
                offsets[tp] = places[tp] if tp in places else await asked(tp, timeout=0)
        return offsets or None

    def _carried(
        self, answered: Future[CommitOutcome], callback: SyncCallback | None
    ) -> CommitCallback:
        desk = self._desk

        async def tell(outcome: CommitOutcome) -> None:
            answered.set_result(outcome)
            if callback is not None:
                await desk.carry_out(partial(callback, outcome), is_change=False)
            else:
                log_failures("commit_soon", outcome)

        return tell
