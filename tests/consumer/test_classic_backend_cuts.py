"""Every answer of a session, cut at every byte, spoilt or lost: the member comes back by itself."""

from collections.abc import Callable
from typing import Any

import pytest

from kgroup.testing.scripted import Answer, Cut, Misnumbered, Raw
from kgroup.types import ChangeKind, CommitStatus, MemberState, OffsetAndMetadata, Subscription
from kgroup.wire.frames import encode_response
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import Message, Request
from tests.consumer.stage import HEARTBEAT, TOPIC, Member, Scene, partitions, scene
from tests.contracts.application import until

pytestmark = pytest.mark.slow

EVERYTHING = partitions(0, 1)
Kind = type[Request[Any]]


@pytest.fixture
def step(anyio_backend_name: str) -> int:
    """Bytes between two cuts: every byte on one async backend, a sample on the other."""
    return 1 if anyio_backend_name == "asyncio" else 5


class Spoiler:
    """Answers as the coordinator would, and spoils that; keeps how long the answer was."""

    def __init__(self, on: Scene, kind: Kind, spoil: Callable[[Message], Answer]) -> None:
        self.size = 0
        self._on = on
        self._kind = kind
        self._spoil = spoil

    def __call__(self, request: Request[Any]) -> Answer:
        answer = self._on.group.answer(request)
        if not isinstance(answer, Message):
            return answer
        version = self._on.seen(self._kind)[-1].version
        self.size = len(encode_response(answer, self._kind.api_key, version, 0))
        return self._spoil(answer)


async def spoilt_round(on: Scene, member: Member, spoiler: Spoiler, kind: Kind) -> None:
    """Begin a round, spoil one answer of it, and wait until the member is whole again."""
    before = member.backend.membership.rebalances
    on.group.coordinator.once(kind, spoiler)
    on.group.rebalance()
    await until(lambda: spoiler.size, 3 * HEARTBEAT, "an answer is spoilt")
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
        after, size = 0, 1
        while after <= size:
            spoiler = Spoiler(on, kind, lambda answer: Cut(answer, after))  # noqa: B023
            await spoilt_round(on, member, spoiler, kind)
            after, size = after + step, spoiler.size
        assert after > 10
        assert member.backend.membership.claims == claims
        assert member.application.of_kind(ChangeKind.LOST) == []
        assert member.error is None


async def test_a_first_answer_cut_at_any_byte_is_asked_for_again(step: int) -> None:
    """The member id it carried may be pending then, until the round is given up by time."""
    async with scene(count=2) as on:
        member = await on.joined()
        after, size = 0, 1
        while after <= size:
            member.backend.subscribe(None)
            await member.reaches(MemberState.UNSUBSCRIBED)
            spoiler = Spoiler(on, JoinGroupRequest, lambda answer: Cut(answer, after))  # noqa: B023
            on.group.coordinator.once(JoinGroupRequest, spoiler)
            member.backend.subscribe(Subscription(topics=frozenset({TOPIC})))
            await member.owns(EVERYTHING, within=200.0)
            after, size = after + step, spoiler.size
        assert after > 10


@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest, HeartbeatRequest])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda answer: Misnumbered(answer, 1),
        lambda answer: Misnumbered(answer, -1),
        lambda _: Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        lambda _: Raw(b"\x00\x00\x00\x00"),
        lambda _: Raw(b"\x7f\xff\xff\xff"),
        lambda _: Raw(b"\x00\x00\x00\x08\x00\x00\x00\x00junk"),
    ],
    ids=["number ahead", "number behind", "http", "empty frame", "huge frame", "junk"],
)
async def test_an_answer_that_is_none_costs_a_connection_and_nothing_else(
    kind: Kind, spoil: Callable[[Message], Answer]
) -> None:
    async with scene(count=2) as on:
        member = await on.joined()
        claims = member.backend.membership.claims
        await spoilt_round(on, member, Spoiler(on, kind, spoil), kind)
        assert member.backend.membership.claims == claims
        assert member.error is None


async def test_an_answer_to_a_commit_cut_at_any_byte_is_unknown_and_the_next_is_sound(
    step: int,
) -> None:
    async with scene(count=2) as on:
        member = await on.joined()
        claim = member.claim(0)
        after, size = 0, 1
        while after < size:
            spoiler = Spoiler(on, OffsetCommitRequest, lambda answer: Cut(answer, after))  # noqa: B023
            on.group.coordinator.once(OffsetCommitRequest, spoiler)
            for number, expected in ((1, CommitStatus.UNKNOWN), (2, CommitStatus.COMMITTED)):
                offset = OffsetAndMetadata(10 * after + number)
                outcome = await member.backend.commit({claim: offset})
                assert outcome.partitions[claim.tp].status is expected
            after, size = after + step, spoiler.size
        numbers = [each.offset for each in on.group.accepted]
        assert numbers == sorted(numbers)


async def test_an_answer_with_offsets_cut_at_any_byte_is_asked_for_again(step: int) -> None:
    async with scene(count=2) as on:
        member = await on.joined()
        claim = member.claim(0)
        await member.backend.commit({claim: OffsetAndMetadata(5)})
        after, size = 0, 1
        while after < size:
            spoiler = Spoiler(on, OffsetFetchRequest, lambda answer: Cut(answer, after))  # noqa: B023
            on.group.coordinator.once(OffsetFetchRequest, spoiler)
            read = await member.backend.committed({claim.tp}, timeout=20.0)
            assert read == {claim.tp: OffsetAndMetadata(5)}
            after, size = after + step, spoiler.size
