"""What an assignor asks for: another round, user data that comes back, partitions withheld."""

from dataclasses import replace

import anyio
import pytest

from kgroup.assignors import GroupAssignment, GroupSubscription
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.types import Cause, ChangeKind, MemberState, TopicPartition
from tests.consumer.foreign import COOPERATIVE, Foreign, good, led_by
from tests.consumer.scene import claims_of, next_round, partitions, scene
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test

# -- the leader's clock, and rounds that an assignor asks for -----------------------------------


async def test_an_assignor_is_told_the_leaders_wall_clock() -> None:
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


async def test_the_time_counts_from_the_last_round_whatever_began_it() -> None:
    assignor = after(40.0)
    async with scene() as on:
        leader = await on.joined(led_by(assignor))
        await anyio.sleep(30.0)
        await next_round(leader)
        await anyio.sleep(35.0)
        assert len(assignor.seen) == 2
        await anyio.sleep(10.0)
        assert len(assignor.seen) == 3


async def test_an_assignor_without_patience_does_not_keep_its_group_from_working() -> None:
    assignor = after(1e-9)
    async with scene() as on:
        await on.joined(led_by(assignor))
        await anyio.sleep(60.0)
        assert 20 < len(assignor.seen) <= 61


async def test_another_leader_decides_by_itself() -> None:
    async with scene() as on:
        first = await on.joined(led_by(after(40.0)))
        second = await on.joined(led_by(quiet := after(None)))
        on.lead(second)
        await next_round(second)
        asked = len(quiet.seen)
        await anyio.sleep(200.0)
        assert len(quiet.seen) == asked
        assert not first.backend.membership.leader


# -- what an assignor remembers through the members ---------------------------------------------


def counts_rounds(group: GroupSubscription) -> GroupAssignment:
    """Give each member a number that is one higher than the highest any of them brings."""
    newest = max((int(member.user_data or b"0") for member in group.members), default=0)
    user_data = {member.member_id: str(newest + 1).encode() for member in group.members}
    return replace(good(group), user_data=user_data)


async def test_what_an_assignor_gives_its_members_comes_back_in_the_next_round() -> None:
    counting = Foreign(counts_rounds, supported_protocols=COOPERATIVE)
    async with scene() as on:
        leader = await on.joined(led_by(counting))
        other = await on.joined(led_by(Foreign(counts_rounds, supported_protocols=COOPERATIVE)))
        await next_round(leader)
        rounds = len(counting.seen)
        newest = {member.member_id: member.user_data for member in counting.seen[-1].members}
        told = str(rounds - 1).encode()
        assert newest == {leader.member_id: told, other.member_id: told}


async def test_one_member_that_is_lost_makes_nobody_forget() -> None:
    counting = Foreign(counts_rounds, supported_protocols=COOPERATIVE)
    async with scene() as on:
        leader = await on.joined(led_by(counting))
        other = await on.joined(led_by(Foreign(counts_rounds, supported_protocols=COOPERATIVE)))
        old = other.member_id
        on.group.expire(old)
        await until(lambda: other.application.of_kind(ChangeKind.LOST), 30.0, "it is lost")
        await until(lambda: len(claims_of(other)) == 2, 60.0, "it is back")
        back = next(group for group in counting.seen if other.member_id in names(group))
        brought = {member.member_id: member.user_data for member in back.members}
        assert other.member_id != old
        assert brought[other.member_id] is not None
        assert brought[leader.member_id] is not None


def names(group: GroupSubscription) -> set[str]:
    return {member.member_id for member in group.members}


# -- partitions that nobody shall have for a time -----------------------------------------------


async def test_what_is_withheld_for_nobody_is_given_in_the_round_that_was_asked_for() -> None:
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


async def test_a_static_leader_that_comes_back_has_what_was_withheld_looked_at_again() -> None:
    """The time its predecessor waited for died with it; what is given to nobody gives it away."""
    held = TopicPartition("t", 3)

    def waits(group: GroupSubscription) -> GroupAssignment:
        draft = group.draft()
        for tp in group.partitions:
            if tp != held:
                draft.give(tp, to=group.members[0])
        draft.withhold(held)
        return draft.freeze(rejoin_after=1000.0)

    chosen = led_by(Foreign(waits, supported_protocols=COOPERATIVE), group_instance_id="i")
    async with scene() as on:
        first = await on.joined(chosen)
        first.scope.cancel()
        await first.ends()
        second = Foreign(supported_protocols=COOPERATIVE)
        again = await on.joined(replace(chosen, assignors=(second,)))
        await again.owns(partitions(0, 1, 2, 3))
