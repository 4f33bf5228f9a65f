"""Which broker coordinates which group, and requests of members on their way to it.

Decides: what is answered before a group is looked at: not here, loading, bad ids and bounds, groups
that do not exist (`broker_facts.md` A4, B5, B13, B19, C1, D2, D6, F2, F3, G4).
Never: knows what a member may do; the shard's own parts do, and for groups of KIP-848
`consumer_groups`, which asks here for the others.
"""

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Answer, Asked
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.answers import join_refused, sync_refused
from kgroup.testing.broker.groups.shard import Shard
from kgroup.testing.broker.groups.syncing import left
from kgroup.testing.broker.mint import group_partition
from kgroup.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
)

_BATCH_SINCE = 3
_PROTOCOL_NEEDED_SINCE = 5
_NOT_HERE = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


class Coordinators:
    """Group coordination of one cluster.

    Args:
        context: of the cluster.

    `homes` says which node id has each partition of the offsets topic, None while none does;
    the election of leaders calls `take_over`. `configs` has the settings of single groups of
    KIP-848.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        count = context.settings.offsets_partitions
        self.shards: list[Shard] = [Shard(partition, context) for partition in range(count)]
        self.homes: list[int | None] = [None] * count
        self.configs: dict[str, dict[str, str]] = {}

    # -- places ----------------------------------------------------------------------------------

    def shard_of(self, group_id: str) -> Shard:
        """Return the shard that holds a group, whichever broker has it now."""
        return self.shards[group_partition(group_id, len(self.shards))]

    def refusal(self, node_id: int, group_id: str) -> ErrorCode:
        """Say why a broker does not answer for a group now: 16, 14 or 0."""
        shard = self.shard_of(group_id)
        if self.homes[shard.partition] != node_id:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if shard.loading else ErrorCode.NONE

    def take_over(self, partition: int, node_id: int | None, *, resigned: bool) -> None:
        """Let another broker have a partition of the offsets topic.

        Args:
            partition: its number.
            node_id: the broker that has it now; None = none.
            resigned: the former one gave it up in good order, so it answers parked requests (F2);
                otherwise it died and answers nothing (F1).
        """
        shard = self.shards[partition]
        if resigned:
            shard.resign(ErrorCode.NOT_COORDINATOR)
        else:
            shard.drop()
        self.homes[partition] = node_id
        if node_id is not None:
            shard.load(self._context.settings.load_time)

    # -- members' requests -----------------------------------------------------------------------

    def join_group(self, asked: Asked, request: JoinGroupRequest) -> Answer:
        """Answer JoinGroup, or park it."""
        code = self.refusal(asked.node_id, request.group_id) or self.out_of_bounds(request)
        if code:
            echoes = self._context.is_old or code not in _NOT_HERE
            member_id = request.member_id if echoes else ""
            return join_refused(code, asked.version, member_id)
        shard = self.shard_of(request.group_id)
        shard.turn_back(request.group_id)
        if request.member_id and request.group_id not in shard.groups:
            unknown = ErrorCode.UNKNOWN_MEMBER_ID
            return join_refused(unknown, asked.version, request.member_id)
        if request.group_id not in shard.groups and not self._context.is_old:
            shard.store(
                shard.make(request.group_id)
            )  # it is written to the log before anybody joins
        return shard.joining.join(shard.make(request.group_id), asked, request)

    def out_of_bounds(self, request: JoinGroupRequest) -> ErrorCode:
        """Say what is wrong with a JoinGroup in any group."""
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        settings = self._context.settings
        session = request.session_timeout_ms / 1000
        if not settings.min_session_timeout <= session <= settings.max_session_timeout:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return ErrorCode.NONE

    def sync_group(self, asked: Asked, request: SyncGroupRequest) -> Answer:
        """Answer SyncGroup, or park it."""
        names = (request.protocol_type, request.protocol_name)
        if asked.version >= _PROTOCOL_NEEDED_SINCE and None in names:
            return sync_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        code = self._refusal_of_member(asked, request.group_id)
        if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and self._context.is_old:
            code = ErrorCode.REBALANCE_IN_PROGRESS  # A4
        if code:
            return sync_refused(code)
        shard = self.shard_of(request.group_id)
        return shard.syncing.sync(shard.groups[request.group_id], asked, request)

    def heartbeat(self, asked: Asked, request: HeartbeatRequest) -> HeartbeatResponse:
        """Answer Heartbeat; 0 for everybody while loading (F3)."""
        code = self._refusal_of_member(asked, request.group_id)
        if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return HeartbeatResponse()
        if not code:
            shard = self.shard_of(request.group_id)
            code = shard.syncing.heartbeat(shard.groups[request.group_id], request)
        return HeartbeatResponse(error_code=code)

    def leave_group(self, asked: Asked, request: LeaveGroupRequest) -> LeaveGroupResponse:
        """Answer LeaveGroup: an unknown group makes every member unknown."""
        code = self._refusal_of_member(asked, request.group_id)
        if code is ErrorCode.UNKNOWN_MEMBER_ID and asked.version >= _BATCH_SINCE:
            codes = [code] * len(request.members)
            return LeaveGroupResponse(members=left(request.members, codes))
        if code:
            return LeaveGroupResponse(error_code=code)
        shard = self.shard_of(request.group_id)
        return shard.syncing.leave(shard.groups[request.group_id], asked, request)

    def _refusal_of_member(self, asked: Asked, group_id: str) -> ErrorCode:
        """Judge a request that only a member of a group that exists may make."""
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        code = self.refusal(asked.node_id, group_id)
        if code:
            return code
        known = group_id in self.shard_of(group_id).groups
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_MEMBER_ID
