"""Questions about the logs of any partition; which partitions and topics are new.

Decides: the shape of the questions an application may ask, and of their answers. A partition is new
when its topic had fewer when this consumer first saw it, or was another topic of that name. A topic
was recreated when its id is not the one the claim began with.
Never: moves a position; answers for some partitions and hides that others failed; forgets that a
partition was new.
KIPs: 79 (offsets for times), 98 (the end is the last stable offset under read_committed), 516
(topic ids).

A new partition without a committed offset is read from its beginning, also under `latest`:
1. the topic has three partitions; 2. a fourth is added; 3. records are written to it; 4. metadata
shows it, and the group assigns it. Under `latest` the records of step 3 would be skipped.

An id that was replaced never comes back: 1. one broker reports the new topic; 2. another, whose
metadata is older, reports the old one. The new topic does not begin a second time for that.
"""

from collections.abc import Collection, Mapping
from datetime import datetime

import anyio
import anyio.lowlevel

from kgroup.backends.coordinator_search import refusing
from kgroup.codes import ApiKey
from kgroup.config import FetchSettings
from kgroup.consumer.buffer.owned import OwnedPartitions
from kgroup.consumer.fetch.jumps import Jumps
from kgroup.errors import ArgumentError, BrokerError, DecodeError, TransportError
from kgroup.machine.backoff import Backoff
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.log_offsets import ListedOffset, OffsetSpec, list_offsets
from kgroup.net.metadata import EMPTY_VIEW, TopicInfo
from kgroup.net.settings import software_version
from kgroup.net.verdict import refusal
from kgroup.types import IsolationLevel, OffsetAndTimestamp, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import ApiVersionsRequest

Times = Mapping[TopicPartition, int | datetime]
"""Partition -> milliseconds since the epoch, or a time with a zone."""


class Logs:
    """Asks the leaders of partitions, and the cluster about topics.

    Args:
        cluster: connections and metadata; not owned.
        settings: isolation level and patience.
    """

    def __init__(self, cluster: Cluster, settings: FetchSettings) -> None:
        self._cluster = cluster
        self._settings = settings
        self._listed: Mapping[str, TopicInfo] = {}

    @property
    def committed_only(self) -> bool:
        """Whether a log ends, for this consumer, where its oldest open transaction begins."""
        return self._settings.isolation_level is IsolationLevel.READ_COMMITTED

    async def ends(
        self, tps: Collection[TopicPartition], end: OffsetSpec, timeout: float | None
    ) -> dict[TopicPartition, ListedOffset]:
        """Return where logs begin or end.

        Raises:
            BrokerError: a leader refused.
            TimeoutError: a partition had no answer in time.
        """
        listed = await self._list(dict.fromkeys(tps, end), timeout)
        missing = [tp for tp, found in listed.items() if found is None]
        if missing:
            raise TimeoutError(f"{missing[0]}: its leader named no {end.name.lower()} offset")
        return {tp: found for tp, found in listed.items() if found is not None}

    async def at_times(
        self, times: Times, timeout: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first offset at or after each time, None where no record is that young.

        Raises:
            ArgumentError: a time is negative, has no zone, or is not a time; no request was sent.
            BrokerError, TimeoutError: as `ends`.
        """
        async with refusing():
            asked = {tp: _milliseconds(tp, at) for tp, at in times.items()}
        listed = await self._list(asked, timeout)
        return {tp: _with_time(found) for tp, found in listed.items()}

    async def _list(
        self, wanted: Mapping[TopicPartition, OffsetSpec | int], timeout: float | None
    ) -> Mapping[TopicPartition, ListedOffset | None]:
        async with refusing():
            for tp in wanted:
                check_partition(tp)
        if not wanted:
            await anyio.lowlevel.checkpoint()  # no request is sent, and others run all the same
        found = await list_offsets(
            self._cluster,
            wanted,
            isolation=self._settings.isolation_level,
            timeout=self._limit(timeout),
        )
        return found.all()

    async def topics(self, timeout: float | None, *, internal: bool) -> frozenset[str]:
        """Return the name of every topic this client may see.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: no broker answered the question.
        """
        view = await self._cluster.look_up(None, self._limit(timeout))
        self._listed = view.topics
        return frozenset(
            name
            for name, topic in view.topics.items()
            if not topic.error and (internal or not topic.is_internal)
        )

    async def api_versions(self, timeout: float | None) -> dict[int, tuple[int, int]]:
        """Return API key -> the versions of it that a broker says it takes.

        Raises:
            NoBrokerError, BrokerError, TimeoutError: no broker answered the question.
        """
        request = ApiVersionsRequest(
            client_software_name="kgroup", client_software_version=software_version()
        )
        answer = await self._cluster.send_any(request, timeout=self._limit(timeout))
        if answer.error_code:
            raise BrokerError("API_VERSIONS", answer.error_code)
        return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    async def find_partitions(
        self, topics: Collection[str], timeout: float | None
    ) -> dict[str, frozenset[int]]:
        """Return the partition numbers of topics once there are some.

        Raises:
            BrokerError: the brokers refuse a topic.
            ClosedError: the consumer was closed meanwhile.
            TimeoutError: a topic was not there in time.
        """
        if not topics:
            await anyio.lowlevel.checkpoint()
        limit, found = self._limit(timeout), dict[str, frozenset[int]]()
        settings = self._settings
        backoff = Backoff(settings.retry_backoff, settings.retry_backoff_max)
        why, dice = "there is no such topic", self._cluster.ports.dice_for("find partitions")
        with anyio.move_on_after(limit):
            while missing := frozenset(topics) - found.keys():
                try:
                    found |= await self._existing(missing, limit)
                except (TransportError, DecodeError, TimeoutError) as error:
                    why = str(error)
                if found.keys() >= missing:
                    break
                backoff = backoff.failed()
                with anyio.move_on_after(backoff.pause(dice.uniform(0, 1))):
                    await self._cluster.changed(self._cluster.view)
        for name in topics:
            if name not in found:
                raise TimeoutError(f"topic {name!r} was not found within {limit:g} s: {why}")
        return found

    async def _existing(self, topics: frozenset[str], timeout: float) -> dict[str, frozenset[int]]:
        """Ask once; leave out topics that are not there yet."""
        may_create = self._cluster.settings.allow_auto_create_topics
        view = await self._cluster.look_up(topics, timeout, may_create=may_create)
        for name, topic in view.topics.items():
            if topic.is_refused:
                raise refusal(ApiKey.METADATA, topic.error, (name,))
        self._listed = {**self._listed, **view.topics}
        return {
            name: frozenset(each.partitions)
            for name, each in view.topics.items()
            if each.partitions
        }

    def _limit(self, timeout: float | None) -> float:
        return self._settings.request_timeout if timeout is None else timeout

    def partitions_of(self, topic: str) -> frozenset[int] | None:
        """Return the partition numbers of a topic as far as they are known; sends no request."""
        known = self._cluster.view.topics.get(topic) or self._listed.get(topic)
        return None if known is None or not known.partitions else frozenset(known.partitions)


def check_partition(given: object) -> None:
    """Refuse a value that is not a partition.

    Raises:
        ArgumentError: it is not one.
    """
    match given:
        case (str(topic), int(number)) if topic and number >= 0:
            return
        case _:
            raise ArgumentError("partition", given, "a TopicPartition(topic, partition)")


def _milliseconds(tp: TopicPartition, at: object) -> int:
    match at:
        case bool():
            pass
        case int() if at >= 0:
            return at
        case datetime() if at.tzinfo is not None and at.timestamp() >= 0:
            return round(at.timestamp() * 1000)
        case _:
            pass
    expected = "milliseconds since the epoch, or a datetime with a zone"
    raise ArgumentError(f"times[{tp}]", at, expected)


def _with_time(found: ListedOffset | None) -> OffsetAndTimestamp | None:
    if found is None:
        return None
    timestamp = -1 if found.timestamp is None else found.timestamp
    return OffsetAndTimestamp(found.offset, timestamp, found.leader_epoch)


# -- topic history ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _First:
    """A topic as it was seen first: its id, None when not known, and how many partitions."""

    topic_id: bytes | None
    partitions: int


class TopicHistory:
    """Remembers what this consumer has seen of its topics.

    Args:
        cluster: its view; not owned.
        owned: the claims whose topics are compared.
        jumps: moves positions of topics that were recreated.
    """

    def __init__(self, cluster: Cluster, owned: OwnedPartitions, jumps: Jumps) -> None:
        self._cluster = cluster
        self._owned = owned
        self._jumps = jumps
        self._seen = EMPTY_VIEW
        self._first: dict[str, _First] = {}
        self._former: set[bytes] = set()
        self._compared = 0

    def look(self) -> None:
        """Take in the present view; called before anything is asked about a position."""
        view = self._cluster.view
        if view is self._seen and self._compared == self._owned.begun:
            return
        self._compared = self._owned.begun
        if view is not self._seen:
            # An answer about all topics shows which ones an earlier one did not have.
            all_known = view.asked is None and self._seen.asked is None
            self._remember(view, new=all_known)
            self._seen = view
        for owned in self._owned:
            topic_id = view.topic_id(owned.tp.topic)
            if topic_id in (None, owned.topic_id) or topic_id in self._former:
                continue
            if owned.topic_id is not None:
                self._former.add(owned.topic_id)
                self._jumps.recreated(owned)
            owned.topic_id = topic_id

    def _remember(self, view: ClusterView, *, new: bool) -> None:
        for name, topic in view.topics.items():
            if name in self._first:
                continue
            if topic.is_gone or (new and topic.partitions):
                self._first[name] = _First(None, 0)
            elif topic.partitions:
                self._first[name] = _First(topic.topic_id, max(topic.partitions) + 1)

    def is_new(self, tp: TopicPartition) -> bool:
        """Tell whether a partition was not there when its topic was first seen."""
        first = self._first.get(tp.topic)
        if first is None:
            return False
        topic_id = self._cluster.view.topic_id(tp.topic)
        same = None in (topic_id, first.topic_id) or topic_id == first.topic_id
        return tp.partition >= first.partitions or not same
