"""Members whose subscription is no subscription, in groups that kgroup leads, on real brokers.

A coordinator looks only at the topics and the user data of what a member says of itself, and
passes most nonsense on to the leader. What it cannot read itself stops the group there, until the
member that said it is gone.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from kgroup.types import Claim, MemberState, TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_assignment,
    encode_subscription,
)
from tests.real.ground import Ground, eventually, lay_ground
from tests.real.members import LASTING, Group, group_on
from tests.real.straggler import Straggler

pytestmark = pytest.mark.real

COOPERATIVE = "cooperative-sticky"
ONE_TOPIC: Final = b"\x00\x00\x00\x01"

NONSENSE: Mapping[str, bytes] = MappingProxyType(
    {
        "nothing at all": b"",
        "cut in the version": b"\x00",
        "cut in a length": b"\x00\x03\x00\x00",
        "negative version": b"\xff\xff" + ONE_TOPIC + b"\x00\x01t" + b"\xff" * 4,
        "owns a negative number": b"\x00\x01" + b"\x00" * 4 + b"\xff" * 4 + b"\xff\xff\xff\x00",
        "owns more than is said": b"\x00\x01" + b"\x00" * 4 + b"\xff" * 4 + b"\x00\x00\x00\x09",
    }
)
"""Bytes that a coordinator passes on, and no client can read."""

NO_TEXT = b"\x00\x00" + ONE_TOPIC + b"\x00\x02\xc3\x28" + b"\xff" * 4
"""Asks for a topic whose name is no text; there is none of whatever name is read from it."""

UNREADABLE_TO_BROKERS = b"\x00\x03\x00\x00\x00\x05"
"""Says five topics and ends: the coordinator cannot complete the round."""


@asynccontextmanager
async def followed(*raw: Straggler) -> AsyncIterator[None]:
    """Have raw members take part for one block; they leave at its end."""
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        for each in raw:
            await stack.enter_async_context(each)
            tasks.start_soon(each.follow)
        yield
        tasks.cancel_scope.cancel()


async def all_have_been_given(*raw: Straggler) -> None:
    await eventually(lambda: all(each.given is not None for each in raw), "all are given bytes")


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_an_eager_group_gives_nothing_to_unreadable_members_and_goes_on(
    kafka: RealKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The members that can be read own everything, and the leader names each that cannot."""
    says = (*NONSENSE.values(), NO_TEXT)
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, assignors=("range",)) as group:
        await group.join("leader")
        await group.settled(4)
        await group.join("follower")
        await group.settled(2, 2)
        raw = [Straggler(kafka, group.name, "range", each) for each in says]
        with caplog.at_level(logging.WARNING, "kgroup"):
            async with followed(*raw):
                await all_have_been_given(*raw)
                await group.steady()
                await ground.fill(10)
                await group.all_read()
        assert [each for each in raw if its_part(each)] == []
        log = caplog.text
        assert [each.member_id in log for each in raw] == [*[True] * len(NONSENSE), False]
        await group.settled(2, 2)
        await group.end()
    total = (await group.verdict()).total
    assert (total.lost, total.out_of_order) == (0, 0)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cooperative_group_keeps_what_it_has_when_a_newcomer_cannot_be_read(
    kafka: RealKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The leader knows that it has given the newcomer nothing, so that one holds nothing."""
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path) as group:
        await group.join("leader")
        await group.settled(4)
        await group.join("follower")
        await group.settled(2, 2)
        await group.steady()
        before = claims(group)
        raw = [Straggler(kafka, group.name, COOPERATIVE, each) for each in NONSENSE.values()]
        async with followed(*raw):
            await all_have_been_given(*raw)
        assert [each for each in raw if its_part(each)] == []
        assert [each.member_id for each in raw if each.member_id not in caplog.text] == []
        await group.settled(2, 2)
        assert claims(group) == before
        await group.end()


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_what_a_member_had_before_it_became_unreadable_is_held_back_until_it_is_gone(
    kafka: RealKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What it holds cannot be read, but its leader knows what it gave it (KIP-429)."""
    ground = await lay_ground(kafka, 6)
    readable = encode_subscription(MemberSubscription(topics=(ground.topic,)))
    async with group_on(ground, tmp_path) as group:
        leader, _ = await group.join("leader"), await group.join("follower")
        await group.settled(3, 3)
        raw = Straggler(kafka, group.name, COOPERATIVE, readable)
        async with followed(raw):
            await eventually(lambda: all_share(group, raw), "each has its third")
            await eventually(lambda: all_stable(group), "the round is over")
            before = claims(group)
            raw.says = NONSENSE["cut in a length"]
            leader.consumer.enforce_rebalance("the test wants a round")
            line = f"gives nothing to member={raw.member_id!r} instance=None and holds back its 2"
            await eventually(lambda: line in caplog.text, "the leader says so")
            await eventually(lambda: not its_part(raw), "it is given nothing")
            await ground.fill(10, partitions=[claim.tp.partition for claim in before])
            await group.all_read()
            assert claims(group) == before
        await group.settled(3, 3)
        await group.end()


def all_stable(group: Group) -> bool:
    return all(
        member.is_in(MemberState.STABLE) and member.knows_its_round for member in group.members
    )


def its_part(raw: Straggler) -> frozenset[TopicPartition]:
    """Return what a raw member was last given."""
    return frozenset(decode_assignment(raw.given or b"").partitions)


def claims(group: Group) -> list[Claim]:
    """Return every claim in the group, by partition."""
    held = (claim for each in group.members for claim in each.consumer.membership.claims)
    return sorted(held, key=lambda claim: claim.tp)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_subscription_of_a_later_version_is_read_as_far_as_it_is_known(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """Versions only append: what is behind the known fields is somebody else's."""
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path) as group:
        await group.join("leader")
        await group.settled(4)
        known = encode_subscription(MemberSubscription(topics=(ground.topic,)))
        later = Straggler(kafka, group.name, COOPERATIVE, b"\x00\x09" + known[2:] + b"later")
        async with followed(later):
            await eventually(lambda: all_share(group, later), "each owns its half")
        await group.settled(4)


def claims_on_everything(ground: Ground, generation: int | None) -> bytes:
    """Say that one holds every partition, and some that are none."""
    invented = (ground.tp(99), ground.tp(2**31 - 1), TopicPartition("no-such-topic", 0))
    owned = (*sorted(ground.all_partitions), *invented)
    said = MemberSubscription(topics=(ground.topic,), owned=owned, generation_id=generation)
    return encode_subscription(said)


@pytest.mark.parametrize(
    ("generation", "anyio_backend"), [(None, "asyncio"), (1, "trio"), (2**31 - 1, "trio")]
)
async def test_a_member_that_claims_what_it_never_owned_is_given_its_part(
    kafka: RealKafka, tmp_path: Path, generation: int | None
) -> None:
    """A claim without a generation, of an old one or of one to come goes unheard where others
    claim."""
    ground = await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path) as group:
        await group.join("leader")
        await group.settled(6)
        await group.join("follower")
        await group.settled(3, 3)
        liar = Straggler(kafka, group.name, COOPERATIVE, claims_on_everything(ground, generation))
        async with followed(liar):
            await eventually(lambda: all_share(group, liar), "each has its third")
        await group.settled(3, 3)
        await group.end()
    assert (await group.judged()).total.two_owners == 0


def all_share(group: Group, *raw: Straggler) -> bool:
    """Tell whether raw members and the others own each partition once, and as many each."""
    parts = [its_part(each) for each in raw]
    parts += [member.owned for member in group.members]
    owned = [tp for part in parts for tp in part]
    return sorted(owned) == sorted(group.ground.all_partitions) and {
        len(part) for part in parts
    } == {len(owned) // len(parts)}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_round_that_the_coordinator_cannot_complete_is_reported_and_outlived(
    kafka: RealKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One member's bytes stop the coordinator; a cooperative member reads on, and joins again
    until that member is gone."""
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, **LASTING) as group:
        member = await group.join("m1")
        await group.settled(4)
        before = frozenset(member.consumer.membership.claims)
        bad = Straggler(kafka, group.name, COOPERATIVE, UNREADABLE_TO_BROKERS)
        with caplog.at_level(logging.WARNING, "kgroup"), anyio.CancelScope() as joining:
            async with bad, anyio.create_task_group() as tasks:
                tasks.start_soon(bad.join)
                await eventually(
                    lambda: "cannot complete the round" in caplog.text, "the leader logs it"
                )
                await ground.fill(10)
                await group.all_read()
                tasks.cancel_scope.cancel()
        assert not joining.cancelled_caught
        await eventually(lambda: member.is_in(MemberState.STABLE), "the group goes on")
        assert frozenset(member.consumer.membership.claims) == before
        await group.end()
