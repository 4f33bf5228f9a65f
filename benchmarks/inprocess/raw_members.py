"""Four members that speak in raw requests, by kgroup's codec and nothing else.

Decides: the least a member has to say: two JoinGroups, SyncGroup, and heartbeats that tell it to
join again.
Never: has metadata, or looks for its coordinator.
"""

from typing import TypeVar

import anyio
from anyio.abc import ByteStream

from benchmarks.inprocess.group import GROUP, MEMBERS, PARTITIONS, TOPIC, Watch
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.frames import FrameSplitter, decode_response, encode_request
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from kgroup.wire.schema import Message, Request

R = TypeVar("R", bound=Message)

_JOIN, _SYNC, _BEAT = 9, 5, 4
_HEARTBEAT_INTERVAL = 3.0


async def raw_members(broker: InProcessBroker, watch: Watch) -> None:
    """Form the group."""
    streams = [await broker.dial(*broker.bootstrap[0]) for _ in range(MEMBERS)]
    async with anyio.create_task_group() as tasks:
        for number, stream in enumerate(streams):
            tasks.start_soon(_Member(number, stream, watch).run)
        await watch.complete.wait()
        tasks.cancel_scope.cancel()


class _Member:
    def __init__(self, number: int, stream: ByteStream, watch: Watch) -> None:
        self._number = number
        self._stream = stream
        self._watch = watch
        self._splitter = FrameSplitter()
        self._asked = 0

    async def run(self) -> None:
        """Take part until cancelled."""
        member_id = (await self._ask(_join(""), _JOIN)).member_id
        while True:
            joined = await self._ask(_join(member_id), _JOIN)
            synced = await self._ask(_sync(joined), _SYNC)
            if synced.error_code:
                continue
            share = frozenset(decode_assignment(synced.assignment).partitions)
            self._watch.share(self._number, share)
            await self._beat(joined)

    async def _beat(self, joined: JoinGroupResponse) -> None:
        """Send heartbeats until one says that a round has begun."""
        beat = HeartbeatRequest(
            group_id=GROUP, generation_id=joined.generation_id, member_id=joined.member_id
        )
        code = 0
        while not code:
            code = (await self._ask(beat, _BEAT)).error_code
            if not code:
                await anyio.sleep(_HEARTBEAT_INTERVAL)

    async def _ask(self, request: Request[R], version: int) -> R:
        self._asked += 1
        self._watch.first_byte()
        await self._stream.send(encode_request(request, version, self._asked, "bench"))
        while not (frames := self._splitter.feed(await self._stream.receive())):
            pass
        return decode_response(type(request), version, frames[0])[1]


def _join(member_id: str) -> JoinGroupRequest:
    subscription = encode_subscription(MemberSubscription(topics=(TOPIC,)))
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=subscription),),
    )


def _sync(joined: JoinGroupResponse) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=GROUP,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=_shared_out(joined),
    )


def _shared_out(joined: JoinGroupResponse) -> tuple[SyncGroupRequestAssignment, ...]:
    """Share the partitions out; only the leader sees members."""
    size = PARTITIONS // max(len(joined.members), 1)
    return tuple(
        SyncGroupRequestAssignment(
            member_id=member.member_id, assignment=_stretch(place * size, size)
        )
        for place, member in enumerate(joined.members)
    )


def _stretch(first: int, count: int) -> bytes:
    numbers = range(first, first + count)
    partitions = [TopicPartition(TOPIC, number) for number in numbers]
    return encode_assignment(MemberAssignment(partitions=partitions))
