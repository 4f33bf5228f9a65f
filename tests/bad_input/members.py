"""Two members of a group, and what is changed of what they tell each other.

A broker of today lets nobody in whose subscription it cannot read, so the bytes change on their
way to the leader, as the answers of rounds do.
"""

import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio

from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kgroup.wire.schema import replace
from tests.bad_input.stage import A, B, Play, playing

GARBAGE: Final[dict[str, bytes]] = {
    "nothing at all": b"",
    "cut in the version": b"\xff",
    "a negative version": struct.pack(">hi", -1, 0),
    "a negative count of topics": struct.pack(">hi", 3, -5),
    "more topics than bytes": struct.pack(">hi", 3, 2**31 - 1),
    "cut in a topic": struct.pack(">hih", 3, 1, 9) + b"half",
    "user data longer than the rest": struct.pack(">hii", 3, 0, 2**30),
    "a web page": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}

ALL: Final = {A, B}


def leader_gets(broker: InProcessBroker, change: Callable[[bytes], bytes]) -> None:
    """Change the members in a leader's JoinGroup answer, but for itself."""

    def rewrite(_: JoinGroupRequest, answer: JoinGroupResponse) -> JoinGroupResponse:
        rows = tuple(
            each
            if each.member_id == answer.leader
            else replace(each, metadata=change(bytes(each.metadata)))
            for each in answer.members
        )
        return replace(answer, members=rows)

    broker.answers.rewrite(JoinGroupRequest, rewrite, times=None)


def claiming(**fields: Any) -> Callable[[bytes], bytes]:
    """Say something else in a subscription that can be read."""

    def change(data: bytes) -> bytes:
        said = decode_subscription(data)
        kept: dict[str, Any] = {
            "topics": said.topics,
            "owned": said.owned,
            "generation_id": said.generation_id,
        }
        return encode_subscription(MemberSubscription(**{**kept, **fields}))

    return change


@asynccontextmanager
async def two(broker: InProcessBroker, **options: Any) -> AsyncIterator[tuple[Play, Play]]:
    """Enter two members of a group; the first leads."""
    async with playing(broker, client_id="first", **options) as first:
        await first.read_for(2.0)
        async with playing(broker, client_id="second", **options) as second:
            yield first, second


async def both(first: Play, second: Play, seconds: float) -> None:
    """Let both read."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first.read_for, seconds)
        tasks.start_soon(second.read_for, seconds)


def held(play: Play) -> set[TopicPartition]:
    return set(play.consumer.assignment())


def given(data: bytes) -> Callable[[InProcessBroker], object]:
    """Give members these bytes as their assignment."""

    def rewrite(_: SyncGroupRequest, answer: SyncGroupResponse) -> SyncGroupResponse:
        return replace(answer, assignment=data) if not answer.error_code else answer

    return lambda broker: broker.answers.rewrite(SyncGroupRequest, rewrite, times=None)


def assigning(*tps: TopicPartition) -> bytes:
    return encode_assignment(MemberAssignment(tps))
