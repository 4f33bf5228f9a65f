"""Asks the leaders of partitions where their logs begin and end, and what was written when.

Decides: which leader is asked, and which answers are worth another question (N13): an omitted or
doubled partition and a leader that moved are; a refusal stays with its partition.
Never: decides where a consumer starts; that is `kgroup.offsets`.
KIPs: 79 (by timestamp), 98 (isolation), 320 (leader epochs).
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Final

import anyio

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, DecodeError, KGroupError, TransportError
from kgroup.machine.backoff import Backoff
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.cluster import Cluster, ClusterView, Lane
from kgroup.net.verdict import Verdict, refusal, verdict
from kgroup.types import IsolationLevel, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

_CONSUMER: Final = -1
"""What a consumer sends as replica id."""


class OffsetSpec(Enum):
    """A place in a log that has a name."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """One place in a log.

    Args:
        offset: its offset.
        timestamp: of the record there, ms since the epoch; None when the broker did not say.
        leader_epoch: of the record there, None when the broker did not say (KIP-320).
    """

    offset: int
    timestamp: int | None = None
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class LeaderSays:
    """One leader's answer about one partition.

    Args:
        code: error code, 0 without one.
        found: the place; None when there is none, or an error instead.
    """

    code: int
    found: ListedOffset | None = None


@dataclass(slots=True)
class ListedOffsets:
    """What became of each partition asked about; every one is in exactly one of the two.

    Args:
        offsets: what was found; None where no record is that young.
        errors: why nothing was found.
    """

    offsets: dict[TopicPartition, ListedOffset | None] = field(default_factory=dict)
    errors: dict[TopicPartition, Exception] = field(default_factory=dict)

    def all(self) -> Mapping[TopicPartition, ListedOffset | None]:
        """Return every partition's offset, or raise the error of the first that has one."""
        for tp in sorted(self.errors):
            raise self.errors[tp]
        return self.offsets


async def list_offsets(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, OffsetSpec | int],
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    view: ClusterView | None = None,
    timeout: float,
) -> ListedOffsets:
    """Find offsets.

    Args:
        cluster: running.
        wanted: partition -> a named place, or a timestamp in ms since the epoch, not negative:
            the first record at or after it.
        isolation: with READ_COMMITTED the latest offset is the last stable one.
        view: what the caller knows of the leaders, of topics that the cluster does not watch.
        timeout: seconds for all partitions together.

    Returns:
        An offset or an error for every partition; a partition without an answer in time keeps
        its last error, or TimeoutError.

    Raises:
        ValueError: a timestamp is negative.
    """
    if any(isinstance(at, int) and at < 0 for at in wanted.values()):
        raise ValueError("a timestamp cannot be negative; OffsetSpec names the ends of a log")
    listed = ListedOffsets()
    search = _Search(cluster, dict(wanted), isolation, listed, view)
    backoff = Backoff(cluster.settings.retry_backoff, cluster.settings.retry_backoff_max)
    dice = cluster.ports.dice_for(f"LIST_OFFSETS of {next(iter(wanted.items()), None)}")
    with anyio.move_on_after(timeout):
        while search.open:
            await search.round()
            if search.open:
                backoff = backoff.failed()
                await anyio.sleep(backoff.pause(dice.uniform(0, 1)))
    for tp in search.open:
        late = TimeoutError(f"LIST_OFFSETS for {tp}: no answer within {timeout:g} s")
        listed.errors.setdefault(tp, late)
    return listed


class _Search:
    """The partitions that still lack an answer, and one round of questions about them."""

    def __init__(
        self,
        cluster: Cluster,
        wanted: dict[TopicPartition, OffsetSpec | int],
        isolation: IsolationLevel,
        listed: ListedOffsets,
        known: ClusterView | None,
    ) -> None:
        self._cluster = cluster
        self._isolation = isolation
        self._listed = listed
        self._known = cluster.view if known is None else known
        self._view: ClusterView | None = None
        self.open = wanted

    async def round(self) -> None:
        """Ask every leader once; what failed for now stays open."""
        if not await self._find_leaders():
            return
        assert self._view is not None
        by_leader: dict[int, list[TopicPartition]] = {}
        for tp in self.open:
            leader = self._view.leader(tp)
            if leader is not None:
                by_leader.setdefault(leader, []).append(tp)
        self._note_leaderless()
        async with anyio.create_task_group() as tasks:
            for node_id, partitions in by_leader.items():
                tasks.start_soon(self._ask, node_id, partitions)

    async def _find_leaders(self) -> bool:
        """Use what is known first, and ask when that was not enough."""
        known = self._known
        if self._view is None and all(known.leader(tp) is not None for tp in self.open):
            self._view = known
            return True
        topics = frozenset(tp.topic for tp in self.open)
        try:
            self._view = await self._cluster.look_up(
                topics, timeout=self._cluster.settings.request_timeout
            )
        except (BrokerError, TransportError, DecodeError, TimeoutError) as error:
            for tp in self.open:
                self._listed.errors[tp] = error
            return False
        return True

    def _note_leaderless(self) -> None:
        assert self._view is not None
        for tp in list(self.open):
            if self._view.leader(tp) is not None:
                continue
            topic = self._view.topics.get(tp.topic)
            code = topic.error if topic is not None and topic.error else 0
            if not code:
                known = topic is not None and tp.partition in topic.partitions
                missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                code = ErrorCode.LEADER_NOT_AVAILABLE if known else missing
            self._failed(tp, code)

    async def _ask(self, node_id: int, partitions: list[TopicPartition]) -> None:
        assert self._view is not None
        try:
            said = await ask_leader(
                self._cluster,
                node_id,
                self._view,
                {tp: self.open[tp] for tp in partitions},
                isolation=self._isolation,
                timeout=self._cluster.settings.request_timeout,
            )
        except (TransportError, DecodeError, TimeoutError) as error:
            for tp in partitions:
                self._listed.errors[tp] = error
            return
        except KGroupError as error:
            for tp in partitions:
                self._listed.errors[tp] = error
                del self.open[tp]
            return
        for tp in partitions:
            self._settle(tp, said.get(tp))

    def _settle(self, tp: TopicPartition, said: LeaderSays | None) -> None:
        if said is None:
            reason = f"not exactly one row for {tp}"
            self._listed.errors[tp] = DecodeError("ListOffsets answer", reason)
        elif said.code:
            self._failed(tp, said.code)
        else:
            self._found(tp, said.found)

    def _found(self, tp: TopicPartition, offset: ListedOffset | None) -> None:
        self._listed.offsets[tp] = offset
        self._listed.errors.pop(tp, None)
        del self.open[tp]

    def _failed(self, tp: TopicPartition, code: int) -> None:
        self._listed.errors[tp] = refusal(ApiKey.LIST_OFFSETS, code, (str(tp),))
        if verdict(ApiKey.LIST_OFFSETS, code) is Verdict.REFUSED:
            del self.open[tp]


async def ask_leader(
    cluster: Cluster,
    node_id: int,
    view: ClusterView,
    wanted: Mapping[TopicPartition, OffsetSpec | int],
    *,
    isolation: IsolationLevel,
    timeout: float,
) -> dict[TopicPartition, LeaderSays]:
    """Ask one leader once; partitions its answer leaves out, or has twice, are absent (N13).

    Args:
        cluster: running.
        node_id: the broker to ask.
        view: what says that it leads them, and under which epoch.
        wanted: partition -> a named place, or a timestamp as for `list_offsets`.
        isolation: with READ_COMMITTED the latest offset is the last stable one.
        timeout: seconds.

    Raises:
        TimeoutError, TransportError, ProtocolError, UnsupportedError: as `Cluster.send`.
    """
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for tp, at in wanted.items():
        epoch = view.leader_epoch(tp)
        row = ListOffsetsPartition(
            partition_index=tp.partition,
            current_leader_epoch=-1 if epoch is None else epoch,
            timestamp=at.value if isinstance(at, OffsetSpec) else at,
        )
        by_topic.setdefault(tp.topic, []).append(row)
    request = ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=isolation.value,
        topics=tuple(
            ListOffsetsTopic(name=name, partitions=tuple(rows)) for name, rows in by_topic.items()
        ),
        timeout_ms=round(timeout * 1000),
    )
    answer = await cluster.send(node_id, request, lane=Lane.CONTROL, timeout=timeout)
    found: dict[TopicPartition, list[ListOffsetsPartitionResponse]] = {}
    for topic in answer.topics:
        for each in topic.partitions:
            found.setdefault(TopicPartition(topic.name, each.partition_index), []).append(each)
    return {tp: _said(found[tp][0]) for tp in wanted if len(found.get(tp, ())) == 1}


def _said(row: ListOffsetsPartitionResponse) -> LeaderSays:
    """Read one answer; a negative offset means that there is no such record."""
    if reaction(ApiKey.LIST_OFFSETS, row.error_code) is Reaction.NOTHING:
        return LeaderSays(ErrorCode.NONE)
    if row.error_code or row.offset < 0:
        return LeaderSays(row.error_code)
    return LeaderSays(
        ErrorCode.NONE,
        ListedOffset(
            offset=row.offset,
            timestamp=row.timestamp if row.timestamp >= 0 else None,
            leader_epoch=row.leader_epoch if row.leader_epoch >= 0 else None,
        ),
    )


# -- epoch ends ------------------------------------------------------------------------------------
#
# Asks the leader of partitions where an epoch ends in its log, to notice truncation.
#
# Decides: the question for one broker, and what each part of its answer says.
# Never: decides what a truncated log means for a position; answers for what was not asked.
# KIPs: 101, 320.


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """Where the largest epoch not above the one asked about ends in a leader's log.

    Args:
        leader_epoch: that epoch, None when the leader knows none.
        end_offset: first offset after it, None when the leader knows none.
        code: error code, 0 without one.
    """

    leader_epoch: int | None
    end_offset: int | None
    code: int = 0

    @property
    def known(self) -> bool:
        """Whether the leader could tell."""
        return self.leader_epoch is not None and self.end_offset is not None


async def ask_epoch_ends(
    cluster: Cluster,
    node_id: int,
    view: ClusterView,
    wanted: Mapping[TopicPartition, int],
    *,
    timeout: float,
) -> dict[TopicPartition, EpochEnd]:
    """Ask one leader; partitions its answer leaves out, or has twice, are absent.

    Args:
        cluster: running.
        node_id: the broker to ask.
        view: what says that it leads them, and under which epoch.
        wanted: partition -> the epoch whose end is asked for.
        timeout: seconds.

    Raises:
        UnsupportedVersionError: the broker is too old; nothing was sent.
        TimeoutError, TransportError, ProtocolError: as `Cluster.send`.
    """
    rows: dict[str, list[OffsetForLeaderPartition]] = {}
    for tp, epoch in wanted.items():
        leader_epoch = view.leader_epoch(tp)
        rows.setdefault(tp.topic, []).append(
            OffsetForLeaderPartition(
                partition=tp.partition,
                current_leader_epoch=-1 if leader_epoch is None else leader_epoch,
                leader_epoch=epoch,
            )
        )
    topics = (
        OffsetForLeaderTopic(topic=name, partitions=tuple(partitions))
        for name, partitions in rows.items()
    )
    request = OffsetForLeaderEpochRequest(replica_id=-1, topics=tuple(topics))
    answer = await cluster.send(node_id, request, lane=Lane.CONTROL, timeout=timeout)
    found: dict[TopicPartition, list[OffsetForLeaderEpochEndOffset]] = {}
    for topic in answer.topics:
        for row in topic.partitions:
            found.setdefault(TopicPartition(topic.topic, row.partition), []).append(row)
    return {tp: _read(found[tp][0]) for tp in wanted if len(found.get(tp, ())) == 1}


def _read(row: OffsetForLeaderEpochEndOffset) -> EpochEnd:
    return EpochEnd(
        leader_epoch=row.leader_epoch if row.leader_epoch >= 0 else None,
        end_offset=row.end_offset if row.end_offset >= 0 else None,
        code=row.error_code,
    )
