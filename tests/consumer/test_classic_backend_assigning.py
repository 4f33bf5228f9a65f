"""Assignors of users in a whole member: failed rounds, and how the member goes on."""

import logging

import anyio
import pytest

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription
from kgroup.errors import AssignorError
from kgroup.journal import RoundFailed
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.messages import JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from tests.consumer.foreign import BAD_BODIES, COOPERATIVE, Foreign, good, led_by, raises
from tests.consumer.scene import (
    HEARTBEAT,
    REBALANCE,
    Member,
    Scene,
    claims_of,
    partitions,
    scene,
    settings,
)
from tests.contracts.application import until

LONGEST = 1.2 * HEARTBEAT
"""The longest pause between two tries, spread by a fifth."""


def trouble(member: Member) -> AssignorError:
    found = member.backend.membership.trouble
    assert isinstance(found, AssignorError)
    return found


async def fails(member: Member) -> None:
    await until(lambda: member.backend.membership.trouble, 30.0, "a failed round is shown")


def assignments(on: Scene) -> list[SyncGroupRequest]:
    """Return the SyncGroups that carried something."""
    found = [seen.request for seen in on.seen(SyncGroupRequest)]
    return [each for each in found if isinstance(each, SyncGroupRequest) and each.assignments]


# -- rounds that fail --------------------------------------------------------------------------


@pytest.mark.parametrize("words", BAD_BODIES)
async def test_a_bad_assignment_is_not_sent_and_the_error_names_the_assignor(words: str) -> None:
    async with scene() as on:
        member = await on.member(led_by(Foreign(BAD_BODIES[words])))
        await fails(member)
        assert str(trouble(member)).startswith(f"assignor 'foreign' {words}")
        assert trouble(member).assignor == "foreign"
        await anyio.sleep(REBALANCE / 2)
        assert on.seen(SyncGroupRequest) == []
        assert on.seen(LeaveGroupRequest) == []
        assert member.error is None


async def test_followers_rejoin_while_the_leader_fails_and_settle_with_it() -> None:
    """Their SyncGroups are parked while the leader waits; its JoinGroup ends that."""
    assignor = Foreign()
    async with scene() as on:
        leader = await on.joined(led_by(assignor))
        assignor.body = raises
        other = await on.member(led_by(Foreign()))
        await until(lambda: len(on.seen(SyncGroupRequest)) > 4, 60.0, "the other syncs repeatedly")
        assert len(assignments(on)) == 1
        assert other.error is None
        assert other.backend.membership.trouble is None
        assignor.body = good
        await until(lambda: claims_of(other) and claims_of(leader), 30.0, "both own something")
        assert claims_of(other) | claims_of(leader) == partitions(0, 1, 2, 3)


async def test_each_try_says_something_new_so_that_the_coordinator_begins_a_round() -> None:
    """The same bytes, while the others wait for the assignment, would change nothing (B18)."""
    async with scene() as on:
        member = await on.member(led_by(Foreign(raises)))
        await fails(member)
        await anyio.sleep(20.0)
        blobs = [
            seen.request.protocols[0].metadata
            for seen in on.seen(JoinGroupRequest)
            if isinstance(seen.request, JoinGroupRequest)
        ]
        generations = [decode_subscription(blob).generation_id for blob in blobs[2:]]
        assert len(generations) > 4
        assert len(set(generations)) == len(generations)


async def test_a_cause_is_said_once_with_the_place_where_it_was_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assignor = Foreign(raises)
    async with scene() as on:
        member = await on.member(led_by(assignor))
        await anyio.sleep(20.0)
        (record,) = [each for each in caplog.records if "cannot divide" in each.getMessage()]
        assert record.levelno == logging.WARNING
        assert record.exc_info is not None
        assert "I cannot divide" in caplog.text.split("Traceback")[1]
        assignor.body = BAD_BODIES["returned None, not a GroupAssignment"]
        await anyio.sleep(20.0)
        assert len([each for each in caplog.messages if "returned None" in each]) == 1
        assert "returned None" in str(trouble(member))


async def test_the_event_log_has_every_failure_with_the_text_of_its_error() -> None:
    async with scene() as on:
        member = await on.member(led_by(Foreign(raises)))
        await anyio.sleep(20.0)
        failed = [entry for entry in member.sink.events if isinstance(entry, RoundFailed)]
        assert len(failed) > 4
        assert {each.reason for each in failed} == {str(trouble(member))}
        assert [each.generation_id for each in failed] == list(range(1, len(failed) + 1))
        assert all(0 < each.retry_after <= LONGEST for each in failed)


async def test_an_interrupt_in_an_assignor_is_no_failed_round() -> None:
    def interrupted(group: GroupSubscription) -> GroupAssignment:
        raise Interrupt(f"while {len(group.members)} members waited")

    async def play() -> None:
        async with scene() as on:
            await on.member(led_by(Foreign(interrupted)))
            await anyio.sleep(60.0)

    with pytest.raises(BaseExceptionGroup) as raised:
        await play()
    assert raised.value.split(Interrupt)[1] is None


class Interrupt(BaseException):
    """Like KeyboardInterrupt, for a test."""


# -- what a cooperative assignor may not do ----------------------------------------------------


async def test_a_handover_before_the_owner_has_revoked_fails_the_round_and_is_not_sent() -> None:
    """The first member owns everything, and is asked for nothing before another has half of it."""
    assignor = Foreign(supported_protocols=COOPERATIVE)
    async with scene() as on:
        first = await on.joined(led_by(assignor))
        assignor.body = lambda group: all_to(newest(group), group)
        second = await on.member(led_by(Foreign(supported_protocols=COOPERATIVE)))
        await fails(first)
        to, holder = second.member_id, first.member_id
        assert f"t-0 to '{to}' while '{holder}' holds it" in str(trouble(first))
        assert "withhold" in str(trouble(first))
        await anyio.sleep(30.0)
        assert len(assignments(on)) == 1
        assert claims_of(first) == partitions(0, 1, 2, 3)
        assert claims_of(second) == frozenset()
        assignor.body = good
        await until(lambda: len(claims_of(second)) == 2, 60.0, "half of it, in two rounds")


async def test_an_eager_leader_takes_nothing_that_cooperative_members_hold() -> None:
    """The leader lists an eager assignor beside the one in use, the other member does not."""
    assignor, own = Foreign(supported_protocols=COOPERATIVE), BUILT_IN["range"]
    async with scene() as on:
        leader = await on.joined(settings(assignors=(assignor, own)))
        other = await on.member(led_by(Foreign(supported_protocols=COOPERATIVE)))
        await until(lambda: len(claims_of(other)) == len(claims_of(leader)) == 2, 60.0, "halves")
        held = claims_of(other)
        assignor.body = lambda group: all_to(leader.member_id, group)
        await next_failure(leader)
        to, holder = leader.member_id, other.member_id
        assert f"to '{to}' while '{holder}' holds it" in str(trouble(leader))
        assert claims_of(other) == held
        assignor.body = good
        await until(lambda: len(claims_of(leader)) == 2, 60.0, "the leader has its half again")
        assert claims_of(other) == held


async def next_failure(leader: Member) -> None:
    leader.backend.enforce_rebalance("the test wants a round")
    await fails(leader)


def all_to(member_id: str, group: GroupSubscription) -> GroupAssignment:
    nothing = {member.member_id: () for member in group.members}
    return GroupAssignment({**nothing, member_id: tuple(group.partitions)})


def newest(group: GroupSubscription) -> str:
    """Return the member that holds nothing yet."""
    return next(member.member_id for member in group.members if not member.owned)
