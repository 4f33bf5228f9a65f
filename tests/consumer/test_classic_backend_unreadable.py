"""Subscriptions that the leader cannot read (N23).

Brokers of today do not send them: they read topics and user data themselves, and refuse a member
whose bytes they cannot read (B14).
"""

import pytest

from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import MemberSubscription, decode_assignment, encode_subscription
from kgroup.wire.messages import MetadataRequest, SyncGroupRequest
from tests.consumer.scene import Member, Scene, claims_of, next_round, partitions, scene, settings
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test


def bad_phantom(on: Scene, data: bytes, assignor: str = "cooperative-sticky") -> None:
    on.peers.replace_subscription("bad", data)
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


# -- eager: a member that joins holds nothing ----------------------------------------------


async def test_an_unreadable_subscription_is_reported_once_in_many_rounds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene() as on:
        bad_phantom(on, b"\xff", assignor="range")
        member = await on.joined(settings("range"))
        for _ in range(3):
            await next_round(member)
        name = on.peers["bad"].member_id
        assert len([each for each in caplog.messages if name in each]) == 1
        on.peers.replace_subscription("bad", b"\xff\xff\xff")
        await next_round(member)
        assert len([each for each in caplog.messages if name in each]) == 2


# -- cooperative: what it holds is not said ----------------------------------------------------


async def test_withheld_partitions_are_assigned_when_the_unreadable_member_is_gone() -> None:
    async with scene() as on:
        leader, bad = await in_half(on)
        on.peers.replace_subscription(bad, b"\xff")
        await next_round(leader)
        on.peers.end(bad)
        await leader.owns(partitions(0, 1, 2, 3))


async def test_a_member_that_is_readable_again_keeps_what_it_claims() -> None:
    async with scene() as on:
        leader, bad = await in_half(on)
        held = on.peers.given(bad)
        on.peers.replace_subscription(bad, b"\xff")
        await next_round(leader)
        on.peers.replace_subscription(bad, said(owned=tuple(sorted(held)), generation_id=2))
        await next_round(leader)
        assert latest(on)[bad] == held


async def test_a_static_member_is_known_by_its_instance_not_by_its_member_id() -> None:
    """It restarts, is given its assignment back under another id, and is unreadable from then."""
    async with scene() as on:
        leader, bad = await in_half(on, instance_id="till")
        held, before = on.peers.given(bad), on.peers[bad].member_id
        on.peers.restart(bad)
        assert on.peers[bad].member_id not in ("", before)
        on.peers.replace_subscription(bad, b"\xff")
        await next_round(leader)
        assert latest(on)[bad] == frozenset()
        assert not held & claims_of(leader)


# -- what can be read and cannot be true -------------------------------------------------------


@pytest.mark.slow
async def test_a_hundred_thousand_missing_topics_do_not_delay_the_group() -> None:
    names = tuple(f"missing-{number}" for number in range(100_000))
    async with scene() as on:
        on.peers.add("greedy", "t")
        on.peers.replace_subscription("greedy", said(topics=("t", *names)))
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
