"""What the leader of a coordination partition is asked: records, the start, and cuts.

Decides: what one broker is asked, which part of its answer belongs to which partition, and what an
    answer means for a log that is followed.
Never: sends on the connection of the application's records: a broker answers one request of a
    connection at a time, and a fetch waits there for data. Decides when to ask, or what follows a
    refusal.
KIPs: 101 and 320 (truncation, leader epochs), 227 (no sessions), 516 (topic ids).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from kgroup.backends.marshal.coordination_topic import CoordinationTopic
from kgroup.backends.marshal.followed_log import FollowedLog
from kgroup.backends.marshal.window import LeaderOf, find_start, window_seconds
from kgroup.codes import error_name
from kgroup.errors import DecodeError, TransportError, UnsupportedVersionError
from kgroup.marshal.rules import MARSHAL_TOPIC, Compat
from kgroup.net.cluster import Cluster, ClusterView, Lane
from kgroup.net.log_offsets import ask_epoch_ends
from kgroup.net.log_places import log_bounds
from kgroup.types import IsolationLevel, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kgroup.wire.vocabulary import ZERO_UUID

READ_LANE: Final = Lane.JOIN
"""The connection for what a group waits for at a broker; nobody joins in a Marshal group."""

WRITE_LANE: Final = Lane.HEARTBEAT
"""The connection for what keeps a member in its group."""

_MAX_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LogQuestion:
    """One partition of one Fetch.

    Args:
        partition: number of the coordination partition.
        offset: first one asked for.
        leader_epoch: of the leader as it is known, None when it is not.
        read_epoch: of the last batch that was read, None without.
    """

    partition: int
    offset: int
    leader_epoch: int | None = None
    read_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class LogFetch:
    """One Fetch.

    Args:
        topic: name of the coordination topic.
        asked: at least one; a broker fills its answer in this order.
        max_wait: longest wait of the broker for data, seconds.
        max_bytes: of one partition; one batch comes however large it is.
    """

    topic: str
    asked: Sequence[LogQuestion]
    max_wait: float
    max_bytes: int


async def fetch_log(
    cluster: Cluster, node_id: int, view: ClusterView, fetch: LogFetch, *, timeout: float
) -> tuple[int, Mapping[int, PartitionData]]:
    """Ask one broker once.

    Args:
        cluster: running.
        node_id: the broker that is asked.
        view: topic ids.
        fetch: what.
        timeout: seconds beyond `max_wait`.

    Returns:
        Error code of the answer as a whole, and what came by partition; what was not asked for is
        left out.

    Raises:
        TimeoutError, TransportError, ProtocolError, UnsupportedVersionError: as `Cluster.send`.
    """
    topic_id = view.topic_id(fetch.topic) or ZERO_UUID
    rows = tuple(_row(each, fetch.max_bytes) for each in fetch.asked)
    request = FetchRequest(
        max_wait_ms=round(fetch.max_wait * 1000),
        min_bytes=1,
        max_bytes=max(_MAX_BYTES, fetch.max_bytes),
        isolation_level=IsolationLevel.READ_UNCOMMITTED.value,
        topics=(FetchTopic(topic=fetch.topic, topic_id=topic_id, partitions=rows),),
    )
    patience = fetch.max_wait + timeout
    answer = await cluster.send(node_id, request, lane=READ_LANE, timeout=patience)
    return answer.error_code, _by_partition(answer, fetch, topic_id)


def says_something(data: PartitionData) -> bool:
    """Tell whether what came of a partition is more than that there is nothing new."""
    return bool(data.records or data.error_code or data.diverging_epoch.end_offset >= 0)


def _row(each: LogQuestion, max_bytes: int) -> FetchPartition:
    return FetchPartition(
        partition=each.partition,
        current_leader_epoch=-1 if each.leader_epoch is None else each.leader_epoch,
        fetch_offset=each.offset,
        last_fetched_epoch=-1 if each.read_epoch is None else each.read_epoch,
        partition_max_bytes=max_bytes,
    )


def _by_partition(
    answer: FetchResponse, fetch: LogFetch, topic_id: bytes
) -> Mapping[int, PartitionData]:
    found: dict[int, list[PartitionData]] = {each.partition: [] for each in fetch.asked}
    for part in answer.responses:
        if part.topic == fetch.topic or (not part.topic and part.topic_id == topic_id):
            for data in part.partitions:
                found.get(data.partition_index, []).append(data)
    if any(len(rows) > 1 for rows in found.values()):
        raise DecodeError("Fetch answer", f"a partition of {fetch.topic} stands in it twice")
    return {number: rows[0] for number, rows in found.items() if rows}


# -- reader settings -------------------------------------------------------------------------------
#
# The settings of a reader of the log of claims.
#
# Decides: names, units and defaults.
# Never: reads a configuration.


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """The settings of a reader; times in seconds.

    Args:
        group_id: the group whose keys are reported.
        topic: name of the coordination topic.
        interval: between heartbeats of this member.
        compat: what records without headers can do.
        append_time: whether the topic's timestamps are the broker's; records correct it.
        whole: whether logs are read from their first record instead of the window.
        writes: whether its owner writes by this machine's clock, which then is compared.
        max_wait: longest wait of a broker for records.
        max_bytes: of one partition in one answer.
        sign_interval: so often a reader that finds nothing new says so.
    """

    group_id: str
    topic: str = MARSHAL_TOPIC
    interval: float = 60.0
    compat: Compat = Compat.AUTO
    append_time: bool = True
    whole: bool = False
    writes: bool = False
    max_wait: float = 0.5
    max_bytes: int = 1024 * 1024
    sign_interval: float = 5.0


# -- log questions ---------------------------------------------------------------------------------


class LogQuestions:
    """Asks leaders.

    Args:
        cluster: running; not owned.
        topic: knows the leaders; not owned.
    """

    def __init__(self, cluster: Cluster, topic: CoordinationTopic) -> None:
        self._cluster = cluster
        self._topic = topic
        self._timeout = cluster.settings.request_timeout

    async def begin(self, each: FollowedLog, interval: float) -> None:
        """Find out where to begin a log, and begin it.

        Args:
            each: the log.
            interval: between heartbeats, seconds.

        Raises:
            BrokerError, TransportError, ProtocolError, TimeoutError: nobody could tell.
        """
        under = self._topic.view.leader_epoch(each.tp)
        start = await find_start(
            LeaderOf(self._cluster, each.tp, self._topic.view, self._timeout),
            window=None if each.whole else window_seconds(interval),
            append_time=each.append_time,
            peek=lambda offset: self.peek(each.tp, offset),
        )
        each.begin(start, under)

    async def peek(
        self, tp: TopicPartition, offset: int, max_bytes: int = 64 * 1024
    ) -> memoryview | bytes:
        """Fetch some records from an offset on, as they are stored.

        Raises:
            TransportError, ProtocolError, TimeoutError: nobody could tell.
        """
        view = self._topic.view
        leader = view.leader(tp)
        if leader is None:
            raise TimeoutError(f"{tp}: nobody leads it")
        question = LogQuestion(tp.partition, offset, view.leader_epoch(tp))
        fetch = LogFetch(tp.topic, [question], 0.0, max_bytes)
        code, found = await fetch_log(self._cluster, leader, view, fetch, timeout=self._timeout)
        data = found.get(tp.partition)
        code = code or (0 if data is None else data.error_code)
        if data is None or code:
            self._topic.moved()
            raise TransportError(f"{tp} at offset {offset}: {error_name(code)}")
        return data.records or b""

    async def confirm(self, each: FollowedLog, node_id: int) -> str | None:
        """Ask a new leader whether its log still holds what was read.

        Args:
            each: the log; its last batch has an epoch.
            node_id: the leader.

        Returns:
            How it lost what was read, None when it did not.

        Raises:
            TransportError, ProtocolError, TimeoutError: it could not tell.
        """
        view, asked = self._topic.view, each.read_epoch
        if asked is None:
            return None
        try:
            found = await ask_epoch_ends(
                self._cluster, node_id, view, {each.tp: asked}, timeout=self._timeout
            )
        except UnsupportedVersionError:
            each.under = view.leader_epoch(each.tp)
            return None
        end = found.get(each.tp)
        if end is None or end.code:
            raise TransportError(f"{each.tp}: {error_name(0 if end is None else end.code)}")
        if end.end_offset is None or end.end_offset < each.position:
            return cut_off(each.position, end.end_offset)
        each.under = view.leader_epoch(each.tp)
        return None

    async def why_out_of_range(self, each: FollowedLog) -> str:
        """Say why a leader does not have the position of a log, as far as it tells."""
        asked, view = [each.tp], self._topic.view
        found = await log_bounds(self._cluster, asked, view=view, timeout=self._timeout)
        bounds = found[each.tp]
        if bounds.begin is not None and each.position < bounds.begin:
            return (
                "retention has overtaken its reader: it stood at offset "
                f"{each.position}, and the log begins at {bounds.begin}"
            )
        return cut_off(each.position, bounds.end)


def cut_off(position: int, end: int | None) -> str:
    """Say that a log lost its tail: it ends at `end`, None when its leader does not know."""
    where = "at an offset that its leader does not know" if end is None else f"at offset {end}"
    return f"its tail was cut off {where}, after it was read up to {position}"
