"""What an assignment makes of what is owned: revoke first, acknowledge, take; in this order."""

import pytest

from kgroup.consumer_group.events import LookForTopics, Note, TopicsNamed
from kgroup.machine.claims import HoldingState
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import CommitRejected, Drained, ListenerDone, Tell
from kgroup.types import Cause, ChangeKind, MemberState
from tests.consumer_group.driver import IDS, NAMES, REBALANCE, Driven, partitions


def reassigned(*names: str, owned: tuple[str, ...] = ("t-0", "t-1")) -> Driven:
    """Return a member that owns t-0 and t-1, and has just been given `names`."""
    member = Driven().join(*owned)
    member.due_beat()
    member.answer(2, *names, given=True)
    return member


def test_what_is_missing_in_an_assignment_is_revoked_and_the_rest_goes_on() -> None:
    member = reassigned("t-0")
    member.expect(MemberState.RECONCILING)
    states = {str(claim.tp): state for claim, state in member.member.holdings.states.items()}
    assert states == {"t-0": HoldingState.HELD, "t-1": HoldingState.DRAINING}
    assert member.delivers("t-0", "t-1") == [True, False]
    member.on(Drained((member.claim("t-1"),)))
    assert member.calls() == [(ChangeKind.REVOKED, partitions("t-1"))]
    assert member.member.changes[0].cause is Cause.GROUP_REBALANCED


def test_what_is_revoked_is_said_when_the_listener_has_returned_and_not_before() -> None:
    member = reassigned("t-0")
    member.on(Drained((member.claim("t-1"),)))
    member.due_beat()
    assert member.listed() is None
    member.answer(2)
    member.settle()
    member.tick()
    assert member.listed() == partitions("t-0")
    member.answer(3)
    member.expect(MemberState.STABLE)
    assert member.member.identity.epoch == 3


def test_what_is_new_waits_until_what_is_old_is_given_up() -> None:
    member = reassigned("t-0", "t-2")
    assert member.owned() == partitions("t-0", "t-1")
    member.settle()
    assert member.owned() == partitions("t-0", "t-2")
    member.tick()
    assert member.listed() == partitions("t-0", "t-2")


def test_a_partition_that_comes_back_while_it_drains_is_kept() -> None:
    member = reassigned("t-0")
    before = member.claim("t-1")
    member.due_beat()
    member.answer(2, "t-0", "t-1")
    assert member.claim("t-1") == before
    assert member.delivers("t-1") == [True]
    assert member.member.giving_up() == ()


def test_a_batch_in_hand_is_waited_for_half_the_rebalance_time_out() -> None:
    member = reassigned("t-0")
    begun = member.now
    while not member.member.changes:
        member.next()
        if member.member.heartbeat is not None:
            member.answer(2)
    assert member.now - begun == pytest.approx(REBALANCE / 2)
    assert [each.note for each in member.did(Tell)] == [Note.DRAIN_CUT]


def test_a_lost_answer_gives_nothing_that_an_older_one_gave() -> None:
    """1. t-2 is to be taken when t-1 is revoked; 2. a heartbeat's answer is lost, which may have
    taken it away; 3. t-1 is revoked: t-2 waits for an answer that says everything."""
    member = reassigned("t-0", "t-2")
    member.due_beat()
    member.fail()
    member.settle()
    assert member.owned() == partitions("t-0")
    while member.member.coordinator.node_id is None:
        member.next()
        member.found()
    member.tick()
    assert member.listed() == partitions("t-0")
    assert member.beat.subscribed_topic_names == ("t",)
    member.answer(2, "t-0")
    assert member.owned() == partitions("t-0")


def test_an_answer_of_a_heartbeat_from_before_a_failure_changes_nothing() -> None:
    member = Driven().join("t-0")
    member.due_beat()
    late = member.ticket()
    member.fail()
    before = member.member
    member.answer(9, "t-3", ticket=late)
    assert member.member == before


def test_a_topic_that_is_dropped_is_revoked_at_once_whatever_is_assigned() -> None:
    member = Driven().join("t-0", "u-0", topics=("t", "u"))
    member.subscribe("t")
    member.settle()
    assert member.owned() == partitions("t-0")
    assert member.beat.subscribed_topic_names == ("t",)
    member.answer(2, "t-0", "u-0")
    member.due_beat()
    assert member.listed() == partitions("t-0")


def test_a_topic_that_is_asked_for_again_is_taken_from_an_answer_to_that_alone() -> None:
    """1. u-0 goes with its topic, and the coordinator hears so; 2. u is asked for again: whether
    u-0 is somebody else's by now, only the answer to that can say."""
    member = Driven().join("t-0", "u-0", topics=("t", "u"))
    member.subscribe("t")
    member.settle()
    member.answer(2, "t-0", "u-0")
    member.due_beat()
    member.subscribe("t", "u")
    member.answer(2, "t-0", "u-0")
    assert member.owned() == partitions("t-0")
    member.due_beat()
    assert member.beat.subscribed_topic_names == ("t", "u")
    member.answer(2, "t-0", "u-0")
    assert member.owned() == partitions("t-0", "u-0")


def test_a_topic_without_a_name_is_waited_for_and_asked_for() -> None:
    member = Driven()
    member.on(TopicsNamed({}))
    member.subscribe()
    member.found()
    member.answer(2, "t-0")
    assert member.owned() == frozenset()
    assert member.did(LookForTopics) != []
    member.on(TopicsNamed(NAMES))
    assert member.owned() == partitions("t-0")


def test_a_name_that_never_comes_is_told_once_and_the_member_lives_on() -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.answer(2, "ghost-0")
    for _ in range(5):
        member.due_beat()
        member.answer(2)
    member.expect(MemberState.RECONCILING)
    assert [each.note for each in member.did(Tell)] == [Note.TOPICS_UNNAMED]


def test_a_topic_that_was_made_anew_is_another_topic() -> None:
    member = Driven().join("t-0")
    before = member.claim("t-0")
    member.on(TopicsNamed({b"T" * 16: "t"}))
    member.due_beat()
    IDS["t"] = b"T" * 16
    try:
        member.answer(3, "t-0")
    finally:
        IDS["t"] = b"t" * 16
    member.settle()
    assert member.owned() == partitions("t-0")
    assert member.claim("t-0") != before


def test_a_topic_whose_name_metadata_forgets_is_kept_while_it_is_assigned() -> None:
    member = Driven().join("t-0")
    member.on(TopicsNamed({}))
    member.due_beat()
    member.answer(2, "t-0")
    assert member.member.giving_up() == ()


def test_more_of_a_topic_whose_name_metadata_forgets_is_taken_while_some_of_it_is_owned() -> None:
    member = Driven().join("t-0")
    member.on(TopicsNamed({}))
    member.due_beat()
    member.answer(2, "t-0", "t-1")
    assert member.owned() == partitions("t-0", "t-1")


def test_a_stale_epoch_of_a_commit_has_a_heartbeat_sent_at_once_and_loses_nothing() -> None:
    member = Driven().join("t-0")
    generation = member.member.identity.generation
    assert generation is not None
    sent = len(member.beats())
    member.on(CommitRejected(Reaction.RENEW_EPOCH, generation, 113))
    member.tick()
    assert len(member.beats()) == sent + 1
    member.answer(3)
    assert member.member.identity.epoch == 3
    assert member.owned() == partitions("t-0")


def test_assignments_that_never_settle_are_answered_at_a_pace() -> None:
    member = Driven().join("t-0")
    begun = member.now
    for turn in range(40):
        member.due_beat()
        member.answer(2, "t-0", *(("t-1",) if turn % 2 else ()))
        member.settle()
    assert member.now - begun > 10.0


def test_the_snapshot_counts_assignments_not_answers() -> None:
    member = Driven().join("t-0")
    assert member.member.snapshot().rebalances == 1
    member.due_beat()
    member.answer(2)
    assert member.member.snapshot().rebalances == 1
    member.due_beat()
    member.answer(2, "t-0", "t-1")
    assert member.member.snapshot().rebalances == 2


def test_a_listener_that_returns_for_a_change_nobody_made_changes_nothing() -> None:
    member = Driven().join("t-0")
    before = member.member
    assert member.on(ListenerDone(99)) == ()
    assert member.member == before


def test_what_was_taken_away_and_comes_back_is_handed_out_when_it_is_acknowledged_anew() -> None:
    """1. t-1 is listed, and the answer takes it away; 2. a heartbeat that lists nothing is answered
    with t-1: neither answer has left a listed t-1 to this member."""
    member = Driven()
    member.subscribe()
    member.found()
    member.answer(2, "t-0", "t-1")
    member.settle()
    member.due_beat()
    assert member.listed() == partitions("t-0", "t-1")
    member.answer(2, "t-0")
    member.due_beat()
    assert member.listed() is None
    member.answer(2, "t-0", "t-1")
    assert member.delivers("t-0", "t-1") == [True, False]
    member.due_beat()
    assert member.listed() == partitions("t-0", "t-1")
    member.answer(2)
    assert member.delivers("t-0", "t-1") == [True, True]


def test_what_is_taken_while_a_heartbeat_is_out_is_not_acknowledged_by_its_answer() -> None:
    member = Driven()
    member.on(TopicsNamed({IDS["t"]: "t"}))
    member.subscribe("t", "u")
    member.found()
    member.answer(2, "t-0", "u-0")
    member.settle()
    member.due_beat()
    member.on(TopicsNamed(NAMES))
    member.settle()
    assert member.owned() == partitions("t-0", "u-0")
    assert member.listed() == partitions("t-0")
    member.answer(2)
    assert member.delivers("t-0", "u-0") == [True, False]
    member.due_beat()
    member.answer(2)
    assert member.delivers("t-0", "u-0") == [True, True]


def test_an_answer_without_an_assignment_is_none_to_a_heartbeat_that_said_everything() -> None:
    """1. t-2 is to be taken when t-1 is revoked; 2. an answer is lost; 3. the next one, to a
    heartbeat that says everything, does not say what is assigned: that may be another one now."""
    member = reassigned("t-0", "t-2")
    member.due_beat()
    member.fail()
    while member.member.coordinator.node_id is None:
        member.next()
        member.found()
    member.due_beat()
    assert member.beat.subscribed_topic_names == ("t",)
    member.answer(2)
    member.settle()
    assert member.owned() == partitions("t-0")
    member.due_beat()
    assert member.beat.subscribed_topic_names == ("t",)
    member.answer(2, "t-0", "t-2")
    assert member.owned() == partitions("t-0", "t-2")
