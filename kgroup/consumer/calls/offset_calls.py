"""The consumer's calls about its own offsets: commits, positions, pauses.

Decides: names, defaults and order of these calls.
Never: holds logic of its own: each call is a few words to one part.
"""

from collections.abc import Mapping

import anyio.lowlevel

from kgroup.backends.refusing import refusing
from kgroup.consumer.calls.life import Life
from kgroup.consumer.commit.committing import CommitCallback, Committable
from kgroup.consumer.fetch.logs import check_partition
from kgroup.errors import CommitFailedError
from kgroup.net.log_offsets import OffsetSpec
from kgroup.types import CommitOutcome, OffsetAndMetadata, TopicPartition

__all__ = ["OffsetCalls"]


class OffsetCalls(Life):
    """Where reading goes on, and what is committed."""

    async def commit(self, what: Committable = None) -> CommitOutcome:
        """Commit, and wait for the coordinator's answer.

        Whoever is cancelled while waiting ends the wait only: what was asked for is committed all
        the same.

        Args:
            what: a mapping of partitions to the next offset to read (alone, or with metadata of at
                most 4,096 bytes); a record or a batch, which stands for itself and all before it;
                or None for everything handed out so far. What is committed counts as done.

        Raises:
            CommitFailedError: its `outcome` tells each partition, the good ones too.
            NotOwnedError: a partition is not owned, or a record or batch is from an earlier period
                of ownership; nothing was sent.
            ArgumentError, IllegalStateError: nothing was sent.
        """
        return await (await self._running()).committing.commit(what)

    def commit_soon(self, what: Committable = None, callback: CommitCallback | None = None) -> None:
        """Commit without waiting.

        Commits of a partition are carried out in the order of calls, `commit` among them. A commit
        that fails without a callback is logged.

        Args:
            what: as for `commit`.
            callback: plain or awaitable; called once with the outcome, good or bad, in the order
                of calls, one at a time, at the latest when the consumer closes. What it raises is
                raised once, by the next read.

        Raises:
            NotOwnedError, ArgumentError, IllegalStateError: as `commit`; nothing is sent or called.
        """
        self._entered(running=True).committing.commit_soon(what, callback)

    async def commit_done(self) -> CommitOutcome:
        """Commit what is done and not committed yet, and wait for the coordinator's answer.

        Unlike `commit()` it counts nothing as done that is still in somebody's hands; it is what
        auto-commit does, at a moment of your own choice, such as in `on_revoked`.

        Raises:
            CommitFailedError: its `outcome` tells each partition, the good ones too.
            ConfigError: there is no group_id.
        """
        async with refusing():
            self._config.group()
        outcome = await (await self._running()).committing.commit_done()
        if not outcome.ok:
            raise CommitFailedError(outcome)
        return outcome

    async def committed(
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
        async with refusing():
            self._config.group()
            parts = self._entered(running=True)
            for tp in tps:
                check_partition(tp)
        asked = tps or tuple(parts.delivery.owned.partitions)
        if not asked:
            await anyio.lowlevel.checkpoint()  # nobody is asked, and others run all the same
        limit = self._config.fetching().request_timeout if timeout is None else timeout
        return await parts.gate.backend.committed(asked, timeout=limit)

    async def position(self, tp: TopicPartition, *, timeout: float | None = None) -> int:
        """Return the offset that is handed out next, waiting until it is known.

        Raises:
            NotOwnedError: the partition is not owned.
            KGroupError: why there is no position, such as `NoOffsetError`.
            TimeoutError: it was not found within `timeout` (None for `request_timeout`).
        """
        limit = self._config.fetching().request_timeout if timeout is None else timeout
        return await (await self._running()).flow.position(tp, limit)

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
        self._entered(running=True).flow.seek(tp, offset)

    async def seek_to_beginning(
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
        flow = (await self._running()).flow
        return await flow.seek_to_end(tps, OffsetSpec.EARLIEST, timeout)

    async def seek_to_end(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Go on behind the last record each log holds now; as `seek_to_beginning`.

        Under read_committed that is where the oldest open transaction begins.
        """
        flow = (await self._running()).flow
        return await flow.seek_to_end(tps, OffsetSpec.LATEST, timeout)

    async def seek_to_committed(
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
        async with refusing():
            self._config.group()
        limit = self._config.fetching().request_timeout if timeout is None else timeout
        return await (await self._running()).flow.seek_to_committed(tps, limit)

    def pause(self, *tps: TopicPartition) -> None:
        """Hand out nothing of some partitions until `resume`; ends with the claim."""
        self._entered(running=True).flow.pause(tps)

    def resume(self, *tps: TopicPartition) -> None:
        """Hand out records of some partitions again."""
        self._entered(running=True).flow.resume(tps)

    def paused(self) -> frozenset[TopicPartition]:
        """Return the owned partitions that are paused."""
        return frozenset() if self._parts is None else self._parts.flow.paused()

    def held_back(self) -> frozenset[TopicPartition]:
        """Return the owned partitions of which nothing is handed out before a commit.

        Of those as many records as `max_uncommitted` were handed out beyond what is committed; none
        without that option. A partition may be paused besides.
        """
        return frozenset() if self._parts is None else self._parts.flow.held_back()
