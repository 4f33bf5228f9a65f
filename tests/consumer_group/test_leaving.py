"""How a member of a KIP-848 group goes: handing back first, then a farewell with -1 or -2."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.machine.wishes import (
    CloseRequested,
    Done,
    Drained,
    Unsubscribed,
)
from kgroup.types import ChangeKind, Leave, MemberState
from tests.consumer_group.driver import Driven, partitions, settings


def close(member: Driven, mode: Leave = Leave.DEFAULT) -> None:
    member.on(CloseRequested(mode, "done", member.now + 4.0, member.now + 5.0))


@pytest.mark.parametrize(
    ("instance", "mode", "epoch"),
    [
        (None, Leave.DEFAULT, -1),
        (None, Leave.LEAVE, -1),
        (None, Leave.REMAIN, None),
        ("i1", Leave.DEFAULT, -2),
        ("i1", Leave.LEAVE, -1),
        ("i1", Leave.REMAIN, -2),
    ],
)
def test_a_member_hands_back_and_says_farewell(
    instance: str | None, mode: Leave, epoch: int | None
) -> None:
    member = Driven(settings(group_instance_id=instance)).join("t-0")
    sent = len(member.beats())
    close(member, mode)
    member.expect(MemberState.RELEASING)
    member.settle()
    told = [beat.member_epoch for beat in member.beats()[sent:]]
    assert told == ([] if epoch is None else [epoch])
    if epoch is not None:
        member.expect(MemberState.LEAVING)
        member.answer(epoch)
    member.expect(MemberState.LEFT)
    assert len(member.did(Done)) == 1


def test_a_farewell_names_the_instance() -> None:
    member = Driven(settings(group_instance_id="i1")).join("t-0")
    close(member)
    member.settle()
    assert (member.beat.member_id, member.beat.instance_id) == ("me", "i1")


def test_heartbeats_go_on_while_a_batch_is_in_hand() -> None:
    member = Driven().join("t-0")
    close(member)
    sent = len(member.beats())
    member.due_beat()
    assert len(member.beats()) == sent + 1
    member.answer(3, "t-0", "t-1")
    assert member.owned() == partitions("t-0")


def test_a_listener_that_hangs_does_not_hold_the_close_up() -> None:
    member = Driven().join("t-0")
    close(member)
    member.on(Drained((member.claim("t-0"),)))
    begun = member.now
    while member.member.state is MemberState.RELEASING:
        member.next()
        if member.member.heartbeat is not None:
            member.answer(2)
    assert member.now - begun <= 4.0
    member.expect(MemberState.LEAVING)
    member.tick(after=1.0)
    member.expect(MemberState.LEFT)


def test_a_member_that_has_not_joined_goes_without_a_word() -> None:
    member = Driven()
    member.subscribe()
    close(member)
    member.expect(MemberState.LEFT)
    assert member.beats() == []


def test_a_member_whose_join_is_not_answered_says_farewell_all_the_same() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    close(member)
    assert member.beat.member_epoch == -1


def test_unsubscribing_leaves_and_subscribing_again_joins() -> None:
    member = Driven().join("t-0")
    member.on(Unsubscribed())
    member.settle()
    member.subscribe("t")
    member.expect(MemberState.LEAVING)
    member.answer(-1)
    member.expect(MemberState.JOINING)
    assert member.beat.member_epoch == 0


def test_unsubscribing_for_good_comes_to_rest() -> None:
    member = Driven().join("t-0")
    member.on(Unsubscribed())
    assert member.calls() == []
    member.settle()
    member.answer(-1)
    member.expect(MemberState.UNSUBSCRIBED)
    assert member.member.snapshot().generation is None


def test_an_answer_from_before_the_farewell_makes_nobody_a_member() -> None:
    member = Driven().join("t-0")
    member.due_beat()
    late = member.ticket()
    member.on(Unsubscribed())
    member.settle()
    member.answer(-1)
    member.answer(7, "t-0", ticket=late)
    assert member.member.identity.generation is None
    assert member.owned() == frozenset()


def test_a_coordinator_that_moved_is_told_at_its_next_place() -> None:
    member = Driven().join("t-0")
    close(member)
    member.settle()
    member.answer(code=ErrorCode.NOT_COORDINATOR)
    member.expect(MemberState.LEAVING)
    member.next()
    member.found()
    assert member.beat.member_epoch == -1
    member.answer(-1)
    member.expect(MemberState.LEFT)


def test_a_member_that_is_fenced_while_it_closes_ends_without_a_word() -> None:
    member = Driven(settings(group_instance_id="i1")).join("t-0")
    close(member)
    member.due_beat()
    member.answer(code=ErrorCode.FENCED_INSTANCE_ID)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    member.expect(MemberState.LEFT)
    assert member.beat.member_epoch > 0


def test_a_member_that_is_expelled_while_it_closes_hears_of_it() -> None:
    member = Driven().join("t-0")
    close(member)
    member.due_beat()
    member.answer(code=ErrorCode.UNKNOWN_MEMBER_ID)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
