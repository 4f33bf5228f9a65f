"""A member of the classic protocol, message by message, at whichever broker.

Decides: nothing it is not told; when it leads, it takes everything.
Never: heartbeats or joins again by itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

from kgroup.codes import ErrorCode
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from kgroup.wire.schema import Request

Ask = Callable[[Request[Any]], Any]
"""Sends a request, and returns its answer."""


class Classic:
    """One member.

    Args:
        ask: the coordinator.
        group_id: its group.
        topic: what it subscribes to.
        partitions: how many that has.
        instance_id: of a static member, None for a dynamic one.
        assignor: the one that it offers.
        rebalance: its rebalance timeout, seconds.
    """

    def __init__(
        self,
        ask: Ask,
        group_id: str,
        topic: str,
        partitions: int,
        *,
        instance_id: str | None = None,
        assignor: str = "range",
        rebalance: float = 10.0,
    ) -> None:
        self._ask = ask
        self._group_id = group_id
        self._all = [TopicPartition(topic, number) for number in range(partitions)]
        self._instance_id = instance_id
        self._assignor = assignor
        self._rebalance = rebalance
        self.member_id = ""
        self.generation = -1
        self.has: list[int] = []

    def ask_to_join(self, owned: Sequence[int] = ()) -> JoinGroupResponse:
        """Send JoinGroup, a second time with the id that the first one brought."""
        held = [tp for tp in self._all if tp.partition in owned]
        said = MemberSubscription(topics=(self._all[0].topic,), owned=held)
        offer = JoinGroupRequestProtocol(
            name=self._assignor, metadata=encode_subscription(said, version=1)
        )
        request = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=round(self._rebalance * 1000),
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            protocol_type="consumer",
            protocols=(offer,),
        )
        answer: JoinGroupResponse = self._ask(request)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            return self.ask_to_join(owned)
        return answer

    def join(self, owned: Sequence[int] = ()) -> ErrorCode:
        """Join, and ask for the part.

        Args:
            owned: what it says that it has; a cooperative member says all of it.
        """
        joined = self.ask_to_join(owned)
        if joined.error_code:
            return ErrorCode(joined.error_code)
        self.member_id, self.generation = joined.member_id, joined.generation_id
        return self.sync(leads=joined.leader == self.member_id)

    def sync(self, *, leads: bool = False) -> ErrorCode:
        """Ask for the part; a leader gives itself everything."""
        everything = encode_assignment(MemberAssignment(tuple(self._all)), version=1)
        mine = SyncGroupRequestAssignment(member_id=self.member_id, assignment=everything)
        request = SyncGroupRequest(
            group_id=self._group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            protocol_type="consumer",
            protocol_name=self._assignor,
            assignments=(mine,) if leads else (),
        )
        answer = self._ask(request)
        if not answer.error_code:
            self.has = [tp.partition for tp in decode_assignment(answer.assignment).partitions]
        return ErrorCode(answer.error_code)

    def beat(self) -> ErrorCode:
        """Send a heartbeat."""
        request = HeartbeatRequest(
            group_id=self._group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
        )
        return ErrorCode(self._ask(request).error_code)
