"""Static members (KIP-345, KIP-814): coming back, leading again, being fenced, leaving."""

from uuid import UUID

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError, FencedError
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    Answered,
    AssignorDone,
    CloseRequested,
    MetadataChanged,
    Raise,
    RequestFailed,
    RunAssignor,
    Send,
    Tick,
    Unsubscribed,
)
from kgroup.membership.group_description import Remembered
from kgroup.types import Cause, Leave, MemberState
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from tests.membership.driver import HEARTBEAT, NODE, Driven, join_answer, partitions, settings

UUID_TEXT = str(UUID(int=7))


def static(counts: dict[str, int], *topics: str, before: Remembered | None = None) -> Driven:
    """A static member without an id that awaits the answer to its JoinGroup."""
    member = Driven(settings(instance="i-1"))
    member.on(MetadataChanged(counts))
    member.subscribe(*topics)
    member.found(remembered=before)
    return member


def known(*topics: str, assigned: str = "tu") -> Remembered:
    """The process before asked for these topics; of each of `assigned` somebody owns something."""
    return Remembered(frozenset(topics), frozenset(assigned))


# -- coming back with other topics --------------------------------------------------------------


def test_a_topic_that_becomes_known_after_the_old_assignment_begins_a_round() -> None:
    """1. The process starts with a topic more; 2. its old assignment is back before the first
    metadata; 3. nobody else would ever tell the leader of the topic."""
    member = static({}, "t", "u")
    member.joined(7)
    member.synced("t-0")
    member.settle()
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 4, "u": 4}))
    member.expect(MemberState.JOINING)
    first, second = member.sent(JoinGroupRequest)
    assert first.protocols[0].metadata != second.protocols[0].metadata, (
        "else it is answered at once"
    )
    assert decode_subscription(second.protocols[0].metadata).topics == ("t", "u")


def test_a_topic_that_is_made_later_begins_a_round_when_it_is_there() -> None:
    member = static({"t": 4, "u": 0}, "t", "u")
    member.joined(7)
    member.synced("t-0")
    member.settle()
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 4, "u": 2}))
    member.expect(MemberState.JOINING)


def test_the_round_begins_once() -> None:
    member = static({"t": 4, "u": 4}, "t", "u")
    member.joined(7)
    member.synced("t-0")
    member.round("t-0", generation=8)
    member.on(MetadataChanged({"t": 4, "u": 5}))
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 2


def test_coming_back_with_fewer_topics_gives_the_others_up_and_begins_a_round() -> None:
    member = static({"t": 4, "u": 4}, "t")
    member.joined(7)
    member.synced("t-0", "u-0")
    assert member.owned() == partitions("t-0")
    member.expect(MemberState.JOINING)
    second = member.sent(JoinGroupRequest)[-1]
    assert decode_subscription(second.protocols[0].metadata).topics == ("t",)


def test_a_dynamic_member_asks_for_no_round_because_it_was_given_nothing_of_a_topic() -> None:
    member = Driven()
    member.on(MetadataChanged({"t": 4, "u": 4}))
    member.subscribe("t", "u")
    member.found()
    member.joined(1)
    member.synced("t-0")
    member.expect(MemberState.STABLE)


# -- what the process before asked for ----------------------------------------------------------


def recalls(member: Driven) -> list[bool]:
    """Tell of each FindCoordinator whether it asks what the group remembers."""
    return [
        effect.recall
        for effect in member.did(Send)
        if isinstance(effect.request, FindCoordinatorRequest)
    ]


def test_what_the_process_before_asked_for_is_asked_until_the_first_join_and_never_again() -> None:
    member = Driven(settings(instance="i-1"))
    member.subscribe()
    member.found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    member.on(Tick(), after=5.0)
    member.found()
    member.on(RequestFailed(member.ticket(Errand.JOIN_GROUP), ConnectionLostError("h:1", "reset")))
    member.on(Tick(), after=5.0)
    assert recalls(member) == [True, True, False], "its own topics would be answered by now"


def test_a_dynamic_member_has_no_process_before() -> None:
    member = Driven()
    member.subscribe()
    assert recalls(member) == [False]


def test_coming_back_with_the_same_topics_begins_no_round_although_one_went_to_others() -> None:
    member = static({"t": 2, "u": 1}, "t", "u", before=known("t", "u"))
    member.joined(7)
    member.synced("t-0")
    member.settle()
    member.on(MetadataChanged({"t": 2, "u": 3}))
    member.expect(MemberState.STABLE)
    assert len(member.sent(JoinGroupRequest)) == 1


def test_when_nothing_is_remembered_a_topic_that_went_to_others_begins_a_round() -> None:
    member = static({"t": 2, "u": 1}, "t", "u")
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.JOINING)


@pytest.mark.parametrize("now", [("t", "u"), ("t", "u", "v"), ("t", "w"), ("u",)])
def test_coming_back_with_other_topics_than_remembered_begins_one_round_at_once(
    now: tuple[str, ...],
) -> None:
    """Also when what is new has no partitions yet: the leader has to watch for them."""
    member = static({"t": 2, "u": 1}, *now, before=known("t"))
    member.joined(7)
    member.synced()
    member.expect(MemberState.JOINING)
    second = member.sent(JoinGroupRequest)[-1]
    assert decode_subscription(second.protocols[0].metadata).topics == now
    member.round(generation=8)
    member.on(MetadataChanged({"t": 2, "u": 1, "v": 1, "w": 1}))
    member.expect(MemberState.STABLE)


def test_coming_back_with_a_topic_less_begins_a_round_although_nothing_of_it_was_owned() -> None:
    member = static({"t": 2, "u": 1}, "t", before=known("t", "u"))
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.JOINING)


def test_a_topic_that_is_remembered_and_that_nobody_was_given_begins_a_round() -> None:
    """1. The process before came back with a topic more, and died before its round; 2. this one
    asks for the same; 3. the coordinator remembers it, the leader never heard of it."""
    member = static({"t": 2, "u": 1}, "t", "u", before=known("t", "u", assigned="t"))
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.JOINING)
    member.round("t-0", generation=8)
    member.expect(MemberState.STABLE)


def test_what_is_remembered_outlives_a_join_whose_answer_is_lost() -> None:
    member = static({"t": 2, "u": 1}, "t", "u", before=known("t"))
    member.on(RequestFailed(member.ticket(Errand.JOIN_GROUP), ConnectionLostError("h:1", "reset")))
    member.on(Tick(), after=5.0)
    member.found()
    member.joined(7)
    member.synced("t-0", "u-0")
    member.expect(MemberState.JOINING)


def test_what_was_remembered_means_nothing_after_the_member_id_is_lost() -> None:
    member = static({"t": 2, "u": 1}, "t", "u", before=known("t", "u"))
    member.joined(7)
    member.synced("t-0")
    member.settle()
    member.beat(ErrorCode.UNKNOWN_MEMBER_ID)
    member.settle()
    member.joined(8, member_id="m-2")
    member.synced("t-0")
    assert member.member.round.completed == 2
    member.expect(MemberState.JOINING)


def test_the_round_that_is_owed_for_a_topic_says_so_and_not_that_the_leader_assigned() -> None:
    member = static({"t": 2, "u": 1}, "t", "u", before=None)
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.JOINING)
    assert member.member.round.cause is Cause.SUBSCRIBED


def test_what_is_remembered_is_dropped_by_a_member_that_does_not_join_now() -> None:
    """By the time it subscribes again another process may have been the same member."""
    member = Driven(settings(instance="i-1"))
    member.on(MetadataChanged({"t": 2, "u": 1}))
    member.subscribe("t", "u")
    member.on(Unsubscribed())
    member.found(remembered=known("t", "u"))
    member.subscribe("t", "u")
    member.joined(7)
    member.synced("t-0")
    member.expect(MemberState.JOINING)


# -- a leader that comes back -------------------------------------------------------------------


def led_again(counts: dict[str, int], *, leader: str = "m-1", skip: bool = True) -> Driven:
    """A static leader that has come back to a generation that stands."""
    member = static(counts)
    answer = join_answer(member.member, 7, leader=leader, skip=skip)
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer))
    return member


def watched(member: Driven, **counts: int) -> None:
    """Say what the generation was assigned from."""
    member.on(AssignorDone(member.ticket(Errand.RUN_ASSIGNOR), (), counts))


def test_a_leader_that_comes_back_assigns_nothing_and_asks_what_was_assigned() -> None:
    member = led_again({"t": 4})
    assert member.sent(SyncGroupRequest)[-1].assignments == ()
    (run,) = member.did(RunAssignor)
    assert run.unasked
    assert run.node_id == NODE
    assert member.member.round.leader


def test_partitions_added_while_the_leader_was_away_begin_one_round() -> None:
    member = led_again({"t": 6})
    member.synced("t-0")
    member.settle()
    watched(member, t=4)
    member.expect(MemberState.JOINING)
    member.joined(8, leader="m-1")
    member.on(AssignorDone(member.ticket(Errand.RUN_ASSIGNOR), (("m-1", b""),), {"t": 6}))
    member.synced("t-0")
    member.settle()
    member.on(MetadataChanged({"t": 6}))
    member.expect(MemberState.STABLE)


def test_partitions_added_meanwhile_are_noticed_before_the_sync_is_answered_too() -> None:
    member = led_again({"t": 6})
    watched(member, t=4)
    member.expect(MemberState.SYNCING)
    member.synced("t-0")
    member.expect(MemberState.JOINING)


def test_partitions_added_meanwhile_are_noticed_when_metadata_comes_last() -> None:
    member = led_again({})
    member.synced("t-0")
    member.settle()
    watched(member, t=4)
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 6}))
    member.expect(MemberState.JOINING)


def test_a_leader_that_comes_back_to_the_same_counts_goes_on_watching_them() -> None:
    member = led_again({"t": 4})
    member.synced("t-0")
    member.settle()
    watched(member, t=4)
    member.on(MetadataChanged({"t": 4}))
    member.expect(MemberState.STABLE)
    member.on(MetadataChanged({"t": 5}))
    member.expect(MemberState.JOINING)


def test_an_old_broker_names_the_leader_by_its_old_id_and_it_leads_on() -> None:
    """Below JoinGroup v9 there is no word for it, and acting as leader would fail."""
    member = led_again({"t": 4}, leader=f"i-1-{UUID_TEXT}", skip=False)
    member.expect(MemberState.SYNCING)
    assert member.sent(SyncGroupRequest)[-1].assignments == ()
    member.synced("t-0")
    member.settle()
    watched(member, t=4)
    member.on(MetadataChanged({"t": 5}))
    member.expect(MemberState.JOINING)


@pytest.mark.parametrize(
    "leader", ["other", "i-1", f"i-10-{UUID_TEXT}", f"i-1-0-{UUID_TEXT}", f"xi-1-{UUID_TEXT}"]
)
def test_a_leader_of_another_name_is_another_member(leader: str) -> None:
    member = led_again({"t": 4}, leader=leader, skip=False)
    assert member.did(RunAssignor) == []
    assert not member.member.round.leader


# -- fencing ------------------------------------------------------------------------------------


def test_the_error_of_a_fenced_member_names_the_instance_id_and_the_way_out() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.FENCED_INSTANCE_ID)
    (raised,) = member.did(Raise)
    assert isinstance(raised.error, FencedError)
    assert "group_instance_id 'i-1'" in str(raised.error)
    assert "an instance id of its own" in str(raised.error)
    generation = raised.error.generation
    assert generation is not None
    assert (generation.group_id, generation.group_instance_id) == ("g", "i-1")
    assert raised.error.code == ErrorCode.FENCED_INSTANCE_ID


# -- requests -----------------------------------------------------------------------------------


def test_every_request_of_a_member_carries_its_instance_id() -> None:
    member = Driven(settings(instance="i-1")).join("t-0")
    member.on(CloseRequested(Leave.LEAVE, "x", member.now + 4, member.now + 5))
    member.settle()
    (leave,) = member.sent(LeaveGroupRequest)
    (row,) = leave.members
    named = [
        *(each.group_instance_id for each in member.sent(JoinGroupRequest)),
        *(each.group_instance_id for each in member.sent(SyncGroupRequest)),
        *(each.group_instance_id for each in member.sent(HeartbeatRequest)),
        row.group_instance_id,
    ]
    assert len(named) >= 4
    assert set(named) == {"i-1"}
