"""The blocking consumer's calls about logs: where they begin and end, what was written when.

Decides: that views of what fetching heard last allow for what a loop over records has in stock.
Never: holds logic of its own beyond that; see `kgroup.Consumer`.
"""

from functools import partial
from typing import TypeVar

from kgroup.consumer.fetch.logs import Times
from kgroup.sync.life import Life
from kgroup.types import OffsetAndTimestamp, TopicPartition

__all__ = ["LogCalls"]

K = TypeVar("K")
V = TypeVar("V")


class LogCalls(Life[K, V]):
    """What the logs hold. Most ask brokers, of any partition, owned or not."""

    def beginning_offsets(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset each log still holds.

        Args:
            tps: any partitions; none for all that are owned.
            timeout: seconds, None for `request_timeout`.

        Raises:
            BrokerError: a leader refused, or there is no such partition.
            TimeoutError: a partition had no answer in time.
        """
        return self._do(partial(self._native.beginning_offsets, *tps, timeout=timeout))

    def end_offsets(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset the next record of each log will get; as `beginning_offsets`."""
        return self._do(partial(self._native.end_offsets, *tps, timeout=timeout))

    def offsets_for_times(
        self, times: Times, *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a time (KIP-79), None where there is none.

        Args:
            times: any partition -> milliseconds since the epoch, or a datetime with a zone.
            timeout: seconds, None for `request_timeout`.

        Raises:
            ArgumentError: a time is negative or has no zone; nothing was asked.
            BrokerError, TimeoutError: as `beginning_offsets`.
        """
        return self._do(partial(self._native.offsets_for_times, times, timeout=timeout))

    def topics(self, *, internal: bool = True, timeout: float | None = None) -> frozenset[str]:
        """Return the name of every topic of the cluster that may be seen.

        Args:
            internal: also those that belong to the brokers.
            timeout: seconds, None for `request_timeout`.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: nobody could say.
        """
        return self._do(partial(self._native.topics, internal=internal, timeout=timeout))

    def find_partitions(
        self, *topics: str, timeout: float | None = None
    ) -> dict[str, frozenset[int]]:
        """Return the partition numbers of topics, waiting until each of them exists.

        Args:
            topics: names; they need not be read.
            timeout: seconds for all of them, None for `request_timeout`.

        Raises:
            UnauthorizedError, BrokerError: the brokers refuse a topic.
            TimeoutError: a topic was not there in time.
        """
        return self._do(partial(self._native.find_partitions, *topics, timeout=timeout))

    def partitions_for_topic(self, topic: str) -> frozenset[int] | None:
        """Return the partition numbers of a topic, None while they are not known; asks nobody."""
        return self._view(partial(self._native.partitions_for_topic, topic))

    def api_versions(self, *, timeout: float | None = None) -> dict[int, tuple[int, int]]:
        """Return API key -> lowest and highest version of it that a broker takes (KIP-35).

        Args:
            timeout: seconds, None for `request_timeout`.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: nobody could say.
        """
        return self._do(partial(self._native.api_versions, timeout=timeout))

    # -- what fetching heard last; asks nobody ---------------------------------------------

    def highwater(self, tp: TopicPartition) -> int | None:
        """Return the end of a log as its last fetch said, None before the first.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        return self._view(partial(self._native.highwater, tp))

    def last_stable_offset(self, tp: TopicPartition) -> int | None:
        """Return the end of what is decided by transactions, as the last fetch said (KIP-98).

        Raises:
            NotOwnedError: the partition is not owned.
        """
        return self._view(partial(self._native.last_stable_offset, tp))

    def last_fetch_at(self, tp: TopicPartition) -> float | None:
        """Return when `highwater` and `last_stable_offset` were heard, None before the first fetch.

        Seconds since the epoch, by the clock on the wall.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        return self._view(partial(self._native.last_fetch_at, tp))

    def lag(self, tp: TopicPartition) -> int | None:
        """Return how many offsets lie between what was handed out and the end that can be read.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        found = self._view(partial(self._native.lag, tp))
        return None if found is None else found + self._ahead.left(tp)
