"""Wishes of an assignor: another round, user data that comes back, withheld partitions."""

from dataclasses import replace

import anyio
import pytest

from kgroup.assignors import GroupAssignment, GroupSubscription
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.types import Cause, MemberState, TopicPartition
from tests.consumer.foreign import COOPERATIVE, Foreign, good, led_by
from tests.consumer.scene import claims_of, next_round, partitions, scene
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test

# -- the leader's clock, and rounds that an assignor asks for ----------------------------------


async def test_an_assignor_sees_the_leaders_wall_clock() -> None:
    assignor = Foreign()
    async with scene() as on:
        await anyio.sleep(1000.0)
        await on.joined(led_by(assignor))
        assert [group.now for group in assignor.seen] == [WALL_AT_START + 1000.0]


def after(seconds: float | None) -> Foreign:
    """Return an assignor that wants another round each time, so much later."""
    return Foreign(
        lambda group: replace(good(group), rejoin_after=seconds), supported_protocols=COOPERATIVE
    )


async def test_a_leader_begins_the_round_that_its_assignor_asked_for() -> None:
    assignor = after(40.0)
    async with scene() as on:
        leader = await on.joined(led_by(assignor))
        began = anyio.current_time()
        await until(lambda: len(assignor.seen) == 2, 60.0, "another round")
        assert anyio.current_time() - began == pytest.approx(40.0, abs=1.0)
        await leader.reaches(MemberState.STABLE)
        assert leader.backend.membership.cause is Cause.REJOIN_DUE
        assert claims_of(leader) == partitions(0, 1, 2, 3)
        await until(lambda: len(assignor.seen) == 3, 60.0, "and another one")


# -- what an assignor remembers through the members --------------------------------------------


def counts_rounds(group: GroupSubscription) -> GroupAssignment:
    """Give each member a number that is one higher than the highest any of them brings."""
    newest = max((int(member.user_data or b"0") for member in group.members), default=0)
    user_data = {member.member_id: str(newest + 1).encode() for member in group.members}
    return replace(good(group), user_data=user_data)


async def test_user_data_from_an_assignor_comes_back_in_the_next_round() -> None:
    counting = Foreign(counts_rounds, supported_protocols=COOPERATIVE)
    async with scene() as on:
        leader = await on.joined(led_by(counting))
        other = await on.joined(led_by(Foreign(counts_rounds, supported_protocols=COOPERATIVE)))
        await next_round(leader)
        rounds = len(counting.seen)
        newest = {member.member_id: member.user_data for member in counting.seen[-1].members}
        newest_data = str(rounds - 1).encode()
        assert newest == {leader.member_id: newest_data, other.member_id: newest_data}


# -- withheld partitions -----------------------------------------------------------------------


async def test_withheld_partitions_are_assigned_in_the_round_the_assignor_asked_for() -> None:
    held = TopicPartition("t", 3)

    def waits_once(group: GroupSubscription) -> GroupAssignment:
        if len(assignor.seen) > 1:
            return good(group)
        draft = group.draft()
        for tp in group.partitions:
            if tp != held:
                draft.give(tp, to=group.members[0])
        draft.withhold(held)
        return draft.freeze(rejoin_after=20.0)

    assignor = Foreign(waits_once, supported_protocols=COOPERATIVE)
    async with scene() as on:
        member = await on.joined(led_by(assignor))
        assert claims_of(member) == partitions(0, 1, 2)
        await anyio.sleep(15.0)
        assert claims_of(member) == partitions(0, 1, 2)
        await member.owns(partitions(0, 1, 2, 3), within=10.0)
