"""Every answer of a session, cut at every byte, spoilt or lost: the member comes back by itself."""

from collections.abc import Callable
from typing import Any

import pytest

from kgroup.testing.broker.server.faults import Rule
from kgroup.types import ChangeKind, CommitStatus, MemberState, OffsetAndMetadata, Subscription
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import Request
from tests.consumer.scene import HEARTBEAT, TOPIC, Member, Scene, partitions, scene
from tests.contracts.application import until

pytestmark = pytest.mark.slow

EVERYTHING = partitions(0, 1)
Kind = type[Request[Any]]


@pytest.fixture
def step(anyio_backend_name: str) -> int:
    """Bytes between two cuts: every byte on one async backend, a sample on the other."""
    return 1 if anyio_backend_name == "asyncio" else 5


class Measured:
    """The size of the latest answer of a class that left whole."""

    def __init__(self, on: Scene, kind: Kind) -> None:
        self.size = 0
        self.rule = on.answers.rewrite_bytes(kind, self._measure)

    def _measure(self, frame: bytes) -> bytes:
        self.size = len(frame)
        return frame


async def spoilt_round(member: Member, on: Scene, rule: Rule) -> None:
    """Begin a round, see one answer of it spoilt, and wait until the member is whole again."""
    before = member.backend.membership.rebalances
    on.group.rebalance()
    await until(lambda: rule.count, 3 * HEARTBEAT, "an answer is spoilt")
    await until(
        lambda: (
            member.backend.membership.rebalances > before
            and member.application.settled() == EVERYTHING
        ),
        60.0,
        "the member is whole again",
    )


@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest, HeartbeatRequest])
async def test_an_answer_of_a_round_cut_at_any_byte_costs_a_connection_and_nothing_else(
    kind: Kind, step: int
) -> None:
    async with scene(count=2) as on:
        member = await on.joined()
        claims = member.backend.membership.claims
        whole = Measured(on, kind)
        await spoilt_round(member, on, whole.rule)
        assert whole.size > 10
        for after in range(0, whole.size, step):
            await spoilt_round(member, on, on.answers.cut(kind, after=after))
        assert member.backend.membership.claims == claims
        assert member.application.of_kind(ChangeKind.LOST) == []
        assert member.error is None


async def test_a_first_answer_cut_at_any_byte_is_asked_for_again(step: int) -> None:
    """The member id it carried may be pending then, until the round is given up by time."""
    async with scene(count=2) as on:
        whole = Measured(on, JoinGroupRequest)
        member = await on.joined()
        assert whole.size > 10
        for after in range(0, whole.size, step):
            member.backend.subscribe(None)
            await member.reaches(MemberState.UNSUBSCRIBED)
            rule = on.answers.cut(JoinGroupRequest, after=after)
            member.backend.subscribe(Subscription(topics=frozenset({TOPIC})))
            await member.owns(EVERYTHING, within=200.0)
            assert rule.count == 1


def renumbered(shift: int) -> Callable[[bytes], bytes]:
    """Have an answer come under another correlation id."""

    def changed(frame: bytes) -> bytes:
        number = int.from_bytes(frame[4:8], "big", signed=True) + shift
        return frame[:4] + number.to_bytes(4, "big", signed=True) + frame[8:]

    return changed


@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest, HeartbeatRequest])
@pytest.mark.parametrize(
    "spoil",
    [
        renumbered(1),
        renumbered(-1),
        lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n",
        lambda _: b"\x00\x00\x00\x00",
        lambda _: b"\x7f\xff\xff\xff",
        lambda _: b"\x00\x00\x00\x08\x00\x00\x00\x00junk",
    ],
    ids=["number ahead", "number behind", "http", "empty frame", "huge frame", "junk"],
)
async def test_an_answer_that_is_none_costs_a_connection_and_nothing_else(
    kind: Kind, spoil: Callable[[bytes], bytes]
) -> None:
    async with scene(count=2) as on:
        member = await on.joined()
        claims = member.backend.membership.claims
        await spoilt_round(member, on, on.answers.rewrite_bytes(kind, spoil))
        assert member.backend.membership.claims == claims
        assert member.error is None


async def test_an_answer_to_a_commit_cut_at_any_byte_is_unknown_and_the_next_is_sound(
    step: int,
) -> None:
    async with scene(count=2) as on:
        member = await on.joined()
        claim = member.claim(0)
        whole = Measured(on, OffsetCommitRequest)
        await member.backend.commit({claim: OffsetAndMetadata(0)})
        assert whole.size > 10
        for after in range(0, whole.size, step):
            on.answers.cut(OffsetCommitRequest, after=after)
            for number, expected in ((1, CommitStatus.UNKNOWN), (2, CommitStatus.COMMITTED)):
                offset = OffsetAndMetadata(10 * after + number)
                outcome = await member.backend.commit({claim: offset})
                assert outcome.partitions[claim.tp].status is expected
            assert on.committed(claim.tp) == 10 * after + 2
        sent = on.broker.requests_of(OffsetCommitRequest)
        numbers = [each.topics[0].partitions[0].committed_offset for each in sent]
        assert numbers == sorted(numbers)


async def test_an_answer_with_offsets_cut_at_any_byte_is_asked_for_again(step: int) -> None:
    async with scene(count=2) as on:
        member = await on.joined()
        claim = member.claim(0)
        await member.backend.commit({claim: OffsetAndMetadata(5)})
        whole = Measured(on, OffsetFetchRequest)
        await member.backend.committed({claim.tp}, timeout=20.0)
        assert whole.size > 10
        for after in range(0, whole.size, step):
            on.answers.cut(OffsetFetchRequest, after=after)
            read = await member.backend.committed({claim.tp}, timeout=20.0)
            assert read == {claim.tp: OffsetAndMetadata(5)}
