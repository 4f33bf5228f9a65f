"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup in a group of KIP-848 (`broker_facts.md` K5, K6).

Decides: how a classic member is led to the target that its coordinator has made: it is told to join
again (27) when its epoch is behind, when it is to give something up, and when what it waits for is
free; its epoch is its generation, nobody leads, and SyncGroup has its part at once.
Never: answers for a classic group, or one without members; `groups` does.
KIPs: 345 (instance ids), 848.
"""

from typing import Any

from kgroup.codes import ErrorCode
from kgroup.errors import DecodeError
from kgroup.testing.broker.asked import Answer, Asked, Handler
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.consumer_groups.group import ConsumerGroup
from kgroup.testing.broker.consumer_groups.member import ClassicSide, ConsumerMember
from kgroup.testing.broker.consumer_groups.pace import Pace
from kgroup.testing.broker.consumer_groups.turning import (
    PROTOCOL_TYPE,
    assignment_bytes,
    places_of,
)
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.answers import join_refused, sync_refused
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.groups.joining import rebalance_timeout_of
from kgroup.testing.broker.groups.syncing import left
from kgroup.wire.consumer_protocol import MemberSubscription, decode_subscription
from kgroup.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kgroup.wire.schema import Request

_ID_REQUIRED_SINCE = 4
_BATCH_SINCE = 3
_PROTOCOL_NEEDED_SINCE = 5


class ClassicMembers:
    """What members of the classic protocol ask, in whichever group they are.

    Args:
        context: settings and names.
        coordinators: the groups; they answer for classic ones.
        cluster: the topics.
        pace: targets and sessions.
    """

    def __init__(
        self, context: Context, coordinators: Coordinators, cluster: Cluster, pace: Pace
    ) -> None:
        self._context = context
        self._coordinators = coordinators
        self._cluster = cluster
        self._pace = pace

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {
            JoinGroupRequest: self.join_group,
            SyncGroupRequest: self.sync_group,
            HeartbeatRequest: self.heartbeat,
            LeaveGroupRequest: self.leave_group,
        }

    def _group(self, asked: Asked, group_id: str) -> ConsumerGroup | None:
        """Return a group of KIP-848 that this broker coordinates and that has members."""
        if self._coordinators.refusal(asked.node_id, group_id):
            return None
        group = self._coordinators.shard_of(group_id).consumer_groups.get(group_id)
        return group if group is not None and group.members else None

    # -- JoinGroup -------------------------------------------------------------------------------

    def join_group(self, asked: Asked, request: JoinGroupRequest) -> Answer:
        """Answer JoinGroup; only a classic group parks one."""
        group = self._group(asked, request.group_id)
        if group is None or self._coordinators.out_of_bounds(request):
            return self._coordinators.join_group(asked, request)
        code = self._refusal(group, request)
        if code:
            return join_refused(code, asked.version, request.member_id)
        member_id = request.member_id or self._context.mint.plain_id()
        dynamic = request.group_instance_id is None
        if not request.member_id and dynamic and asked.version >= _ID_REQUIRED_SINCE:
            return join_refused(ErrorCode.MEMBER_ID_REQUIRED, asked.version, member_id)
        try:
            said = decode_subscription(bytes(request.protocols[0].metadata))
        except DecodeError:
            return join_refused(ErrorCode.UNKNOWN_SERVER_ERROR, asked.version)
        member = self._member(group, asked, request, member_id)
        member.rebalance_timeout = rebalance_timeout_of(asked, request)
        return self._joined(group, member, request, said)

    def _refusal(self, group: ConsumerGroup, request: JoinGroupRequest) -> ErrorCode:
        limit = self._context.settings.consumer_max_size
        named = group.static_member(request.group_instance_id)
        known = named is not None or request.member_id in group.members
        if not known and limit is not None and len(group.members) >= limit:
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        closed = not self._context.settings.consumer_migration
        if closed or request.protocol_type != PROTOCOL_TYPE or not request.protocols:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if named is not None and request.member_id not in ("", named.member_id):
            return ErrorCode.FENCED_INSTANCE_ID
        offered = {each.name for each in request.protocols}
        for member in group.members.values():
            if member.classic is not None:
                offered &= {name for name, _ in member.classic.protocols}
        return ErrorCode.NONE if offered else ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    def _member(
        self, group: ConsumerGroup, asked: Asked, request: JoinGroupRequest, member_id: str
    ) -> ConsumerMember:
        """Return the member that joins: as it is known, back under another id, or a new one."""
        named = group.static_member(request.group_instance_id)
        if named is not None and named.member_id != member_id:
            return group.replace(named, member_id)
        if member_id not in group.members:
            made = ConsumerMember(
                member_id, request.group_instance_id, asked.client_id or "", asked.client_host
            )
            group.members[member_id] = made
        return group.members[member_id]

    def _joined(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        request: JoinGroupRequest,
        said: MemberSubscription,
    ) -> JoinGroupResponse:
        was_other = member.classic is None and member.epoch != 0
        self._learn(group, member, request, said)
        self._pace.advance(group)
        group.reconcile(member, places_of(said.owned, self._cluster))
        self._pace.renew(group, member)
        self._pace.bound_revocation(group, member)
        assert member.classic is not None
        member.classic.syncing = self._pace.expel_after(member.rebalance_timeout, group, member)
        if was_other and group.only_classic_without():
            self._pace.turn_back(group, group.epoch)
        return JoinGroupResponse(
            generation_id=member.epoch,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=request.protocols[0].name,
            leader="",
            member_id=member.member_id,
            members=(),
        )

    def _learn(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        request: JoinGroupRequest,
        said: MemberSubscription,
    ) -> None:
        """Take what a member says of itself; another subscription asks for another target."""
        asked_for = member.asks_for
        member.topics, member.regex, member.assignor = frozenset(said.topics), None, None
        member.rack_id = said.rack
        protocols = tuple((each.name, bytes(each.metadata)) for each in request.protocols)
        if member.classic is not None:
            member.classic.quiet()
        member.classic = ClassicSide(request.session_timeout_ms / 1000, protocols)
        if member.asks_for != asked_for:
            group.epoch += 1

    # -- SyncGroup -------------------------------------------------------------------------------

    def sync_group(self, asked: Asked, request: SyncGroupRequest) -> Answer:
        """Answer SyncGroup: the part a member has, without waiting for anybody."""
        group = self._group(asked, request.group_id)
        if group is None:
            return self._coordinators.sync_group(asked, request)
        member = _classic_member(group, request)
        if isinstance(member, ErrorCode):
            return sync_refused(member)
        assert member.classic is not None
        names = {name for name, _ in member.classic.protocols}
        told = request.protocol_type == PROTOCOL_TYPE and request.protocol_name in names
        if asked.version >= _PROTOCOL_NEEDED_SINCE and not told:
            return sync_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.target_epoch > member.epoch and not member.revoking:
            self._await_rejoin(group, member)
            return sync_refused(ErrorCode.REBALANCE_IN_PROGRESS)
        if member.classic.syncing is not None:
            member.classic.syncing.cancel()
        return SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=assignment_bytes(member, self._cluster),
        )

    # -- Heartbeat -------------------------------------------------------------------------------

    def heartbeat(self, asked: Asked, request: HeartbeatRequest) -> HeartbeatResponse:
        """Answer Heartbeat; 27 sends a member to join again."""
        group = self._group(asked, request.group_id)
        if group is None:
            return self._coordinators.heartbeat(asked, request)
        member = _classic_member(group, request)
        if isinstance(member, ErrorCode):
            return HeartbeatResponse(error_code=member)
        self._pace.renew(group, member)
        behind = member.epoch < group.target_epoch or bool(member.revoking)
        if not behind and not (member.waits and not group.is_held_up(member)):
            return HeartbeatResponse()
        self._await_rejoin(group, member)
        return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)

    def _await_rejoin(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Give a member that is told to join again its rebalance timeout for it."""
        assert member.classic is not None
        if member.classic.rejoining is None:
            limit = member.rebalance_timeout
            member.classic.rejoining = self._pace.expel_after(limit, group, member)

    # -- LeaveGroup ------------------------------------------------------------------------------

    def leave_group(self, asked: Asked, request: LeaveGroupRequest) -> LeaveGroupResponse:
        """Answer LeaveGroup, which an administrator sends for members of KIP-848, too (K5)."""
        group = self._group(asked, request.group_id)
        if group is None:
            return self._coordinators.leave_group(asked, request)
        alone = MemberIdentity(member_id=request.member_id)
        leaving = request.members if asked.version >= _BATCH_SINCE else (alone,)
        found = [_named(group, each) for each in leaving]
        self._pace.let_go(group, *{each.member_id: each for each in found if each}.values())
        codes = [ErrorCode.NONE if each else ErrorCode.UNKNOWN_MEMBER_ID for each in found]
        if asked.version < _BATCH_SINCE:
            return LeaveGroupResponse(error_code=codes[0])
        return LeaveGroupResponse(members=left(leaving, codes))


def _classic_member(
    group: ConsumerGroup, request: SyncGroupRequest | HeartbeatRequest
) -> ConsumerMember | ErrorCode:
    """Return the sender, or why it is none: the instance, then the member, then the generation."""
    named = group.static_member(request.group_instance_id)
    if named is not None and named.member_id != request.member_id:
        return ErrorCode.FENCED_INSTANCE_ID
    member = group.members.get(request.member_id)
    missing = request.group_instance_id is not None and named is None
    if member is None or member.classic is None or missing:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return member if request.generation_id == member.epoch else ErrorCode.ILLEGAL_GENERATION


def _named(group: ConsumerGroup, leaving: MemberIdentity) -> ConsumerMember | None:
    named = group.static_member(leaving.group_instance_id)
    return group.members.get(leaving.member_id) if leaving.member_id else named
