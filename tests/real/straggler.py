"""A raw member of a group: it says what a test has it say, and holds rounds up or follows them.

Decides: that it asks for no topic unless its caller says so, so that nothing moves to or from it.
Never: heartbeats, except in `follow`. Its session is long; a test has it leave, or lets the group
go.
"""

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import anyio

from kgroup.codes import ErrorCode
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

T = TypeVar("T")

_PATIENCE = 60.0
_SESSION = _ROUND = 20.0
_BEAT = 0.1
_NOTHING = encode_subscription(MemberSubscription(topics=()))


class Straggler:
    """One member; use it in an `async with` block, at whose end it leaves.

    Args:
        kafka: one node.
        group: name of the group.
        assignor: what it offers.
        says: the bytes of its subscription, readable or not.
    """

    def __init__(
        self,
        kafka: RealKafka,
        group: str,
        assignor: str = "cooperative-sticky",
        says: bytes = _NOTHING,
    ) -> None:
        self._address = parse_bootstrap(kafka.bootstrap)[0]
        self._group = group
        self._assignor = assignor
        self.says = says
        self._probe = Probe(self._address, timeout=_PATIENCE)
        self.member_id = ""
        self.joined: JoinGroupResponse
        self.given: bytes | None = None

    async def __aenter__(self) -> Self:
        await self._do(self._probe.__enter__)
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self._do(partial(self._probe.__exit__, None, None, None))
            await self.leave()

    async def take_part(self) -> None:
        """Go through one round; it ends when everybody else has rejoined."""
        await self.join()
        await self.sync()

    async def join(self) -> None:
        """Join, and wait until the round is complete."""
        answer = await self._do(self._join)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            answer = await self._do(self._join)
        assert answer.error_code == 0, answer
        self.joined = answer

    async def sync(self) -> None:
        """Sync; as leader with nothing for anybody."""
        answer = await self._do(self._sync)
        assert answer.error_code == 0, answer
        self.given = answer.assignment

    async def follow(self) -> None:
        """Take part in every round, and heartbeat in between, until cancelled."""
        while True:
            await self.join()
            answer = await self._do(self._sync)
            while answer.error_code == 0:
                self.given = answer.assignment
                if await self._do(self._beat):
                    break
                await anyio.sleep(_BEAT)

    async def leave(self) -> None:
        """Leave the group; no matter whether it is still in it."""
        await self._do(partial(evict, self._address, self._group, self.member_id))

    def _join(self) -> JoinGroupResponse:
        return self._probe.ask(
            JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=round(_SESSION * 1000),
                rebalance_timeout_ms=round(_ROUND * 1000),
                member_id=self.member_id,
                protocol_type="consumer",
                protocols=(JoinGroupRequestProtocol(name=self._assignor, metadata=self.says),),
            )
        )

    def _beat(self) -> int:
        request = HeartbeatRequest(
            group_id=self._group,
            generation_id=self.joined.generation_id,
            member_id=self.member_id,
        )
        return self._probe.ask(request).error_code

    def _sync(self) -> SyncGroupResponse:
        nothing = encode_assignment(MemberAssignment(()))
        rows = (
            SyncGroupRequestAssignment(member_id=each.member_id, assignment=nothing)
            for each in self.joined.members
        )
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=self.joined.generation_id,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name=self.joined.protocol_name,
            assignments=tuple(rows),
        )
        return self._probe.ask(request)

    async def _do(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def evict(address: tuple[str, int], group: str, member_id: str) -> None:
    """Have the coordinator remove a member that does not ask for it."""
    with Probe(address) as probe:
        row = MemberIdentity(member_id=member_id, group_instance_id=None, reason="evicted")
        probe.ask(LeaveGroupRequest(group_id=group, members=(row,)))
