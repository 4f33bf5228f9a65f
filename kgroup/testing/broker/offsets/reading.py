"""OffsetFetch: the committed offsets of groups, as their coordinators answer it.

Decides: that nothing unknown is an error except a topic id (`broker_facts.md` E5, K4), that the
member fields of version 9 are of no interest to a classic group, which partitions are unstable
(E6, KIP-447), and where the group's own error stands: at each partition in version 1, at the top up
to 7, at the group from 8 on (KIP-709).
Never: reads what open transactions have committed.

Rows: The partitions that one request names, and what becomes of each. Decides: which of them exist,
and in which order an answer lists them: refused ones first, topics in the order in which they were
first listed; as real brokers merge their two lists. Never: judges anything but existence.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.offsets.store import OffsetStore
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import (
    OffsetCommitRequestPartition,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
    TxnOffsetCommitRequestPartition,
)

_GROUPS_SINCE = 8
_GROUP_ERROR_SINCE = 2
_IDS_SINCE = 10


@dataclass(frozen=True, slots=True)
class _Found:
    """What is answered for one partition; the defaults are those of "nothing was committed"."""

    index: int
    code: ErrorCode = ErrorCode.NONE
    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class _FoundTopic:
    """What is answered for one topic; `topic_id` is all zero before version 10."""

    name: str
    topic_id: bytes
    partitions: tuple[_Found, ...]


class Reading:
    """OffsetFetch of one cluster.

    Args:
        coordinators: the groups.
        cluster: the topics' ids.
    """

    def __init__(self, coordinators: Coordinators, cluster: Cluster) -> None:
        self._coordinators = coordinators
        self._cluster = cluster

    def offset_fetch(self, asked: Asked, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """Answer OffsetFetch."""
        if asked.version < _GROUPS_SINCE:
            return self._of_one_group(asked, request)
        groups = [self._of(asked, request, each) for each in request.groups]
        return OffsetFetchResponse(groups=tuple(groups))

    # -- versions 1 to 7 -------------------------------------------------------------------------

    def _of_one_group(self, asked: Asked, request: OffsetFetchRequest) -> OffsetFetchResponse:
        code = self._coordinators.refusal(asked.node_id, request.group_id)
        wanted = None
        if request.topics is not None:
            wanted = [(each.name, each.partition_indexes) for each in request.topics]
        if code and asked.version >= _GROUP_ERROR_SINCE:
            return OffsetFetchResponse(error_code=code)
        if code:
            return OffsetFetchResponse(topics=_old_rows(_all_refused(wanted or [], code)))
        store = self._coordinators.shard_of(request.group_id).offsets
        asking = _Asking(store, request.group_id, request.require_stable)
        return OffsetFetchResponse(topics=_old_rows(asking.find(wanted)))

    # -- versions 8 and up -----------------------------------------------------------------------

    def _of(
        self, asked: Asked, request: OffsetFetchRequest, group: OffsetFetchRequestGroup
    ) -> OffsetFetchResponseGroup:
        code = self._coordinators.refusal(asked.node_id, group.group_id)
        if code:
            return OffsetFetchResponseGroup(group_id=group.group_id, topics=(), error_code=code)
        shard = self._coordinators.shard_of(group.group_id)
        consumers = shard.consumer_groups.get(group.group_id)
        if consumers is not None:
            code = consumers.refusal_of_fetch(group.member_id, group.member_epoch)
        if code:
            return OffsetFetchResponseGroup(group_id=group.group_id, topics=(), error_code=code)
        asking = _Asking(shard.offsets, group.group_id, request.require_stable)
        by_id = asked.version >= _IDS_SINCE
        found = self._by_id(asking, group) if by_id else self._by_name(asking, group)
        return OffsetFetchResponseGroup(group_id=group.group_id, topics=_rows(found))

    def _by_name(self, asking: "_Asking", group: OffsetFetchRequestGroup) -> Iterable[_FoundTopic]:
        if group.topics is None:
            return asking.find(None)
        return asking.find([(each.name, each.partition_indexes) for each in group.topics])

    def _by_id(self, asking: "_Asking", group: OffsetFetchRequestGroup) -> Iterable[_FoundTopic]:
        """Find by topic id; what has none any more is left out, or refused if it was asked for."""
        if group.topics is None:
            for found in asking.find(None):
                topic = self._cluster.topic(found.name)
                if topic is not None:
                    yield _FoundTopic(topic.name, topic.topic_id, found.partitions)
            return
        refused = []
        for each in group.topics:
            topic = self._cluster.topic_by_id(each.topic_id)
            if topic is None:
                code = ErrorCode.UNKNOWN_TOPIC_ID
                lost = tuple(_Found(index, code) for index in each.partition_indexes)
                refused.append(_FoundTopic("", each.topic_id, lost))
                continue
            partitions = asking.partitions(topic.name, each.partition_indexes)
            yield _FoundTopic(topic.name, topic.topic_id, partitions)
        yield from refused


@dataclass(frozen=True, slots=True)
class _Asking:
    """One group's part of a request.

    Args:
        store: where its offsets are.
        group_id: the group.
        require_stable: whether offsets of open transactions make a partition unreadable.
    """

    store: OffsetStore
    group_id: str
    require_stable: bool

    def find(self, wanted: Sequence[tuple[str, Sequence[int]]] | None) -> Iterator[_FoundTopic]:
        """Find offsets by topic name.

        Args:
            wanted: (topic, partition numbers); None = all that have been committed.
        """
        for name, indexes in self._everything() if wanted is None else wanted:
            yield _FoundTopic(name, bytes(16), self.partitions(name, indexes))

    def _everything(self) -> list[tuple[str, list[int]]]:
        topics: dict[str, list[int]] = {}
        for partition in self.store.of(self.group_id):
            topics.setdefault(partition.topic, []).append(partition.partition)
        return [*topics.items()]

    def partitions(self, topic: str, indexes: Sequence[int]) -> tuple[_Found, ...]:
        """Find the offsets of some partitions of a topic."""
        return tuple(self._partition(TopicPartition(topic, index)) for index in indexes)

    def _partition(self, partition: TopicPartition) -> _Found:
        index = partition.partition
        if self.require_stable and self.store.is_unstable(self.group_id, partition):
            return _Found(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        commit = self.store.of(self.group_id).get(partition)
        if commit is None:
            return _Found(index)
        epoch = -1 if commit.leader_epoch is None else commit.leader_epoch
        return _Found(index, ErrorCode.NONE, commit.offset, epoch, commit.metadata)


def _all_refused(
    wanted: Sequence[tuple[str, Sequence[int]]], code: ErrorCode
) -> Iterator[_FoundTopic]:
    for name, indexes in wanted:
        yield _FoundTopic(name, bytes(16), tuple(_Found(index, code) for index in indexes))


def _old_rows(found: Iterable[_FoundTopic]) -> tuple[OffsetFetchResponseTopic, ...]:
    return tuple(
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=tuple(
                OffsetFetchResponsePartition(
                    partition_index=each.index,
                    committed_offset=each.offset,
                    committed_leader_epoch=each.leader_epoch,
                    metadata=each.metadata,
                    error_code=each.code,
                )
                for each in topic.partitions
            ),
        )
        for topic in found
    )


def _rows(found: Iterable[_FoundTopic]) -> tuple[OffsetFetchResponseTopics, ...]:
    return tuple(
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=tuple(
                OffsetFetchResponsePartitions(
                    partition_index=each.index,
                    committed_offset=each.offset,
                    committed_leader_epoch=each.leader_epoch,
                    metadata=each.metadata,
                    error_code=each.code,
                )
                for each in topic.partitions
            ),
        )
        for topic in found
    )


# -- rows ------------------------------------------------------------------------------------------


Offset: TypeAlias = OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition


@dataclass(frozen=True, slots=True)
class Row:
    """One partition of a request.

    Args:
        topic: its name, empty while only the id is known.
        topic_id: as in the request; all zero where topics are named by name.
        partition: its number.
        offset: what to commit for it; None in requests that commit nothing.
    """

    topic: str
    topic_id: bytes
    partition: int
    offset: Offset | None = None

    @property
    def tp(self) -> TopicPartition:
        """The partition it means."""
        return TopicPartition(self.topic, self.partition)


Outcome: TypeAlias = tuple[Row, ErrorCode]


def sort_out(
    rows: Sequence[Row], cluster: Cluster, *, by_id: bool = False
) -> tuple[list[Outcome], list[Row]]:
    """Part rows into those that are refused and those whose partition exists.

    Args:
        rows: of one request.
        cluster: which has the topics.
        by_id: topics are named by id; the rows returned have the names too.
    """
    refused: list[Outcome] = []
    known: list[Row] = []
    for row in rows:
        topic = cluster.topic_by_id(row.topic_id) if by_id else cluster.topic(row.topic)
        if topic is None:
            unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refused.append((row, unknown))
            continue
        named = Row(topic.name, row.topic_id, row.partition, row.offset)
        if cluster.partition(named.tp) is None:
            refused.append((named, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            known.append(named)
    return refused, known


def by_topic(
    outcomes: Iterable[Outcome],
) -> Iterable[tuple[tuple[str, bytes], list[tuple[int, ErrorCode]]]]:
    """List outcomes as answers do: (name, id) of a topic, then (number, code) of its partitions."""
    topics: dict[tuple[str, bytes], list[tuple[int, ErrorCode]]] = {}
    for row, code in outcomes:
        topics.setdefault((row.topic, row.topic_id), []).append((row.partition, code))
    return topics.items()
