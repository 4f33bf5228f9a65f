"""What a commit says and what its answer means, partition by partition.

Decides: the OffsetCommit request for a generation, and for each partition of the answer whether
it is committed, refused, or to be sent again; and what the membership must hear.
Never: queues or sends.
KIPs: 211, 320 (leader epochs), 345, 848. A member of a group never sends generation -1: an empty
group takes such a commit from anybody, so a zombie could overwrite the last owner.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import field

from kgroup.codes import ApiKey, ErrorCode, error_name
from kgroup.machine.reactions import Reaction, reaction
from kgroup.types import (
    CommitStatus,
    Generation,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)
from kgroup.values import dataclass
from kgroup.wire.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

_TELLING = (
    Reaction.FENCE,
    Reaction.LOSE_MEMBER,
    Reaction.LOSE_GENERATION,
    Reaction.FIND_COORDINATOR,
    Reaction.REJOIN,
    Reaction.RENEW_EPOCH,
    Reaction.UNAUTHORIZED,
)
"""Reactions the membership must hear of, the gravest first."""

_AGAIN = (Reaction.RETRY, Reaction.REJOIN, Reaction.RENEW_EPOCH, Reaction.FIND_COORDINATOR)
"""The coordinator applied nothing: the partition may be sent again while its claim holds."""


@dataclass(frozen=True, slots=True)
class CommitAnswer:
    """One answer, read.

    Args:
        outcomes: partitions whose fate is known.
        again: partitions nothing was applied for.
        codes: why, for those.
        signal: the gravest reaction the membership must hear of, None without one.
        code: the error code behind `signal`.
    """

    outcomes: Mapping[TopicPartition, PartitionOutcome]
    again: frozenset[TopicPartition]
    signal: Reaction | None = None
    code: int = 0
    codes: Mapping[TopicPartition, int] = field(default_factory=dict)


def commit_request(
    generation: Generation, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    """Return the commit of a member, stamped with the generation it has now."""
    return OffsetCommitRequest(
        group_id=generation.group_id,
        generation_id_or_member_epoch=generation.generation_id,
        member_id=generation.member_id,
        group_instance_id=generation.group_instance_id,
        topics=_topics(offsets),
    )


def standalone_commit_request(
    group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    """Return the commit of a consumer that assigned by hand: generation -1 and no member id."""
    return OffsetCommitRequest(group_id=group_id, topics=_topics(offsets))


def read_commit(
    offsets: Mapping[TopicPartition, OffsetAndMetadata], answer: OffsetCommitResponse
) -> CommitAnswer:
    """Read an answer; a partition it does not mention exactly once is unknown, never committed.

    Args:
        offsets: what was asked.
        answer: what came back.
    """
    outcomes: dict[TopicPartition, PartitionOutcome] = {}
    again: set[TopicPartition] = set()
    signals: dict[Reaction, int] = {}
    codes = _codes(answer)
    for tp, offset in offsets.items():
        if tp not in codes:
            reason = "the answer does not mention the partition, or not only once"
            outcomes[tp] = PartitionOutcome(CommitStatus.UNKNOWN, offset, None, reason)
            continue
        code = codes[tp]
        verdict = reaction(ApiKey.OFFSET_COMMIT, code)
        if code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:  # that is the partition's own affair
            signals.setdefault(verdict, code)
        if verdict is Reaction.SUCCEED:
            outcomes[tp] = PartitionOutcome(CommitStatus.COMMITTED, offset)
        elif verdict in _AGAIN:
            again.add(tp)
        else:
            outcomes[tp] = _refused(offset, code)
    signal = next((each for each in _TELLING if each in signals), None)
    code = 0 if signal is None else signals[signal]
    why = {tp: codes[tp] for tp in again}
    return CommitAnswer(outcomes, frozenset(again), signal, code, why)


def _codes(answer: OffsetCommitResponse) -> dict[TopicPartition, int]:
    """Return the error code of each partition that has exactly one."""
    rows = [
        (TopicPartition(topic.name, partition.partition_index), partition.error_code)
        for topic in answer.topics
        for partition in topic.partitions
    ]
    times = Counter(tp for tp, _ in rows)
    return {tp: code for tp, code in rows if times[tp] == 1}


def _refused(offset: OffsetAndMetadata, code: int) -> PartitionOutcome:
    """Return the outcome of a partition the coordinator refused with `code`."""
    return PartitionOutcome(CommitStatus.REFUSED, offset, code, error_name(code))


def _topics(
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
) -> tuple[OffsetCommitRequestTopic, ...]:
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for tp, offset in sorted(offsets.items()):
        by_topic[tp.topic].append(
            OffsetCommitRequestPartition(
                partition_index=tp.partition,
                committed_offset=offset.offset,
                committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
                committed_metadata=offset.metadata,
            )
        )
    return tuple(
        OffsetCommitRequestTopic(name=topic, partitions=tuple(partitions))
        for topic, partitions in by_topic.items()
    )
