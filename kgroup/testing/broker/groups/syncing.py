"""SyncGroup, Heartbeat and LeaveGroup, as a coordinator that has the group answers them.

Decides: the order of checks and what each phase answers (R7, R9, R12, R15 as corrected by
`broker_facts.md` A1, A10, C1-C7, D1-D7, S4).
Never: ends rounds; `rounds` does.
"""

from collections.abc import Sequence

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import PARKED, Answer, Asked
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.answers import sync_refused, synced
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import UnreadableMetadataError, Waiting
from kgroup.testing.broker.groups.rounds import Rounds
from kgroup.wire.messages import (
    HeartbeatRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    SyncGroupRequest,
)

_BATCH_SINCE = 3


class Syncing:
    """What members ask of one coordinator between and after their joins.

    Args:
        context: answers, and whether the old rules hold.
        rounds: what it sets off.
    """

    def __init__(self, context: Context, rounds: Rounds) -> None:
        self._context = context
        self._rounds = rounds

    # -- SyncGroup -------------------------------------------------------------------------------

    def sync(self, group: Group, asked: Asked, request: SyncGroupRequest) -> Answer:
        """Answer a SyncGroup, or park it until the leader's."""
        code = self._sync_refusal(group, request)
        if code:
            return sync_refused(code)
        member = group.members[request.member_id]
        self._rounds.heard_sync(group, member.member_id)
        if group.phase is Phase.STABLE:
            if self._context.is_old:  # A1
                self._rounds.renew(group, member)
            return synced(group, member.assignment)
        member.sync = Waiting(asked.ticket, asked.version)  # C6: the older one is never answered
        if member.member_id == group.leader_id:
            parts = {each.member_id: bytes(each.assignment) for each in request.assignments}
            self._rounds.finish(group, parts)
        return PARKED

    def _sync_refusal(self, group: Group, request: SyncGroupRequest) -> ErrorCode:
        code = group.refusal(request.member_id, request.group_instance_id, request.generation_id)
        if code:
            return code
        if self._names_other_protocol(group, request):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if group.phase is Phase.PREPARING:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def _names_other_protocol(self, group: Group, request: SyncGroupRequest) -> bool:
        """A10: while none is chosen yet, the old coordinator takes any name for a wrong one."""
        if request.protocol_type not in (None, group.protocol_type):
            return True
        if group.protocol_name is None and not self._context.is_old:
            return False
        return request.protocol_name not in (None, group.protocol_name)

    # -- Heartbeat -------------------------------------------------------------------------------

    def heartbeat(self, group: Group, request: HeartbeatRequest) -> ErrorCode:
        """Judge a heartbeat; 0 and REBALANCE_IN_PROGRESS renew the session (D3)."""
        code = group.refusal(request.member_id, request.group_instance_id, request.generation_id)
        if code:
            return code
        self._rounds.renew(group, group.members[request.member_id])
        preparing = group.phase is Phase.PREPARING
        return ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE

    # -- LeaveGroup ------------------------------------------------------------------------------

    def leave(self, group: Group, asked: Asked, request: LeaveGroupRequest) -> LeaveGroupResponse:
        """Let members go, each with its own outcome.

        The new coordinator lets their absence count once in the end, and takes that of a mere
        pending id for one; the old one lets each member's count at once.
        """
        leaving = request.members
        if asked.version < _BATCH_SINCE:
            leaving = (MemberIdentity(member_id=request.member_id),)
        try:
            codes = [self._let_go(group, each) for each in leaving]
            if ErrorCode.NONE in codes and not self._context.is_old:
                self._rounds.count_loss(group)
        except UnreadableMetadataError:
            # The old coordinator's lost operation is not tried again (`rounds`), the new one's is.
            return LeaveGroupResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        if asked.version < _BATCH_SINCE:
            return LeaveGroupResponse(error_code=codes[0])
        return LeaveGroupResponse(members=left(leaving, codes))

    def _let_go(self, group: Group, leaving: MemberIdentity) -> ErrorCode:
        member_id, instance_id = leaving.member_id, leaving.group_instance_id
        if not member_id:
            named = group.static_member(instance_id)
            if named is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            member_id = named.member_id
        if group.forget_pending(member_id):
            if self._context.is_old:
                self._rounds.try_complete(group)
            return ErrorCode.NONE
        code = group.refusal(member_id, instance_id)
        if not code:
            self._rounds.let_go(group, group.members[member_id])
            if self._context.is_old:
                self._rounds.count_loss(group)
        return code


def left(
    leaving: Sequence[MemberIdentity], codes: Sequence[ErrorCode]
) -> tuple[MemberResponse, ...]:
    """Say what became of each member of a batch."""
    return tuple(
        MemberResponse(
            member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code
        )
        for each, code in zip(leaving, codes, strict=True)
    )
