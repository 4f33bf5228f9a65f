"""A static member that asks amid a round that is without it, and may come back all the same.

1. a has t-0 and t-1, one of which is to go to b; a is killed before it hands that back. 2. Its
session ends, and a round begins; a restarts and asks: the group has no such member. 3. The
coordinator resigns amid the round; its successor loads the generation before, with a in it. 4. a's
JoinGroup is answered at once with t-0 (KIP-345). Nobody has t-1, and no round is owed, if a does
not look. If the round went on, a's JoinGroup was part of it, and it must not cost another one.
"""

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    AssignorDone,
    AssignorFailed,
    EnforceRebalance,
    MetadataChanged,
    RunAssignor,
)
from kgroup.membership.group_description import LEFT_OUT, NEW, Remembered
from kgroup.types import MemberState
from kgroup.wire.messages import JoinGroupRequest
from tests.membership.driver import NODE, Driven, owned_in_join, partitions, settings


def left_out(
    *,
    leader: str = "other",
    assignor: str = "cooperative-sticky",
    remembered: Remembered = LEFT_OUT,
) -> Driven:
    """A static member that asked amid a round, and whose JoinGroup is answered."""
    member = Driven(settings(assignors=(assignor,), instance="i-1"))
    member.on(MetadataChanged({"t": 2}))
    member.subscribe("t")
    member.found(remembered=remembered)
    member.joined(7, leader=leader)
    return member


def looked(member: Driven, divided: dict[str, int] | None) -> None:
    """Answer what was given out; {}: a round is on; None: no answer."""
    ticket = member.ticket(Errand.RUN_ASSIGNOR)
    if divided is None:
        member.on(AssignorFailed(ticket, ConnectionLostError("h:1", "reset")))
    else:
        member.on(AssignorDone(ticket, (), divided))


@pytest.mark.parametrize("first", ["look", "sync"])
def test_a_left_out_member_that_is_back_in_its_generation_owes_the_missing_partition(
    first: str,
) -> None:
    member = left_out()
    (look,) = member.did(RunAssignor)
    assert (look.unasked, look.follows, look.node_id) == (True, True, NODE)
    if first == "look":
        looked(member, {"t": 1})
    member.synced("t-0")
    if first == "sync":
        member.expect(MemberState.STABLE)
        looked(member, {"t": 1})
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0")
    member.round("t-0", "t-1", generation=8)
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 2


@pytest.mark.parametrize("first", ["look", "sync"])
@pytest.mark.parametrize("given", [(), ("t-0",)])
@pytest.mark.parametrize("divided", [{}, {"t": 2}])
def test_a_left_out_member_in_a_new_round_begins_no_second_one(
    divided: dict[str, int], given: tuple[str, ...], first: str
) -> None:
    """Its leader divides still, or has divided all: also when nothing came to this member."""
    member = left_out()
    if first == "look":
        looked(member, divided)
    member.synced(*given)
    if first == "sync":
        looked(member, divided)
    member.settle()
    member.on(MetadataChanged({"t": 2}))
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 1


@pytest.mark.parametrize("first", ["look", "sync"])
def test_a_left_out_member_without_an_answer_is_in_doubt(first: str) -> None:
    member = left_out()
    if first == "look":
        looked(member, None)
    member.synced("t-0")
    if first == "sync":
        looked(member, None)
    member.expect(MemberState.JOINING)


def test_an_eager_left_out_member_without_an_answer_owes_nothing() -> None:
    member = left_out(assignor="range")
    looked(member, None)
    member.synced("t-0")
    member.expect(MemberState.STABLE)


def test_what_was_given_out_of_a_topic_counts_when_its_metadata_is_there() -> None:
    member = Driven(settings(instance="i-1"))
    member.subscribe("t")
    member.found(remembered=LEFT_OUT)
    member.joined(7)
    member.synced("t-0")
    looked(member, {"t": 1})
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 2}))
    member.expect(MemberState.JOINING)


def test_what_was_given_out_means_nothing_once_another_round_is_joined() -> None:
    """What it has goes with that JoinGroup, so the leader hears it."""
    member = left_out()
    late = member.ticket(Errand.RUN_ASSIGNOR)
    member.synced("t-0")
    member.on(EnforceRebalance("x"))
    member.round("t-0", generation=8)
    member.on(AssignorDone(late, (), {"t": 1}))
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 2


def test_a_left_out_member_that_leads_the_round_does_not_look() -> None:
    member = left_out(leader="m-1")
    (run,) = member.did(RunAssignor)
    assert not run.unasked


@pytest.mark.parametrize("given", [(), ("t-0",)])
def test_a_new_member_of_a_stable_group_neither_looks_nor_begins_a_second_round(
    given: tuple[str, ...],
) -> None:
    """Its JoinGroup began one: the leader has heard it, also when it gave this member nothing."""
    member = left_out(remembered=NEW)
    member.synced(*given)
    member.on(MetadataChanged({"t": 2}))
    member.expect(MemberState.STABLE)
    assert member.did(RunAssignor) == []
    assert len(member.sent(JoinGroupRequest)) == 1


def test_the_round_is_owed_until_it_is_adopted_although_the_generation_is_lost_before() -> None:
    """1. It came back, and asks for a round; 2. the coordinator resigns, and forgets that; 3. its
    lease expires; 4. it joins under its id, with nothing, as it did when it came back: in Stable
    the coordinator takes that for no change, and answers at once."""
    member = left_out()
    looked(member, {"t": 1})
    member.synced("t-0")
    member.settle()
    member.joined(code=ErrorCode.ILLEGAL_GENERATION)
    member.settle()
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.JOINING)
    member.round("t-0", "t-1", generation=8)
    member.expect(MemberState.STABLE)
