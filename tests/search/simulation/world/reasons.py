"""What must be so before a coordinator gives an answer that ends something.

Decides: how the coordinator comes to have reason for such an answer to one request. An unknown
member was removed; a fenced one has another process in its place; one with a stale generation has
missed a round. Then the coordinator answers by itself, and whatever follows from it holds for all.
Never: forges an answer, or touches a request that the coordinator would refuse anyway.
KIPs: 345 (instance ids).

Why nothing less is honest:
1. a heartbeat is answered ILLEGAL_GENERATION, and the generation goes on; 2. the member loses what
it has, and joins; 3. it is given the same generation, and the same partitions, while
its listener still hears of the loss. No broker does that: nothing a client promises is about it.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.groups.group import Group, Phase
from kgroup.testing.broker.groups.member import Member, UnreadableMetadataError, topics_of
from kgroup.wire.consumer_protocol import MemberSubscription, encode_subscription
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import Request
from tests.search.simulation.plan import MemberPlan
from tests.search.simulation.world.cluster import Brokers

ENDING: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.ILLEGAL_GENERATION,
    }
)
"""Codes that end a generation, a membership or an instance's place; no coordinator gives them
while what they end goes on."""

_EVICTED: Final = "EVICT"
_REPLACED: Final = "TWIN"
_OVERTAKEN: Final = "MISSED_ROUND"


class Reasons:
    """Gives the coordinator reason to refuse one member.

    Args:
        brokers: the member talks to.
        group_id: of its group.
        plan: of the member.
        tell: writes a fault into the journal: its name, the label of the member it is about (""
            for everybody), and how long it lasts in seconds.
    """

    def __init__(
        self,
        brokers: Brokers,
        group_id: str,
        plan: MemberPlan,
        tell: Callable[[str, str, float], None],
    ) -> None:
        self._brokers = brokers
        self._group_id = group_id
        self._label = plan.label
        self._instance = plan.instance
        self._tell = tell

    def bring_about(self, request: Request[Any], code: ErrorCode) -> None:
        """Have the coordinator give an answer to a request that it is about to read.

        What it would refuse as things stand is left as it is. Of a member without an id nothing is
        known before it is in the group: it is struck there, in the same instant.

        Args:
            request: of a group API.
            code: one of `ENDING`.
        """
        member_id, generation_id = _named(request)
        group = self._group
        if not member_id:
            self._brokers.at(self._brokers.now, self._strike_newcomer, code)
        elif group is None or group.forget_pending(member_id):
            return
        elif not group.refusal(member_id, self._instance, generation_id):
            self._strike(group, group.members[member_id], code)

    def _strike_newcomer(self, code: ErrorCode) -> None:
        group = self._group
        member = None if group is None else group.static_member(self._instance)
        if group is not None and member is not None and code is not ErrorCode.ILLEGAL_GENERATION:
            self._strike(group, member, code)

    @property
    def _group(self) -> Group | None:
        """The group, as its coordinator has it; None while there is none that has read its log."""
        shard = self._brokers.shard
        return None if shard.loading else shard.groups.get(self._group_id)

    def _strike(self, group: Group, member: Member, code: ErrorCode) -> None:
        match code:
            case ErrorCode.UNKNOWN_MEMBER_ID:
                self._brokers.shard.rounds.drop(group, member)
                self._tell(_EVICTED, self._label, 0.0)
            case ErrorCode.FENCED_INSTANCE_ID:
                self._replace(member)
            case _:
                self._overtake(group)

    def _replace(self, member: Member) -> None:
        """Have another process take the place of a static member; it is never heard of again.

        It has read nothing yet, so it claims nothing; its session ends like that of any member.
        """
        node_id = self._brokers.coordinator
        if node_id is None:
            return
        protocols = tuple(
            JoinGroupRequestProtocol(name=name, metadata=_unclaimed(bytes(metadata)))
            for name, metadata in member.protocols
        )
        twin = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=round(member.session_timeout * 1000),
            rebalance_timeout_ms=round(member.rebalance_timeout * 1000),
            member_id="",
            group_instance_id=member.instance_id,
            protocol_type="consumer",
            protocols=protocols,
        )
        self._tell(_REPLACED, "", member.session_timeout)
        self._brokers.ask_unheard(node_id, twin)

    def _overtake(self, group: Group) -> None:
        """Have the next round begun and ended, and its end heard by nobody.

        1. all join, and the generation is the next; 2. the answers are lost with their
        connections; 3. the members know of the former one, and the coordinator waits for all.
        """
        group.generation_id += 1
        self._tell(_OVERTAKEN, "", 0.0)
        if group.phase in (Phase.COMPLETING, Phase.STABLE):
            with suppress(UnreadableMetadataError):
                self._brokers.shard.rounds.prepare(group)


def _named(request: Request[Any]) -> tuple[str, int | None]:
    """Return the member id and the generation that a request names."""
    match request:
        case JoinGroupRequest():
            return request.member_id, None
        case SyncGroupRequest() | HeartbeatRequest():
            return request.member_id, request.generation_id
        case OffsetCommitRequest():
            return request.member_id, request.generation_id_or_member_epoch
        case _:
            raise AssertionError(f"{request.api_key.name} names no member")


def _unclaimed(metadata: bytes) -> bytes:
    """Return a subscription to the same topics that claims no partition."""
    topics = tuple(sorted(topics_of(metadata) or ()))
    return encode_subscription(MemberSubscription(topics=topics))
