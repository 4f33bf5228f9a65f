"""The handle of a consumer group: what tests see of it and do to it.

Decides: which change of the cluster each verb stands for.
Never: keeps state; a handle looks at the cluster anew each time, so it may be kept and reused.
"""

from collections.abc import Collection, Mapping
from typing import TypeAlias, TypeVar

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked
from kgroup.testing.broker.cluster.cluster import OFFSETS_TOPIC
from kgroup.testing.broker.consumer_groups.group import ConsumerGroup
from kgroup.testing.broker.consumer_groups.member import ConsumerMember
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.group_view import (
    GroupView,
    MemberView,
    seen_consumer,
    seen_group,
    seen_member,
    settled,
)
from kgroup.testing.broker.groups.group import Group
from kgroup.testing.broker.groups.member import Member, UnreadableMetadataError
from kgroup.testing.broker.groups.shard import Shard
from kgroup.testing.broker.offsets.store import Committed
from kgroup.testing.broker.server.switchboard import Switchboard
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import JoinGroupRequest, JoinGroupRequestProtocol

Offsets: TypeAlias = (
    Mapping[TopicPartition, int | OffsetAndMetadata]
    | Mapping[TopicPartition, int]
    | Mapping[tuple[str, int], int]
)
"""What can be set as committed."""

M = TypeVar("M", Member, ConsumerMember)

_JOIN_VERSION = 9
_NO_TICKET = 0
"""Tickets of connections begin at 1, so no connection gets the answers to this one."""


class GroupHandle:
    """One consumer group, whether or not it exists yet.

    Args:
        board: connections to the cluster.
        group_id: its name.
    """

    def __init__(self, board: Switchboard, group_id: str) -> None:
        self._board = board
        self.group_id = group_id

    def __repr__(self) -> str:
        return f"<group {self.group_id!r}: {self.state}, {len(self.members)} member(s)>"

    # -- looking ---------------------------------------------------------------------------------

    def view(self) -> GroupView:
        """Take a picture of it."""
        with self._board.looking() as core:
            return seen_group(core, self.group_id)

    @property
    def state(self) -> str:
        """Kafka's word for it, such as Stable; Dead = there is no such group."""
        return self.view().state

    @property
    def generation(self) -> int:
        """Number of the present round, 0 before the first."""
        return self.view().generation

    @property
    def leader(self) -> str | None:
        """Member id of the leader, None without members."""
        return self.view().leader

    @property
    def members(self) -> tuple[MemberView, ...]:
        """Its members, in the order in which they joined."""
        return self.view().members

    @property
    def assignment(self) -> Mapping[str, tuple[TopicPartition, ...]]:
        """What each member was assigned last: member id -> partitions."""
        return {member.member_id: member.partitions for member in self.members}

    @property
    def offsets(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """What is committed."""
        return self.view().offsets

    @property
    def committed(self) -> Mapping[tuple[str, int], int]:
        """What is committed, in plain values: (topic, partition) -> offset."""
        return {(tp.topic, tp.partition): each.offset for tp, each in self.offsets.items()}

    def member(self, who: str) -> MemberView:
        """Return one member.

        Args:
            who: its member id, client id or group instance id.

        Raises:
            ValueError: no member has it, or several have.
        """
        with self._board.looking() as core:
            consumers = self._consumers(core)
            if consumers is not None:
                return self._seen_consumer(core, consumers, who)
            _, group = self._existing(core)
            found = self._members(group, who)
            if len(found) > 1:
                ids = [each.member_id for each in found]
                raise ValueError(
                    f"{len(found)} members of group {self.group_id!r} are called {who!r}; give "
                    f"each client a client id of its own, or ask by member id: {ids}"
                )
            return seen_member(group, found[0])

    def has_settled(self, members: int | None = None) -> bool:
        """Whether no round is going on, and its members have everything they subscribed to.

        Args:
            members: how many there must be, None = any number but 0.
        """
        with self._board.looking() as core:
            there = len(seen_group(core, self.group_id).members)
            wanted = there > 0 if members is None else there == members
            return wanted and settled(core, self.group_id)

    @property
    def coordinator(self) -> int | None:
        """Id of the broker that coordinates it, None while none does."""
        with self._board.looking() as core:
            shard = core.coordinators.shard_of(self.group_id)
            return core.coordinators.homes[shard.partition]

    # -- what happens to members -----------------------------------------------------------------

    def rebalance(self) -> None:
        """Begin a round, as if somebody had joined and left: heartbeats are answered by 27.

        A group of KIP-848 is divided anew instead.

        Raises:
            ValueError: it has no members.
        """
        with self._board.changing() as core:
            consumers = self._consumers(core)
            if consumers is not None:
                consumers.epoch += 1  # another target, a second after the one before
                return
            shard, group = self._existing(core)
            if not group.members:
                raise ValueError(f"group {self.group_id!r} has no members that could rebalance")
            try:
                shard.rounds.prepare(group)
            except UnreadableMetadataError:
                return  # as in a real coordinator, the round is stuck (B14)

    def expire(self, who: str) -> None:
        """End a member's session, as if it had been silent: it is removed and the others rebalance.

        Args:
            who: member id, client id or group instance id; all members that it fits.

        Raises:
            ValueError: there is no such member.
        """
        with self._board.changing() as core:
            consumers = self._consumers(core)
            if consumers is not None:
                core.pace.let_go(consumers, *self._fitting(consumers.members.values(), who))
                return
            shard, group = self._existing(core)
            for member in self._members(group, who):
                if member.member_id in group.members:
                    shard.rounds.drop(group, member)

    def fence(self, instance_id: str) -> None:
        """Let a twin take a static member's place: the member is fenced (82) when it next asks.

        The twin joins once and is silent from then on; its session ends in time.

        Args:
            instance_id: `group.instance.id` of the member.

        Raises:
            ValueError: there is no such static member.
        """
        with self._board.changing() as core:
            _, group = self._existing(core)
            member = group.static_member(instance_id)
            home = self.coordinator
            if member is None or home is None:
                known = [each.instance_id for each in group.members.values() if each.instance_id]
                raise ValueError(
                    f"group {self.group_id!r} has no static member {instance_id!r} that a "
                    f"coordinator could fence; static members: {known}"
                )
            twin = f"twin of {member.client_id}"
            asked = Asked(_NO_TICKET, home, 0, twin, member.client_host, _JOIN_VERSION)
            core.ask(asked, _join_again(group, member))

    # -- what happens to the group ---------------------------------------------------------------

    def move_to(self, node_id: int | None, *, resigned: bool = True) -> None:
        """Let another broker coordinate it, and all groups of the same partition of the log.

        Args:
            node_id: the new coordinator; None = none.
            resigned: the former coordinator hands over in good order and answers parked requests
                16; otherwise it acts as if it had died, and never answers them.
        """
        with self._board.changing() as core:
            partition = core.coordinators.shard_of(self.group_id).partition
            tp = TopicPartition(OFFSETS_TOPIC, partition)
            core.cluster.elect(tp, node_id, resigned=resigned)

    def move(self) -> int:
        """Let the next broker that is up coordinate it, in good order; return its id.

        Raises:
            ValueError: no other broker is up.
        """
        with self._board.changing() as core:
            up = [node.node_id for node in core.cluster.nodes.values() if node.alive]
            others = [node_id for node_id in up if node_id != self.coordinator]
            if not others:
                raise ValueError(
                    f"group {self.group_id!r} has nowhere to move: brokers that are up: {up}; "
                    "`kgroup_cluster` and `InProcessBroker(nodes=3)` have three"
                )
            beyond = [node_id for node_id in others if node_id > (self.coordinator or 0)]
            node_id = (beyond or others)[0]
            self.move_to(node_id)
            return node_id

    def load(self, seconds: float) -> None:
        """Let its coordinator resign and read the log anew; it answers 14 for so long.

        Members that wait are answered by 16; a round that had not ended is rolled back to the one
        before it.
        """
        with self._board.changing() as core:
            shard = core.coordinators.shard_of(self.group_id)
            shard.resign(ErrorCode.NOT_COORDINATOR)
            shard.load(seconds)

    def delete(self) -> None:
        """Delete it with its offsets, members or not; members are unknown (25) from then on."""
        with self._board.changing() as core:
            core.coordinators.shard_of(self.group_id).forget(self.group_id)

    def commit(self, offsets: Offsets) -> None:
        """Set committed offsets, also while the group has members.

        Args:
            offsets: partition, or (topic, number) -> first offset that is not handled yet.

        Raises:
            TypeError: a key is neither.
        """
        for key in offsets:
            if not isinstance(key, tuple):
                raise TypeError(
                    f"offsets are of partitions, such as {{('orders', 0): 7}}, not of {key!r}"
                )
        with self._board.changing() as core:
            shard = core.coordinators.shard_of(self.group_id)
            shard.make(self.group_id)
            for tp, offset in offsets.items():
                shard.offsets.commit(self.group_id, TopicPartition(*tp), _commit(offset, core))

    # -- inside ----------------------------------------------------------------------------------

    def _existing(self, core: Core) -> tuple[Shard, Group]:
        shard = core.coordinators.shard_of(self.group_id)
        group = shard.groups.get(self.group_id)
        if group is None:
            known = sorted(name for each in core.coordinators.shards for name in each.groups)
            raise ValueError(
                f"there is no group {self.group_id!r} yet; there are {known}; wait for its first "
                "round by until(group.has_settled)"
            )
        return shard, group

    def _consumers(self, core: Core) -> ConsumerGroup | None:
        return core.coordinators.shard_of(self.group_id).consumer_groups.get(self.group_id)

    def _seen_consumer(self, core: Core, group: ConsumerGroup, who: str) -> MemberView:
        found = self._fitting(group.members.values(), who)
        if len(found) > 1:
            raise ValueError(f"{len(found)} members of group {self.group_id!r} are called {who!r}")
        return seen_consumer(core, found[0])

    def _members(self, group: Group, who: str) -> list[Member]:
        return self._fitting(group.members.values(), who)

    def _fitting(self, members: Collection[M], who: str) -> list[M]:
        found = [
            member
            for member in members
            if who in (member.member_id, member.client_id, member.instance_id)
        ]
        if not found:
            known = [(each.member_id, each.client_id) for each in members]
            raise ValueError(
                f"group {self.group_id!r} has no member {who!r}; ids and clients: {known}"
            )
        return found


def _join_again(group: Group, member: Member) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group.group_id,
        session_timeout_ms=int(member.session_timeout * 1000),
        rebalance_timeout_ms=int(member.rebalance_timeout * 1000),
        member_id="",
        group_instance_id=member.instance_id,
        protocol_type=group.protocol_type or "",
        protocols=tuple(
            JoinGroupRequestProtocol(name=name, metadata=blob) for name, blob in member.protocols
        ),
    )


def _commit(offset: int | OffsetAndMetadata, core: Core) -> Committed:
    value = OffsetAndMetadata(offset) if isinstance(offset, int) else offset
    return Committed(
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        committed_at=core.context.agenda.now,
    )
