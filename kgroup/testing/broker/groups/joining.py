"""JoinGroup, as a coordinator that has the group answers it.

Decides: which id may join, what a rejoin changes, and what a static restart does (R1, R6,
R11, R12, R14, R17 as corrected by `broker_facts.md` B1-B5, B13, B15-B19, B21, B24, S1-S3).
Never: ends rounds; `rounds` does.
"""

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import PARKED, Answer, Asked
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.answers import join_refused, joined, sync_refused
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member, UnreadableMetadataError, Waiting
from kgroup.testing.broker.groups.rounds import Rounds
from kgroup.wire.messages import JoinGroupRequest
from kgroup.wire.schema import replace

_ID_REQUIRED_SINCE = 4
_SKIP_SINCE = 9


class Joining:
    """JoinGroup of one coordinator.

    Args:
        context: settings and names.
        rounds: what joining sets off.
    """

    def __init__(self, context: Context, rounds: Rounds) -> None:
        self._context = context
        self._rounds = rounds

    def join(self, group: Group, asked: Asked, request: JoinGroupRequest) -> Answer:
        """Answer a JoinGroup, or park it.

        Args:
            group: of the request; a new one is Empty.
            asked: where the answer goes.
            request: with bounds and group id already checked.
        """
        try:
            return self._judge(group, asked, request)
        except UnreadableMetadataError:
            self._go_on_waiting(group, asked)
            return join_refused(ErrorCode.UNKNOWN_SERVER_ERROR, asked.version)

    def _go_on_waiting(self, group: Group, asked: Asked) -> None:
        """B14: a member that was answered -1 still counts as one that waits."""
        for member in group.members.values():
            if member.join is not None and member.join.ticket == asked.ticket:
                member.join = Waiting(None, asked.version)

    def _judge(self, group: Group, asked: Asked, request: JoinGroupRequest) -> Answer:
        if self._is_full(group, request.member_id):
            return self._turn_away(group, asked, request)
        code = self._refusal(group, request)
        if code:
            thrown = code is ErrorCode.UNKNOWN_SERVER_ERROR
            return join_refused(code, asked.version, "" if thrown else request.member_id)
        if not request.member_id:
            return self._without_id(group, asked, request)
        if request.member_id in group.pending:
            return self._newcomer(group, asked, request, request.member_id)
        return self._again(group, asked, request)

    def _refusal(self, group: Group, request: JoinGroupRequest) -> ErrorCode:
        """Judge before anything changes: common ground, then the member."""
        names = [each.name for each in request.protocols]
        if not group.supports(request.protocol_type, names):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if not request.member_id:
            return ErrorCode.NONE
        if request.member_id in group.pending:
            # Real ones throw: only dynamic members have such ids.
            static = request.group_instance_id is not None
            return ErrorCode.UNKNOWN_SERVER_ERROR if static else ErrorCode.NONE
        return group.refusal(request.member_id, request.group_instance_id)

    def _is_full(self, group: Group, member_id: str) -> bool:
        """B21: in PreparingRebalance only waiting members count."""
        limit = self._context.settings.max_group_size
        if limit is None or group.phase in (Phase.EMPTY, Phase.DEAD):
            return False
        member = group.members.get(member_id)
        if group.phase is Phase.PREPARING:
            return (member is None or member.join is None) and group.waiting >= limit
        return member is None and len(group.members) >= limit

    def _turn_away(self, group: Group, asked: Asked, request: JoinGroupRequest) -> Answer:
        """B21: a latecomer loses its place; only the old rules count waiting members."""
        group.remove(request.member_id)
        if self._context.is_old:
            self._rounds.try_complete(group)
        return join_refused(ErrorCode.GROUP_MAX_SIZE_REACHED, asked.version)

    # -- newcomers -------------------------------------------------------------------------------

    def _without_id(self, group: Group, asked: Asked, request: JoinGroupRequest) -> Answer:
        instance_id = request.group_instance_id
        prefix = instance_id if instance_id is not None else asked.client_id or ""
        member_id = self._context.mint.member_id(prefix)
        if instance_id is not None:
            before = group.static_member(instance_id)
            if before is not None:
                return self._restart(group, asked, request, (before, member_id))
            return self._newcomer(group, asked, request, member_id)
        if asked.version < _ID_REQUIRED_SINCE:
            return self._newcomer(group, asked, request, member_id)
        self._rounds.hold_place(group, member_id, request.session_timeout_ms / 1000)
        return join_refused(ErrorCode.MEMBER_ID_REQUIRED, asked.version, member_id)

    def _newcomer(
        self, group: Group, asked: Asked, request: JoinGroupRequest, member_id: str
    ) -> Answer:
        member = Member(
            member_id=member_id,
            instance_id=request.group_instance_id,
            client_id=asked.client_id or "",
            client_host=asked.client_host,
            session_timeout=request.session_timeout_ms / 1000,
            rebalance_timeout=rebalance_timeout_of(asked, request),
            protocols=_protocols(request),
            join=Waiting(asked.ticket, asked.version),
        )
        if self._lengthens_delay(group):
            group.newcomers = True
        group.add(member, request.protocol_type)
        self._rounds.admit_new(group, member)
        self._rounds.prepare(group)
        return PARKED

    def _lengthens_delay(self, group: Group) -> bool:
        """B22; under the old rules only in a group that never had a generation."""
        if group.phase is not Phase.PREPARING:
            return False
        return group.generation_id == 0 if self._context.is_old else group.was is Phase.EMPTY

    # -- members ---------------------------------------------------------------------------------

    def _again(self, group: Group, asked: Asked, request: JoinGroupRequest) -> Answer:
        member = group.members[request.member_id]
        changed = member.protocols != _protocols(request)
        leads = member.member_id == group.leader_id
        free = group.phase is Phase.COMPLETING or (group.phase is Phase.STABLE and not leads)
        if free and not changed:
            return joined(group, member.member_id, listed=leads)
        _update(member, asked, request)
        member.join = Waiting(asked.ticket, asked.version)  # B24: the older one is never answered
        self._rounds.prepare(group)
        return PARKED

    def _restart(
        self,
        group: Group,
        asked: Asked,
        request: JoinGroupRequest,
        ids: tuple[Member, str],
    ) -> Answer:
        """S1-S3: a static member comes back without its id."""
        before, member_id = ids
        led = group.leader_id == before.member_id
        member = self._replace(group, before, member_id)
        _update(member, asked, request)
        elected = group.elected()
        if group.phase is Phase.STABLE and elected == group.protocol_name:
            self._rounds.keep(group)
            return _returned(group, asked, (before.member_id if led else None, member_id))
        member.join = Waiting(asked.ticket, asked.version)
        self._rounds.prepare(group)
        return PARKED

    def _replace(self, group: Group, before: Member, member_id: str) -> Member:
        """Give a static member another id; a request that waits under the old one is fenced."""
        code = ErrorCode.FENCED_INSTANCE_ID
        if before.join is not None:
            refused = join_refused(code, before.join.version, before.member_id)
            self._rounds.answer_join(before, refused)
        self._rounds.answer_sync(before, sync_refused(code))
        before.quiet()
        member = Member(
            member_id=member_id,
            instance_id=before.instance_id,
            client_id=before.client_id,
            client_host=before.client_host,
            session_timeout=before.session_timeout,
            rebalance_timeout=before.rebalance_timeout,
            protocols=before.protocols,
            assignment=before.assignment,
            is_new=before.is_new and self._context.is_old,
        )
        group.replace(before.member_id, member)
        self._rounds.renew(group, member)
        return member


def _returned(group: Group, asked: Asked, ids: tuple[str | None, str]) -> Answer:
    """Answer a restart without a round: before 9 a leader gets its own old id (S2, T3)."""
    led_as, member_id = ids
    skips = led_as is not None and asked.version >= _SKIP_SINCE
    answer = joined(group, member_id, listed=skips)
    leader = answer.leader if skips or led_as is None else led_as
    return replace(answer, leader=leader, skip_assignment=skips)


def _protocols(request: JoinGroupRequest) -> tuple[tuple[str, bytes], ...]:
    return tuple((each.name, bytes(each.metadata)) for each in request.protocols)


def rebalance_timeout_of(asked: Asked, request: JoinGroupRequest) -> float:
    """Return how long a member may take to join again, seconds; version 0 has one time for all."""
    if asked.version == 0:
        return request.session_timeout_ms / 1000
    return request.rebalance_timeout_ms / 1000


def _update(member: Member, asked: Asked, request: JoinGroupRequest) -> None:
    member.session_timeout = request.session_timeout_ms / 1000
    member.rebalance_timeout = rebalance_timeout_of(asked, request)
    member.protocols = _protocols(request)
