"""OffsetCommit and TxnOffsetCommit, as the coordinator of a group answers them.

Decides: which member may commit in which phase, in which order faults are found, and that an
accepted OffsetCommit is as good as a heartbeat (`broker_facts.md` A2, A3, B2, B23, D3, E1-E4, E7,
S4). Unknown partitions are refused first, by any broker and to anybody; then the place, the group,
the instance, the member, the generation and the phase are looked at; the metadata's length last.
TxnOffsetCommit is laxer: it may come without a member id, and while the group completes a round.
Never: decides which commit counts; `store` does. Never judges a producer; `producers` does.
"""

from collections.abc import Callable, Sequence
from functools import partial

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.consumer_groups.group import ConsumerGroup
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.shard import Shard
from kgroup.testing.broker.offsets.producers import refusal_of_producer
from kgroup.testing.broker.offsets.reading import Outcome, Row, by_topic, sort_out
from kgroup.testing.broker.offsets.store import Committed
from kgroup.testing.broker.transactions.coordinator import TransactionCoordinators
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_NO_RETENTION = -1
_IDS_SINCE = 10
_NOT_FOUND_SINCE = 9
_LOADING_SINCE = 2
_RENEWING = (Phase.PREPARING, Phase.STABLE)


@dataclass(frozen=True, slots=True)
class _Committer:
    """The sender of a commit.

    Args:
        member_id: empty without membership.
        instance_id: None without one.
        generation_id: negative without membership.
        is_transactional: whether a transaction commits.
    """

    member_id: str
    instance_id: str | None
    generation_id: int
    is_transactional: bool

    @property
    def is_nobody(self) -> bool:
        """Whether it claims no membership at all."""
        return self.generation_id < 0 and not self.member_id and self.instance_id is None


class Commits:
    """What commits offsets on one cluster.

    Args:
        context: clock, settings, which rules hold.
        coordinators: the groups.
        cluster: the topics.
        transactions: the producers of transactions.
    """

    def __init__(
        self,
        context: Context,
        coordinators: Coordinators,
        cluster: Cluster,
        transactions: TransactionCoordinators,
    ) -> None:
        self._context = context
        self._coordinators = coordinators
        self._cluster = cluster
        self._transactions = transactions

    # -- OffsetCommit ----------------------------------------------------------------------------

    def offset_commit(self, asked: Asked, request: OffsetCommitRequest) -> OffsetCommitResponse:
        """Answer OffsetCommit."""
        rows = [
            Row(topic.name, topic.topic_id, each.partition_index, each)
            for topic in request.topics
            for each in topic.partitions
        ]
        outcomes, known = sort_out(rows, self._cluster, by_id=asked.version >= _IDS_SINCE)
        if known:
            outcomes += self._commit(asked, request, known)
        return OffsetCommitResponse(
            topics=tuple(
                OffsetCommitResponseTopic(
                    name=name,
                    topic_id=topic_id,
                    partitions=tuple(
                        OffsetCommitResponsePartition(partition_index=index, error_code=code)
                        for index, code in codes
                    ),
                )
                for (name, topic_id), codes in by_topic(outcomes)
            )
        )

    def _commit(
        self, asked: Asked, request: OffsetCommitRequest, rows: Sequence[Row]
    ) -> list[Outcome]:
        shard = self._coordinators.shard_of(request.group_id)
        code = self._coordinators.refusal(asked.node_id, request.group_id)
        code = code or self._refusal_to_missing(shard, asked, request)
        if code:
            return [(row, code) for row in rows]
        code = self._judge(shard, asked, request, rows)
        if code:
            return [(row, code) for row in rows]
        expires_at = self._expiry(request.retention_time_ms)
        keep = partial(shard.offsets.commit, request.group_id)
        return [(row, self._keep(row, keep, expires_at)) for row in rows]

    def _judge(
        self, shard: Shard, asked: Asked, request: OffsetCommitRequest, rows: Sequence[Row]
    ) -> ErrorCode:
        """Judge a commit to a group that may be there; one that counts renews a session (D3)."""
        consumers = shard.consumer_groups.get(request.group_id)
        if consumers is not None:
            topics = ((self._cluster.topic(row.topic), row.partition) for row in rows)
            places = [(topic.topic_id, number) for topic, number in topics if topic is not None]
            epoch = request.generation_id_or_member_epoch
            return consumers.refusal_of_commit(request.member_id, epoch, asked.version, places)
        group = shard.make(request.group_id)
        committer = _Committer(
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            is_transactional=False,
        )
        code = _refusal(group, committer)
        if not code and group.phase in _RENEWING:
            shard.rounds.renew(group, group.members[committer.member_id])
        return code

    def _refusal_to_missing(
        self, shard: Shard, asked: Asked, request: OffsetCommitRequest
    ) -> ErrorCode:
        """Judge a commit to a group that may not exist (A2, E3)."""
        known = request.group_id in shard.groups or request.group_id in shard.consumer_groups
        if request.generation_id_or_member_epoch < 0 or known:
            return ErrorCode.NONE
        if self._context.is_old or asked.version < _NOT_FOUND_SINCE:
            return ErrorCode.ILLEGAL_GENERATION
        return ErrorCode.GROUP_ID_NOT_FOUND

    def _expiry(self, retention_time_ms: int) -> float | None:
        if retention_time_ms == _NO_RETENTION:
            return None
        return self._context.agenda.now + retention_time_ms / 1000

    # -- TxnOffsetCommit -------------------------------------------------------------------------

    def txn_offset_commit(
        self, asked: Asked, request: TxnOffsetCommitRequest
    ) -> TxnOffsetCommitResponse:
        """Answer TxnOffsetCommit."""
        rows = [
            Row(topic.name, b"", each.partition_index, each)
            for topic in request.topics
            for each in topic.partitions
        ]
        outcomes, known = sort_out(rows, self._cluster)
        if known:
            outcomes += self._hold(asked, request, known)
        return TxnOffsetCommitResponse(
            topics=tuple(
                TxnOffsetCommitResponseTopic(
                    name=name,
                    partitions=tuple(
                        TxnOffsetCommitResponsePartition(partition_index=index, error_code=code)
                        for index, code in codes
                    ),
                )
                for (name, _), codes in by_topic(outcomes)
            )
        )

    def _hold(
        self, asked: Asked, request: TxnOffsetCommitRequest, rows: Sequence[Row]
    ) -> list[Outcome]:
        code = self._refusal_of_transaction(asked, request)
        if code:
            return [(row, code) for row in rows]
        shard = self._coordinators.shard_of(request.group_id)
        keep = partial(shard.offsets.hold, request.producer_id, request.group_id)
        return [(row, self._keep(row, keep, None)) for row in rows]

    def _refusal_of_transaction(self, asked: Asked, request: TxnOffsetCommitRequest) -> ErrorCode:
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        code = self._coordinators.refusal(asked.node_id, request.group_id)
        if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and asked.version < _LOADING_SINCE:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE  # KAFKA-7296: old producers die of 14
        code = code or refusal_of_producer(self._transactions, asked, request)
        if code:
            return code
        shard = self._coordinators.shard_of(request.group_id)
        consumers = shard.consumer_groups.get(request.group_id)
        if consumers is not None:
            return _refusal_of_epoch(consumers, request)
        missing = request.group_id not in shard.groups
        if missing and request.generation_id >= 0 and not self._context.is_old:
            return ErrorCode.ILLEGAL_GENERATION  # A3: the old coordinator makes the group
        committer = _Committer(
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            is_transactional=True,
        )
        return _refusal(shard.make(request.group_id), committer)

    # -- both ------------------------------------------------------------------------------------

    def _keep(
        self, row: Row, keep: Callable[[TopicPartition, Committed], None], expires_at: float | None
    ) -> ErrorCode:
        assert row.offset is not None
        metadata = row.offset.committed_metadata or ""
        if _utf16_length(metadata) > self._context.settings.offset_metadata_limit:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        epoch = row.offset.committed_leader_epoch
        commit = Committed(
            offset=row.offset.committed_offset,
            leader_epoch=None if epoch < 0 else epoch,
            metadata=metadata,
            committed_at=self._context.agenda.now,
            expires_at=expires_at,
        )
        keep(row.tp, commit)
        return ErrorCode.NONE


def _refusal(group: Group, committer: _Committer) -> ErrorCode:
    """Judge the sender, then the phase (E1-E3, E7)."""
    if committer.generation_id < 0 and group.phase is Phase.EMPTY:
        return ErrorCode.NONE  # whatever the member id is
    if committer.is_nobody:
        lax = committer.is_transactional
        return ErrorCode.NONE if lax else ErrorCode.UNKNOWN_MEMBER_ID
    code = group.refusal(committer.member_id, committer.instance_id, committer.generation_id)
    if code or committer.is_transactional or group.phase is not Phase.COMPLETING:
        return code
    return ErrorCode.REBALANCE_IN_PROGRESS


def _refusal_of_epoch(group: ConsumerGroup, request: TxnOffsetCommitRequest) -> ErrorCode:
    """Judge the sender of a transaction's offsets of a KIP-848 group."""
    if request.generation_id < 0 and not request.member_id:
        return ErrorCode.NONE
    member = group.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    current = request.generation_id == member.epoch
    return ErrorCode.NONE if current else ErrorCode.ILLEGAL_GENERATION


def _utf16_length(text: str) -> int:
    """Count as Java does: a character outside the basic plane counts twice."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
