"""A static member that dies while it hands a partition back, and comes back without a round.

1. The leader moves t-1 from this member to another: nobody has it in this round (KIP-429). 2. The
process is killed before it says that it let go. 3. The next one is given t-0, and no round begins
(KIP-345). Without the round that only this member knows of, nobody would ever own t-1.
"""

import pytest

from kgroup.codes import ErrorCode
from kgroup.machine.claims import HoldingState
from kgroup.machine.wishes import Errand
from kgroup.membership.events import Answered, MetadataChanged, Tick, Unsubscribed
from kgroup.membership.group_description import (
    IN_DOUBT,
    LEFT_OUT,
    NEW,
    Remembered,
    remembered_of,
)
from kgroup.types import MemberState
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)
from kgroup.wire.messages import (
    DescribedGroupMember,
    DescribeGroupsDescribedGroup,
    JoinGroupRequest,
    LeaveGroupRequest,
)
from tests.membership.driver import (
    HEARTBEAT,
    Driven,
    generation_in_join,
    join_answer,
    owned_in_join,
    partitions,
    settings,
)


def came_back(counts: dict[str, int], divided: dict[str, int]) -> Driven:
    """A static member that is given t-0 again, in a group that has `divided` so many partitions."""
    member = Driven(settings(instance="i-1"))
    member.on(MetadataChanged(counts))
    member.subscribe("t")
    member.found(remembered=Remembered(frozenset("t"), frozenset(divided), divided))
    member.joined(7)
    member.synced("t-0")
    member.settle()
    return member


def test_a_partition_that_nobody_was_given_has_a_round_begun() -> None:
    member = came_back({"t": 2}, {"t": 1})
    member.expect(MemberState.JOINING)
    first, second = member.sent(JoinGroupRequest)
    assert first.protocols[0].metadata != second.protocols[0].metadata, (
        "else it is answered at once"
    )


def test_that_round_is_begun_once() -> None:
    member = came_back({"t": 2}, {"t": 1})
    member.round("t-0", generation=8)
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 2


def test_a_topic_that_was_given_out_whole_begins_no_round() -> None:
    member = came_back({"t": 2}, {"t": 2})
    member.expect(MemberState.STABLE)


def test_metadata_that_comes_after_the_old_assignment_has_the_round_begun() -> None:
    member = came_back({}, {"t": 1})
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 2}))
    member.expect(MemberState.JOINING)


def test_a_topic_that_grows_later_is_left_to_the_leader() -> None:
    member = came_back({"t": 2}, {"t": 2})
    member.on(MetadataChanged({"t": 3}))
    member.expect(MemberState.STABLE)


def test_what_it_was_given_again_is_not_handed_back_for_the_round() -> None:
    member = came_back({"t": 2}, {"t": 1})
    assert member.member.holdings.states[member.claim("t-0")] is HoldingState.HELD


# -- the same process ---------------------------------------------------------------------------


def handing_back(assignor: str = "cooperative-sticky") -> Driven:
    """A static member that has t-0 and must give t-1 up, which its round gave to nobody yet."""
    member = Driven(settings(assignors=(assignor,), instance="i-1"))
    member.on(MetadataChanged({"t": 4}))
    member.join("t-0", "t-1")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.settle()
    member.joined(2)
    return member


def resubscribe(member: Driven) -> None:
    """Have everything given up, and asked for again; no LeaveGroup is sent."""
    member.on(Unsubscribed())
    member.subscribe("t")
    member.settle()
    member.expect(MemberState.JOINING)
    assert member.sent(LeaveGroupRequest) == []
    assert member.sent(JoinGroupRequest)[-1].member_id == ""


def came_again(member: Driven, *names: str, leads: bool = False) -> None:
    """Be given what it had, at once, under another id."""
    leader = "m-2" if leads else "other"
    answer = join_answer(member.member, 2, leader=leader, member_id="m-2", skip=leads)
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer))
    member.synced(*names)


@pytest.mark.parametrize("leads", [False, True])
def test_what_it_let_go_of_before_it_unsubscribed_is_owed_when_it_is_back(leads: bool) -> None:
    """1. t-1 is handed back, and a round is owed that says so; 2. before it is asked for, the
    application unsubscribes and subscribes again; 3. the member is given t-0 at once."""
    member = handing_back()
    member.synced("t-0")
    resubscribe(member)
    came_again(member, "t-0", leads=leads)
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0")
    assert member.sent(JoinGroupRequest)[-1].member_id == "m-2"
    member.round("t-0", generation=3)
    member.expect(MemberState.STABLE)


def test_a_round_that_left_it_out_while_unsubscribed_is_owed_when_it_is_back() -> None:
    """1. Its JoinGroup claims t-0 and t-1; 2. the application unsubscribes before it is answered,
    and subscribes again; 3. the round went on, and gave it t-0 only: t-1 is to be handed back."""
    member = handing_back()
    resubscribe(member)
    came_again(member, "t-0")
    member.expect(MemberState.JOINING)


def test_a_member_that_is_given_all_that_it_had_owes_nothing_when_it_is_back() -> None:
    member = handing_back()
    member.synced("t-0", "t-1")
    resubscribe(member)
    came_again(member, "t-0", "t-1")
    member.expect(MemberState.STABLE)


def test_a_member_that_has_joined_without_its_partition_owes_nothing_when_it_is_back() -> None:
    member = handing_back()
    member.synced("t-0")
    member.settle()
    member.on(Tick(), after=0.1)
    member.round("t-0", generation=3)
    resubscribe(member)
    came_again(member, "t-0")
    member.expect(MemberState.STABLE)


def test_the_round_is_owed_until_it_is_adopted_however_often_it_subscribes_again() -> None:
    member = handing_back()
    member.synced("t-0")
    for _ in range(2):
        resubscribe(member)
        came_again(member, "t-0")
        member.expect(MemberState.JOINING)
    member.round("t-0", generation=3)
    member.expect(MemberState.STABLE)


def test_a_round_owed_for_a_topic_is_owed_until_it_is_adopted_too() -> None:
    member = came_back({"t": 2}, {"t": 1})
    member.expect(MemberState.JOINING)
    resubscribe(member)
    came_again(member, "t-0")
    member.expect(MemberState.JOINING)
    member.round("t-0", generation=8)
    member.expect(MemberState.STABLE)


def test_an_eager_member_lets_go_of_all_in_each_round_and_owes_none_when_it_is_back() -> None:
    member = handing_back("range")
    member.synced("t-0")
    resubscribe(member)
    came_again(member, "t-0")
    member.expect(MemberState.STABLE)


def test_what_the_coordinator_does_not_know_any_more_is_held_back_for_nobody() -> None:
    member = handing_back()
    member.synced(code=ErrorCode.UNKNOWN_MEMBER_ID)
    member.settle()
    member.joined(3, member_id="m-3")
    member.synced("t-0")
    assert member.member.identity.member_id == "m-3"
    member.expect(MemberState.STABLE)


def test_a_returning_member_that_leads_owes_no_round() -> None:
    member = handing_back()
    member.synced("t-0")
    resubscribe(member)
    member.joined(3, leader="m-2", member_id="m-2")
    member.assigned()
    member.synced("t-0")
    member.expect(MemberState.STABLE)


# -- when nobody can tell -----------------------------------------------------------------------


def came_back_in_doubt(assignor: str = "cooperative-sticky") -> Driven:
    member = Driven(settings(assignors=(assignor,), instance="i-1"))
    member.on(MetadataChanged({"t": 4}))
    member.subscribe("t")
    member.found(remembered=IN_DOUBT)
    return member


def test_a_member_that_learned_nothing_during_a_round_begins_one() -> None:
    """1. It is killed while it hands t-1 back; 2. the others' round goes on without it; 3. the next
    process asks meanwhile, and learns nothing; 4. its JoinGroup is answered when that round is
    over, with t-0 at once. Whether somebody has t-1 it cannot know."""
    member = came_back_in_doubt()
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.JOINING)
    assert member.member.holdings.states[member.claim("t-0")] is HoldingState.HELD
    member.round("t-0", "t-1", generation=8)
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 2


def test_a_member_in_doubt_owes_nothing_after_its_round() -> None:
    """Each process costs one round at most, however many come back at once."""
    member = came_back_in_doubt()
    member.joined(7)
    member.synced("t-0")
    member.round("t-0", generation=8)
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.round("t-0", generation=9)
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 3


def test_a_member_in_doubt_that_leads_owes_no_round() -> None:
    member = came_back_in_doubt()
    member.joined(7, leader="m-1")
    member.assigned()
    member.synced("t-0")
    member.expect(MemberState.STABLE)


def test_an_eager_member_is_not_in_doubt_for_in_each_round_all_is_given_out() -> None:
    member = came_back_in_doubt("range")
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.STABLE)


# -- what a group says of a static member -------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "instance", "protocol_type", "expected"),
    [
        ("CompletingRebalance", "i-1", "consumer", IN_DOUBT),
        ("PreparingRebalance", "i-1", "consumer", IN_DOUBT),
        ("PreparingRebalance", "i-2", "consumer", LEFT_OUT),
        ("PreparingRebalance", "i-1", "connect", IN_DOUBT),
        ("PreparingRebalance", "i-2", "", LEFT_OUT),
        ("Empty", "i-2", "consumer", LEFT_OUT),
        ("Stable", "i-2", "consumer", NEW),
        ("Dead", "i-2", "", NEW),
    ],
)
def test_what_a_group_says_of_a_static_member_depends_on_its_round_and_its_members(
    state: str, instance: str, protocol_type: str, expected: Remembered
) -> None:
    described = DescribeGroupsDescribedGroup(
        group_id="g",
        group_state=state,
        protocol_type=protocol_type,
        protocol_data="",
        members=(
            DescribedGroupMember(
                member_id="m-1",
                group_instance_id=instance,
                client_id="c",
                client_host="/10.0.0.1",
                member_metadata=encode_subscription(MemberSubscription(topics=("t",))),
                member_assignment=encode_assignment(MemberAssignment()),
            ),
        ),
    )
    assert remembered_of(described, "i-1") == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.GROUP_ID_NOT_FOUND, NEW),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, IN_DOUBT),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, IN_DOUBT),
    ],
)
def test_a_group_that_is_not_there_remembers_nobody_and_any_other_error_leaves_doubt(
    code: ErrorCode, expected: Remembered
) -> None:
    described = DescribeGroupsDescribedGroup(
        error_code=code,
        group_id="g",
        group_state="",
        protocol_type="",
        protocol_data="",
        members=(),
    )
    assert remembered_of(described, "i-1") == expected


# -- a generation that is lost before it is adopted ---------------------------------------------


def lost_before_it_was_adopted(remembered: Remembered | None, name: str) -> Driven:
    """A static member that came back, lost the generation before SyncGroup was answered, and is
    given what it had, at once, under its id."""
    member = Driven(settings(assignors=(name,), instance="i-1"))
    member.on(MetadataChanged({"t": 2}))
    member.subscribe("t")
    member.found(remembered=remembered)
    member.joined(7)
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.ILLEGAL_GENERATION)
    member.expect(MemberState.JOINING)
    assert generation_in_join(member) is None
    member.joined(7)
    member.synced("t-0")
    member.settle()
    return member


@pytest.mark.parametrize(
    "remembered", [Remembered(frozenset("t"), frozenset("t"), {"t": 1}), IN_DOUBT]
)
def test_the_round_stays_owed_when_the_generation_is_lost_before_it_is_adopted(
    remembered: Remembered,
) -> None:
    """1. It came back, and t-1 is nobody's; 2. a heartbeat is answered ILLEGAL_GENERATION before
    SyncGroup is; 3. it joins as it did before, and is given t-0 at once, under its id."""
    member = lost_before_it_was_adopted(remembered, "cooperative-sticky")
    member.expect(MemberState.JOINING)
    assert owned_in_join(member) == partitions("t-0")
    member.round("t-0", "t-1", generation=8)
    member.expect(MemberState.STABLE)


@pytest.mark.parametrize(
    ("remembered", "name"),
    [
        (NEW, "cooperative-sticky"),
        (None, "cooperative-sticky"),
        (IN_DOUBT, "range"),
        (Remembered(frozenset("t"), frozenset("t"), {"t": 1}), "range"),
    ],
)
def test_no_round_is_owed_when_nothing_was_held_back_although_the_generation_was_lost(
    remembered: Remembered | None, name: str
) -> None:
    lost_before_it_was_adopted(remembered, name).expect(MemberState.STABLE)


def test_an_eager_member_that_came_back_with_another_topic_begins_a_round_after_that_loss() -> None:
    before = Remembered(frozenset("u"), frozenset("u"), {"u": 1})
    lost_before_it_was_adopted(before, "range").expect(MemberState.JOINING)


def test_a_topic_that_is_still_looked_for_stays_so_when_the_generation_is_lost() -> None:
    """1. What is given out of t is known, how many it has is not; 2. the generation is lost."""
    member = came_back({}, {"t": 1})
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.ILLEGAL_GENERATION)
    member.settle()
    member.expect(MemberState.JOINING)
    member.joined(7)
    member.synced("t-0")
    member.settle()
    member.expect(MemberState.JOINING)
