"""Subscriptions that make no sense to the leader (N23), in answers that a broker of today would not
give: it reads topics and user data itself, and lets nobody in whose bytes it cannot read (B14)."""

import struct

import anyio
import pytest

from kgroup.assignors import GroupAssignment, GroupSubscription
from kgroup.errors import AssignmentError
from kgroup.types import Leave, TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import HeartbeatRequest, MetadataRequest, SyncGroupRequest
from tests.consumer.foreign import COOPERATIVE, Foreign, led_by
from tests.consumer.scene import (
    REBALANCE,
    Member,
    Scene,
    claims_of,
    next_round,
    partitions,
    scene,
    settings,
)
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test

GARBAGE: dict[str, bytes] = {
    "nothing at all": b"",
    "cut in the version": b"\xff",
    "a negative version": struct.pack(">hi", -1, 0),
    "a negative count of topics": struct.pack(">hi", 3, -5),
    "more topics than there are bytes": struct.pack(">hi", 3, 2**31 - 1),
    "cut in a topic": struct.pack(">hih", 3, 1, 9) + b"half",
    "user data longer than the rest": struct.pack(">hii", 3, 0, 2**30),
    "a topic that is no text": struct.pack(">hih", 3, 1, 2) + b"\xff\xfe" + struct.pack(">i", -1),
}


def bad_phantom(on: Scene, data: bytes, assignor: str = "cooperative-sticky") -> None:
    on.peers.tell_of("bad", data)
    on.peers.add("bad", "t", assignor=assignor, instance_id="till")


def said(**fields: object) -> bytes:
    """Return the bytes of a subscription to `t`."""
    asked: dict[str, object] = {"topics": ("t",), **fields}
    return encode_subscription(MemberSubscription(**asked))  # type: ignore[arg-type] # by name


def latest(on: Scene) -> dict[str, frozenset[TopicPartition]]:
    """Return what the latest SyncGroup of a leader gave everybody, phantoms by name."""
    sent = [seen.request for seen in on.seen(SyncGroupRequest)]
    carried = [each for each in sent if isinstance(each, SyncGroupRequest) and each.assignments]
    return {
        on.peers.name_of(entry.member_id): frozenset(decode_assignment(entry.assignment).partitions)
        for entry in carried[-1].assignments
    }


async def in_half(on: Scene, instance_id: str | None = None) -> tuple[Member, str]:
    """Return a cooperative leader that has given half of its partitions to a phantom."""
    leader = await on.joined()
    on.peers.add("bad", "t", instance_id=instance_id)
    await until(lambda: len(on.peers.given("bad")) == 2, 60.0, "it has half of everything")
    await until(lambda: len(claims_of(leader)) == 2, 60.0, "so has the leader")
    return leader, "bad"


# -- eager: who joins holds nothing -------------------------------------------------------------


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
async def test_an_eager_member_nobody_can_read_gets_nothing_and_is_reported(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene() as on:
        bad_phantom(on, data, assignor="range")
        member = await on.joined(settings("range"))
        assert latest(on) == {member.member_id: partitions(0, 1, 2, 3), "bad": frozenset()}
        (warned,) = [each for each in caplog.messages if on.peers["bad"].member_id in each]
        assert "group=g" in warned
        assert "'till'" in warned


async def test_it_is_reported_once_however_many_rounds_there_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene() as on:
        bad_phantom(on, b"\xff", assignor="range")
        member = await on.joined(settings("range"))
        for _ in range(3):
            await next_round(member)
        name = on.peers["bad"].member_id
        assert len([each for each in caplog.messages if name in each]) == 1
        on.peers.tell_of("bad", b"\xff\xff\xff")
        await next_round(member)
        assert len([each for each in caplog.messages if name in each]) == 2


# -- cooperative: what it holds is not said -----------------------------------------------------


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
async def test_what_a_member_was_last_given_is_withheld_while_nobody_can_read_it(
    data: bytes,
) -> None:
    async with scene() as on:
        leader, bad = await in_half(on)
        held, own = on.peers.given(bad), claims_of(leader)
        on.peers.tell_of(bad, data)
        for _ in range(4):
            await next_round(leader)
            assert latest(on) == {leader.member_id: own, bad: frozenset()}
            assert not held & claims_of(leader)
        assert leader.backend.membership.trouble is None


async def test_it_is_given_away_when_that_member_is_gone() -> None:
    async with scene() as on:
        leader, bad = await in_half(on)
        on.peers.tell_of(bad, b"\xff")
        await next_round(leader)
        on.peers.end(bad)
        await leader.owns(partitions(0, 1, 2, 3))


async def test_a_member_that_can_be_read_again_says_itself_what_it_holds() -> None:
    async with scene() as on:
        leader, bad = await in_half(on)
        held = on.peers.given(bad)
        on.peers.tell_of(bad, b"\xff")
        await next_round(leader)
        on.peers.tell_of(bad, said(owned=tuple(sorted(held)), generation_id=2))
        await next_round(leader)
        assert latest(on)[bad] == held


async def test_a_static_member_is_known_by_its_instance_not_by_its_member_id() -> None:
    """It restarts, is given its assignment back under another id, and is unreadable from then."""
    async with scene() as on:
        leader, bad = await in_half(on, instance_id="till")
        held, before = on.peers.given(bad), on.peers[bad].member_id
        on.peers.restart(bad)
        assert on.peers[bad].member_id not in ("", before)
        on.peers.tell_of(bad, b"\xff")
        await next_round(leader)
        assert latest(on)[bad] == frozenset()
        assert not held & claims_of(leader)


async def test_a_newcomer_nobody_can_read_holds_nothing_and_stops_nobody() -> None:
    async with scene() as on:
        leader = await on.joined()
        bad_phantom(on, b"\xff")
        await until(lambda: "bad" in latest(on), 30.0, "a round with it")
        assert latest(on) == {leader.member_id: partitions(0, 1, 2, 3), "bad": frozenset()}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
async def test_a_leader_that_does_not_know_fails_the_round_by_name_until_it_leaves(
    data: bytes,
) -> None:
    async with scene() as on:
        bad_phantom(on, data)
        member = await on.member()
        await until(lambda: member.backend.membership.trouble, 30.0, "the round fails")
        trouble = member.backend.membership.trouble
        assert isinstance(trouble, AssignmentError)
        for word in (
            repr(on.peers["bad"].member_id),
            "'till'",
            "stop that member",
            f"{len(data)} bytes",
        ):
            assert word in str(trouble)
        await anyio.sleep(REBALANCE / 2)
        assert on.seen(SyncGroupRequest) == []
        assert on.seen(HeartbeatRequest)
        on.peers.end("bad")
        await member.owns(partitions(0, 1, 2, 3))
        assert member.backend.membership.trouble is None


async def test_a_leader_that_has_not_led_before_does_not_know() -> None:
    async with scene() as on:
        first, bad = await in_half(on)
        second = await on.joined()
        on.peers.tell_of(bad, b"\xff")
        await first.backend.leave(Leave.LEAVE, "another one leads", timeout=5.0)
        await until(lambda: second.backend.membership.trouble, 30.0, "the round fails")
        assert repr(on.peers[bad].member_id) in str(second.backend.membership.trouble)


async def test_an_assignor_that_gives_it_away_all_the_same_fails_the_round() -> None:
    assignor = Foreign(supported_protocols=COOPERATIVE)
    async with scene() as on:
        leader = await on.joined(led_by(assignor))
        on.peers.add("bad", "t", assignor="foreign")
        await until(lambda: len(on.peers.given("bad")) == 2, 60.0, "it has half of everything")
        await until(lambda: len(claims_of(leader)) == 2, 60.0, "so has the leader")
        on.peers.tell_of("bad", b"\xff")
        assignor.body = lambda group: gives_all_to(group, leader.member_id)
        on.group.rebalance()
        await until(lambda: leader.backend.membership.trouble, 30.0, "the round fails")
        assert f"while {on.peers['bad'].member_id!r} holds it" in str(
            leader.backend.membership.trouble
        )


def gives_all_to(group: GroupSubscription, member_id: str) -> GroupAssignment:
    nothing = {member.member_id: () for member in group.members}
    return GroupAssignment({**nothing, member_id: tuple(group.partitions)})


# -- what can be read and cannot be true --------------------------------------------------------


async def test_a_version_of_the_future_is_read_as_far_as_it_is_known() -> None:
    async with scene() as on:
        future = struct.pack(">h", 9) + said()[2:] + b"fields of the future"
        on.peers.add("new", "t")
        on.peers.tell_of("new", future)
        leader = await on.joined()
        assert len(latest(on)["new"]) == 2
        assert len(claims_of(leader)) == 2


async def test_topics_that_do_not_exist_hold_nobody_up() -> None:
    async with scene() as on:
        on.peers.add("other", "t", "missing", "missing too")
        leader = await on.joined()
        assert latest(on)["other"] | claims_of(leader) == partitions(0, 1, 2, 3)


@pytest.mark.slow
async def test_a_hundred_thousand_topics_that_do_not_exist_hold_nobody_up() -> None:
    names = tuple(f"missing-{number}" for number in range(100_000))
    async with scene() as on:
        on.peers.add("greedy", "t")
        on.peers.tell_of("greedy", said(topics=("t", *names)))
        # While a thread works and nothing else is to be done, virtual time runs on: give it room.
        leader = await on.member(settings(session_timeout=1e6, rebalance_timeout=2e6))
        await until(lambda: claims_of(leader), 1e6, "the leader owns something")
        assert latest(on)["greedy"] | claims_of(leader) == partitions(0, 1, 2, 3)
        asked = [seen.request for seen in on.seen(MetadataRequest)]
        assert max(len(topics_of(each)) for each in asked) <= 1


def topics_of(request: object) -> tuple[object, ...]:
    """Return the topics a question names; one about all of them names none."""
    assert isinstance(request, MetadataRequest)
    return request.topics or ()


@pytest.mark.parametrize("generation_id", [None, 0, 1, 2**31 - 1])
async def test_partitions_claimed_that_are_not_there_are_skipped(
    generation_id: int | None,
) -> None:
    strange = (TopicPartition("t", 99), TopicPartition("t", -1), TopicPartition("missing", 0))
    async with scene() as on:
        on.peers.add("other", "t")
        on.peers.tell_of("other", said(owned=strange, generation_id=generation_id))
        leader = await on.joined()
        assert latest(on)["other"] | claims_of(leader) == partitions(0, 1, 2, 3)
        assert latest(on)["other"].isdisjoint(strange)


async def test_a_claim_of_an_older_generation_takes_nothing_from_its_owner() -> None:
    async with scene() as on:
        leader = await on.joined()
        owned = claims_of(leader)
        on.peers.add("zombie", "t")
        on.peers.tell_of("zombie", said(owned=tuple(sorted(owned)), generation_id=0))
        await until(lambda: len(claims_of(leader)) == 2, 60.0, "the leader keeps its share")
        assert claims_of(leader) <= owned
        await until(lambda: len(latest(on)["zombie"]) == 2, 60.0, "the zombie gets the rest")


async def test_claims_of_one_generation_void_each_other_and_nobody_has_two_owners() -> None:
    """Who of the two is wrong cannot be told, so neither is believed in that round."""
    async with scene() as on:
        leader = await on.joined()
        owned = claims_of(leader)
        generation = leader.backend.membership.generation
        assert generation is not None
        on.peers.add("twin", "t")
        on.peers.tell_of(
            "twin", said(owned=tuple(sorted(owned)), generation_id=generation.generation_id)
        )
        await until(lambda: "twin" in latest(on), 30.0, "a round with it")
        first = latest(on)
        assert first["twin"].isdisjoint(first[leader.member_id])
        on.peers.tell_of("twin", said())
        await next_round(leader)
        await until(lambda: len(latest(on)["twin"]) == 2, 60.0, "each has its share in the end")
        await until(lambda: len(claims_of(leader)) == 2, 60.0, "each has its share in the end")
