"""Members and administrators that speak of committed offsets to the pure core of a broker.

Decides: nothing; fields left out are those of somebody without membership, and topics are named as
the version wants. The cluster has topics `t` (two partitions) and `u` (one).
"""

from dataclasses import dataclass
from typing import Any

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Group
from kgroup.testing.broker.groups.shard import Shard
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.consumer_protocol import MemberSubscription, encode_subscription
from kgroup.wire.messages import (
    AddOffsetsToTxnRequest,
    DeleteGroupsRequest,
    DescribeGroupsDescribedGroup,
    DescribeGroupsRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    TxnOffsetCommitRequest,
)
from tests.testing.broker.driver import Call, Raw, asking
from tests.testing.broker.offset_rows import (
    Codes,
    Offsets,
    commit_rows,
    delete_rows,
    fetch_rows,
    offsets_of,
    old_fetch_rows,
    txn_rows,
)

NEW, OLD = CoordinatorKind.NEW, CoordinatorKind.OLD
_GROUPS = 8
_IDS = 10


@dataclass(frozen=True, slots=True)
class Membership:
    """A member as its requests name it; the default is nobody."""

    member_id: str = ""
    generation_id: int = -1
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Producer:
    """A transactional producer."""

    transactional_id: str
    producer_id: int
    epoch: int


NOBODY = Membership()


def subscription(*topics: str) -> bytes:
    """Return the bytes of a subscription."""
    return encode_subscription(MemberSubscription(topics=topics))


class Cluster:
    """A client that asks for offsets and groups.

    Args:
        kind: rules of the group coordinator.
        nodes: how many brokers.
        settings: None = the defaults, with sessions from 1 s on.
    """

    def __init__(
        self,
        kind: CoordinatorKind = NEW,
        nodes: int = 1,
        settings: BrokerSettings | None = None,
    ) -> None:
        self.raw: Raw = asking(nodes, kind=kind, settings=settings)
        self.topics = self.raw.core.cluster
        self.topics.create_topic("t", 2)
        self.topics.create_topic("u", 1)

    # -- places ----------------------------------------------------------------------------------

    def shard(self, group_id: str = "g") -> Shard:
        """Return where a group's offsets are."""
        return self.raw.core.coordinators.shard_of(group_id)

    def group(self, group_id: str = "g") -> Group | None:
        """Return a group as its coordinator has it."""
        return self.shard(group_id).groups.get(group_id)

    def home(self, group_id: str = "g") -> int:
        """Return the broker that coordinates a group."""
        home = self.raw.core.coordinators.homes[self.shard(group_id).partition]
        assert home is not None
        return home

    def move(self, node_id: int, group_id: str = "g") -> None:
        """Let another broker coordinate a group."""
        partition = self.shard(group_id).partition
        self.raw.core.coordinators.take_over(partition, node_id, resigned=False)

    # -- members ---------------------------------------------------------------------------------

    def join(self, client: str = "A", *, group_id: str = "g", **fields: Any) -> Call[Any]:
        """Send JoinGroup, and once more with the id that is asked for, if one is."""
        call = self.ask_to_join(client, group_id=group_id, **fields)
        if call.answer is None or call.answer.error_code != ErrorCode.MEMBER_ID_REQUIRED:
            return call
        fields["member_id"] = call.answer.member_id
        return self.ask_to_join(client, group_id=group_id, **fields)

    def ask_to_join(self, client: str = "A", *, group_id: str = "g", **fields: Any) -> Call[Any]:
        """Send JoinGroup once.

        Fields of their own: topics subscribed to, data instead of them, session in seconds.
        """
        topics = fields.pop("topics", ("t",))
        data = fields.pop("data", None) or subscription(*topics)
        session = int(fields.pop("session", 10.0) * 1000)
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session,
            rebalance_timeout_ms=session,
            protocols=(JoinGroupRequestProtocol(name="range", metadata=data),),
            **{"member_id": "", "protocol_type": "consumer", **fields},
        )
        return self.raw.ask(self.home(group_id), request, client=client)

    def joined(self, client: str = "A", *, group_id: str = "g", **fields: Any) -> Membership:
        """Join a group without other members; it is completing its round then."""
        call = self.join(client, group_id=group_id, **fields)
        self.raw.run(0)
        return self.membership(call)

    def membership(self, call: Call[Any]) -> Membership:
        """Return what an answered JoinGroup made of its sender."""
        answer = call.now
        assert isinstance(answer, JoinGroupResponse)
        assert isinstance(call.request, JoinGroupRequest)
        instance_id = call.request.group_instance_id
        return Membership(answer.member_id, answer.generation_id, instance_id)

    def stable(self, client: str = "A", *, group_id: str = "g", **fields: Any) -> Membership:
        """Be the only member of a group, with an assignment."""
        member = self.joined(client, group_id=group_id, **fields)
        self.sync(member, group_id=group_id)
        return member

    def sync(self, member: Membership, *, group_id: str = "g") -> None:
        """Send the leader's SyncGroup."""
        part = SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"part")
        group = self.group(group_id)
        request = SyncGroupRequest(
            group_id=group_id,
            generation_id=member.generation_id,
            member_id=member.member_id,
            protocol_type=None if group is None else group.protocol_type,
            protocol_name="range",
            assignments=(part,),
        )
        self.raw.ask(self.home(group_id), request)

    def leave(self, member: Membership, *, group_id: str = "g") -> None:
        """Leave; the last one leaves the group Empty."""
        request = LeaveGroupRequest(
            group_id=group_id, members=(MemberIdentity(member_id=member.member_id),)
        )
        self.raw.ask(self.home(group_id), request)

    # -- offsets ---------------------------------------------------------------------------------

    def commit(
        self,
        offsets: Offsets | None = None,
        who: Membership = NOBODY,
        *,
        group_id: str = "g",
        version: int = 9,
        node: int | None = None,
        **fields: Any,
    ) -> Codes:
        """Commit, at `t-0` offset 5 unless given; return the code of each partition.

        Fields of a partition: leader_epoch, metadata. Of the request: retention_time_ms.
        """
        row = {name: fields.pop(name) for name in ("leader_epoch", "metadata") if name in fields}
        ids = self._ids if version >= _IDS else None
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=who.generation_id,
            member_id=who.member_id,
            group_instance_id=who.instance_id,
            topics=commit_rows({("t", 0): 5} if offsets is None else offsets, ids, **row),
            **fields,
        )
        answer = self.raw.ask(node or self.home(group_id), request, version=version).now
        names = {topic_id: name for name, topic_id in self._ids.items()}
        return {
            (topic.name or names.get(topic.topic_id, "?"), each.partition_index): each.error_code
            for topic in answer.topics
            for each in topic.partitions
        }

    def code(self, who: Membership = NOBODY, **fields: Any) -> int:
        """Commit one offset and return its code."""
        (code,) = self.commit(None, who, **fields).values()
        return code

    @property
    def _ids(self) -> dict[str, bytes]:
        return {name: topic.topic_id for name, topic in self.topics.topics.items()}

    def fetch(
        self,
        *wanted: tuple[str, int],
        group_id: str = "g",
        version: int = 9,
        node: int | None = None,
        **fields: Any,
    ) -> OffsetFetchResponse:
        """Read offsets: those of the partitions named, or all."""
        stable = fields.pop("require_stable", False)
        if version < _GROUPS:
            request = OffsetFetchRequest(
                group_id=group_id, topics=old_fetch_rows(wanted), require_stable=stable
            )
        else:
            topics = fetch_rows(wanted, self._ids if version >= _IDS else None)
            group = OffsetFetchRequestGroup(group_id=group_id, topics=topics, **fields)
            request = OffsetFetchRequest(groups=(group,), require_stable=stable)
        return self.raw.ask(node or self.home(group_id), request, version=version).now

    def offset(self, topic: str = "t", number: int = 0, *, group_id: str = "g") -> int:
        """Return one committed offset, -1 without one."""
        return offsets_of(self.fetch((topic, number), group_id=group_id))[topic, number][0]

    # -- transactions ----------------------------------------------------------------------------

    def producer(self, transactional_id: str = "x", *, group_id: str = "g") -> Producer:
        """Begin a transaction that a group's offsets belong to."""
        init = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=600_000
        )
        answer = self.raw.ask(1, init, version=4).now
        assert answer.error_code == 0
        producer = Producer(transactional_id, answer.producer_id, answer.producer_epoch)
        self.add_offsets(producer, group_id=group_id)
        return producer

    def add_offsets(self, producer: Producer, *, group_id: str = "g") -> None:
        """Make a group's offsets part of a transaction."""
        request = AddOffsetsToTxnRequest(
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=group_id,
        )
        assert self.raw.ask(1, request, version=3).now.error_code == 0

    def txn_commit(
        self,
        producer: Producer,
        offsets: Offsets | None = None,
        who: Membership = NOBODY,
        *,
        group_id: str = "g",
        version: int = 3,
        **fields: Any,
    ) -> Codes:
        """Commit in a transaction, at `t-0` offset 6 unless given."""
        home = fields.pop("node", None) or self.home(group_id)
        request = TxnOffsetCommitRequest(
            transactional_id=producer.transactional_id,
            group_id=group_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            generation_id=who.generation_id,
            member_id=who.member_id,
            group_instance_id=who.instance_id,
            topics=txn_rows({("t", 0): 6} if offsets is None else offsets, **fields),
        )
        answer = self.raw.ask(home, request, version=version).now
        return {
            (topic.name, each.partition_index): each.error_code
            for topic in answer.topics
            for each in topic.partitions
        }

    def end(self, producer: Producer, *, committed: bool) -> None:
        """End a transaction, marks and all."""
        request = EndTxnRequest(
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=committed,
        )
        assert self.raw.ask(1, request, version=4).now.error_code == 0
        self.raw.run(0)

    # -- administrators --------------------------------------------------------------------------

    def describe(
        self, group_id: str = "g", *, version: int = 5, node: int | None = None, **fields: Any
    ) -> DescribeGroupsDescribedGroup:
        """Describe one group."""
        request = DescribeGroupsRequest(groups=(group_id,), **fields)
        home = node or self.home(group_id)
        (described,) = self.raw.ask(home, request, version=version).now.groups
        return described

    def delete(self, *group_ids: str, node: int | None = None) -> list[int]:
        """Delete groups; return the code of each."""
        home = node or self.home(group_ids[0])
        answer = self.raw.ask(home, DeleteGroupsRequest(groups_names=group_ids)).now
        return [each.error_code for each in answer.results]

    def delete_offsets(
        self, *partitions: tuple[str, int], group_id: str = "g", node: int | None = None
    ) -> tuple[int, Codes]:
        """Delete offsets; return the group's code and that of each partition."""
        request = OffsetDeleteRequest(group_id=group_id, topics=delete_rows(partitions))
        answer = self.raw.ask(node or self.home(group_id), request).now
        codes = {
            (topic.name, each.partition_index): int(each.error_code)
            for topic in answer.topics
            for each in topic.partitions
        }
        return answer.error_code, codes
