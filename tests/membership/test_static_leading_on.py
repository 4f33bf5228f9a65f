"""A static leader that unsubscribes, and subscribes again, leads on unasked (KIP-345, KIP-814).

Neither it nor the coordinator begins a round, so what happened meanwhile is noticed by it, or by
nobody.
"""

from collections.abc import Callable

import pytest

from kgroup.errors import ConnectionLostError
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Answered,
    AssignorDone,
    AssignorFailed,
    Event,
    MetadataChanged,
    Unsubscribed,
)
from kgroup.types import Cause, MemberState
from tests.membership.driver import Driven, join_answer, settings

GROWN = {"t": 6}
BOTH = {"t": 4, "u": 4}


def leader() -> Driven:
    """A static member that leads generation 7, which was made from 4 partitions."""
    return Driven(settings(instance="i-1")).lead("t-0", generation=7)


def leader_of_two() -> Driven:
    """Likewise, and another member reads u, which has 4 partitions too."""
    member = Driven(settings(instance="i-1"))
    member.on(MetadataChanged(BOTH))
    member.subscribe()
    member.found()
    member.joined(7, leader="m-1")
    member.on(AssignorDone(member.ticket(Errand.RUN_ASSIGNOR), (("m-1", b""),), BOTH))
    member.synced("t-0")
    member.settle()
    return member


def goes(member: Driven) -> None:
    """Unsubscribe, and hand everything back."""
    member.on(Unsubscribed())
    member.settle()
    member.expect(MemberState.UNSUBSCRIBED)


def comes_back(member: Driven, generation: int = 7) -> None:
    """Subscribe again, and be given what it had, at once, to lead on."""
    member.subscribe()
    answer = join_answer(member.member, generation, leader="m-1", skip=True)
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer))
    member.synced("t-0")
    member.settle()
    member.expect(MemberState.STABLE)


def nothing(member: Driven) -> Event:
    """The coordinator did not answer, and the topics of the group are not known."""
    lost = ConnectionLostError("node 7", "gone")
    return AssignorFailed(member.ticket(Errand.RUN_ASSIGNOR), lost)


def counted(member: Driven, **counts: int) -> Event:
    """So many partitions were assigned, or there are so many now, if that is not known."""
    return AssignorDone(member.ticket(Errand.RUN_ASSIGNOR), (), counts)


def unanswered(member: Driven) -> Event:
    """The coordinator did not answer, and the cluster tells how many there are now."""
    return counted(member, t=6)


@pytest.mark.parametrize("found", [nothing, unanswered])
def test_growth_while_it_was_not_subscribed_begins_one_round_also_without_an_answer(
    found: Callable[[Driven], Event],
) -> None:
    """1. It unsubscribes, which ends no membership of a static one; 2. the topic grows, and it
    hears of that; 3. it subscribes again, and leads on; 4. it does not learn the assignment."""
    member = leader()
    goes(member)
    member.on(MetadataChanged(GROWN))
    comes_back(member)
    member.on(found(member))
    member.expect(MemberState.JOINING)
    assert member.member.round.cause is Cause.TOPICS_CHANGED
    member.joined(8, leader="m-1")
    member.on(AssignorDone(member.ticket(Errand.RUN_ASSIGNOR), (("m-1", b""),), GROWN))
    member.synced("t-0")
    member.settle()
    member.on(MetadataChanged(GROWN))
    member.expect(MemberState.STABLE)


def test_growth_of_what_only_others_read_begins_one_round_although_the_look_failed() -> None:
    """No list of members came either, so it knows the group's other topics from itself alone."""
    member = leader_of_two()
    goes(member)
    member.on(MetadataChanged({"t": 4, "u": 6}))
    comes_back(member)
    member.on(nothing(member))
    member.expect(MemberState.JOINING)
    member.joined(8, leader="m-1")
    member.on(AssignorDone(member.ticket(Errand.RUN_ASSIGNOR), (("m-1", b""),), {"t": 4, "u": 6}))
    member.synced("t-0")
    member.settle()
    member.expect(MemberState.STABLE)


def test_what_only_others_read_is_watched_on_although_the_look_failed() -> None:
    member = leader_of_two()
    goes(member)
    comes_back(member)
    member.on(nothing(member))
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged(BOTH))
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 4, "u": 6}))
    member.expect(MemberState.JOINING)


@pytest.mark.parametrize("found", [nothing, lambda member: counted(member, **BOTH)])
def test_a_count_that_is_not_known_when_it_leads_on_is_not_a_changed_one(
    found: Callable[[Driven], Event],
) -> None:
    """1. It goes, and the cluster tells it of its own topic only; 2. it leads on, and looks; 3. the
    cluster tells of the other topic, which is as it was."""
    member = leader_of_two()
    goes(member)
    member.on(MetadataChanged({"t": 4}))
    comes_back(member)
    member.on(found(member))
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged(BOTH))
    member.expect(MemberState.STABLE)


@pytest.mark.parametrize("found", [nothing, lambda member: counted(member, t=2)])
def test_a_topic_that_was_made_anew_with_fewer_partitions_begins_a_round(
    found: Callable[[Driven], Event],
) -> None:
    """Whether the look fails, or the counts of now are all that is had."""
    member = leader()
    goes(member)
    member.on(MetadataChanged({"t": 2}))
    comes_back(member)
    member.on(found(member))
    member.expect(MemberState.JOINING)


def test_a_new_topic_of_its_own_is_watched_beside_what_it_led_although_the_look_failed() -> None:
    """It comes back for another topic as well; that is given out by another round (KIP-345)."""
    member = leader_of_two()
    goes(member)
    member.on(MetadataChanged({**BOTH, "v": 1}))
    member.subscribe("t", "v")
    answer = join_answer(member.member, 7, leader="m-1", skip=True)
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer))
    member.on(nothing(member))
    assert member.member.round.watched == {**BOTH, "v": 1}


def test_growth_while_it_hands_back_is_noticed_when_it_leads_on() -> None:
    """A member that hands everything back begins no round: 1. it unsubscribes; 2. the topic grows
    while batches are in hand; 3. it goes, and comes back to the generation it led."""
    member = leader()
    member.on(Unsubscribed())
    member.on(MetadataChanged(GROWN))
    member.expect(MemberState.RELEASING)
    member.settle()
    comes_back(member)
    member.on(unanswered(member))
    member.expect(MemberState.JOINING)


def test_growth_is_noticed_when_it_goes_once_more_before_anybody_answers() -> None:
    member = leader()
    goes(member)
    member.on(MetadataChanged(GROWN))
    comes_back(member)
    goes(member)
    comes_back(member)
    member.on(unanswered(member))
    member.expect(MemberState.JOINING)


def test_growth_is_noticed_when_its_lease_ended_while_it_handed_back() -> None:
    """Its own clock ends its generation; the coordinator's may keep it."""
    member = leader()
    member.on(Unsubscribed())
    member.on(MetadataChanged(GROWN), after=1000.0)
    member.settle()
    member.expect(MemberState.UNSUBSCRIBED)
    assert member.member.identity.generation is None
    comes_back(member)
    member.on(unanswered(member))
    member.expect(MemberState.JOINING)


@pytest.mark.parametrize("found", [nothing, lambda member: counted(member, t=4)])
def test_without_growth_it_leads_on_without_a_round_and_watches(
    found: Callable[[Driven], Event],
) -> None:
    member = leader()
    goes(member)
    comes_back(member)
    member.on(found(member))
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged(GROWN))
    member.expect(MemberState.JOINING)


def test_what_was_held_back_for_another_round_is_asked_for_although_nothing_grew() -> None:
    """1. Its assignor holds a partition back, and asks for a round later; 2. it unsubscribes, and
    with that goes its promise of that round (KIP-429); 3. the coordinator says that 3 of 4
    partitions are assigned: without a round nobody would ever have the fourth."""
    member = leader()
    goes(member)
    comes_back(member)
    member.on(counted(member, t=3))
    member.expect(MemberState.JOINING)


def test_what_was_held_back_is_asked_for_once_it_is_known_how_much_there_is() -> None:
    member = leader()
    goes(member)
    member.on(MetadataChanged({}))
    comes_back(member)
    member.on(counted(member, t=3))
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 4}))
    member.expect(MemberState.JOINING)


def test_what_another_generation_was_made_from_says_nothing_of_the_one_it_comes_back_to() -> None:
    """1. It leads generation 7, and goes; 2. another process of the instance leads 8, made from
    what there is now, and ends; 3. this one comes back to that."""
    member = leader()
    goes(member)
    member.on(MetadataChanged(GROWN))
    comes_back(member, generation=8)
    member.on(unanswered(member))
    member.expect(MemberState.STABLE)
