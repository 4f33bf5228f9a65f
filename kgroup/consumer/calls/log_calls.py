"""The consumer's calls about logs: where they begin and end, what was written when.

Decides: names, defaults and order of these calls.
Never: holds logic of its own: each call is a few words to one part.
"""

from kgroup.consumer.calls.life import Life
from kgroup.consumer.fetch.logs import Times
from kgroup.net.log_offsets import OffsetSpec
from kgroup.types import OffsetAndTimestamp, TopicPartition

__all__ = ["LogCalls"]


class LogCalls(Life):
    """What the logs hold. The awaited ones ask brokers, of any partition, owned or not."""

    async def beginning_offsets(
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
        return await self._ends(tps, OffsetSpec.EARLIEST, timeout)

    async def end_offsets(
        self, *tps: TopicPartition, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset the next record of each log will get.

        Under read_committed it is the first offset of the oldest open transaction, if there is
        one (the last stable offset).

        Args:
            tps: any partitions; none for all that are owned.
            timeout: seconds, None for `request_timeout`.

        Raises:
            BrokerError, TimeoutError: as `beginning_offsets`.
        """
        return await self._ends(tps, OffsetSpec.LATEST, timeout)

    async def offsets_for_times(
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
        return await (await self._running()).logs.at_times(times, timeout)

    async def topics(
        self, *, internal: bool = True, timeout: float | None = None
    ) -> frozenset[str]:
        """Return the name of every topic of the cluster that may be seen.

        Args:
            internal: also those that belong to the brokers.
            timeout: seconds, None for `request_timeout`.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: nobody could say.
        """
        return await (await self._running()).logs.topics(timeout, internal=internal)

    async def find_partitions(
        self, *topics: str, timeout: float | None = None
    ) -> dict[str, frozenset[int]]:
        """Return the partition numbers of topics, waiting until each of them exists.

        With `allow_auto_create_topics`, asking makes those that are missing, where brokers do.

        Args:
            topics: names; they need not be read.
            timeout: seconds for all of them, None for `request_timeout`.

        Raises:
            UnauthorizedError, BrokerError: the brokers refuse a topic.
            ClosedError: the consumer was closed meanwhile.
            TimeoutError: a topic was not there in time.
        """
        return await (await self._running()).logs.find_partitions(topics, timeout)

    def partitions_for_topic(self, topic: str) -> frozenset[int] | None:
        """Return the partition numbers of a topic, None while they are not known.

        Asks nobody: known are topics that are read, and those the last `topics()` told of.
        """
        return self._entered().logs.partitions_of(topic)

    async def api_versions(self, *, timeout: float | None = None) -> dict[int, tuple[int, int]]:
        """Return which versions of each request a broker takes (KIP-35), as it says itself.

        API key -> the lowest and the highest, both included; keys are Kafka's numbers, also of
        requests that are unknown here. Brokers may differ while they are upgraded.

        Args:
            timeout: seconds, None for `request_timeout`.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: nobody could say.
        """
        return await (await self._running()).logs.api_versions(timeout)

    # -- what fetching heard last; asks nobody ---------------------------------------------

    def highwater(self, tp: TopicPartition) -> int | None:
        """Return the end of a log as its last fetch said, None before the first.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        (owned,) = self._entered().delivery.owned.require([tp])
        return owned.high_watermark

    def last_stable_offset(self, tp: TopicPartition) -> int | None:
        """Return the end of what is decided by transactions, as the last fetch said (KIP-98).

        Raises:
            NotOwnedError: the partition is not owned.
        """
        (owned,) = self._entered().delivery.owned.require([tp])
        return owned.last_stable_offset

    def last_fetch_at(self, tp: TopicPartition) -> float | None:
        """Return when `highwater` and `last_stable_offset` were heard, None before the first fetch.

        Seconds since the epoch, by the clock on the wall; the answer may have held no record.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        (owned,) = self._entered().delivery.owned.require([tp])
        return owned.heard_at

    def lag(self, tp: TopicPartition) -> int | None:
        """Return how many offsets lie between what was handed out and the end that can be read.

        None before the first fetch. Offsets are counted, not records: marks of transactions and
        holes left by compaction count too.

        Raises:
            NotOwnedError: the partition is not owned.
        """
        return self._entered().flow.lag(tp)

    async def _ends(
        self, tps: tuple[TopicPartition, ...], end: OffsetSpec, timeout: float | None
    ) -> dict[TopicPartition, int]:
        parts = await self._running()
        asked = tps or tuple(parts.delivery.owned.partitions)
        found = await parts.logs.ends(asked, end, timeout)
        return {tp: listed.offset for tp, listed in found.items()}
