"""What a leader keeps from one round to the next, and the rounds it begins by itself."""

from types import MappingProxyType

import pytest

from kgroup.assignors import SentAssignment
from kgroup.codes import ErrorCode
from kgroup.errors import AssignorError, ConnectionLostError
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    CommitRejected,
    EnforceRebalance,
    MetadataChanged,
    Polled,
    RequestFailed,
    RunAssignor,
    Tick,
)
from kgroup.types import Cause, MemberState
from kgroup.wire.messages import JoinGroupRequest
from tests.membership.driver import Driven

FAILURE = AssignorError("zone", ["gave t-0 twice"])
LATE = ErrorCode.REBALANCE_IN_PROGRESS


# -- rounds that an assignor asks for -----------------------------------------------------------


def asking(seconds: float) -> Driven:
    member = Driven().lead("t-0")
    member.lead_again(2)
    member.assigned(rejoin_after=seconds)
    member.on(Tick(), after=5.0)
    member.synced("t-0")
    member.settle()
    member.beat()
    return member


def pass_time(member: Driven, seconds: float) -> None:
    end = member.now + seconds
    while member.now < end:
        member.on(Polled())
        member.on(Tick(), after=min(member.deadline - member.now, end - member.now, 1.0))
        if member.member.heartbeat is not None:
            member.beat()


def test_the_time_counts_from_the_adoption_of_the_assignment() -> None:
    member = asking(20.0)
    pass_time(member, 19.5)
    member.expect(MemberState.STABLE)
    pass_time(member, 1.0)
    member.expect(MemberState.JOINING)
    assert member.member.round.cause is Cause.REJOIN_DUE
    assert member.sent(JoinGroupRequest)[-1].reason == Cause.REJOIN_DUE.value


@pytest.mark.parametrize("seconds", [1e-300, 0.5, 1.0])
def test_a_generation_stands_for_a_second_at_least(seconds: float) -> None:
    member = asking(seconds)
    assert member.member.lead.rejoin_at == member.now + 1.0


def test_a_round_that_begins_earlier_takes_its_place() -> None:
    member = asking(20.0)
    member.lead_again(3)
    member.assigned()
    member.synced("t-0")
    member.settle()
    pass_time(member, 50.0)
    member.expect(MemberState.STABLE)


def test_a_leader_that_becomes_a_follower_begins_nothing() -> None:
    member = asking(20.0)
    member.on(EnforceRebalance("x"))
    member.round("t-0", generation=3)
    pass_time(member, 50.0)
    member.expect(MemberState.STABLE)


def test_a_lost_generation_takes_the_round_with_it() -> None:
    member = asking(20.0)
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.LOSE_GENERATION, generation, 22))
    assert member.member.lead.rejoin_at is None


def test_a_round_that_was_refused_asks_for_nothing() -> None:
    member = Driven().lead("t-0")
    member.lead_again(2)
    member.assigned(rejoin_after=20.0)
    member.synced(code=LATE)
    member.joined(3)
    member.synced("t-0")
    assert member.member.lead.rejoin_at is None


# -- what a leader keeps of what it sent --------------------------------------------------------


def sent(generation: int) -> SentAssignment:
    return SentAssignment(generation, MappingProxyType({}))


def asked_with(member: Driven) -> SentAssignment | None:
    return member.did(RunAssignor)[-1].sent


def led(generation: int = 2) -> Driven:
    """A leader whose assignment the coordinator took."""
    member = Driven().lead("t-0")
    member.lead_again(generation)
    member.assigned(sent=sent(generation))
    member.synced("t-0")
    member.settle()
    member.beat()
    return member


def test_the_assignor_is_asked_with_what_the_coordinator_took_last() -> None:
    member = led()
    member.lead_again(3)
    assert asked_with(member) == sent(2)
    assert member.did(RunAssignor)[-1].generation_id == 3


def test_a_round_that_failed_changed_nothing() -> None:
    member = led()
    member.lead_again(3)
    member.assignor_fails(FAILURE)
    member.on(Tick(), after=member.member.round.retry_at - member.now)
    member.joined(4, leader="m-1")
    assert asked_with(member) == sent(2)


def test_an_assignment_that_was_refused_was_given_to_nobody() -> None:
    member = led()
    member.lead_again(3)
    member.assigned(sent=sent(3))
    member.synced(code=LATE)
    member.joined(4, leader="m-1")
    assert asked_with(member) == sent(2)


def test_an_assignment_whose_fate_is_not_known_makes_the_leader_forget() -> None:
    member = led()
    member.lead_again(3)
    member.assigned(sent=sent(3))
    member.on(RequestFailed(member.ticket(Errand.SYNC_GROUP), ConnectionLostError("h:1", "reset")))
    member.on(Tick(), after=1.0)
    member.found()
    member.joined(4, leader="m-1")
    assert asked_with(member) is None


def test_another_leader_makes_it_forget() -> None:
    member = led()
    member.on(EnforceRebalance("x"))
    member.round("t-0", generation=3)
    member.lead_again(4)
    assert asked_with(member) is None


def test_a_lost_generation_makes_it_forget() -> None:
    member = led()
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.LOSE_GENERATION, generation, 22))
    member.settle()
    member.joined(3, leader="m-1")
    assert asked_with(member) is None


def test_new_partitions_do_not() -> None:
    member = led()
    member.on(MetadataChanged({"t": 9}))
    member.joined(3, leader="m-1")
    assert asked_with(member) == sent(2)
